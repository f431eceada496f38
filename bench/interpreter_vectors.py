"""Vectors per second that the interpreter takes through a network of three layers, against NumPy on the same arrays.

    python bench/interpreter_vectors.py

Each of the 64 invocations of a workgroup loads a float16 vector, multiplies it with three matrices in
inferencing-optimal layout, adds biases, takes the maximum with zero between the layers and stores the
result. Parsing and compiling are not part of it: the driver remembers modules. NumPy does the same
with matrix products in float32, rounded to float16 after each layer. On a machine that is shared, set
OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from measuring import Figure, concluded

from cts.device.driver import Status
from cts.device.job import LayoutConversion, MatrixRegion, Memory, ModuleJob, OpaqueMemory
from cts.drivers.interpreter import Interpreter
from cts.spirv.encode import Id
from cts.spirv.module import ModuleBuilder

INVOCATIONS = 64
WIDTHS = (32, 64, 64, 16)
WORKGROUPS = (1, 16, 256)
REPEATS = 9

#: Numbers of the component type and of memory layouts (CV-002).
FLOAT16, ROW_MAJOR, INFERENCING_OPTIMAL = 0, 0, 2

#: Names of the buffers, by binding.
NAMES = ("x", "y", *(f"{kind}{n}" for n in range(len(WIDTHS) - 1) for kind in "wb"))

Halves = npt.NDArray[np.float16]


def module() -> npt.NDArray[np.uint32]:
    """The words of the network."""
    b = ModuleBuilder()
    b.capability("Shader", "VulkanMemoryModel", "Float16", "StorageBuffer16BitAccess", "CooperativeVectorNV")
    b.op("OpMemoryModel", "Logical", "Vulkan")
    void, uint, half = b.op("OpTypeVoid"), b.op("OpTypeInt", 32, 0), b.op("OpTypeFloat", 16)
    glsl = b.op("OpExtInstImport", "GLSL.std.450")
    array = b.op("OpTypeRuntimeArray", half)
    block = b.op("OpTypeStruct", array)
    b.decorate(array, "ArrayStride", 2)
    b.decorate(block, "Block")
    b.op("OpMemberDecorate", block, 0, "Offset", 0)
    blocks, arrays = b.op("OpTypePointer", "StorageBuffer", block), b.op("OpTypePointer", "StorageBuffer", array)
    buffers = {}
    for n, name in enumerate(NAMES):
        buffers[name] = b.op("OpVariable", blocks, "StorageBuffer")
        b.decorate(buffers[name], "DescriptorSet", 0)
        b.decorate(buffers[name], "Binding", n)
    v3uint = b.op("OpTypeVector", uint, 3)
    index = b.op("OpVariable", b.op("OpTypePointer", "Input", v3uint), "Input")
    b.decorate(index, "BuiltIn", "GlobalInvocationId")
    boolean = b.op("OpTypeBool")
    no, zero = b.op("OpConstantFalse", boolean), b.op("OpConstant", uint, 0)

    def constant(value: int) -> Id:
        return b.op("OpConstant", uint, value)

    def vector(length: int) -> Id:
        return b.op("OpTypeCooperativeVectorNV", half, constant(length))

    main = b.op("OpFunction", void, "None", b.op("OpTypeFunction", void))
    b.op("OpLabel")
    lane = b.op("OpCompositeExtract", uint, b.op("OpLoad", v3uint, index), 0)
    at = {name: b.op("OpAccessChain", arrays, buffer, zero) for name, buffer in buffers.items()}
    offset = b.op("OpIMul", uint, lane, constant(2 * WIDTHS[0]))
    value = b.op("OpCooperativeVectorLoadNV", vector(WIDTHS[0]), at["x"], offset)
    for n, (k, m) in enumerate(pairwise(WIDTHS)):
        if n:
            value = b.op("OpExtInst", vector(k), glsl, 40, value, b.op("OpConstantNull", vector(k)))  # FMax
        value = b.op(
            "OpCooperativeVectorMatrixMulAddNV", vector(m), value, constant(FLOAT16),
            at[f"w{n}"], zero, constant(FLOAT16), at[f"b{n}"], zero, constant(FLOAT16),
            constant(m), constant(k), constant(INFERENCING_OPTIMAL), no, zero,
        )  # fmt: skip
    b.op("OpCooperativeVectorStoreNV", at["y"], b.op("OpIMul", uint, lane, constant(2 * WIDTHS[-1])), value)
    b.op("OpReturn")
    b.op("OpFunctionEnd")
    b.op("OpEntryPoint", "GLCompute", main, "main", index, *buffers.values())
    b.op("OpExecutionMode", main, "LocalSize", INVOCATIONS, 1, 1)
    return b.words()


def arrays_of(workgroups: int) -> dict[str, Halves]:
    """Inputs and parameters whose sums are exact, so that both sides must agree."""
    rng = np.random.default_rng(1)
    found = {"x": rng.integers(-2, 3, (workgroups * INVOCATIONS, WIDTHS[0]))}
    for n, (k, m) in enumerate(pairwise(WIDTHS)):
        found[f"w{n}"] = rng.choice([-1, 0, 0, 0, 1], (m, k))
        found[f"b{n}"] = rng.integers(-2, 3, m)
    return {name: values.astype(np.float16) for name, values in found.items()}


def job(given: dict[str, Halves], workgroups: int) -> ModuleJob:
    """The dispatch, with conversions of the matrices before it."""
    opaque, conversions = {}, []
    results = np.zeros(workgroups * INVOCATIONS * WIDTHS[-1] * 2, np.uint8)
    buffers = {"y": Memory(results, 0, len(results))}
    for name, values in given.items():
        data = values.reshape(-1).view(np.uint8)
        if name.startswith("w"):
            rows, cols = values.shape
            opaque[name] = OpaqueMemory(FLOAT16, INFERENCING_OPTIMAL, rows, cols)
            source = MatrixRegion(f"{name} source", FLOAT16, ROW_MAJOR, 0, cols * 2)
            conversions.append(
                LayoutConversion(source, MatrixRegion(name, FLOAT16, INFERENCING_OPTIMAL, 0, 0), rows, cols)
            )
            buffers[source.of] = Memory(data, 0, len(data))
        else:
            buffers[name] = Memory(data, 0, len(data))
    bindings = {(0, n): name for n, name in enumerate(NAMES)}
    return ModuleJob(
        words=module(),
        workgroups=(workgroups, 1, 1),
        buffers=buffers,
        bindings=bindings,
        opaque=opaque,
        conversions=tuple(conversions),
    )


def network(given: dict[str, Halves]) -> Halves:
    """The same by NumPy."""
    value = given["x"]
    for n in range(len(WIDTHS) - 1):
        value = np.maximum(value, 0) if n else value
        sums = value.astype(np.float32) @ given[f"w{n}"].astype(np.float32).T + given[f"b{n}"]
        value = sums.astype(np.float16)
    return value


def seconds(function: Callable[[], object]) -> float:
    """The median of some runs, after one that is not counted."""
    taken = []
    for _ in range(REPEATS + 1):
        begin = time.perf_counter()
        function()
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken[1:])


def measure(workgroups: int) -> dict[str, float]:
    """Vectors per second of both sides, which must agree."""
    given = arrays_of(workgroups)
    dispatch, driver = job(given, workgroups), Interpreter()
    outcome = driver.run_module(dispatch)
    assert outcome.status is Status.DONE, outcome.detail
    assert np.array_equal(outcome.memory["y"].view(np.float16).reshape(-1, WIDTHS[-1]), network(given))
    count = workgroups * INVOCATIONS
    return {
        "interpreter": count / seconds(lambda: driver.run_module(dispatch)),
        "numpy": count / seconds(lambda: network(given)),
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.parse_args()
    measured = {n: measure(n) for n in WORKGROUPS}
    print(f"{'workgroups':>10} {'interpreter':>14} {'NumPy':>14}  vectors per second")
    for n, rates in measured.items():
        print(f"{n:10} {rates['interpreter']:14,.0f} {rates['numpy']:14,.0f}")
    return concluded(
        *(Figure(f"workgroups: {n}", rates["interpreter"], "vectors/s") for n, rates in measured.items()),
        *(Figure(f"NumPy alone, workgroups: {n}", rates["numpy"], "vectors/s") for n, rates in measured.items()),
    )


if __name__ == "__main__":
    sys.exit(main())
