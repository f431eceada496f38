"""SPIR-V: grammar, word emitter, lowering of cases, in-process validation."""
