"""Findings as JSON, with the words beside the data."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import msgspec
from msgspec import Struct

from cts.case.model import Case
from cts.case.oracle.trace import TraceStep, Writer
from cts.judging.guesses import Guess
from cts.judging.sentences.guesses import guess_text, writer_text
from cts.judging.sentences.steps import step_parts


def to_json(document: object) -> Any:
    """Structs and dataclasses as builtins, as msgspec encodes them, with their words.

    Each guess and writer has its sentence as `text`, each step its action as `what` and its result as `value`.
    """
    built = msgspec.to_builtins(document)
    _add_text(document, built)
    return built


def check_words(document: object) -> None:
    """Raise ValueError if steps or guesses lack a value that their words name."""
    try:
        to_json(document)
    except Exception as e:  # each kind of step has its own words, and so its own errors
        raise ValueError(f"a step or guess lacks a part: {type(e).__name__}: {e}") from e


def _add_text(value: object, built: Any) -> None:
    match value:
        case TraceStep():
            built["what"], built["value"] = step_parts(value)
        case Case():
            pass
        case _ if isinstance(value, Guess):
            built["text"] = guess_text(value)
        case _ if isinstance(value, Writer):
            built["text"] = writer_text(value)
        case _ if isinstance(value, Struct) or is_dataclass(value):
            names = value.__struct_fields__ if isinstance(value, Struct) else [f.name for f in fields(value)]
            for name in names:
                if name in built:
                    _add_text(getattr(value, name), built[name])
        case list() | tuple():
            for item, shown in zip(value, built, strict=True):
                _add_text(item, shown)
        case _:
            pass
