"""Instructions of the extended set GLSL.std.450, one module per family."""
