"""What cooperative vectors need besides ordinary values: matrices in memory, readings, accumulations."""
