"""The oracle: expected memory and matrix contents as whole-array NumPy."""
