"""The verifier: build the norm, run it, compare it with an independent reference. The only floor that imports torch."""
