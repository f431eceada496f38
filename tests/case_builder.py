"""Cases for tests: of YAML lines, of the corpus, or of structs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import cts.cases
from cts.case import model
from cts.plugins import registry
from cts.running import corpus


def yaml_case(
    program: str,
    buffers: str,
    dispatch: str = "{}",
    functions: str = "{}",
    controls: str = "Undecorated",
    **words: str,
) -> model.Case:
    """A case of lines: instructions, with or without their dash and braces, and buffers, `NAME: {...}`.

    Each of `words` stands in the program for its text, such as a matrix type.
    """
    for word, text in words.items():
        program = program.replace(word, text)
    lines = (line.strip().removeprefix("- ") for line in program.splitlines() if line.strip())
    listed = [line if line.startswith("{") else f"{{{line}}}" for line in lines]
    return model.loads_case(
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


def corpus_case(name: str) -> model.Case:
    """The case of the corpus, which is valid."""
    return corpus.read(corpus.find_one(name), registry.oracle())


@cache
def corpus_files() -> Mapping[str, Path]:
    """The files of the corpus by the names that their places give their cases, in the order of their paths."""
    root = Path(cts.cases.__file__).parent
    return {".".join(f.relative_to(root).with_suffix("").parts): f for f in sorted(root.rglob("*.yaml"))}


@cache
def corpus_cases() -> Mapping[str, model.Case]:
    """Their cases, read once for all tests of a process. They are well-formed; whether they are valid is tested."""
    return {name: model.load_case(file) for name, file in corpus_files().items()}


def built_case(
    *program: model.AnyInstruction,
    functions: Mapping[str, model.AnyFunction] | None = None,
    float_controls: model.FloatControls = model.FloatControls.Undecorated,
    opaque: Mapping[str, model.OpaqueMatrix] | None = None,
    invocations: int | None = None,
    **buffers: model.Buffer,
) -> model.Case:
    """A case of structs."""
    dispatch = model.Dispatch(invocations=invocations)
    return model.Case(
        1,
        "x",
        buffers,
        program,
        dispatch,
        functions=dict(functions or {}),
        float_controls=float_controls,
        opaque=dict(opaque or {}),
    )
