"""The reference, the probes, and the verdict on a norm that can be run."""
