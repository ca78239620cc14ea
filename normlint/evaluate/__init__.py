"""Python text to values: what a forward computes, path by path, without running it."""
