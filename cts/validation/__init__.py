"""Tools that must say no: modules that break one rule of the specifications each, beside valid twins."""
