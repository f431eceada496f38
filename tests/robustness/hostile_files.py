"""Hostile files of every kind, drawn by a seed, given to the command that reads them: what no command may do then.

By hand, thousands of them: `python -m tests.robustness.hostile_files --count 10000 --seed 1 --keep FOLDER`. Every kind
of finding is printed once, and its first file kept.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import random
import re
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import pytest

from cts.faces.cli import main
from tests.robustness.examples import EXAMPLES, FILE, FOLDER, Example, World, world
from tests.robustness.mutations import put

#: The longest that a command may take, in seconds.
PATIENCE = 20

#: What a terminal may obey: control characters but for newline and tab, in UTF-8.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

_FRAME = re.compile(r'File "([^"]*/)?([^"/]+/[^"/]+\.py)", line (\d+)')


class TooSlow(BaseException):
    """A command takes longer than PATIENCE."""


@dataclass(frozen=True)
class Finding:
    """What a command must not do: its kind, what it was given, and what it printed."""

    kind: str
    example: str
    command: tuple[str, ...]
    hostile: bytes | str
    text: str


def _alarm(signal_number: int, frame: FrameType | None) -> None:
    raise TooSlow("".join(traceback.format_stack(frame)))


def ran(arguments: tuple[str, ...]) -> tuple[int, str, str]:
    """Exit status and output of a command in this process; the text of an exception that left it is an output, too."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    status = 0
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.setattr(sys, "argv", ["cts", *arguments])
        try:
            main()
        except SystemExit as e:
            status = e.code if isinstance(e.code, int) else 0
        except TooSlow:
            raise
        except BaseException:  # noqa: BLE001 - which is a finding
            status = 3
            traceback.print_exc(file=err)
        finally:
            logging.getLogger("cts").handlers.clear()
    texts = []
    for stream in (out, err):
        assert isinstance(stream.buffer, io.BytesIO)
        texts.append(stream.buffer.getvalue().decode("utf-8", "surrogateescape"))
    return status, texts[0], texts[1]


def kinds(status: int, out: str, err: str) -> Iterator[tuple[str, str]]:
    """What is wrong with the end of a command: a name that is the same for the same mistake, and the text."""
    if "Traceback" in err or "Traceback" in out:
        text = err if "Traceback" in err else out
        last = next(
            (line for line in reversed(text.splitlines()) if re.match(r"[\w.]+(Error|Exception|Exit)?\b", line)), ""
        )
        frames = [f"{m[2]}:{m[3]}" for m in _FRAME.finditer(text)]
        yield f"traceback: {last.partition(':')[0]} at {frames[-1] if frames else '?'}", text
    elif status not in (0, 1, 2, 3):
        yield f"exit status {status}", err
    for name, text in (("stdout", out), ("stderr", err)):
        if found := _CONTROL.search(text):
            at = found.start()
            line = text.count("\n", 0, at)
            yield (
                f"control character on {name}: {' '.join(text.splitlines()[line].split()[:2])[:40]!a}",
                text[: at + 40],
            )


def tried(
    folder: World, draw: random.Random, example: Example, command: tuple[str, ...]
) -> tuple[list[Finding], float, bytes | str]:
    """One hostile file for one command."""
    path, good = folder.fresh(example, draw.choice)
    hostile = put(draw, path, good, example.kind)
    names = {FILE: str(path.relative_to(folder.folder)), FOLDER: str(path.parent.relative_to(folder.folder))}
    arguments = tuple(names.get(word, "rules.layout_dim_zero" if word == "RULE" else word) for word in command)
    began = time.monotonic()
    findings = []
    signal.alarm(PATIENCE)
    try:
        with contextlib.chdir(folder.folder):
            found = kinds(*ran(arguments))
            findings = [Finding(kind, example.name, arguments, hostile, text) for kind, text in found]
    except TooSlow as e:
        frames = [f"{m[2]}:{m[3]}" for m in _FRAME.finditer(str(e)) if "/cts/" in (m[1] or "") or m[2][:4] == "cts/"]
        findings = [Finding(f"slow: {frames[-1] if frames else '?'}", example.name, arguments, hostile, str(e))]
    finally:
        signal.alarm(0)
        folder.restore(path)
    return findings, time.monotonic() - began, hostile


def hostile_runs(
    folder: World, count: int, seed: int
) -> Iterator[tuple[list[Finding], float, Example, tuple[str, ...]]]:
    """So many commands with hostile files."""
    before = signal.signal(signal.SIGALRM, _alarm)
    try:
        for number in range(count):
            draw = random.Random(f"{seed} {number}")
            (example,) = draw.choices(EXAMPLES, [e.weight for e in EXAMPLES])
            command = draw.choice(example.commands)
            findings, seconds, _ = tried(folder, draw, example, command)
            yield findings, seconds, example, command
    finally:
        signal.signal(signal.SIGALRM, before)


def by_hand() -> None:
    """Try many, and print what is found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="where the first file of each kind of finding is kept")
    options = parser.parse_args()
    seen: Counter[str] = Counter()
    spent: dict[str, list[float]] = {}
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name, world(Path(name)) as folder:
        print(f"examples made in {time.monotonic() - began:.1f} s", flush=True)
        began = time.monotonic()
        for number, (findings, seconds, example, command) in enumerate(
            hostile_runs(folder, options.count, options.seed)
        ):
            verb = f"{command[0]} {example.name}"
            spent.setdefault(verb, []).append(seconds)
            for finding in findings:
                seen[finding.kind] += 1
                if seen[finding.kind] == 1:
                    _print(number, finding, options.keep)
        seconds = time.monotonic() - began
    print(f"\n{options.count} hostile files in {seconds:.0f} s, seed {options.seed}")
    for kind, times in seen.most_common():
        print(f"{times:6} {kind}")
    for verb, times_spent in sorted(spent.items(), key=lambda item: -sum(item[1])):
        print(f"{len(times_spent):6} {verb}: {sum(times_spent):.0f} s, at most {max(times_spent):.1f} s")


def _print(number: int, finding: Finding, keep: Path | None) -> None:
    print(f"\n#{number} {finding.kind}\n  {finding.example}: cts {' '.join(finding.command)}")
    print("  " + "\n  ".join(ascii(line)[1:-1][:200] for line in finding.text.splitlines()[-12:]), flush=True)
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        kept = finding.hostile if isinstance(finding.hostile, bytes) else finding.hostile.encode()
        (keep / f"{number}-{re.sub('[^a-z]+', '-', finding.kind.lower())[:60]}").write_bytes(kept)


if __name__ == "__main__":
    by_hand()
