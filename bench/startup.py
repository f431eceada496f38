"""What starting costs: `python bench/startup.py`. Exit status 1 where a limit is exceeded.

- the pytest plugin when it is not used: the time of importing it into a process that has pytest,
- `cts --version`, and a `cts dispatch` of a module that does nothing: the least of some times, compiled to bytecode,
- `cts demo`, with nothing compiled before, to its first line and to its end,
- `cts run --profile smoke` on the interpreter.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from measuring import Figure, concluded

PLUGIN_LIMIT = 0.050
DISPATCH_LIMIT = 0.4
FIRST_LINE_LIMIT = 3.0
DEMO_LIMIT = 30.0
SMOKE_LIMIT = 15.0

PROBE = """
import time
import pytest
start = time.perf_counter()
import cts.pytest_plugin
print(time.perf_counter() - start)
"""


def plugin_seconds(runs: int = 15) -> float:
    """Median time of importing the plugin after pytest, in new processes."""
    times = []
    for _ in range(runs):
        probe = subprocess.run([sys.executable, "-c", PROBE], check=True, capture_output=True, text=True)
        times.append(float(probe.stdout))
    return statistics.median(times)


#: A module that does nothing.
NOTHING = """
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize 1 1 1
%void = OpTypeVoid
%function = OpTypeFunction %void
%main = OpFunction %void None %function
%start = OpLabel
OpReturn
OpFunctionEnd
"""


def short_seconds(*arguments: str, runs: int = 10) -> float:
    """The least time of a short command, in a folder with `nothing.yaml`; the first, which compiles, does not count."""
    compiled = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    times = []
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "nothing.spvasm").write_text(NOTHING)
        (Path(folder) / "nothing.yaml").write_text("{module: nothing.spvasm, dispatch: [1, 1, 1], buffers: {}}")
        for _ in range(runs + 1):
            start = time.perf_counter()
            command = [sys.executable, "-m", "cts", *arguments]
            subprocess.run(command, cwd=folder, env=compiled, check=True, capture_output=True)
            times.append(time.perf_counter() - start)
    return min(times[1:])


@dataclass(frozen=True)
class Timed:
    """A command: seconds to its first line and to its end, and its last lines."""

    first: float
    end: float
    text: str


def timed(*arguments: str) -> Timed:
    """A `cts` command that ends with status 0, in a folder and with a cache of its own."""
    with tempfile.TemporaryDirectory() as folder:
        cold = {**os.environ, "NUMBA_CACHE_DIR": str(Path(folder) / "numba")}
        start = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "cts", *arguments], cwd=folder, env=cold, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        first = time.perf_counter() - start
        lines += process.stdout.readlines()
        status = process.wait()
        end = time.perf_counter() - start
    assert status == 0, "".join(lines)
    return Timed(first, end, "".join(lines))


def main() -> int:
    """Print each figure beside its limit."""
    demo = timed("demo")
    smoke = timed("run", "--profile", "smoke", "--driver", "interpreter")
    assert re.search(r"exit status 0$", smoke.text.strip()), smoke.text
    rows = (
        ("plugin import when unused", plugin_seconds(), PLUGIN_LIMIT),
        ("cts --version", short_seconds("--version"), DISPATCH_LIMIT),
        ("cts dispatch of a module that does nothing", short_seconds("dispatch", "nothing.yaml"), DISPATCH_LIMIT),
        ("cts demo, to its first line", demo.first, FIRST_LINE_LIMIT),
        ("cts demo, nothing compiled", demo.end, DEMO_LIMIT),
        ("cts run --profile smoke on the interpreter", smoke.end, SMOKE_LIMIT),
    )
    for what, seconds, limit in rows:
        print(f"{what}: {seconds:.3f} s (limit {limit:g} s)")
    return concluded(*(Figure(what, seconds, "s", at_most=limit) for what, seconds, limit in rows))


if __name__ == "__main__":
    sys.exit(main())
