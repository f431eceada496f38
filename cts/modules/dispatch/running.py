"""Running a dispatch on drivers and comparing what comes back."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cts.base.errors import BadInput, HarnessTrouble, did_you_mean
from cts.device.driver import UNDEFINED, ModuleDriver, Outcome, Status
from cts.judging.verdict import Verdict, exit_status
from cts.modules.dispatch.comparing import Difference, between, judge, values
from cts.modules.dispatch.elements import Array
from cts.modules.dispatch.interface import interface
from cts.modules.dispatch.loaded import Dispatch
from cts.modules.dispatch.loading import load, load_cases
from cts.modules.dispatch.validity import Validation
from cts.modules.dispatch.words import MODULES, Words
from cts.plugins import registry
from cts.spirv.declared_capabilities import unneeded, without

if TYPE_CHECKING:
    from cts.modules.locating.locate import Located

_VERDICTS = {
    Status.DONE: Verdict.PASS,
    Status.CRASH: Verdict.CRASH,
    Status.TIMEOUT: Verdict.TIMEOUT,
    Status.DEVICE_LOST: Verdict.DEVICE_LOST,
    Status.UNSUPPORTED: Verdict.UNSUPPORTED,
    Status.ERROR: Verdict.ERROR,
}


#: Seconds that a dispatch may take on the interpreter by default: of a file, and of a module by itself.
SECONDS, BY_ITSELF_SECONDS = 600, 20

#: Seconds that all searches for first differences of a command may take.
LOCATING_SECONDS = 60


@dataclass(frozen=True)
class Ran:
    """What became of the dispatch on one driver. `outputs` are in their buffers' shapes where it ran to its end.

    `reasons` are what the module leaves to the device, where there are differences. `compared` says whether something
    was there to compare the outputs with; where nothing was, `notes` are signs that the module has done little.
    `located` is the first value that differs from the interpreter's, where it was looked for.
    """

    driver: str
    verdict: Verdict
    outcome: Outcome
    differences: tuple[Difference, ...] = ()
    outputs: dict[str, Array] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    compared: bool = True
    notes: tuple[str, ...] = ()
    located: Located | None = None

    @property
    def found_damage(self) -> bool:
        """Whether the driver says that the module is no valid one."""
        fault = self.outcome.fault
        return self.verdict is Verdict.ERROR and fault is not None and fault.code == "malformed"


@dataclass(frozen=True)
class Result:
    """What became of a dispatch on every driver, in the order given."""

    dispatch: Dispatch
    runs: tuple[Ran, ...]
    remarks: tuple[str, ...] = ()

    @property
    def status(self) -> int:
        """0 clean, 1 findings, 2 for a damaged module, 3 where a driver could not run it for another reason."""
        return worst([self])


def worst(results: Iterable[Result]) -> int:
    """The exit status of several results: the highest that applies."""
    runs = [ran for result in results for ran in result.runs]
    verdicts = [ran.verdict for ran in runs if not ran.found_damage]
    return exit_status(verdicts, rejected=len(verdicts) < len(runs), troubled=Verdict.UNSUPPORTED in verdicts)


def run(
    path: Path | str,
    drivers: Sequence[str] = ("interpreter",),
    *,
    case: str | None = None,
    out: Path | str | None = None,
    options: Mapping[str, str] | None = None,
    transforms: Sequence[str] = (),
    require_valid: bool = False,
) -> Result:
    """Run a dispatch file, one of its cases, or a module by itself, on drivers by their spec strings, and compare.

    With `out`, outputs are written to `out/DRIVER/BUFFER.npy`. `options` are for the drivers that take
    them, such as {"max_steps": "1000"} for the interpreter; they do not show in the drivers' names.
    With `transforms`, such as "spirv-opt:-O", each driver also runs the transformed module, and must leave the memory
    that it leaves with the untransformed module. A complaint of spirv-val about the module is a remark; with
    `require_valid` it raises BadInput. Raises BadInput and HarnessTrouble.
    """
    dispatch = dispatch_of(Path(path), case)
    return next(_run([dispatch], drivers, out, options or {}, transforms, require_valid))


def dispatch_of(path: Path, case: str | None = None) -> Dispatch:
    """The dispatch of a file, of one of its cases, or of a module by itself. Raises BadInput."""
    return _by_itself(path, [case] if case else None) if path.suffix in MODULES else load(path, case)


def run_cases(
    path: Path | str,
    drivers: Sequence[str] = ("interpreter",),
    *,
    cases: Sequence[str] | None = None,
    out: Path | str | None = None,
    options: Mapping[str, str] | None = None,
    transforms: Sequence[str] = (),
    require_valid: bool = False,
) -> Iterator[Result]:
    """Run the cases of a dispatch file, those of `cases` or all; a file without cases is one. Arguments as `run`.

    The path of a module, or of a shader, instead of a file's runs that as its template says.

    All are read before the first runs. Outputs of a case are written to `out/CASE/DRIVER/BUFFER.npy`.
    """
    dispatches = [_by_itself(Path(path), cases)] if Path(path).suffix in MODULES else load_cases(Path(path), cases)
    return _run(dispatches, drivers, out, options or {}, transforms, require_valid)


def _by_itself(path: Path, cases: Sequence[str] | None) -> Dispatch:
    if cases:
        remedy = "a dispatch file with cases; `cts dispatch --template MODULE` writes one to begin with"
        raise BadInput("dispatch-case", "a module by itself has no cases", f"--case {cases[0]}", remedy)
    from cts.modules.dispatch.template import by_itself  # of which a file needs nothing

    return by_itself(path)


def _run(
    dispatches: Sequence[Dispatch],
    drivers: Sequence[str],
    out: Path | str | None,
    options: Mapping[str, str],
    transforms: Sequence[str],
    require_valid: bool,
) -> Iterator[Result]:
    if not drivers:
        where = str(dispatches[0].path)
        raise BadInput("no-driver", "no driver to run on", where, "interpreter, or another module driver")
    seconds = BY_ITSELF_SECONDS if dispatches[0].path.suffix in MODULES else SECONDS
    extended = registry.with_options(drivers, options)
    specs = [_checked(spec, given, seconds) for spec, given in zip(extended, drivers, strict=True)]
    if "trace" in options:
        _check_trace(dispatches, options["trace"])
    named = list(zip(_labels(drivers), specs, strict=True))
    if transforms:
        both = [(pair, tuple(registry.transformed(pair, transforms))) for pair in named]
        named = [(name, spec) for pairs in both for name, spec in pairs]
    different = {id(d.job.words): d.job.words for d in dispatches}
    with ExitStack() as stack:
        validations = {n: stack.enter_context(closing(Validation(words))) for n, words in different.items()}
        for dispatch in dispatches if require_valid else ():
            if validations[id(dispatch.job.words)].invalid:
                message = validations[id(dispatch.job.words)].said
                raise BadInput("module-invalid", message, str(dispatch.path), "a valid module, or no --require-valid")
        opened: dict[int, ModuleDriver] = {}
        left = float(LOCATING_SECONDS)
        for dispatch in dispatches:
            outcomes = []
            for n, (name, spec) in enumerate(named):
                if n not in opened:
                    opened[n] = _opened(spec, stack)
                outcomes.append((name, _outcome(dispatch, spec, opened[n])))
            message = validations[id(dispatch.job.words)].said
            result = judged(dispatch, outcomes)
            if any(ran.differences for ran in result.runs):
                began = time.monotonic()
                result = _explained(result, {name: opened[n] for n, (name, _) in enumerate(named)}, left)
                left -= time.monotonic() - began
            result = replace(result, remarks=(*dispatch.remarks, *filter(None, [message, _dealt(result)])))
            if out is not None:
                write(result, Path(out))
            yield result


def _dealt(result: Result) -> str:
    """What depends on who holds which element, where a driver has run to its end."""
    from cts.modules.dispatch.reasons import dealt

    return dealt(result.dispatch) if any(ran.outputs for ran in result.runs) else ""


def _checked(spec: str, given: str, seconds: float = SECONDS) -> str:
    """The spec of a driver; of an interpreter with the check of the contract and a limit of time, unless it has others.

    >>> [_checked(spec, "interpreter") for spec in ("interpreter", "interpreter:check=races,max_seconds=9")]
    ['interpreter:check=contract,max_seconds=600', 'interpreter:check=contract+races,max_seconds=9']
    >>> _checked("interpreter:check=none", "interpreter", 20)
    'interpreter:check=none,max_seconds=20'
    """
    plain, bar, transforms = spec.partition("|")
    name, _, options = plain.partition(":")
    if name != "interpreter":
        return spec
    added = [] if "check=" in options else ["check=contract"]
    if not added and "check=" not in given and "check=none" not in options:
        plain = plain.replace("check=", "check=contract+")
    if "max_seconds=" not in options:
        added.append(f"max_seconds={seconds}")
    return (registry.extended_spec(plain, added) if added else plain) + bar + transforms


def _explained(result: Result, drivers: Mapping[str, ModuleDriver], seconds: float) -> Result:
    """The result with what a module leaves to the device, where drivers differ, and where they go wrong first."""
    from cts.modules.dispatch.reasons import broken, reasons

    sizes = {name: driver.capabilities().subgroup_size for name, driver in drivers.items()}
    rules = broken(result.dispatch)
    end = time.monotonic() + seconds
    runs = []
    for ran in result.runs:
        if wrong := {d.buffer for d in ran.differences}:
            said = tuple(reasons(result.dispatch, ran.driver, ran.outcome, sizes, wrong, rules))
            located = None if rules else _located(result.dispatch, ran, drivers[ran.driver], end - time.monotonic())
            ran = replace(ran, reasons=said, located=located)
        runs.append(ran)
    return replace(result, runs=tuple(runs))


def _located(dispatch: Dispatch, ran: Ran, driver: ModuleDriver, seconds: float) -> Located | None:
    """The first value of a driver that differs from the interpreter's, unless it is the interpreter itself."""
    if seconds <= 0 or (ran.driver.startswith("interpreter") and "|" not in ran.driver):
        return None
    from cts.modules.locating.locate import locate

    return locate(dispatch, driver, ran.outcome, seconds)


