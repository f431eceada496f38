"""`cts schema`: the JSON Schema of a case file, or of a dispatch file."""

from __future__ import annotations

from typing import Annotated

import typer


def schema(
    dispatch: Annotated[bool, typer.Option("--dispatch", help="The schema of a file for `cts dispatch`.")] = False,
) -> None:
    """Print the JSON Schema of a case, for editors and other tools."""
    import msgspec

    from cts.dispatch.model import DispatchFile
    from cts.model import Case

    kind = DispatchFile if dispatch else Case
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(kind)}
    typer.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())
