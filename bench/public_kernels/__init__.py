"""What `bench/real_software.py` runs: modules of public kernels, dispatches, and references in NumPy."""
