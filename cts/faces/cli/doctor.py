"""`cts doctor`: whether a driver can be tested here, by cases small enough to check by hand."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cts.faces.cli import completion
from cts.faces.cli.paths import written

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cts.case.oracle.expectation import Oracle
    from cts.judging.judge import Attempt, OpenDriver

#: What each case is about, and its name in the corpus; where a device lacks one, the next of its line is tried.
KNOWN = (
    ("a constant is stored", ("matrix_memory.constants.literal",)),
    ("padded rows are stored, and nothing between them", ("matrix_memory.strided.padded_store",)),
    ("rows are loaded and stored as columns", ("matrix_memory.strided.rows_in_columns_out",)),
    ("specialization constants and parameters arrive", ("matrix_memory.strided.spec_and_dynamic",)),
    ("workgroups and subgroups have a tile each", ("matrix_memory.dispatch.tiles_of_workgroups_and_subgroups",)),
    ("A times the identity is A", ("matrix_arithmetic.mul_add.a_times_identity",)),
    ("integers are multiplied exactly", ("matrix_arithmetic.mul_add.u8", "matrix_arithmetic.mul_add.s8")),
    ("a load before the edge of a tensor is clamped", ("tensor_addressing.clamp.edge_low_load",)),
    ("a store ends at the last byte of a buffer", ("tensor_addressing.store.to_the_last_byte",)),
    ("a vector is multiplied, and a bias added", ("vector_multiply.float.bias", "vector_multiply.integer.bias")),
)

_GUARDS = (
    "memory around a buffer has changed: a store out of bounds, or the driver returns other memory than it was given"
)


def doctor(
    driver: Annotated[
        str | None,
        typer.Option(
            "--driver", "-d", help="The driver to check, with its options.", autocompletion=completion.drivers
        ),
    ] = None,
    conformance: Annotated[
        bool,
        typer.Option(
            "--conformance", help="Check the Vulkan device's answers to queries against the specifications instead."
        ),
    ] = False,
    conversions: Annotated[
        bool,
        typer.Option(
            "--conversions",
            help="Check vkConvertCooperativeVectorMatrixNV and vkCmdConvertCooperativeVectorMatrixNV instead: sizes, "
            "return values, and every element.",
        ),
    ] = False,
    answers: Annotated[
        Path | None,
        typer.Option(
            "--answers",
            help="With --conformance: check the answers in this file; needs no driver.",
            metavar="FILE",
            autocompletion=completion.paths,
        ),
    ] = None,
    save_answers: Annotated[
        Path | None,
        typer.Option(
            "--save-answers",
            help="With --conformance: write the device's answers to this file.",
            metavar="FILE",
            callback=written,
            autocompletion=completion.paths,
        ),
    ] = None,
) -> None:
    """Tell whether a driver can be tested: does it start, what does it report, does it pass ten tiny cases.

    Each case runs twice, and all memory is compared, with 1024 guard bytes around each buffer.
    """
    from cts.base.errors import BadInput

    if conformance and conversions:
        raise BadInput("two-checks", "--conformance and --conversions", "cts doctor", "one of them at a time")
    if not conformance and (answers or save_answers):
        option = "--answers" if answers else "--save-answers"
        raise BadInput("no-conformance", f"{option} without --conformance", "cts doctor", f"--conformance {option}")
    if (driver is None) == (answers is None):
        what = "both a driver and a file of answers" if driver else "no driver to check"
        remedy = "--driver SPEC; with --conformance also --answers FILE instead"
        raise BadInput("no-driver" if not driver else "two-sources", what, "cts doctor", remedy)
    if not conformance:
        assert driver is not None
        from cts.faces.cli.conversions import judge_conversions

        raise typer.Exit(judge_conversions(driver) if conversions else check_driver(driver))
    from cts.faces.cli.conformance import judge_device, judge_file

    if answers is not None:
        if save_answers is not None:
            raise BadInput("two-sources", "--answers and --save-answers", "cts doctor", "one of them")
        raise typer.Exit(judge_file(answers))
    assert driver is not None
    raise typer.Exit(judge_device(driver, save_answers))


def check_driver(driver: str) -> int:
    """Print what `cts doctor` prints of a driver; returns the exit status."""
    from contextlib import closing

    from cts.base.errors import BadInput, CtsError
    from cts.judging.verdict import BAD_INPUT, TROUBLE
    from cts.plugins import registry
    from cts.running.opening import not_validated, open_driver

    start = time.perf_counter()
    try:
        opened = open_driver(driver)
    except CtsError as e:
        typer.echo(str(e), err=True)
        typer.echo(f"no: {driver} does not start")
        return BAD_INPUT if isinstance(e, BadInput) else TROUBLE
    with closing(opened):
        typer.echo(driver)
        _row("starts", f"in {time.perf_counter() - start:.1f} s")
        for label, text in _reported(opened):
            _row(label, text)
        if missing := not_validated():
            _row("not validated", f"{missing.what.partition(': ')[2]}; fix: {missing.remedy}")
        return _run_known_cases(opened, registry.oracle())


def _row(label: str, text: str) -> None:
    typer.echo(f"  {label:<13} {text}")


def _reported(opened: OpenDriver) -> Iterator[tuple[str, str]]:
    from cts.device.driver import NamedDriver, StagedDriver

    capabilities = opened.capabilities
    if isinstance(opened.driver, NamedDriver):
        yield "device", opened.driver.identity()
    yield "subgroup size", str(capabilities.subgroup_size)
    yield "matrices", f"{len(capabilities.matrices)} combinations of type, use and scope"
    yield "features", ", ".join(sorted(f.value for f in capabilities.features)) or "none"
    if isinstance(opened.driver, StagedDriver):
        yield "stages", _stages(opened.driver.stages())


def _stages(listed: Mapping[str, str]) -> str:
    """The stages that the device lists for cooperative vectors, and which of these cannot be driven."""
    if not listed:
        return "none listed for cooperative vectors"
    driven = ", ".join(stage for stage, reason in listed.items() if not reason) or "none"
    refused = "; ".join(f"{stage} ({reason})" for stage, reason in listed.items() if reason)
    return f"cooperative vectors in {driven}" + (f"; listed, but not driven here: {refused}" if refused else "")


def _run_known_cases(opened: OpenDriver, oracle: Oracle) -> int:
    """Run the cases; returns the exit status."""
    from cts.judging.verdict import CLEAN, FINDINGS, TROUBLE, Verdict
    from cts.running import corpus

    verdicts: list[Verdict] = []
    for topic, names in KNOWN:
        name, attempt = _first(opened, oracle, names)
        verdicts.append(attempt.verdict)
        if attempt.verdict is Verdict.UNSUPPORTED:
            first, *others = opened.capabilities.missing(corpus.read(corpus.find_one(name), oracle)) or [""]
            more = f", and {len(others)} more" if others else ""
            # A driver may refuse more than its capabilities say, such as compiled code that it does not know.
            _row("-", f"{topic}: the device lacks {first}{more}" if first else f"{topic}: {attempt.detail}")
            continue
        _row(attempt.verdict.value, f"{topic} ({name})")
        if attempt.verdict is not Verdict.PASS:
            for line in _trouble(opened.spec, name, attempt):
                typer.echo(f"{'':<16} {line}")
    passed, ran = verdicts.count(Verdict.PASS), sum(v is not Verdict.UNSUPPORTED for v in verdicts)
    if not ran:
        typer.echo(f"\nno: {opened.spec} supports none of the {len(KNOWN)} known cases")
        typer.echo(
            "  fix:   a device and driver with cooperative matrices or vectors: `cts drivers -d` shows what it supports"
        )
        return TROUBLE
    summary = f"{passed} of {ran} known cases pass, {len(verdicts) - ran} are not supported by the device"
    if passed == ran:
        typer.echo(f"\nyes: {opened.spec} can be tested: {summary}")
        typer.echo(f"next: cts run --profile smoke --driver {shlex.quote(opened.spec)}")
        return CLEAN
    typer.echo(f"\nno: {opened.spec} fails known cases: {summary}")
    return TROUBLE if Verdict.ERROR in verdicts else FINDINGS


def _first(opened: OpenDriver, oracle: Oracle, names: tuple[str, ...]) -> tuple[str, Attempt]:
    """The first case that the driver supports, run twice; else the last."""
    from cts.judging.judge import judge, unsupported
    from cts.running import corpus

    for name in names:
        case = corpus.read(corpus.find_one(name), oracle)
        refused = unsupported(opened, case)
        if refused is None:
            expectation = oracle.expect(case)
            return name, _agreed(*(judge(opened, case, expectation) for _ in range(2)))
    assert refused is not None, "no line of KNOWN is empty"
    return names[-1], refused


def _agreed(first: Attempt, second: Attempt) -> Attempt:
    """The verdict on two runs of a case: `flaky` if they end differently."""
    from dataclasses import replace

    from cts.judging.verdict import Verdict

    if first.verdict is second.verdict:
        return first
    detail = f"{first.verdict.value} at first, {second.verdict.value} when it was run again"
    return replace(first, verdict=Verdict.FLAKY, detail=detail)


def _trouble(spec: str, name: str, attempt: Attempt) -> Iterator[str]:
    from cts.showing.report.ending import remedy

    yield from attempt.detail.splitlines()[-3:]
    groups = attempt.divergence.groups if attempt.divergence is not None else ()
    for g in groups:
        yield f"{len(g)} {'bytes around' if g.guard else 'elements of'} {g.buffer} differ"
    guards = any(g.guard for g in groups)
    yield f"fix: {_GUARDS if guards else remedy(attempt.verdict, name, spec)}"