def judged(dispatch: Dispatch, outcomes: Iterable[tuple[str, Outcome]]) -> Result:
    """Compare what drivers handed back.

    The first that ran to its end is what the others are compared with; a driver of transformed modules
    is compared with itself without, where that has run.
    """
    runs: list[Ran] = []
    reference: tuple[str, Outcome] | None = None
    done: dict[str, Outcome] = {}
    for label, outcome in outcomes:
        verdict, differences, outputs = _VERDICTS[outcome.status], [], {}
        if outcome.status is Status.DONE and not outcome.only_made:
            differences = list(judge(dispatch, outcome.memory))
            plain = label.partition("|")[0]
            against = (plain, done[plain]) if plain != label and plain in done else reference
            if against is not None:
                differences += between(dispatch, against[0], against[1].memory, outcome.memory)
            reference = reference or (label, outcome)
            done[label] = outcome
            outputs = {name: values(dispatch, outcome.memory, name) for name in dispatch.outputs}
            verdict = Verdict.FAIL if differences else Verdict.PASS
        elif outcome.fault is not None and outcome.fault.code in (*UNDEFINED, "out-of-bounds"):
            # The module's own doing: no driver has crashed.
            verdict = Verdict.FAIL
        runs.append(Ran(label, verdict, outcome, tuple(differences), outputs))
    if len(done) < 2 and not dispatch.expected:
        runs = [replace(r, compared=False, notes=_notes(dispatch, r.outcome)) if r.driver in done else r for r in runs]
    return Result(dispatch, tuple(runs))


