"""From paths to a report: configuration, discovery, the sieve, selection, suppression, baselines."""
