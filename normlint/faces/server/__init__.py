"""Provide the language server: findings while typing, fixes, hovers and verification of norms on request."""
