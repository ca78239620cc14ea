"""Lint files: configuration, discovery, analysis, selection, suppression, fixes, baselines and the cache."""