def _notes(dispatch: Dispatch, outcome: Outcome) -> tuple[str, ...]:
    """Signs that a run has not done what it is for."""
    push = dispatch.job.push_constants
    zeros = bool(push) and not any(push) and not dispatch.job.push_addresses
    return (*[f"all {len(push)} bytes of push constants are zeros"] * zeros, *outcome.idle)


def write(result: Result, folder: Path) -> list[Path]:
    """Write outputs as .npy, those of types that NumPy lacks as their bits. Raises BadInput."""
    written = []
    for ran in result.runs:
        for name, array in ran.outputs.items():
            path = folder / result.dispatch.case / folder_of(ran.driver) / f"{name}.npy"
            bits = array if array.dtype.kind in "iuf" else array.view(f"u{array.dtype.itemsize}")
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                np.save(path, bits)
            except OSError as e:
                raise BadInput("out", e.strerror or str(e), str(path), "a folder that can be written") from e
            written.append(path)
    return written


def folder_of(driver: str) -> str:
    """The name of a driver's folder."""
    return re.sub(r"[^\w.=,+-]+", "_", driver).strip("._") or "driver"


def _check_trace(dispatches: Sequence[Dispatch], name: str) -> None:
    """Raises BadInput where none of the modules has a function or a result of that name or id."""
    different = {id(d.job.words): d.job.words for d in dispatches}
    problems = [problem for words in different.values() if (problem := _untraceable(words, name)) is not None]
    if len(problems) == len(different):
        raise problems[0]


