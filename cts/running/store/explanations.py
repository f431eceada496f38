"""Explanations of the failures of a run, kept beside its results: `explanations.jsonl`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from cts.base import plain_json
from cts.base.errors import CtsError, HarnessTrouble
from cts.base.input_files import Kind, decoded_lines
from cts.case.model.identity import HASHES
from cts.judging.sentences import check_words, to_json
from cts.running.store import lines
from cts.running.store.run import Run

if TYPE_CHECKING:
    from cts.findings.explain import Explanation
    from cts.judging.events import Result

NAME = "explanations.jsonl"

_LINES = Kind("run-explanations", "a file that `--explain` wrote; delete it to explain all failures again")

Key = tuple[str, str]


def read(run: Run) -> dict[Key, Explanation]:
    """The explanations that are known already, by driver and content hash; a truncated line is ignored.

    In a run whose hashes are of another kind, explanations belong to its failures by name.
    """
    from cts.findings.explain import Explanation

    decoder = msgspec.json.Decoder(Explanation)

    def decode(line: bytes) -> Explanation:
        explanation = decoder.decode(line)
        check_words(explanation)
        return explanation

    path = run.path / NAME
    explanations = list(decoded_lines(lines.read(path), decode, _LINES, str(path)))
    renamed = {}
    if run.manifest.hashes != HASHES:
        failures = [(r.shown_on, r.finding.case) for r in run.findings() if r.finding is not None]
        renamed = {(driver, case.name): case.content_hash for driver, case in failures}
    return {(e.driver, renamed.get((e.driver, e.case), e.content_hash)): e for e in explanations}


def complete(run: Run, tell: Callable[[str], None]) -> dict[Key, Explanation]:
    """Explain on its driver each failure that is not explained yet, and keep that.

    `tell` is called with a line for each, and with errors. Only the failures of drivers that open are explained,
    and one that cannot be explained is left without.
    """
    explained = read(run)
    for driver, results in _missing(run, explained):
        try:
            explained.update(_on_driver(run, driver, results, tell))
        except CtsError as e:
            tell(str(e))
    return explained


def _missing(run: Run, explained: dict[Key, Explanation]) -> Iterator[tuple[str, list[Result]]]:
    by_driver: dict[str, list[Result]] = {}
    for result in run.findings():
        if not result.verdict.is_finding or result.finding is None:
            continue
        if (result.shown_on, result.finding.case.content_hash) not in explained:
            by_driver.setdefault(result.shown_on, []).append(result)
    yield from by_driver.items()


def _on_driver(
    run: Run, driver: str, results: list[Result], tell: Callable[[str], None]
) -> Iterator[tuple[Key, Explanation]]:
    from cts.findings.explain import DEVIATIONS, explain
    from cts.running.opening import open_driver

    opened = open_driver(driver)
    with closing(opened):
        for result in results:
            assert result.finding is not None
            case = result.finding.case
            tell(f"explaining {case.name} on {driver}")
            try:
                finding = result.finding
                explanation = explain(case, opened, found=finding.found, reduced=finding.reduced, deviations=DEVIATIONS)
            except CtsError as e:
                tell(str(e))
                continue
            _append(run.path / NAME, explanation)
            yield (driver, case.content_hash), explanation


def _append(path: Path, explanation: Explanation) -> None:
    try:
        with path.open("ab") as file:
            file.write(plain_json.encode(to_json(explanation)) + b"\n")
    except OSError as e:
        raise HarnessTrouble("run-unwritable", e.strerror or str(e), str(path), "a folder that can be written") from e
