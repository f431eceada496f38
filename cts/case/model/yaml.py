"""Cases as YAML: reading with errors that name file, path and line; writing in one canonical form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cts.base.errors import BadInput
from cts.base.input_files import Kind, utf8_text
from cts.base.located import Origin, convert, locate
from cts.base.plain_yaml import MAX_FILE_BYTES, flow, parse
from cts.case.model.case import SCHEMA_VERSION, Case
from cts.case.model.plain import plain
from cts.case.model.resolve import resolve

#: Files of cases.
FILE = Kind("case", "the path of a case, a YAML file in UTF-8", MAX_FILE_BYTES)


def load_case(path: Path) -> Case:
    """Read and check a case file. Raises BadInput naming the file, the YAML path and the remedy."""
    return loads_case(utf8_text(path, FILE), str(path))


def loads_case(text: str, where: str = "<string>") -> Case:
    """Parse and check a case; `where` names its origin in errors."""
    data = parse(text, where)
    if not isinstance(data, dict) or "program" not in data:
        raise BadInput(
            "not-a-case",
            "not a case: no mapping with `schema`, `name`, `buffers` and `program`",
            where,
            "see `cts docs writing-a-case`",
        )
    if isinstance(version := data.get("schema"), int) and version > SCHEMA_VERSION:
        raise BadInput(
            "schema-version",
            f"the case has schema {version}, which is newer than this version of the suite",
            locate(where, text, "schema"),
            f"a suite that reads schema {version}, or a case of schema {SCHEMA_VERSION}",
        )
    return case_of(data, where, text)


def case_of(data: dict[str, Any], where: str, text: str, within: str = "") -> Case:
    """The case that plain data stand for, which are those of `text`, or of the part of it that `within` leads to.

    Raises BadInput.
    """
    case: Case = convert(data, Case, Origin(text, where, "case-invalid", "`cts schema case`", within))
    _, problems = resolve(case)
    if problems:
        first = problems[0]
        rule = f" [{first.rule}]" if first.rule else ""
        raise BadInput("case-malformed", first.what + rule, locate(where, text, within + first.path), first.remedy)
    return case


def dumps_case(case: Case) -> str:
    """The canonical YAML of a case: fixed field order, defaults left out, one instruction a line."""
    data = plain(case)
    lines = [f"{key}: {flow(data[key])}" for key in ("schema", "name") if key in data]
    header = ("description", "covers", "dispatch", "robustness", "float_controls", "float_modes", "fast_math")
    lines += [f"{key}: {flow(data[key])}" for key in header if key in data]
    if data.get("functions"):
        lines += ["functions:", *(line for name, f in data["functions"].items() for line in _function(name, f))]
    if data.get("opaque"):
        lines += ["opaque:", *(f"  {flow(name)}: {flow(m)}" for name, m in data["opaque"].items())]
    if data.get("conversions"):
        lines += ["conversions:", *(f"  - {flow(c)}" for c in data["conversions"])]
    lines += (
        ["buffers:", *(f"  {flow(name)}: {flow(b)}" for name, b in data["buffers"].items())]
        if data["buffers"]
        else ["buffers: {}"]
    )
    lines += ["program:", *(f"  - {flow(i)}" for i in data["program"])] if data["program"] else ["program: []"]
    return "\n".join(lines) + "\n"


def _function(name: str, function: dict[str, Any]) -> Iterator[str]:
    """A function on one line; if its body has several lines, one field a line and the body as a block."""
    body = function["body"]
    if not re.fullmatch(r"[!-~]([ -~]*[!-~])?(\n *[!-~]([ -~]*[!-~])?)+", body):
        yield f"  {flow(name)}: {flow(function)}"
        return
    yield f"  {flow(name)}:"
    yield from (f"    {key}: {flow(value)}" for key, value in function.items() if key != "body")
    yield from ("    body: |-", *(f"      {line}" for line in body.split("\n")))
