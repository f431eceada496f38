"""A case as a test of pytest that needs nothing but the suite."""

from __future__ import annotations

import re

from cts.case.model import dumps_case
from cts.showing.export.subject import Subject
from cts.showing.export.templates import render


def pytest_snippet(subject: Subject) -> str:
    """A file for pytest: the case inside, its driver that of CTS_DRIVER or the one that it was exported with."""
    case = subject.case
    return render(
        "test_case.py.jinja",
        name=_one_line(case.name),
        function=re.sub(r"[^a-zA-Z0-9]+", "_", case.name).strip("_").lower() or "case",
        driver=repr(subject.seen.driver if subject.seen else "vulkan"),
        case=_literal(dumps_case(case)),
    )


def _one_line(text: str) -> str:
    """Text that may stand in a docstring."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _literal(text: str) -> str:
    """A string over several lines."""
    escaped = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""\\\n{escaped}"""'
