"""The language server: findings as one types, fixes, pages, and norms that are run when they are asked for."""
