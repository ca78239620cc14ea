"""Where foreign code runs: the worker, its limits, the gate, the way answers come back."""
