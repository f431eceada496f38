"""A device's certificate: for each row that it lists whether its cases are right, and how it accumulates.

The cases are those of `cts run --listed`: of each row the smallest and the largest, nothing drawn.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from cts.base.printable import said
from cts.base.revision import suite
from cts.case.model import Case, MatrixShape, types_of
from cts.case.oracle.expectation import Oracle
from cts.device.capabilities import Capabilities, Feature
from cts.device.rows import covers, mul_adds, vector_muls
from cts.judging.events import Result
from cts.judging.judge import OUR_ENDS, OpenDriver
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running.accumulation import Accumulation, measurable, measured
from cts.running.cases import run_entries
from cts.running.compiling import size_of
from cts.running.corpus import Entry
from cts.running.listed import FOLDER

State: TypeAlias = Literal["right", "wrong", "crashes", "slow", "not tried"]

#: The worst first: where the cases of a row end differently, it counts.
STATES: tuple[State, ...] = ("wrong", "crashes", "slow", "right", "not tried")

_STATE: dict[Verdict, State] = {
    Verdict.PASS: "right",
    Verdict.FAIL: "wrong",
    Verdict.FLAKY: "wrong",
    Verdict.CRASH: "crashes",
    Verdict.DEVICE_LOST: "crashes",
    Verdict.TIMEOUT: "slow",
}

#: Seconds of a case from which its row is slow: making the pipeline and running it once.
SLOW = 10.0


class Row(Struct, frozen=True, omit_defaults=True):
    """A row that a device lists, and what became of its cases.

    `key` are its types and sizes by name, as the device lists them. `cases` counts those that ran, and `left` those for
    which no time was left: larger ones. `seconds` is the longest time that one took, with compilation, `compiling` the
    longest compilation, 0 if unknown. `finding` is the first thing that is wrong, `shown_by` the case.
    """

    kind: str
    name: str
    key: dict[str, Any]
    state: State
    cases: int
    seconds: float
    compiling: float = 0.0
    finding: str = ""
    shown_by: str = ""
    accumulation: Accumulation | None = None
    left: int = 0


class Certificate(Struct, frozen=True):
    """What a device lists, row by row. `left_out` are rows that no case can say."""

    device: str
    driver: str
    suite: str
    seconds: float
    rows: list[Row]
    left_out: list[str]
    schema: Literal[1] = 1

    @property
    def wrong(self) -> bool:
        """Whether any row is not right, of those that were tried."""
        return any(row.state in ("wrong", "crashes") for row in self.rows)


@dataclass
class _Listed:
    """A row with its cases, and their results.

    `unfinished` is the case that was not waited for; `left` counts those for which no time was left.
    """

    kind: str
    key: dict[str, Any]
    cases: list[Case]
    results: list[Result] = field(default_factory=list)
    unfinished: str = ""
    left: int = 0
    accumulation: Accumulation | None = None

    @property
    def names(self) -> set[str]:
        """The names of its cases."""
        return {case.name for case in self.cases}

    @property
    def ended(self) -> bool:
        """Whether no other case can change its state."""
        return bool(self.unfinished) or any(result.verdict.is_finding for result in self.results)

    @property
    def name(self) -> str:
        """The kind, and the values of the key; of what is true its name."""
        values = (name if value is True else value for name, value in self.key.items() if value is not False)
        return " ".join([self.kind, *map(str, values)])


def certify(
    opened: OpenDriver,
    oracle: Oracle,
    headline: Callable[[Result], str],
    max_seconds: float,
    words: Sequence[str] = (),
) -> Certificate:
    """Run the cases of each row whose name has all the words, the smallest of all rows first, until the time is up.

    `headline` puts a failure into words.
    """
    start = time.monotonic()
    generated = registry.listed()(opened.capabilities)
    rows = [row for row in _rows(opened.capabilities, generated.cases) if all(w in row.name for w in words)]
    cases = {case.name: case for row in rows for case in row.cases}.values()
    for case in sorted(cases, key=lambda case: size_of(case).elements):
        of_case = [row for row in rows if not row.ended and case.name in row.names]
        if time.monotonic() - start >= max_seconds:
            for row in of_case:
                row.left += 1
        elif of_case:
            _try(case, of_case, opened, oracle)
    seconds = round(time.monotonic() - start, 3)
    device = opened.identity or opened.spec
    finished = [_row(row, headline) for row in rows]
    return Certificate(device, opened.spec, suite(), seconds, finished, list(generated.left_out))


def _try(case: Case, rows: Sequence[_Listed], opened: OpenDriver, oracle: Oracle) -> None:
    """Run a case for its rows, and measure with it if it is right: how a row accumulates is asked once.

    A slow case is not waited for: compilers need minutes for the largest sizes, and the row is slow either way.
    """
    entry, unfinished = Entry(case.name, Path(case.name), in_corpus=True), list[str]()
    (results,) = run_entries(
        [(entry, case)], [opened], oracle, seconds=SLOW, set_aside=lambda late, _: unfinished.append(late.name)
    )
    right = bool(results) and results[0].verdict is Verdict.PASS and measurable(case)
    for row in rows:
        row.results += results
        row.unfinished = "".join(unfinished)
        if right and row.accumulation is None:
            try:
                row.accumulation = measured(opened, case)
            except OUR_ENDS:
                raise
            except Exception:  # noqa: BLE001 - a driver may raise anything, or not run a probe: its cases have passed
                row.accumulation = None


def _row(row: _Listed, headline: Callable[[Result], str]) -> Row:
    states = {_STATE.get(result.verdict, "not tried") for result in row.results}
    seconds = max((result.seconds for result in row.results), default=0.0)
    if row.unfinished:
        states.add("slow")
        seconds = max(seconds, SLOW)
    state: State = next((state for state in STATES if state in states), "not tried")
    if state == "right" and seconds >= SLOW:
        state = "slow"
    shown = next(
        (r for r in row.results if _STATE.get(r.verdict, "not tried") == state and r.verdict is not Verdict.PASS), None
    )
    ran = sum(r.verdict not in (Verdict.UNSUPPORTED, Verdict.NOT_RUN) for r in row.results)
    finding = said(headline(shown)).partition("\n")[0] if shown is not None else ""
    if shown is None and row.unfinished:
        finding = f"not finished after {SLOW:g} s"
    return Row(
        row.kind,
        row.name,
        row.key,
        state,
        ran,
        round(seconds, 3),
        round(max((result.compiling for result in row.results), default=0.0), 3),
        finding,
        shown.name if shown else row.unfinished,
        row.accumulation,
        row.left,
    )


def _rows(capabilities: Capabilities, cases: Sequence[Case]) -> Iterator[_Listed]:
    """Each row of the lists with its cases; cases of no row of a list are rows by their kind and types."""
    products = [(case, mul_adds(case)) for case in cases if _kind(case) == "mul_add"]
    matrices = [(case, shape) for case in cases if _kind(case) in _OF_MATRICES for shape in _loaded(case)]
    multiplied = [(case, wanted) for case in cases for wanted in vector_muls(case)]
    taken: set[str] = set()

    def listed(kind: str, key: dict[str, Any], own: Iterable[Case]) -> _Listed:
        row = _Listed(kind, key, list(own))
        taken.update(case.name for case in row.cases)
        return row

    for m in capabilities.mul_adds:
        key = {
            "a": m.a.value, "b": m.b.value, "c": m.c.value, "result": m.result.value,
            "sizes": f"{m.m}x{m.n}x{m.k}", "multiples": not m.exact, "scope": m.scope.value, "saturating": m.saturating,
        }  # fmt: skip
        own = (case for case, wanted in products if any(m.admits(*w, case.dispatch.subgroups) for w in wanted))
        yield listed("multiplication", key, own)
    for s in capabilities.matrices:
        key = {
            "component": s.component.value, "use": s.use.value, "sizes": f"{s.rows}x{s.cols}",
            "multiples": not s.exact, "scope": s.scope.value,
        }  # fmt: skip
        yield listed("matrix", key, (case for case, shape in matrices if s.admits(shape, case.dispatch.subgroups)))
    for v in capabilities.vector_muls if Feature.COOPERATIVE_VECTOR in capabilities.features else ():
        key = {
            "input": v.input.value, "input_interpretation": v.input_interpretation.value,
            "matrix_interpretation": v.matrix_interpretation.value, "bias_interpretation": v.bias_interpretation.value,
            "result": v.result.value, "transpose": v.transpose,
        }  # fmt: skip
        yield listed("vector multiplication", key, (case for case, wanted in multiplied if covers(v, wanted)))
    others: dict[tuple[str, ...], list[Case]] = {}
    for case in cases:
        if case.name not in taken:
            types = [part for part in case.name.split(".")[2:-1] if not part[:1].isdigit()]
            others.setdefault((_kind(case), *types), []).append(case)
    for (kind, *types), own_cases in others.items():
        of_kind = dict(zip(("type", "layout", "more"), types, strict=False))
        yield _Listed(kind.replace("_", " "), of_kind, own_cases)


_OF_MATRICES = ("load_store", "convert", "convert_use")


def _kind(case: Case) -> str:
    return case.name.removeprefix(f"{FOLDER}.").partition(".")[0]


def _loaded(case: Case) -> Iterator[MatrixShape]:
    shape = types_of(case).get("m")
    if isinstance(shape, MatrixShape):
        yield shape


def load(data: bytes) -> Certificate:
    """The certificate of a JSON document. Raises msgspec's errors for anything else."""
    return msgspec.json.decode(data, type=Certificate)
