"""Where a product meets a statistic of its own input: the recognised norm."""