def _untraceable(words: Words, name: str) -> BadInput | None:
    declared = interface(words)
    number = name.removeprefix("%")
    if number in declared.names or name in declared.entry_points:
        return None
    if not (number.isascii() and number.isdigit() and 0 < int(number) < int(words[3])):
        remedy = did_you_mean(number, declared.names, "the name that OpName gives to a function or a result, or %ID")
        return BadInput("trace", f"the module has nothing named {name!r}", f"--trace {name}", remedy)
    return None


def _labels(specs: Sequence[str]) -> list[str]:
    """A name of its own for each spec: one that is given again is numbered."""
    return [s if specs.index(s) == n else f"{s} ({specs[:n].count(s) + 1})" for n, s in enumerate(specs)]


def _opened(spec: str, stack: ExitStack) -> ModuleDriver:
    """A driver that is closed with the stack."""
    driver = stack.enter_context(closing(registry.driver(spec)))
    if not isinstance(driver, ModuleDriver):
        raise BadInput("no-module-driver", f"{spec} runs cases only", "--driver", "interpreter or vulkan")
    return driver


def _outcome(dispatch: Dispatch, spec: str, driver: ModuleDriver) -> Outcome:
    outcome = driver.run_module(dispatch.job)
    if outcome.status is Status.UNSUPPORTED and (idle := unneeded(dispatch.job.words)):
        job = replace(dispatch.job, words=without(dispatch.job.words, idle))
        outcome = driver.run_module(job)
        names = ", ".join(idle)
        remark = f"it ran without the declaration of {names}, which nothing in the module needs"
        if outcome.status is not Status.UNSUPPORTED:
            outcome = replace(outcome, detail="; ".join(filter(None, [outcome.detail, remark])))
    if (
        outcome.status is Status.DONE
        and not outcome.only_made
        and any(
            name not in outcome.memory or len(outcome.memory[name]) != len(m.data)
            for name, m in dispatch.job.buffers.items()
        )
    ):
        raise HarnessTrouble(
            "driver-memory", f"{spec} did not hand back the memory of every buffer", str(dispatch.path)
        )
    return outcome
