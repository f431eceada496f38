"""`cts validation`: modules that break one rule each, on tools that must reject them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cts.faces.cli import completion
from cts.faces.cli.documents import check_json, is_stdout, write_json
from cts.faces.cli.options import JsonFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cts.base.errors import BadInput
    from cts.modules.validation.judging import Judgement
    from cts.modules.validation.known import Known
    from cts.modules.validation.rules import Rule
    from cts.modules.validation.shaders import ShaderRule
    from cts.modules.validation.tools import Glslang


def validation(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            help="Names of rules or the beginning of names, or files of rules. Default: all that come with the suite.",
            metavar="RULE",
            autocompletion=completion.rules,
        ),
    ] = None,
    driver: Annotated[
        list[str] | None,
        typer.Option(
            "--driver",
            "-d",
            help="A tool that accepts or rejects modules: spirv-val, spirv-val:command=PATH, or a driver with a "
            "validation layer, such as vulkan; glslang for the rules of GLSL. Repeatable.",
            metavar="SPEC",
            autocompletion=completion.validators,
        ),
    ] = None,
    listed: Annotated[
        bool, typer.Option("--list", help="List the rules, their sentences and edits; run nothing.")
    ] = False,
    messages: Annotated[
        bool, typer.Option("--messages", help="Print what each tool says when it rejects a module.")
    ] = False,
    json: JsonFile = None,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", help="Write the table and the findings as Markdown.", metavar="FILE")
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option("--known", help="What --json wrote before: findings that it has do not count.", metavar="FILE"),
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option("--out", help="Write the modules of the rules, and their valid twins, here.", metavar="DIR"),
    ] = None,
) -> None:
    """Try tools on modules that break one rule of the specifications each, beside valid twins.

    A tool passes a rule if it accepts the twin and rejects the other. `pass*` marks a rejection whose message is about
    something else, as far as that is known.
    """
    from cts.base.errors import BadInput
    from cts.modules.validation.known import load_known
    from cts.running.outputs import check_file, check_folder

    check_json(json)
    check_file(markdown, "--markdown")
    check_folder(write, "--out")
    before = load_known(known) if known is not None else {}
    rules = _selected(targets or [], of_glsl=_of_glsl(driver or [], targets or []))
    if write is not None:
        _write(rules, write)
    if listed:
        _list(rules)
    if listed or (write is not None and not driver):
        return
    if not driver:
        raise BadInput("no-driver", "no tool to try", "cts validation", "--driver spirv-val")
    table = _judged(rules, driver)
    _report(table, before, json, markdown, messages=messages)
    raise typer.Exit(_status(table, before))


def _of_glsl(specs: Sequence[str], targets: Sequence[str]) -> bool:
    """Whether rules of GLSL are wanted: by a tool for these, or by name. Raises BadInput for tools of both kinds."""
    from cts.base.errors import BadInput

    compilers = [spec for spec in specs if spec.partition(":")[0] == "glslang"]
    if compilers and len(compilers) < len(specs):
        what = "glslang judges shaders, other tools modules"
        raise BadInput("no-validator", what, " ".join(f"--driver {spec}" for spec in specs), "a run for each kind")
    return bool(compilers) or (not specs and any(target.startswith("glsl.") for target in targets))


def open_glslang(spec: str) -> Glslang:
    """A glslang by its spec: `glslang`, `glslang:command=chroot ROOT glslang`. Raises BadInput and HarnessTrouble."""
    import os

    from cts.base.errors import HarnessTrouble
    from cts.device.driver_options import parse
    from cts.modules.validation.tools import Glslang, GlslangOptions
    from cts.plugins import registry
    from cts.showing.export.glsl.compiler import compiled, version

    command = parse(GlslangOptions, registry.options_of(spec)[1], "glslang").command
    label = version(command)
    if not label:
        what = f"`{command} --version` does not say a version of glslang"
        raise HarnessTrouble("validator", what, remedy="glslang:command=COMMAND that runs here")

    def each(shaders: Sequence[str]) -> Iterator[tuple[bool, str, int]]:
        for done in compiled(command, shaders, jobs=os.cpu_count() or 1):
            yield done.words is not None, done.message, done.status

    return Glslang(label, each)


def _judged(rules: Sequence[Rule] | Sequence[ShaderRule], specs: Sequence[str]) -> dict[str, Sequence[Judgement]]:
    """The judgements of each tool, by its label; by its spec as well where labels are alike."""
    from cts.modules.validation.judging import judge, judge_shaders
    from cts.modules.validation.tools import open_tool

    table: dict[str, Sequence[Judgement]] = {}
    for spec in dict.fromkeys(specs):
        if spec.partition(":")[0] == "glslang":
            compiler = open_glslang(spec)
            table[compiler.label] = tuple(judge_shaders(rules, compiler))  # type: ignore[arg-type]
            continue
        tool = open_tool(spec)
        try:
            label = tool.label if tool.label not in table else f"{tool.label} ({spec})"
            table[label] = tuple(judge(rules, tool))  # type: ignore[arg-type]
        finally:
            tool.close()
    return table


def _status(table: Mapping[str, Sequence[Judgement]], known: Known) -> int:
    """The exit status. Raises HarnessTrouble where a tool could judge nothing."""
    from cts.base.errors import HarnessTrouble
    from cts.judging.verdict import Verdict, exit_status
    from cts.modules.validation.known import is_known

    for label, judged in table.items():
        if all(j.verdict is Verdict.UNSUPPORTED for j in judged):
            what = f"{label} could judge none of the rules: {judged[0].reason if judged else 'there are none'}"
            raise HarnessTrouble("nothing-tested", what, remedy="a newer version, or other rules")
    return exit_status(j.verdict for judged in table.values() for j in judged if not is_known(j, known))


def _selected(targets: Sequence[str], *, of_glsl: bool) -> Sequence[Rule] | Sequence[ShaderRule]:
    """The rules that targets name, in order. Raises BadInput for a target that names none."""
    from cts.modules.validation.rules import load_rules, rules
    from cts.modules.validation.shaders import load_shaders, shader_rules

    every: Sequence[Rule] | Sequence[ShaderRule] = shader_rules() if of_glsl else rules()
    if not targets:
        return every
    files = [Path(target) for target in targets if target.endswith((".yaml", ".yml"))]
    names = [target for target in targets if not target.endswith((".yaml", ".yml"))]
    selected: list[Any] = [rule for rule in every if any(rule.name.startswith(name) for name in names)]
    for name in names:
        if not any(rule.name.startswith(name) for rule in selected):
            raise _unknown(name, [rule.name for rule in every])
    for path in files:
        selected += load_shaders(path) if of_glsl else load_rules(path)
    return selected


def _unknown(target: str, known: Sequence[str]) -> BadInput:

    from cts.base.errors import BadInput, did_you_mean

    remedy = did_you_mean(
        target, [*known, *{name.partition(".")[0] for name in known}], "`cts validation --list` prints them"
    )
    return BadInput("unknown-rule", f"no rule is named {target!r}, nor begins so", "cts validation", remedy)


def _list(rules: Sequence[Rule] | Sequence[ShaderRule]) -> None:
    from cts.modules.validation.report import difference

    for rule in rules:
        typer.echo(f"{rule.name}  [{' '.join(rule.facts)}]" if rule.facts else rule.name)
        typer.echo(f'    {rule.source}, {rule.of}: "{rule.text}"')
        for line in difference(rule):
            typer.echo(f"    {line}")
    typer.echo(f"{len(rules)} rules")


def _write(rules: Sequence[Rule] | Sequence[ShaderRule], folder: Path) -> None:
    from cts.modules.validation.report import files_of

    folder.mkdir(parents=True, exist_ok=True)
    for rule in rules:
        for name, content in files_of(rule).items():
            (folder / name).write_bytes(content)
    typer.echo(f"{len(rules)} rules, each broken by NAME, kept by NAME.twin: {folder}", err=True)


def _report(
    table: Mapping[str, Sequence[Judgement]], known: Known, json: Path | None, markdown: Path | None, *, messages: bool
) -> None:
    from cts.modules.validation import report
    from cts.modules.validation.known import is_known, no_longer

    to_stdout = is_stdout(json)
    for line in report.table_lines(table):
        typer.echo(line, err=to_stdout)
    for label, judged in table.items():
        for judgement in judged:
            is_new = judgement.verdict.is_finding and not is_known(judgement, known)
            if is_new or judgement.other or messages:
                typer.echo(f"\n{label}", err=to_stdout)
                for line in report.finding_lines(judgement):
                    typer.echo(line, err=to_stdout)
    if known:
        every = [j for judged in table.values() for j in judged]
        typer.echo(f"\n{sum(is_known(j, known) for j in every)} findings are known", err=to_stdout)
        for name in no_longer(every, known):
            typer.echo(f"no longer a finding: {name}", err=to_stdout)
    write_json(json, report.document(table) if json is not None else None)
    if markdown is not None:
        markdown.write_text("\n".join(report.markdown(table)) + "\n", encoding="utf-8")
