"""Modules with flipped bits: what they are made from, and what no module may do to whoever runs it."""

from __future__ import annotations

import random
import resource
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cts.base.errors import BadInput, HarnessTrouble
from cts.case.model import initial_memory, load_case
from cts.device.driver import Status
from cts.device.job import ModuleJob
from cts.drivers.interpreter import Interpreter
from cts.drivers.vulkan import module as vulkan_module
from cts.modules.dispatch.interface import interface
from cts.running import corpus
from cts.spirv.decode import DecodeError
from cts.spirv.lower import module_job

Words = npt.NDArray[np.uint32]

#: Limits of each run, so that none takes long.
STEPS, MEMORY = 20_000, 256 << 20

#: The longest that a module may take, in seconds: far more than the limits above allow on a slow machine.
PATIENCE = 30.0

#: The longest that a command may take, in seconds of processor.
SECONDS = 20.0


@lru_cache(maxsize=1)
def seeds() -> tuple[ModuleJob, ...]:
    """One job of every topic of the corpus: modules with every instruction of the suite."""
    entries, _ = corpus.select([])
    by_topic = {entry.name.rsplit(".", 1)[0]: entry for entry in entries}
    jobs = []
    for entry in by_topic.values():
        case = load_case(entry.path)
        jobs.append(module_job(case, initial_memory(case), case.dispatch.subgroup_size or 32))
    return tuple(jobs)


def hostile(seed: int, jobs: tuple[ModuleJob, ...]) -> Iterator[ModuleJob]:
    """Jobs whose words are damaged: bits flipped, words and ids replaced, left out, or the end cut off."""
    draw = random.Random(seed)
    while True:
        job = draw.choice(jobs)
        words = job.words.copy()
        for _ in range(draw.choice((1, 1, 1, 2, 3, 8))):
            at = draw.randrange(len(words))
            match draw.randrange(8):
                case 0:
                    words[at] = words[draw.randrange(len(words))]
                case 1:
                    words[at] = draw.choice((0, 1, 2**31, 2**32 - 1, 2**16, 0x7FFFFFFF))
                case 2 if draw.randrange(8) == 0:
                    words = np.delete(words, at)
                case 3 if draw.randrange(8) == 0:
                    words = words[: max(at, 1)]
                case 4 | 5 if at > 4:
                    if words[at] < words[3]:
                        words[at] = draw.randrange(int(words[3]))
                case _:
                    words[at] ^= np.uint32(1 << draw.randrange(32))
        yield replace(job, words=words)


def fuzz(count: int, seed: int, jobs: tuple[ModuleJob, ...]) -> tuple[Counter[str], list[str]]:
    """Run so many damaged modules: how they ended, and what was wrong with how."""
    driver = Interpreter(max_steps=STEPS, max_memory=MEMORY, check=frozenset({"contract"}))
    ends: Counter[str] = Counter()
    wrong: list[str] = []
    for number, job in zip(range(count), hostile(seed, jobs), strict=False):
        started = time.monotonic()
        end, problem = _run(driver, job)
        ends[end] += 1
        seconds = time.monotonic() - started
        if seconds > PATIENCE:
            problem = f"took {seconds:.0f} s: {end}"
        if problem:
            wrong.append(f"seed {seed}, module {number}: {problem}")
        if number % 200 == 0:
            driver.close()
    return ends, wrong


def commands(count: int, seed: int, jobs: tuple[ModuleJob, ...], folder: Path) -> tuple[Counter[str], list[str]]:
    """Give so many damaged modules to `cts dispatch`, by themselves and for a template; as `fuzz`.

    A command that takes more than `SECONDS` of processor is wrong.
    """
    from cts.modules.dispatch import run
    from cts.modules.dispatch.report import lines
    from cts.modules.dispatch.template import template

    def alone(path: Path) -> str:
        result = run(path)
        text = "\n".join(lines(result))
        fault = result.runs[0].outcome.fault
        if fault is not None and fault.code == "internal":
            raise AssertionError(text)
        return result.runs[0].outcome.status.value if fault is None else fault.code

    def written(path: Path) -> str:
        return "runs" if "# On the interpreter" not in template(path, None) else "ends early"

    ends: Counter[str] = Counter()
    wrong: list[str] = []
    path = folder / "m.spv"
    for number, job in zip(range(count), hostile(seed, jobs), strict=False):
        job.words.astype("<u4").tofile(path)
        for name, command in (("run", alone), ("template", written)):
            began = _processor()
            try:
                end = command(path)
            except (BadInput, HarnessTrouble) as e:
                end = e.code
            except Exception as e:  # noqa: BLE001 - what it may be is the question
                end = "traceback"
                wrong.append(f"seed {seed}, module {number}, {name}: {type(e).__name__}: {e}")
            ends[f"{name}: {end}"] += 1
            if (seconds := _processor() - began) > SECONDS:
                wrong.append(f"seed {seed}, module {number}, {name}: took {seconds:.0f} s of processor: {end}")
    return ends, wrong


def shaders() -> tuple[ModuleJob, ...]:
    """Modules of compilers, in jobs of another module."""
    first = seeds()[0]
    files = sorted(Path(__file__).parent.glob("*/*.spv"))
    return tuple(replace(first, words=np.fromfile(file, "<u4").astype(np.uint32)) for file in files)


def _processor() -> float:
    """Seconds of processor that this process and those that it waited for have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def _run(driver: Interpreter, job: ModuleJob) -> tuple[str, str]:
    """How one module ended, and what is wrong with that."""
    for read, expected in ((_interface, DecodeError), (_facts, vulkan_module.Unreadable)):
        try:
            read(job)
        except expected:
            pass
        except Exception as e:  # noqa: BLE001 - what it may be is the question
            return "unreadable", f"{read.__name__}: {type(e).__name__}: {e}"
    outcome = driver.run_module(job)
    if outcome.status is Status.DONE:
        return "done", ""
    fault = outcome.fault
    if fault is None or not fault.what or not outcome.detail:
        return "nothing said", f"{outcome.status}: {outcome.detail!r}"
    return fault.code, outcome.detail if fault.code == "internal" else ""


def _interface(job: ModuleJob) -> Any:
    return interface(job.words)


def _facts(job: ModuleJob) -> Any:
    return vulkan_module.facts(job.words, job.entry, job.spec_constants)
