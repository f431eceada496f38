"""What a dispatch of little work costs: `python bench/tiny.py [--runs N]`. Exit status 1 where a promise is not kept.

`shaders/tiny.comp` has 32 invocations, each with a loop of 64 steps of scalar arithmetic and buffer accesses. What is
printed is in seconds, the median of some runs, and in ratios to what was measured in the same minute:

- a process that imports NumPy and nothing else, which is as little as the command can take,
- `cts dispatch`, at most 2.5 times that,
- the module alone in a process that has imported everything, and once more when it is compiled: at most a tenth of the
  command,
- each of a hundred cases more in one file, with data of their own: at most a twentieth of the command,
- the command beside as many counting processes as there are processors, and beside as many that multiply matrices.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from measuring import Figure, concluded

from cts.device.job import Memory, ModuleJob
from cts.drivers.interpreter import Interpreter
from cts.running.checks import processors

COMMAND_LIMIT = 2.5
MODULE_LIMIT = 0.1
CASE_LIMIT = 0.05
CASES = 100
SHADER = Path(__file__).parent / "shaders" / "tiny.spv"

FILE = f"""
module: {SHADER}
dispatch: [1, 1, 1]
buffers:
  source: {{type: uint32, shape: [64], iota: {{start: 1, step: 7919}}}}
  result: {{type: uint32, shape: [32], fill: 0}}
bindings: {{"0.0": source, "0.1": result}}
outputs: [result]
"""

#: The same, `CASES` times more with other data.
CASES_FILE = f"{FILE}cases:\n" + "".join(
    f"  c{n}: {{buffers: {{source: {{type: uint32, shape: [64], iota: {{start: {n}, step: 7919}}}}}}}}\n"
    for n in range(CASES + 1)
)

RIVALS = {
    "counting processes": "while True: sum(range(1000))",
    "multiplying processes": "import numpy as np\na = np.ones((512, 512))\nwhile True: a @ a",
}


def expected(source: np.ndarray) -> np.ndarray:
    """What the shader leaves in `result`, for `source` (64,) of uint32."""
    lanes, total = np.arange(32), np.zeros(32, np.uint32)
    for k in range(64):
        x = source[(lanes + k) % len(source)]
        x = x ^ x << np.uint32(13)
        x = x ^ x >> np.uint32(17)
        total = np.where(x & 1, total - np.uint32(k), total + x * np.uint32(3))
    return total


def in_process(runs: int) -> tuple[float, float]:
    """Seconds of the module: the first time, and the median of the others."""
    source, result = (np.arange(64) * 7919 + 1).astype(np.uint32), np.zeros(32, np.uint32)
    buffers = {name: Memory(x.view(np.uint8), 0, x.nbytes) for name, x in (("source", source), ("result", result))}
    job = ModuleJob(np.fromfile(SHADER, np.uint32), (1, 1, 1), buffers, {(0, 0): "source", (0, 1): "result"})
    driver, taken = Interpreter(), []
    for _ in range(runs + 1):
        start = time.perf_counter()
        outcome = driver.run_module(job)
        taken.append(time.perf_counter() - start)
    assert (outcome.memory["result"].view(np.uint32) == expected(source)).all()
    return taken[0], statistics.median(taken[1:])


def seconds(command: list[str], runs: int) -> float:
    """The median time of a command; the first, which compiles to bytecode, does not count."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    taken = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        subprocess.run([sys.executable, *command], env=environment, check=True, capture_output=True)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken[1:])


@contextlib.contextmanager
def beside(code: str) -> Iterator[None]:
    """Within, as many processes as there are processors run some code."""
    rivals = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(processors())]
    time.sleep(1)
    try:
        yield
    finally:
        for rival in rivals:
            rival.kill()
            rival.wait()


def main() -> int:
    """Measure, print and judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=9, metavar="N")
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        file, cases_file = Path(folder) / "tiny.yaml", Path(folder) / "cases.yaml"
        file.write_text(FILE)
        cases_file.write_text(CASES_FILE)
        command = ["-m", "cts", "dispatch", str(file)]
        floor, whole = seconds(["-c", "import numpy"], runs), seconds(command, runs)
        first, again = in_process(runs)
        print(f"a process that imports NumPy: {floor:.3f} s")
        print(f"cts dispatch: {whole:.3f} s, {whole / floor:.1f} times that (at most {COMMAND_LIMIT:g})")
        print(f"the module alone: {first:.4f} s, {first / whole:.3f} of the command; compiled: {again:.4f} s")
        each = (seconds([*command[:-1], str(cases_file)], runs) - whole) / CASES
        print(f"{CASES} cases more in one file: {each:.4f} s each, {each / whole:.3f} of the command")
        for name, code in RIVALS.items():
            with beside(code):
                slow = seconds(command, runs)
            print(f"cts dispatch beside {processors()} {name}: {slow:.3f} s, {slow / whole:.1f} times that alone")
    return concluded(
        Figure("the command, to a process that imports NumPy", whole / floor, "times", at_most=COMMAND_LIMIT),
        Figure("the module alone, to the command", first / whole, "times", at_most=MODULE_LIMIT),
        Figure("a case more in the file, to the command", each / whole, "times", at_most=CASE_LIMIT),
        Figure("the command", whole, "s"),
    )


if __name__ == "__main__":
    sys.exit(main())
