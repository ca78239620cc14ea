"""Build a norm, run it, and compare it with an independent reference. No other package of normlint imports torch."""
