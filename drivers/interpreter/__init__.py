"""Executes SPIR-V words; knows nothing of cases.

`parse` reads words, `declare` and `compile` turn a module and its specialization into a program of
bound handlers, `launch` runs it on the `machine`. One handler per opcode, in `handlers`.
"""

from cts.drivers.interpreter.driver import Interpreter, create

__all__ = ["Interpreter", "create"]
