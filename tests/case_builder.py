"""Cases for tests: of YAML lines, of the corpus, or of structs."""

from __future__ import annotations

from collections.abc import Mapping

from cts.model import AnyFunction, AnyInstruction, Buffer, Case, Dispatch, FloatControls, OpaqueMatrix, loads_case
from cts.plugins import registry
from cts.running import corpus


def yaml_case(
    program: str,
    buffers: str,
    dispatch: str = "{}",
    functions: str = "{}",
    controls: str = "Undecorated",
    **words: str,
) -> Case:
    """A case of lines: instructions, with or without their dash and braces, and buffers, `NAME: {...}`.

    Each of `words` stands in the program for its text, such as a matrix type.
    """
    for word, text in words.items():
        program = program.replace(word, text)
    lines = (line.strip().removeprefix("- ") for line in program.splitlines() if line.strip())
    listed = [line if line.startswith("{") else f"{{{line}}}" for line in lines]
    return loads_case(
        "\n".join(
            (
                "schema: 1",
                "name: test",
                f"dispatch: {dispatch}",
                f"functions: {functions}",
                f"float_controls: {controls}",
                "buffers:",
                *(f"  {line.strip()}" for line in buffers.splitlines() if line.strip()),
                "program:",
                *(f"  - {line}" for line in listed),
            )
        )
    )


def corpus_case(name: str) -> Case:
    """The case of the corpus, which is valid."""
    return corpus.read(corpus.find_one(name), registry.oracle())


def built_case(
    *program: AnyInstruction,
    functions: Mapping[str, AnyFunction] | None = None,
    float_controls: FloatControls = FloatControls.Undecorated,
    opaque: Mapping[str, OpaqueMatrix] | None = None,
    invocations: int | None = None,
    **buffers: Buffer,
) -> Case:
    """A case of structs."""
    dispatch = Dispatch(invocations=invocations)
    return Case(1, "x", buffers, program, dispatch, dict(functions or {}), float_controls, dict(opaque or {}))
