"""Turn a recognised norm into a program that runs on its own, and derive what it is meant to compute; no torch."""
