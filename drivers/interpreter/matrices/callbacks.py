"""Functions that matrix instructions call for their elements: every element is a lane of one call (CM-060, CM-061)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.compile import Compiler
from cts.drivers.interpreter.machine import Machine
from cts.drivers.interpreter.parse import Function, Instruction, Module
from cts.drivers.interpreter.problems import Malformed, Unsupported
from cts.drivers.interpreter.values import Array, Instances, Value, VariablePath, rebuilt

#: Lanes of one call: arrays of them fit a second-level cache.
LANES = 1 << 16

_TANGLED = ("OpControlBarrier", "OpGroup", "OpSubgroup", "OpCooperativeMatrix", "OpDPd", "OpFwidth")


class Callback:
    """A function of scalars, called for elements of matrices of one scope.

    Besides its parameters it sees the memory and the global variables of the invocation that calls it,
    for which we take the first of the instance; what it stores to Private variables is lost.
    """

    def __init__(
        self, c: Compiler, function: int, role: str, result: ty.Type, parameters: Sequence[ty.Type | None]
    ) -> None:
        """`parameters` are the types that the function must have; None where any will do. Raises Malformed."""
        label = f"{role} {c.module.label(function)}"
        self.code = c.function(function)
        declared = signature(c, function)
        if declared.result != result:
            raise Malformed(f"{label} returns {declared.result}; it must return {result}")
        if len(declared.parameters) != len(parameters):
            raise Malformed(f"{label} has {len(declared.parameters)} parameters; it must have {len(parameters)}")
        for n, (actual, expected) in enumerate(zip(declared.parameters, parameters, strict=True)):
            if expected is not None and actual != expected:
                raise Malformed(f"parameter {n} of {label} is {actual}; it must be {expected}")
        self.parameters = declared.parameters
        self.dtype = ty.component_of(result).dtype
        called = list(_called(c.module, function))
        for f in called:
            _refuse_tangled(c, f, label)
        self.globals = _varying_globals(c, called)
        results = {i.result for f in called for i in _body(f)} - {0}
        #: Its own results before it runs. Where the caller calls the same functions, its registers have other lanes.
        self.fresh = tuple((id_, c.registers[id_]) for id_ in sorted(results))

    def __call__(self, m: Machine, instances: Instances, instance: Array, arguments: Sequence[Value]) -> Array:
        """Call it once for every lane; the result (lanes,) or, for vectors, (lanes, n).

        `instance` (lanes,) is the instance whose element it is called for. `arguments` have that
        many lanes, or 1. Raises the problems of its execution.
        """
        parts = []
        for start in range(0, len(instance), LANES):
            chosen = slice(start, start + LANES)
            parts.append(self._call(m, instances, instance[chosen], [_lanes(a, chosen) for a in arguments]))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _call(self, m: Machine, instances: Instances, instance: Array, arguments: list[Value]) -> Array:
        callee = m.apart(len(instance))
        for id_, value in self.fresh:
            callee.registers[id_] = value
        caller = instances.first[instance]
        for id_ in self.globals:
            value = m.registers[id_]
            if isinstance(value, VariablePath):
                callee.variables.give(id_, _lanes(m.variables.get(id_), caller))
            else:
                callee.registers[id_] = _lanes(value, caller)
        for parameter, argument in zip(self.code.parameters, arguments, strict=True):
            callee.registers[parameter] = argument
        result = callee.call(self.code)
        return np.broadcast_to(result, (len(instance), *result.shape[1:]))


def signature(c: Compiler, function: int) -> ty.Function:
    """The type of a function. Raises Malformed if no function of that id has a body."""
    definition = c.module.functions.get(function)
    if definition is None:
        raise Malformed(f"{c.module.label(function)} is not a function with a body")
    if isinstance(t := c.declared.types[definition.type], ty.Function):
        return t
    raise Malformed(f"{c.module.label(function)} has a type that is none of functions")


def per_lane(value: Value, instances: Instances, instance: Array, mask: Array | None) -> Value:
    """An argument that is dynamically uniform in the scope, for lanes of the given instances.

    Raises Misuse where it is not uniform (AM-19).
    """
    return _lanes(instances.value(value, mask), instance)


def _lanes(value: Value, chosen: Array | slice) -> Value:
    """Chosen lanes of a value; one lane stands for all."""
    if isinstance(value, tuple):
        return rebuilt(value, [_lanes(v, chosen) for v in value])
    if not isinstance(value, np.ndarray):
        raise Unsupported(f"a {type(value).__name__} that a callback could see")
    return value if len(value) == 1 else value[chosen]


def _called(module: Module, function: int) -> Iterator[Function]:
    """The function and all that it calls."""
    visited: set[int] = set()
    waiting = [function]
    while waiting:
        id_ = waiting.pop()
        if id_ in visited:
            continue
        visited.add(id_)
        yield module.functions[id_]
        waiting += [i.id(0) for i in _body(module.functions[id_]) if i.name == "OpFunctionCall"]


def _body(function: Function) -> Iterator[Instruction]:
    for block in function.blocks:
        yield from (*block.phis, *block.body)


def _refuse_tangled(c: Compiler, function: Function, label: str) -> None:
    """CM-061. Loads, stores and copies of matrices need the matrix's scope as well."""
    for i in _body(function):
        kinds = [c.declared.type_of.get(id_) for id_ in (i.result, *i.ids)]
        tangled = i.name.startswith(_TANGLED) and i.name != "OpCooperativeMatrixLengthKHR"
        if tangled or any(map(ty.holds_matrix, kinds)):
            raise Malformed(f"{label} executes {c.module.describe(i)}, which no callback may (CM-061)")


def _varying_globals(c: Compiler, functions: list[Function]) -> tuple[int, ...]:
    """The global variables that the functions use and that differ between invocations."""
    used = {id_ for f in functions for i in _body(f) for id_ in i.ids} & c.declared.variables.keys()
    shared = ("StorageBuffer", "Uniform", "PushConstant")
    return tuple(sorted(id_ for id_ in used if c.declared.storage(id_) not in shared))
