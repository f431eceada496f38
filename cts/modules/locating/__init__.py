"""The first value of a module by which a driver differs from the interpreter."""
