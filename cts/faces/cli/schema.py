"""`cts schema`: the JSON Schema of a file that users write."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class Kind(StrEnum):
    """What has a schema."""

    CASE = "case"
    DISPATCH = "dispatch"
    CONFIG = "config"
    UNIVERSE = "universe"
    RULES = "rules"
    DRAWN = "drawn"
    CERTIFICATE = "certificate"


def schema(
    kind: Annotated[
        Kind,
        typer.Argument(
            help="case; dispatch: a file for `cts dispatch`; config: the table tool.cts of a pyproject.toml; "
            "universe: a file for `cts sweep`; rules: one for `cts validation`; "
            "drawn: one that `cts draw` writes; certificate: one of `cts certify`.",
            metavar="KIND",
        ),
    ] = Kind.CASE,
) -> None:
    """Print the JSON Schema of a case, or of another file, for editors and other tools."""
    import msgspec

    from cts.base.config import Table
    from cts.case.model import Case
    from cts.modules.dispatch import model
    from cts.modules.validation.rules import RuleFile
    from cts.running.certificate import Certificate
    from cts.running.sweeps.universe import UniverseFile
    from cts.showing.export.drawn import Program

    of = {
        Kind.CASE: Case,
        Kind.CONFIG: Table,
        Kind.UNIVERSE: UniverseFile,
        Kind.RULES: RuleFile,
        Kind.DRAWN: Program,
        Kind.CERTIFICATE: Certificate,
    }
    schema_of_kind = model.schema() if kind is Kind.DISPATCH else msgspec.json.schema(of[kind])
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema_of_kind}
    typer.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())
