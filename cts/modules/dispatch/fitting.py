"""What a module leaves open, chosen so that it runs: constants, lengths of buffers, the size of subgroups.

Constants are chosen so that no size is zero. Lengths come from a run on the interpreter: where an access lies outside
a buffer, the buffer grows and the module runs again.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

from cts.base.errors import BadInput, HarnessTrouble
from cts.device.driver import Driver, ModuleDriver, Outcome, Status
from cts.device.job import ModuleJob
from cts.modules.dispatch.declarations import Extent, SpecConstant
from cts.modules.dispatch.elements import ElementType
from cts.modules.dispatch.interface import Reader
from cts.modules.dispatch.model import MAX_BUFFER_BYTES

#: Elements of a runtime array at first: enough for one workgroup of most modules. The array grows if that is too few.
ELEMENTS = 4096

#: How the interpreter runs while lengths are sought, how often, and after how many seconds no more.
DRIVER, TRIES, SECONDS = "interpreter:max_steps=300000", 24, 20.0

#: Invocations of a subgroup if the dispatch file does not give their number: the interpreter's default.
SUBGROUP_SIZE = 32

#: Values that are tried for constants that make a size zero.
_SIZES = (16, 32, 64, 128, 256)


#: Numbers that push constants get if zeros leave loops out.
_PUSHED = (16, 64, 4, 1)

#: More than the loops of any module.
_BROKEN = 1 << 30


@dataclass(frozen=True)
class Choices:
    """The choices: constants by SpecId, bytes of buffers by name, the subgroup size.

    `said` lists them for readers; `ended` says why the module did not run to its end, "" if it did. `pushed` is what
    integers of 32 bits among the push constants are.
    """

    constants: Mapping[int, bool | int | float]
    sizes: Mapping[str, int] = field(default_factory=dict)
    subgroup_size: int | None = None
    said: tuple[str, ...] = ()
    ended: str = ""
    pushed: int = 0


def chosen(reader: Reader) -> Choices:
    """The module's own constants, but for those that make a size zero or a workgroup smaller than a subgroup.

    Of constants that share a SpecId the greatest default counts.
    """
    declared_constants = {
        spec_id: max(constants, key=lambda c: c.default)
        for spec_id, constants in reader.by_spec_id.items()
        if all((c.kind == "bool" or str(c) in ElementType.__members__) for c in constants)
    }
    values = {spec_id: c.default for spec_id, c in declared_constants.items()}
    assumptions = []
    for spec_id, constants in sorted(reader.by_spec_id.items()):
        if len({c.default for c in constants}) > 1 and spec_id in values:
            defaults = ", ".join(f"{c.name or 'unnamed'} {c.default}" for c in constants)
            assumptions.append(
                f"SpecId {spec_id} belongs to several constants ({defaults}); its value is {values[spec_id]}"
            )
    before = dict(values)
    _make_room(reader, declared_constants, values)
    module = reader.interface(_bytes(declared_constants, values))
    subgroup_size, local_size_x = None, 0
    if reader.has_matrices:
        for sizes in module.local_sizes.values():
            x = sizes[0]
            if x.value is None or x.value % SUBGROUP_SIZE == 0:
                continue
            if x.spec_id in values:
                values[x.spec_id] = -(-x.value // SUBGROUP_SIZE) * SUBGROUP_SIZE
            else:
                subgroup_size, local_size_x = x.value & -x.value, x.value
    changed = ", ".join(f"{s}: {v}" for s, v in sorted(values.items()) if v != before[s])
    if changed:
        assumptions.append(
            f"spec_constants {{{changed}}} (the module's own values make a size zero, or less than a subgroup)"
        )
    if subgroup_size is not None:
        assumptions.append(f"subgroup_size {subgroup_size} (local_size_x is {local_size_x})")
    return Choices(values, {}, subgroup_size, tuple(assumptions))


def _make_room(reader: Reader, known: Mapping[int, SpecConstant], values: dict[int, bool | int | float]) -> None:
    """Greater numbers for constants where a matrix has one row or column, or a size is zero."""

    def sizes() -> list[Extent]:
        return reader.sizes(_bytes(known, values))

    def empty() -> int:
        return sum(size.value < 1 for size in sizes())

    for size in sizes():
        if size.of_matrix and size.value <= 1 and len(size.spec_ids) == 1:
            values.update({s: _SIZES[0] for s in size.spec_ids if values.get(s) in (0, 1)})
    left = empty()
    while left:
        involved = sorted({s for size in sizes() if size.value < 1 for s in size.spec_ids if s in values})
        tried = []
        for spec_id, number in product((s for s in involved if known[s].kind in ("int", "uint")), _SIZES):
            old = values[spec_id]
            values[spec_id] = number
            tried.append((empty(), number, spec_id))
            values[spec_id] = old
        best = min(tried, default=None)
        if best is not None and best[0] < left:
            left, number, spec_id = best
            values[spec_id] = number
            continue
        # No single one helps: a size may be a quotient of two.
        small = [s for s in involved if values[s] in (0, 1) and known[s].kind in ("int", "uint")]
        values.update(dict.fromkeys(small, _SIZES[2]))
        left = empty()
        if not small:
            return


def fitted(text: Callable[[Choices], str], choices: Choices) -> Choices:
    """The choices with lengths that the module needs: `text(choices)` is a dispatch file that can be run anywhere.

    If no invocation goes through some loop, push constants get a number with which more loops are gone through.
    If the module does not run to its end, `ended` has the reason.
    """
    from cts.plugins import registry

    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        drivers = [
            stack.enter_context(closing(registry.driver(DRIVER + options))) for options in ("", ",check=contract")
        ]
        runs = _Runs(text, Path(folder, "dispatch.yaml"), drivers, time.monotonic() + SECONDS)
        best = runs.lengths(choices)
        troubles = zeros = runs.troubles()
        for number in _PUSHED if troubles and runs.pushes and not best.ended else ():
            new = runs.lengths(replace(choices, pushed=number))
            if not new.ended and (left := runs.troubles()) < troubles:
                best, troubles = new, left
            if not troubles:
                break
        if not best.pushed:
            return best
        why = "break a rule on values" if zeros >= _BROKEN else "leave out loops"
        said = f"{best.pushed} for integers of 32 bits among the push constants (zeros {why})"
        return replace(best, said=(*best.said, said))


class _Runs:
    """Runs of dispatch files with other choices, until a time, on an interpreter and on one that checks the contract.

    `pushes`: the last file has push constants.
    """

    def __init__(self, text: Callable[[Choices], str], file: Path, drivers: Sequence[Driver], end: float) -> None:
        self._text, self._file, self._end = text, file, end
        self._plain, self._contract = (d for d in drivers if isinstance(d, ModuleDriver))
        self._job: ModuleJob | None = None

    @property
    def pushes(self) -> bool:
        return self._job is not None and bool(self._job.push_constants)

    def lengths(self, choices: Choices) -> Choices:
        """The choices with the lengths that they need."""
        from cts.modules.dispatch.loading import load

        self._job, detail = None, ""
        for _ in range(TRIES):
            self._file.write_text(self._text(choices), encoding="utf-8")
            try:
                job = load(self._file).job
                outcome = self._plain.run_module(job)
            except (BadInput, HarnessTrouble) as e:
                return replace(choices, ended=f"It was not run: {str(e).partition(chr(10))[0]}")
            if outcome.status is Status.DONE:
                self._job = job
                return choices
            detail = outcome.detail
            grown = _grown(outcome, {name: m.size for name, m in job.buffers.items()})
            if grown is None or time.monotonic() > self._end:
                break
            choices = replace(choices, sizes={**choices.sizes, grown[0]: grown[1]})
        return replace(choices, ended=f"On the interpreter it ends early: {detail}")

    def troubles(self) -> int:
        """How many loops of the last file that ran no invocation goes through; more if it breaks a rule."""
        if self._job is None or not self._job.push_constants or time.monotonic() > self._end:
            return 0
        outcome = self._contract.run_module(self._job)
        return len(outcome.idle) if outcome.status is Status.DONE else _BROKEN


def _grown(outcome: Outcome, sizes: Mapping[str, int]) -> tuple[str, int] | None:
    """The buffer that is too short, and how many bytes it is to have."""
    beyond = outcome.fault.beyond if outcome.fault is not None else None
    if beyond is None:
        return None
    name = next((name for name in sizes if beyond[0] == f"buffer {name!r}"), None)
    need = 1 << (beyond[1] - 1).bit_length()
    return (name, need) if name is not None and need <= MAX_BUFFER_BYTES >> 2 else None


def _bytes(known: Mapping[int, SpecConstant], values: Mapping[int, bool | int | float]) -> dict[int, bytes]:
    return {s: known[s].encoded(v) for s, v in values.items()}
