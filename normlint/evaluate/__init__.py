"""Evaluate Python source symbolically: what a forward computes on each path, without running it."""
