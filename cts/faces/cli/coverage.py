"""`cts coverage`: which case, answer sheet, generator and driver tests which fact, and which facts are untested."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cts.faces.cli import completion
from cts.faces.cli.documents import check_json, is_stdout, write_json
from cts.faces.cli.options import JsonFile

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping, Sequence

    from cts.case.model import Case
    from cts.features.coverage.table import Row, Supported

#: Generated cases per area that the table is derived from: a round number, as more cases take longer. The rarest
#: facts need more.
EXAMPLES = 100


def coverage(
    driver: Annotated[
        list[str] | None,
        typer.Option(
            "--driver",
            "-d",
            help="A driver whose share of the cases is counted. Repeatable.",
            autocompletion=completion.drivers,
        ),
    ] = None,
    examples: Annotated[
        int, typer.Option("--max-examples", help="Generated cases per area; 0 for none.", metavar="N", min=0)
    ] = EXAMPLES,
    modules: Annotated[
        Path | None,
        typer.Option(
            help="Print the features of SPIR-V modules (a folder, or one) that no generated case has instead.",
            metavar="DIR",
        ),
    ] = None,
    draws: Annotated[
        int | None,
        typer.Option(
            help="Draw N cases of each area, and print which dependences, flows, edges and sizes they have instead.",
            metavar="N",
            min=1,
        ),
    ] = None,
    area: Annotated[
        list[str] | None,
        typer.Option(
            help="With --draws: an area. Repeatable; all areas if none is given.", autocompletion=completion.areas
        ),
    ] = None,
    json: JsonFile = None,
) -> None:
    """Print facts against corpus cases, rules, answer sheets, generators and drivers, and name untested facts.

    Generators are sampled with a fixed seed. Without --driver: the emulator and the interpreter. With --modules,
    features of instructions are counted instead: where operands come from, how pointers, strides and layouts are given,
    which control flow is around, and which types, scopes and built-ins a module has.
    """
    from cts.case.model import load_case
    from cts.features.coverage.answers import sheets_of_facts, unanswered
    from cts.features.coverage.table import supported, table, untested
    from cts.modules.validation.rules import rules_of_facts
    from cts.running import corpus
    from cts.running.checks import check_drivers
    from cts.running.opening import open_driver

    check_json(json)
    if draws is not None:
        _draws(draws, area, json)
        return
    if modules is not None:
        _census(modules, examples, json)
        return
    specs = list(dict.fromkeys(driver or ("emulator", "interpreter")))
    check_drivers(specs)
    cases = [load_case(entry.path) for entry in corpus.entries()]
    samples = sampled(examples)
    drivers: dict[str, Supported] = {}
    for spec in specs:
        opened = open_driver(spec)
        drivers[spec] = supported(cases, opened.capabilities)
        opened.close()
    answers = sheets_of_facts()
    rows = table(cases, samples, drivers, rules_of_facts(), answers)
    gaps = untested(rows, list(drivers), generated=bool(samples))
    write_json(json, _document(rows, gaps, unanswered(answers), cases, samples, drivers))
    if not is_stdout(json):
        _print(rows, gaps, unanswered(answers), cases, samples, drivers)


def _draws(count: int, areas: Sequence[str] | None, json: Path | None) -> None:
    """Print what drawn cases have, and how often a wrong answer would show."""
    from cts.features.coverage.draws import GROUPS, counted

    found = counted(sampled(count, areas))
    write_json(
        json,
        {
            area: {
                "cases": drawn.cases,
                "rows": [
                    {"group": group, "name": name, "has": drawn.has[group, name], "shows": drawn.shows[group, name]}
                    for group, name in sorted(drawn.has)
                ],
            }
            for area, drawn in found.items()
        },
    )
    if is_stdout(json):
        return
    for area, drawn in found.items():
        typer.echo(f"{area}: {drawn.cases} cases")
        typer.echo(f"{'has':>6} {'shows':>6}  row")
        for group, name in sorted(drawn.has, key=lambda row: (GROUPS.index(row[0]), row[1])):
            typer.echo(f"{drawn.has[group, name]:>6,} {drawn.shows[group, name]:>6,}  {group}: {name}")


def _census(modules: Path, examples: int, json: Path | None) -> None:
    """Print what modules do, and how many generated ones do it."""
    from cts.features.coverage.modules import census, of_cases

    counted = of_folder(modules)
    rows = census(counted, of_cases(sampled(examples)))
    write_json(json, {"modules": [str(path) for path, _ in counted], "features": [row._asdict() for row in rows]})
    if is_stdout(json):
        return
    missing = [row for row in rows if not row.generated]
    typer.echo(f"{len(counted)} modules, {len(rows)} features; {len(missing)} of them in no generated module")
    typer.echo(f"{'modules':>8} {'times':>7}  feature")
    for row in missing:
        typer.echo(f"{row.modules:>8,} {row.times:>7,}  {row.feature}")


def of_folder(path: Path) -> list[tuple[Path, Counter[str]]]:
    """The features of each module in a folder and the folders below it, or of one module.

    Raises BadInput without modules.
    """
    from cts.base.errors import BadInput
    from cts.features.coverage.modules import features
    from cts.modules.dispatch.words import load_words
    from cts.spirv.decode import DecodeError

    if not path.exists():
        raise BadInput("modules", "no such file or folder", f"--modules {path}", "a folder of SPIR-V modules, or one")
    folder = path.is_dir()
    paths = sorted(p for p in path.rglob("*") if p.suffix in (".spv", ".spvasm")) if folder else [path]
    if not paths:
        what = "no file ends in .spv or .spvasm"
        raise BadInput("modules", what, f"--modules {path}", "a folder of SPIR-V modules, or one of them")
    counted = []
    for file in paths:
        try:
            counted.append((file, features(load_words(file, f"--modules {path}"))))
        except DecodeError as e:
            raise BadInput("module-invalid", str(e), str(file), "a whole SPIR-V module") from e
    return counted


def sampled(examples: int, areas: Sequence[str] | None = None) -> dict[str, list[Case]]:
    """`examples` generated cases of each area, always the same cases; no area if `examples` is 0.

    `areas`: of these alone. Raises BadInput for an area that does not exist.
    """
    if not examples:
        return {}
    from cts.device.capabilities import everything
    from cts.plugins import registry
    from cts.running.drawing import drawn
    from cts.running.profiles import Profile

    profile = Profile("coverage", examples, 0)
    return {area: drawn(registry.area(area)(everything()), profile) for area in areas or registry.names("cts.areas")}


def _print(
    rows: Sequence[Row],
    gaps: Mapping[str, Sequence[str]],
    unanswered: Sequence[str],
    cases: Sequence[Case],
    samples: Mapping[str, Sequence[Case]],
    drivers: Mapping[str, Supported],
) -> None:
    from cts.features.coverage.exercised import OF_VALUES

    names = list(drivers)
    widths = [max(len(name), 5) for name in names]
    head = "  ".join(f"{name:>{w}}" for name, w in zip(names, widths, strict=True))
    typer.echo(
        f"{'fact':<8} {'cases':>5}  {'rules':>5}  {'answers':>7}  {head}  {'generators' if samples else ''}".rstrip()
    )
    for row in rows:
        counts = "  ".join(f"{row.drivers[name]:>{w}}" for name, w in zip(names, widths, strict=True))
        areas = " ".join(f"{area}:{n}" for area, n in row.areas.items())
        if samples and not areas:
            areas = "?" if row.fact in OF_VALUES else "-"
        typer.echo(
            f"{row.fact:<8} {len(row.cases):>5}  {len(row.rules):>5}  {row.answers:>7}  {counts}  {areas}".rstrip()
        )
    typer.echo(f"\n{len(rows)} facts, {len(cases)} cases; examples per area: {_per_area(samples)}")
    for name, able in drivers.items():
        typer.echo(f"{name} can run {len(able.cases)} of {len(cases)} cases")
        for reason, count in sorted(able.missing.items(), key=lambda item: (-item[1], item[0]))[:10]:
            typer.echo(f"  {count:>4} lack {reason}")
    typer.echo(f"facts without answers: {', '.join(unanswered) or 'none'}")
    for who, facts in gaps.items():
        typer.echo(f"untested by {who}: {', '.join(facts) or 'nothing'}")


def _per_area(samples: Mapping[str, Sequence[Case]]) -> str:
    return ", ".join(f"{area} {len(drawn)}" for area, drawn in samples.items()) or "none"


def _document(
    rows: Sequence[Row],
    gaps: Mapping[str, Sequence[str]],
    unanswered: Sequence[str],
    cases: Sequence[Case],
    samples: Mapping[str, Sequence[Case]],
    drivers: Mapping[str, Supported],
) -> dict[str, Any]:
    """Everything as plain data, cases by name."""
    return {
        "facts": [
            {
                "fact": r.fact,
                "cases": r.cases,
                "rules": r.rules,
                "answers": r.answers,
                "areas": r.areas,
                "drivers": r.drivers,
            }
            for r in rows
        ],
        "areas": {area: len(drawn) for area, drawn in samples.items()},
        "cases": len(cases),
        "drivers": {
            name: {"supported": len(able.cases), "missing": dict(able.missing)} for name, able in drivers.items()
        },
        "untested": gaps,
        "unanswered": unanswered,
    }
