"""A seed gives the same examples whatever else is in the process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import cts

EXAMPLES = """
import contextlib, sys
import full_of_constants
from cts.plugins import registry
from cts.running import drawing
from cts.capabilities import everything
from cts.running.profiles import Profile
from hypothesis import strategies as st
if not GUARDED: drawing.same_examples_everywhere = contextlib.nullcontext
# Beside cases, which draw few numbers above 100, many numbers that could be one of the constants.
numbers = st.lists(st.integers(0, 1000), min_size=20, max_size=20)
strategy = st.tuples(registry.area("tensor_addressing")(everything()), numbers)
show = lambda drawn: print(drawn[0].content_hash, *drawn[1], sep="-")
drawing.for_each(strategy, Profile("default", 60, 1), show)
"""


def examples(folder: Path, constants: range, *, guarded: bool = True) -> list[str]:
    """Hashes of the first cases of a process that has imported a module with these constants."""
    folder.mkdir()
    (folder / "full_of_constants.py").write_text(f"CONSTANTS = {list(constants)}\n")
    paths = {"PYTHONPATH": os.pathsep.join([str(folder), str(Path(cts.__file__).parents[1])])}
    command = [sys.executable, "-c", f"GUARDED = {guarded}\n{EXAMPLES}"]
    ran = subprocess.run(command, cwd=folder, env={**os.environ, **paths}, check=True, capture_output=True, text=True)
    return ran.stdout.split()


def test_constants_of_other_modules_do_not_matter(tmp_path: Path) -> None:
    many, none = range(101, 400), range(0)
    expected = examples(tmp_path / "none", none)
    assert len(expected) == 60
    assert examples(tmp_path / "many", many) == expected
    assert examples(tmp_path / "unguarded", many, guarded=False) != expected, "or this test could not fail"
