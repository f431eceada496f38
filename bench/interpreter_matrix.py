"""Milliseconds that the interpreter takes for one dispatch of a module on large cooperative matrices.

    python bench/interpreter_matrix.py

Each module loads 256 x 256 matrices, executes one instruction on them and stores the result; the
multiply-add must take less than 50 ms. Parsing and compiling are not part of it: the driver
remembers modules.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
from measuring import Figure, concluded

from cts.device.driver import Status
from cts.device.job import Memory, ModuleJob
from cts.drivers.interpreter import Interpreter
from cts.spirv.encode import Id
from cts.spirv.module import ModuleBuilder

SIZE = 256
REPEATS = 9
PROMISES = {"multiply-add f16": 50.0}


class _Module:
    """A module under construction whose buffers all hold one SIZE x SIZE matrix of the component type."""

    def __init__(self, component: str, width: int) -> None:
        b = self.b = ModuleBuilder()
        b.capability(
            "Shader", "VulkanMemoryModel", "Float16", "Int8", "StorageBuffer16BitAccess", "StorageBuffer8BitAccess",
            "CooperativeMatrixKHR", "CooperativeMatrixReductionsNV", "CooperativeMatrixPerElementOperationsNV",
        )  # fmt: skip
        b.op("OpMemoryModel", "Logical", "Vulkan")
        self.void, self.uint = b.op("OpTypeVoid"), b.op("OpTypeInt", 32, 0)
        self.component = b.op("OpTypeFloat", width) if component == "float" else b.op("OpTypeInt", width, 1)
        self.dtype = np.dtype(f"{'f' if component == 'float' else 'i'}{width // 8}")
        self.buffers: list[Id] = []
        array = b.op("OpTypeRuntimeArray", self.component)
        block = b.op("OpTypeStruct", array)
        b.decorate(array, "ArrayStride", width // 8)
        b.decorate(block, "Block")
        b.op("OpMemberDecorate", block, 0, "Offset", 0)
        self._block = b.op("OpTypePointer", "StorageBuffer", block)
        self._element = b.op("OpTypePointer", "StorageBuffer", self.component)
        self.functions: list[Callable[[], None]] = []

    def matrix(self, use: int) -> Id:
        n = [self.constant(v) for v in (3, SIZE, SIZE, use)]
        return self.b.op("OpTypeCooperativeMatrixKHR", self.component, *n)

    def constant(self, value: int) -> Id:
        return self.b.op("OpConstant", self.uint, value)

    def start(self, buffers: int) -> None:
        """Declare buffers and enter main."""
        b = self.b
        for n in range(buffers):
            self.buffers.append(b.op("OpVariable", self._block, "StorageBuffer"))
            b.decorate(self.buffers[n], "DescriptorSet", 0)
            b.decorate(self.buffers[n], "Binding", n)
        procedure = b.op("OpTypeFunction", self.void)
        self.main = b.op("OpFunction", self.void, "None", procedure)
        b.op("OpLabel")
        b.op("OpEntryPoint", "GLCompute", self.main, "main", *self.buffers)
        b.op("OpExecutionMode", self.main, "LocalSize", 32, 1, 1)

    def _at(self, buffer: int) -> tuple[Id, Id, Id]:
        zero = self.constant(0)
        return self.b.op("OpAccessChain", self._element, self.buffers[buffer], zero, zero), zero, self.constant(SIZE)

    def load(self, buffer: int, use: int) -> Id:
        return self.b.op("OpCooperativeMatrixLoadKHR", self.matrix(use), *self._at(buffer))

    def finish(self, result: Id) -> None:
        """Store the result in the last buffer, leave main, and add the functions that are called."""
        pointer, order, stride = self._at(len(self.buffers) - 1)
        self.b.op("OpCooperativeMatrixStoreKHR", pointer, result, order, stride)
        self.b.op("OpReturn")
        self.b.op("OpFunctionEnd")
        for emit in self.functions:
            emit()

    def callback(self, parameters: list[Id], body: Callable[[list[Id]], Id]) -> Id:
        """The id of a function of the parameters, emitted after main, that returns what the body does."""
        b, id_ = self.b, self.b.id()
        signature = b.op("OpTypeFunction", self.component, *parameters)

        def emit() -> None:
            b.op("OpFunction", self.component, "None", signature, result=id_)
            given = [b.op("OpFunctionParameter", t) for t in parameters]
            b.op("OpLabel")
            b.op("OpReturnValue", body(given))
            b.op("OpFunctionEnd")

        self.functions.append(emit)
        return id_

    def job(self) -> ModuleJob:
        rng = np.random.default_rng(1)
        names = [f"b{n}" for n in range(len(self.buffers))]
        contents = [rng.integers(-4, 5, SIZE * SIZE).astype(self.dtype).view(np.uint8) for _ in names]
        buffers = {name: Memory(data, 0, len(data)) for name, data in zip(names, contents, strict=True)}
        bindings = {(0, n): name for n, name in enumerate(names)}
        return ModuleJob(words=self.b.words(), buffers=buffers, bindings=bindings, workgroups=(1, 1, 1))


def multiply_add(component: str, width: int) -> ModuleJob:
    """A x B + C, all of one component type."""
    m = _Module(component, width)
    m.start(4)
    signs = (
        [] if component == "float" else ["|".join(f"Matrix{x}SignedComponentsKHR" for x in ("A", "B", "C", "Result"))]
    )
    operands = [m.load(n, use) for n, use in enumerate((0, 1, 2))]
    m.finish(m.b.op("OpCooperativeMatrixMulAddKHR", m.matrix(2), *operands, *signs))
    return m.job()


def element_wise() -> ModuleJob:
    """A sum of two matrices."""
    m = _Module("float", 16)
    m.start(3)
    m.finish(m.b.op("OpFAdd", m.matrix(2), m.load(0, 2), m.load(1, 2)))
    return m.job()


def reduce_rows_and_columns() -> ModuleJob:
    """The sum of all elements."""
    m = _Module("float", 16)
    m.start(2)
    combine = m.callback([m.component] * 2, lambda p: m.b.op("OpFAdd", m.component, *p))
    m.finish(m.b.op("OpCooperativeMatrixReduceNV", m.matrix(2), m.load(0, 2), "Row|Column", combine))
    return m.job()


def per_element() -> ModuleJob:
    """Every element times its row and column added up."""
    m = _Module("float", 16)
    m.start(2)

    def body(p: list[Id]) -> Id:
        total = m.b.op("OpIAdd", m.uint, p[0], p[1])
        return m.b.op("OpFMul", m.component, m.b.op("OpConvertUToF", m.component, total), p[2])

    function = m.callback([m.uint, m.uint, m.component], body)
    m.finish(m.b.op("OpCooperativeMatrixPerElementOpNV", m.matrix(2), m.load(0, 2), function))
    return m.job()


def milliseconds(job: ModuleJob) -> float:
    """The median of some dispatches."""
    driver, taken = Interpreter(), []
    for _ in range(REPEATS + 1):
        begin = time.perf_counter()
        outcome = driver.run_module(job)
        taken.append((time.perf_counter() - begin) * 1000)
        assert outcome.status is Status.DONE, outcome.detail
    return statistics.median(taken[1:])


MODULES: dict[str, Callable[[], ModuleJob]] = {
    "multiply-add f16": lambda: multiply_add("float", 16),
    "multiply-add f32": lambda: multiply_add("float", 32),
    "multiply-add s8": lambda: multiply_add("int", 8),
    "multiply-add s32": lambda: multiply_add("int", 32),
    "add f16": element_wise,
    "reduce Row|Column f16": reduce_rows_and_columns,
    "per element f16": per_element,
}


def main() -> int:
    """Measure, print and judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.parse_args()
    measured = {name: milliseconds(make()) for name, make in MODULES.items()}
    for name, ms in measured.items():
        print(f"{name:24} {ms:8.2f} ms")
    return concluded(
        *(Figure(name, ms, "ms", at_most=PROMISES.get(name)) for name, ms in measured.items()),
    )


if __name__ == "__main__":
    sys.exit(main())
