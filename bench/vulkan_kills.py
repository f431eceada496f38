"""Kills workers at random moments of a long run: no case may be without a verdict, and none may be wrong.

    python bench/vulkan_kills.py --driver vulkan:0 [--cases 2000] [--kills 200] [--json FILE]

Every case ends as what it should be or, where its worker was killed, as a crash. Exit status 1 otherwise.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np

from cts.device.driver import Status
from cts.device.job import Memory, ModuleJob
from cts.drivers.vulkan.driver import VulkanDriver
from cts.plugins import registry
from cts.spirv.module import ModuleBuilder

_GUARD = 1024


def main() -> int:
    """Run, kill, count; 1 when something was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--driver", default="vulkan")
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    driver = registry.driver(options.driver)
    assert isinstance(driver, VulkanDriver), "this bench is about the vulkan driver"
    killer = Killer(driver, options.cases, options.kills, options.seed)
    verdicts: Counter[str] = Counter()
    begin = time.perf_counter()
    try:
        for number, outcome in enumerate(driver.run_modules(job(i) for i in range(options.cases))):
            killer.seen(number)
            wrong = outcome.status is Status.DONE and not (outcome.memory["data"] == expected(number)).all()
            verdicts["wrong" if wrong else outcome.status.value] += 1
    finally:
        killer.stop()
        driver.close()
    report = {
        "cases": options.cases,
        "kills": killer.kills,
        "restarts": driver.pool.restarts,
        "verdicts": dict(verdicts),
        "seconds": round(time.perf_counter() - begin, 1),
    }
    print(json.dumps(report, indent=1))
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    complete = verdicts.total() == options.cases and set(verdicts) <= {"done", "crash"}
    return 0 if complete and verdicts["crash"] <= killer.kills and killer.kills >= options.kills else 1


class Killer:
    """A thread that kills a worker at random moments: while runs are in flight, and now and then while it starts."""

    def __init__(self, driver: VulkanDriver, cases: int, kills: int, seed: int) -> None:
        self.kills = 0
        self._driver = driver
        self._random = random.Random(seed)
        self._at = sorted(self._random.sample(range(cases - 1), kills))
        self._wake, self._done = threading.Semaphore(0), threading.Semaphore(0)
        self._over = False
        self._killed: set[int] = set()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def seen(self, number: int) -> None:
        """A case has its verdict. Where a kill is due, wait for it: what is in flight runs on meanwhile.

        A kill is due at the chosen case, or after it as soon as there is a worker that has not been killed.
        """
        if self._at and number >= self._at[0] and self._living():
            self._at.pop(0)
            self._wake.release()
            self._done.acquire()

    def stop(self) -> None:
        """Kill no more."""
        self._over = True
        self._wake.release()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self._wake.acquire()
            if self._over:
                return
            time.sleep(self._random.random() * 0.01)
            self._kill()
            self._done.release()
            if self._random.random() < 0.1:
                time.sleep(self._random.random() * 0.5)
                self._kill()

    def _living(self) -> list[int]:
        return [pid for pid in self._driver.pool.pids if pid not in self._killed]

    def _kill(self) -> None:
        living = self._living()
        with contextlib.suppress(ProcessLookupError):
            if living:
                pid = self._random.choice(living)
                os.kill(pid, signal.SIGKILL)
                self._killed.add(pid)
                self.kills += 1


def job(number: int) -> ModuleJob:
    """Two cases share a module: data[i] += number / 2, for eight words."""
    data = np.concatenate([np.full(_GUARD, 7, np.uint8), words(number).view(np.uint8), np.full(_GUARD, 7, np.uint8)])
    return ModuleJob(module(number // 2), (1, 1, 1), {"data": Memory(data, _GUARD, 32)}, {(0, 0): "data"})


def words(number: int) -> np.ndarray:
    """The contents before the run."""
    return np.arange(number, number + 8, dtype=np.uint32)


def expected(number: int) -> np.ndarray:
    """The memory after the run."""
    after = job(number).buffers["data"].data.copy()
    after[_GUARD:-_GUARD] = (words(number) + np.uint32(number // 2)).view(np.uint8)
    return after


def module(addend: int) -> np.ndarray:
    """A generic compute module."""
    b = ModuleBuilder()
    op = b.op
    b.capability("Shader", "VulkanMemoryModel")
    uint = op("OpTypeInt", 32, 0)
    vector = op("OpTypeVector", uint, 3)
    index = op("OpVariable", op("OpTypePointer", "Input", vector), "Input")
    array = op("OpTypeRuntimeArray", uint)
    block = op("OpTypeStruct", array)
    data = op("OpVariable", op("OpTypePointer", "StorageBuffer", block), "StorageBuffer")
    b.decorate(index, "BuiltIn", "GlobalInvocationId")
    b.decorate(array, "ArrayStride", 4)
    b.decorate(block, "Block")
    op("OpMemberDecorate", block, 0, "Offset", 0)
    b.decorate(data, "DescriptorSet", 0)
    b.decorate(data, "Binding", 0)
    zero, constant = op("OpConstant", uint, 0), op("OpConstant", uint, addend)
    element = op("OpTypePointer", "StorageBuffer", uint)
    main_ = b.id()
    op("OpExecutionMode", main_, "LocalSize", 8, 1, 1)
    void = op("OpTypeVoid")
    op("OpFunction", void, "None", op("OpTypeFunction", void), result=main_)
    op("OpLabel")
    i = op("OpCompositeExtract", uint, op("OpLoad", vector, index), 0)
    pointer = op("OpAccessChain", element, data, zero, i)
    op("OpStore", pointer, op("OpIAdd", uint, op("OpLoad", uint, pointer), constant))
    op("OpReturn")
    op("OpFunctionEnd")
    op("OpEntryPoint", "GLCompute", main_, "main", index, data)
    op("OpMemoryModel", "Logical", "Vulkan")
    return b.words()


if __name__ == "__main__":
    sys.exit(main())
