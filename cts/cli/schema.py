"""`cts schema`: the JSON Schema of a case file."""

from __future__ import annotations

import typer


def schema() -> None:
    """Print the JSON Schema of a case, for editors and other tools."""
    import msgspec

    from cts.model import Case

    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(Case)}
    typer.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())
