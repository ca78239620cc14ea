"""Sources, places in them, and findings about them; nothing here needs syntax trees or torch."""
