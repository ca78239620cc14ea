"""The language server: findings while typing, fixes, hovers, and norms verified on request."""
