"""Norms that are wrong, spelled in ways that the grid does not have."""
