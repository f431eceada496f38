"""A census: which dispatches of a folder a driver runs, and what the others lack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cts.base.errors import BadInput, CtsError
from cts.judging.verdict import Verdict
from cts.modules.dispatch.running import run_cases
from cts.modules.dispatch.words import MODULES


@dataclass(frozen=True)
class Counted:
    """A dispatch and its verdict; `lacking` names all that the driver lacks for it, each once."""

    name: str
    verdict: str
    lacking: tuple[str, ...] = ()
    detail: str = ""


def dispatches(folder: Path) -> list[Path]:
    """The dispatch files of a folder, and its modules that no file of the same name dispatches. Raises BadInput."""
    files = sorted(folder.rglob("*.yaml"))
    stems = {path.with_suffix("") for path in files}
    files += sorted(p for p in folder.rglob("*") if p.suffix in MODULES and p.with_suffix("") not in stems)
    if not files:
        raise BadInput("census", "no dispatch file and no module is there", str(folder), "a folder of these")
    return sorted(files)


def census(folder: Path, driver: str) -> Iterator[Counted]:
    """Every dispatch of a folder on one driver. What cannot be read counts as an error, with the reason."""
    for path in dispatches(folder):
        name = path.relative_to(folder).as_posix()
        try:
            for result in run_cases(path, [driver]):
                (ran,) = result.runs
                case = f"{name} {result.dispatch.case}".rstrip()
                lacks = ran.outcome.lacking or (ran.outcome.detail,)
                lacking = lacks if ran.verdict is Verdict.UNSUPPORTED else ()
                yield Counted(case, ran.verdict.value, lacking, ran.outcome.detail)
        except CtsError as e:
            yield Counted(name, Verdict.ERROR.value, (), str(e))


def lacking(counted: Sequence[Counted]) -> list[tuple[str, int, int]]:
    """What is lacking, with the number of dispatches that lack it, and of those that lack nothing else."""
    every = Counter(what for c in counted for what in c.lacking)
    alone = Counter(c.lacking[0] for c in counted if len(c.lacking) == 1)
    return sorted(((what, n, alone[what]) for what, n in every.items()), key=lambda row: (-row[1], -row[2], row[0]))


def lines(counted: Sequence[Counted]) -> Iterator[str]:
    """The census as text, after the lines of single dispatches."""
    verdicts = Counter(c.verdict for c in counted)
    yield f"{len(counted)} dispatches: {', '.join(f'{n} {name}' for name, n in verdicts.most_common())}"
    rows = lacking(counted)
    if rows:
        yield "lacked by  alone  what"
        yield from (f"{n:9}  {alone:5}  {what}" for what, n, alone in rows)


def line(c: Counted) -> Iterator[str]:
    """One dispatch as text: its verdict, and one line for each thing that is lacking."""
    yield f"{c.verdict}: {c.name}{'' if c.lacking or not c.detail else ': ' + c.detail}"
    yield from (f"  lacks {what}" for what in c.lacking)


def document(counted: Sequence[Counted]) -> dict[str, Any]:
    """The census as plain data."""
    return {
        "dispatches": [
            {"name": c.name, "verdict": c.verdict, "lacking": list(c.lacking), "detail": c.detail} for c in counted
        ],
        "lacking": [{"what": what, "dispatches": n, "alone": alone} for what, n, alone in lacking(counted)],
    }
