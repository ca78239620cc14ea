"""From a recognised norm to a program that runs on its own, and what it is meant to compute. No torch."""
