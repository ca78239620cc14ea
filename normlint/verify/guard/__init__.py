"""Run untrusted norms in worker processes with limits on time and memory."""
