"""What `bench/real_software.py` runs: modules of public kernels, their dispatches, and references of its own in NumPy."""
