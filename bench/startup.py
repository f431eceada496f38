"""What starting costs: `python bench/startup.py`. Exit status 1 where a limit is exceeded.

- the pytest plugin when it is not used: the time of importing it into a process that has pytest,
- a cold `cts run --profile smoke` on the emulator, with nothing compiled before.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PLUGIN_LIMIT = 0.050
SMOKE_LIMIT = 20.0

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


def cold_smoke_seconds() -> tuple[float, str]:
    """One smoke run with an empty numba cache, and its last line."""
    with tempfile.TemporaryDirectory() as folder:
        cold = {"NUMBA_CACHE_DIR": str(Path(folder) / "numba")}
        command = [sys.executable, "-m", "cts", "run", "--profile", "smoke", "--driver", "emulator"]
        start = time.perf_counter()
        ran = subprocess.run(command, cwd=folder, env={**os.environ, **cold}, capture_output=True, text=True)
        seconds = time.perf_counter() - start
    last = ran.stdout.strip().splitlines()[-1]
    assert re.search(r"exit status 0$", last), ran.stdout + ran.stderr
    return seconds, last


def main() -> int:
    """Print both, and compare them with their limits."""
    plugin = plugin_seconds()
    print(f"plugin import when unused: {1000 * plugin:.1f} ms (limit {1000 * PLUGIN_LIMIT:.0f} ms)")
    smoke, last = cold_smoke_seconds()
    print(f"cold cts run --profile smoke: {smoke:.1f} s (limit {SMOKE_LIMIT:.0f} s): {last}")
    return int(plugin > PLUGIN_LIMIT or smoke > SMOKE_LIMIT)


if __name__ == "__main__":
    sys.exit(main())
