"""Lists of failures, flakes and skips as deqp-runner has them, from runs and into baselines.

A list of failures has a name, a comma and a status in each line; one of flakes or skips a regular expression that is
searched in names. Lists of drivers name cases of other suites as well: lines that name none of ours are counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from cts.base.errors import BadInput, did_you_mean
from cts.base.input_files import Kind, utf8_text
from cts.base.plain_yaml import flow
from cts.case.model.identity import HASHES
from cts.judging.events import Result
from cts.judging.known.baseline import glob
from cts.judging.verdict import Verdict

FORMATS = ("fails", "flakes", "skips")

#: The runner's status of a verdict.
_STATUS = {
    Verdict.FAIL: "Fail",
    Verdict.CRASH: "Crash",
    Verdict.DEVICE_LOST: "Crash",
    Verdict.TIMEOUT: "Timeout",
    Verdict.ERROR: "Fail",
}

#: The verdicts of a status; a runner that has a baseline writes ExpectedFail for any of them.
_VERDICTS: dict[str, list[str]] = {
    "Fail": ["fail"],
    "Crash": ["crash", "device-lost"],
    "Timeout": ["timeout"],
    "ExpectedFail": ["fail", "crash", "device-lost", "timeout"],
}

#: Lines of a runner's results that say of no failure that it is known.
_NO_FAILURE = re.compile(r"Pass|Skip|Warn|Flake|Missing|UnexpectedImprovement\(.*\)|KnownFlake")

#: Cases that take a device away from all others.
_STOPPING = (Verdict.TIMEOUT, Verdict.DEVICE_LOST)

_FILE = Kind("list", "a text file, as deqp-runner reads it")


def check_format(name: str, option: str) -> None:
    """Raise BadInput for a format that there is not."""
    if name not in FORMATS:
        raise BadInput("list-format", f"no format {name!r}", f"{option} {name}", did_you_mean(name, FORMATS))


def exported(results: Iterable[Result], format_name: str) -> tuple[list[str], int]:
    """The lines of a list of a run's results, ascending, and how many generated results it cannot name.

    `skips` lists cases that hang or lose the device. What is a flake is in no list of failures.
    """
    lines, unnamed = set(), 0
    for result in results:
        flaky = result.verdict is Verdict.FLAKY
        if not (result.verdict.is_finding or result.verdict is Verdict.ERROR):
            continue
        listed = {"fails": not flaky, "flakes": flaky, "skips": result.verdict in _STOPPING}[format_name]
        if listed and result.generated:
            unnamed += 1
        elif listed:
            named = format_name == "fails"
            lines.add(f"{result.name},{_STATUS[result.verdict]}" if named else f"^{re.escape(result.name)}$")
    return sorted(lines), unnamed


@dataclass(frozen=True)
class Imported:
    """A baseline as text; how many entries it has, and how many lines of the list name no failure of a case of ours."""

    text: str
    entries: int
    foreign: int


def imported(path: Path, format_name: str, driver: str, reason: str, names: Sequence[str]) -> Imported:
    """A list as a baseline for a driver (a glob), with a reason. `names` are those of all cases. Raises BadInput."""
    entries: list[dict[str, object]] = []
    foreign = 0
    known = frozenset(names)
    for number, line in enumerate(utf8_text(path, _FILE).splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if format_name == "fails":
            cases, verdicts = _failure(text, known, f"{path}:{number}")
            outcome: dict[str, object] = {"verdict": verdicts[0] if len(verdicts) == 1 else verdicts}
        else:
            cases = _globs(text, names, f"{path}:{number}")
            flaky: dict[str, object] = {"verdict": ["flaky", *_VERDICTS["ExpectedFail"]]}
            outcome = {"when": "never"} if format_name == "skips" else flaky
        foreign += not cases
        entries += [{"match": {"driver": driver, "cases": case}, **outcome, "reason": reason} for case in cases]
    lines = "".join(f"  - {flow(entry)}\n" for entry in entries)
    head = f"schema: 1\nhashes: {HASHES}\n"
    return Imported(f"{head}entries:\n{lines}" if entries else f"{head}entries: []\n", len(entries), foreign)


def _failure(line: str, known: frozenset[str], where: str) -> tuple[list[str], list[str]]:
    """The line's case, if it is ours and failed, and its verdicts. Raises BadInput."""
    name, comma, rest = line.partition(",")
    status = rest.partition(",")[0].strip()
    if not comma or not (status in _VERDICTS or _NO_FAILURE.fullmatch(status)):
        what = f"no status {status!r}" if comma else "no comma and status"
        raise BadInput("list-malformed", what, where, f"NAME,{did_you_mean(status, list(_VERDICTS))}")
    listed = name in known and status in _VERDICTS
    return ([glob(name)] if listed else []), _VERDICTS.get(status, ["fail"])


def _globs(line: str, names: Sequence[str], where: str) -> list[str]:
    """Globs of exactly the names in which a regular expression is found: one if it can be said so."""
    try:
        pattern = re.compile(line)
    except re.error as e:
        raise BadInput(
            "list-malformed", f"no regular expression: {e}", where, "such as tensor_addressing\\.clip.*"
        ) from e
    found = [name for name in names if pattern.search(name)]
    if len(found) < 2:
        return [glob(name) for name in found]
    body = line.removeprefix("^").removesuffix("$").replace(r"\.", ".").replace(".*", "*")
    whole = f"{'' if line.startswith('^') else '*'}{body}{'' if line.endswith('$') else '*'}".replace("**", "*")
    plain = re.fullmatch(r"[\w.*-]+", whole) is not None
    same = plain and [name for name in names if fnmatchcase(name, whole)] == found
    return [whole] if same else [glob(name) for name in found]
