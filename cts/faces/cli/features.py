"""`cts features`: the vocabulary of conditions."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cts.faces.cli import completion
from cts.faces.cli.documents import check_json, is_stdout, write_json
from cts.faces.cli.options import JsonFile


def features(
    kind: Annotated[
        str | None,
        typer.Argument(
            help="A kind of sites, such as MatrixReduce. Default: all kinds.",
            metavar="KIND",
            autocompletion=completion.kinds,
        ),
    ] = None,
    json: JsonFile = None,
) -> None:
    """List what conditions of cases can speak of: kinds of sites, or the attributes of one.

    --json has the attributes of all kinds, or of the one.
    """
    from cts.base.errors import BadInput, did_you_mean
    from cts.features.instructions import FAMILIES, INSTRUCTIONS, KINDS, attributes_of, members

    check_json(json)
    kinds = [*KINDS, "Case", "Layout", "Operand"]
    if kind is not None and kind not in kinds:
        raise BadInput("unknown-kind", f"no kind of sites named {kind!r}", "cts features", did_you_mean(kind, kinds))
    chosen = [kind] if kind is not None else kinds
    described: dict[str, Any] = {
        name: {
            "members": list(members(name)) if name in FAMILIES else [],
            "attributes": {
                attribute: {"kind": declared.kind, "words": list(declared.words), "says": declared.says}
                for member in members(name)
                for attribute, declared in attributes_of(member).items()
            },
        }
        for name in chosen
    }
    write_json(json, described)
    if is_stdout(json):
        return
    if kind is None:
        others = [name for name in kinds if name not in INSTRUCTIONS]
        typer.echo(f"instructions: {', '.join(INSTRUCTIONS)}")
        typer.echo(f"others: {', '.join(others)}")
        typer.echo("`cts features KIND` lists the attributes of one; `cts docs features` says how conditions use them")
        return
    if described[kind]["members"]:
        typer.echo(f"{kind}: {', '.join(described[kind]['members'])}")
    for name, declared in described[kind]["attributes"].items():
        words = f": {', '.join(declared['words'])}" if 0 < len(declared["words"]) <= FEW else ""
        typer.echo(f"{name:<24} {declared['kind']:<12} {declared['says']}{words}")


#: Words of an attribute that are listed: longer lists, such as all component types twice, are cut.
FEW = 24
