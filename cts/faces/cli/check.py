"""`cts check`: whether case files and generated cases are well-formed and valid."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from cts.faces.cli import completion
from cts.faces.cli.options import BaselineFile, QuarantineFile

if TYPE_CHECKING:
    from cts.case.model import Case
    from cts.case.oracle.expectation import Oracle
    from cts.judging.judge import OpenDriver
    from cts.running.corpus import Entry


def check(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            help="Case files, folders or names of corpus cases.", metavar="CASE", autocompletion=completion.cases
        ),
    ] = None,
    fix: Annotated[bool, typer.Option("--fix", help="Rewrite files that are not in canonical form.")] = False,
    area: Annotated[
        list[str] | None,
        typer.Option(
            "--area", help="Draw cases of this area and check them. Repeatable.", autocompletion=completion.areas
        ),
    ] = None,
    driver: Annotated[
        str | None,
        typer.Option(
            "--driver",
            "-d",
            help="With --area: the driver whose cases are drawn; runs nothing.",
            autocompletion=completion.drivers,
        ),
    ] = None,
    max_examples: Annotated[
        int | None, typer.Option("--max-examples", help="With --area: how many. Default: 500.", metavar="N")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="With --area: the seed of `cts run`.")] = None,
    number: Annotated[
        int | None,
        typer.Option(
            "--example", help="With --area: print this example, and what it was drawn from.", metavar="N", min=1
        ),
    ] = None,
    policy: Annotated[
        bool, typer.Option("--policy", help="With --area: print how often generators draw what with this seed.")
    ] = False,
    baseline: BaselineFile = None,
    quarantine: QuarantineFile = None,
) -> None:
    """Check that files are well-formed cases without undefined behaviour, in canonical form.

    With --area: that the cases which `cts run` would generate with this seed and these files are valid, running none.
    """
    from cts.base.errors import BadInput
    from cts.plugins import registry
    from cts.running import corpus

    if not targets and not area:
        raise BadInput("nothing-selected", "no case and no area is selected", "cts check", "CASE... or --area")
    of_areas = {
        "--driver": driver,
        "--max-examples": max_examples,
        "--seed": seed,
        "--example": number,
        "--policy": policy or None,
    }
    for option, value in of_areas.items():
        if value is not None and not area:
            raise BadInput("area-option", f"{option} is for generated cases only", option, "--area with it")
    if number is not None and (seed is None or max_examples is not None):
        raise BadInput("example", "one example is that of a seed", f"--example {number}", "--seed N, no --max-examples")
    entries, errors = corpus.select(targets) if targets else ([], [])
    oracle = registry.oracle()
    for entry in entries:
        try:
            typer.echo(f"{entry.name}: {_check(entry, oracle, fix=fix)}")
        except BadInput as e:
            errors.append(e)
    for error in errors:
        typer.echo(str(error), err=True)
    faults = 0
    known_failures = Known(quarantine, baseline)
    if policy:
        _print_policy(area or [], seed)
        raise typer.Exit(2 if errors else 0)
    if area and driver is None:
        raise BadInput("no-driver", "no driver to draw cases for", "cts check --area", "--driver interpreter")
    if area and driver is not None and number is not None:
        faults = _print_example(area, driver, seed, number, known_failures, oracle)
    elif area and driver is not None:
        faults = _check_areas(area, driver, max_examples, seed, known_failures, oracle)
    raise typer.Exit(3 if faults else 2 if errors else 0)


def _print_policy(areas: list[str], seed: int | None) -> None:
    """Print the odds of all chances with a seed, or the usual ones, and those that a seed can draw."""
    from cts.base.choices import Chance, DrawPolicy
    from cts.plugins import registry

    for area in areas:
        registry.area(area)
    policy = DrawPolicy(seed)
    typer.echo(f"{'chance':<48} {'drawn' if seed is not None else 'usual':<8} range")
    for name, chance in sorted(Chance.declared.items()):
        odds = f"{chance.drawn[0]} to {chance.drawn[-1]}" if len(chance.drawn) > 1 else "fixed"
        typer.echo(f"{name:<48} {policy.odds(chance)!s:<8} {odds}")


def _check_areas(
    areas: list[str], spec: str, max_examples: int | None, seed: int | None, known: Known, oracle: Oracle
) -> int:
    """Draw and check generated cases; returns how many are faults. Raises BadInput where that cannot be done."""
    from cts.base.errors import NothingToGenerate
    from cts.plugins import registry
    from cts.running.drawing import Draws, checked_expectation, examine, within
    from cts.running.explore import avoided
    from cts.running.profiles import profile
    from cts.running.results import check_command, of_fault
    from cts.showing.report.failure import fault_text

    opened = _opened(spec, known)
    capabilities = opened.capabilities
    settings = profile("default", max_examples, seed)
    assert settings.seed is not None, "profile() settles the seed"
    generators = {name: registry.area(name) for name in dict.fromkeys(areas)}

    def check(case: Case) -> None:
        checked_expectation(case, oracle)
        within(case, capabilities)

    total = 0
    for name, cases in generators.items():
        title = f"{name} for {spec}, seed {settings.seed}"
        try:
            draws = Draws(cases(capabilities), settings.seed, avoided([opened], settings))
            examined = examine(draws, settings, check)
        except NothingToGenerate as e:
            typer.echo(f"{title}: nothing to generate: {e}")
            continue
        faults = examined.faults
        typer.echo(f"{title}: {examined.drawn} examples, {len(examined.cases)} distinct: {faults.total or 'no'} faults")
        for faulty in faults.by_kind.values():
            command = check_command(name, spec, settings.seed, settings.max_examples)
            typer.echo(f"\n{fault_text(of_fault(name, faulty, command), None)}", err=True)
        total += faults.total
    return total


def _print_example(areas: list[str], spec: str, seed: int | None, number: int, known: Known, oracle: Oracle) -> int:
    """Print one example of each area, and each number behind it; returns how many are faults."""
    from cts.base.errors import NothingToGenerate
    from cts.case.model import dumps_case
    from cts.plugins import registry
    from cts.running.drawing import Draws, Undrawn, checked_expectation, fault_of, made
    from cts.running.explore import avoided
    from cts.running.profiles import profile

    opened, faults = _opened(spec, known), 0
    settings = profile("default", None, seed)
    for area in dict.fromkeys(areas):
        try:
            source = registry.area(area)(opened.capabilities)
            draws = Draws(source, seed, avoided([opened], settings)).recorded(number)
            example = made(source, draws)
        except NothingToGenerate as e:
            typer.echo(f"{area} for {spec}: nothing to generate: {e}")
            continue
        fault = fault_of(example, lambda case: checked_expectation(case, oracle))
        typer.echo(f"# example {number} of {area} for {spec}, seed {seed}: {len(draws.drawn)} draws")
        for draw in draws.drawn:
            typer.echo(f"# {draw.value:>6} of 0 to {draw.end - 1:<6} {draw.label}")
        if not isinstance(example, Undrawn):
            typer.echo(dumps_case(example), nl=False)
        if fault is not None:
            typer.echo(str(fault), err=True)
            faults += 1
    return faults


class Known(NamedTuple):
    """The files of what is known of a driver, which is drawn less often."""

    quarantine: Path | None
    baseline: Path | None


def _opened(spec: str, known: Known) -> OpenDriver:
    """A driver, closed again, with its capabilities, quarantine and baseline."""
    from cts.running.checks import load_known
    from cts.running.opening import open_driver

    opened = open_driver(spec, *load_known(*known))
    opened.close()
    return opened


def _check(entry: Entry, oracle: Oracle, *, fix: bool) -> str:
    """The word that is printed for a good case. Raises BadInput for a bad one."""
    from cts.base.errors import BadInput
    from cts.case.model import dumps_case
    from cts.running.corpus import load, read

    case = read(entry, oracle)
    if entry.in_corpus and case.name != entry.name:
        raise BadInput("case-name", f"the name {case.name!r} is not the file's", f"{entry.path}: name", entry.name)
    text = dumps_case(case)
    loaded = load(entry.path)
    if loaded.text == text:
        return "ok"
    if not fix or loaded.where != str(entry.path):
        raise BadInput("not-canonical", "the file is not in canonical form", loaded.where, "cts check --fix")
    Path(entry.path).write_text(text, encoding="utf-8", newline="\n")
    return "rewritten"
