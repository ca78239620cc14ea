"""Compute the reference, run the probes, and derive the verdict on a norm that can be run."""
