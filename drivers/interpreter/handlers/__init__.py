"""One handler per opcode, in modules by topic. See `cts.drivers.interpreter.registry`."""
