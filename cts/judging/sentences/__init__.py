"""Steps, writers and guesses in words, for every report. Nothing reads the words back."""

from __future__ import annotations

from cts.judging.sentences.guesses import class_text, guess_text, value_text, writer_text
from cts.judging.sentences.json import check_words, to_json
from cts.judging.sentences.steps import reasons_text, step_parts, step_text

__all__ = [
    "check_words",
    "class_text",
    "guess_text",
    "reasons_text",
    "step_parts",
    "step_text",
    "to_json",
    "value_text",
    "writer_text",
]
