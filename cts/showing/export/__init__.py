"""A case in a format that can be used without this suite. See docs/exporting.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from cts.base.errors import BadInput
from cts.showing.export.cannot import CannotExpress

if TYPE_CHECKING:
    from cts.showing.export.subject import Subject

__all__ = ["FORMATS", "CannotExpress", "Format", "export", "format_of"]


class Format(NamedTuple):
    """One form of a case: its files by name. `folder`: there are several, which belong together."""

    what: str
    make: Callable[[Subject], dict[str, bytes]]
    folder: bool = False


def export(subject: Subject, format_name: str) -> dict[str, bytes]:
    """The files of a case in a format of FORMATS, the same for the same subject.

    Raises CannotExpress where the format cannot express the case, BadInput for a format that is not known.
    """
    return format_of(format_name).make(subject)


def format_of(name: str) -> Format:
    """The format of that name. Raises BadInput for an unknown name."""
    if name not in FORMATS:
        raise BadInput("unknown-format", f"no format {name!r}", "--format", f"one of: {', '.join(FORMATS)}")
    return FORMATS[name]


def _bundle(subject: Subject) -> dict[str, bytes]:
    from cts.showing.export.bundle import bundle

    return bundle(subject)


def _c(subject: Subject) -> dict[str, bytes]:
    from cts.showing.export.bundle import about
    from cts.showing.export.c import c

    return {"repro.c": c(subject.case, subject.expectation, subject.subgroup_size, about(subject)).encode()}


def _glsl(subject: Subject) -> dict[str, bytes]:
    from cts.showing.export.glsl import glsl

    return {"shader.comp": glsl(subject.case, subject.subgroup_size).encode()}


def _spvasm(subject: Subject) -> dict[str, bytes]:
    from cts.spirv.listing import assembly
    from cts.spirv.lower import lower

    return {"module.spvasm": assembly(lower(subject.case, subject.subgroup_size).words).encode()}


def _amber(subject: Subject) -> dict[str, bytes]:
    from cts.showing.export.amber import amber
    from cts.showing.export.exported import of_case

    exported = of_case(subject.case, subject.expectation, subject.subgroup_size)
    return {"case.amber": amber(exported).encode()}


def _yaml(subject: Subject) -> dict[str, bytes]:
    from cts.case.model import dumps_case

    return {"case.yaml": dumps_case(subject.case).encode()}


def _dispatch(subject: Subject) -> dict[str, bytes]:
    from cts.showing.export.dispatch import dispatch

    return dispatch(subject.case, subject.subgroup_size, subject.expectation)


def _pytest(subject: Subject) -> dict[str, bytes]:
    from cts.showing.export.pytest_snippet import pytest_snippet

    return {"test_case.py": pytest_snippet(subject).encode()}


#: Every format by its name on the command line.
FORMATS = {
    "bundle": Format("everything below in one folder, with a README that says what is wrong", _bundle, folder=True),
    "c": Format("one C program that needs only a Vulkan loader: repro.c", _c),
    "glsl": Format("a compute shader that glslang compiles", _glsl),
    "spvasm": Format("the SPIR-V module, disassembled", _spvasm),
    "amber": Format("AmberScript, for cooperative matrices of KHR", _amber),
    "yaml": Format("the case in canonical form", _yaml),
    "dispatch": Format("a dispatch file with its module and data", _dispatch, folder=True),
    "pytest": Format("a test for pytest", _pytest),
}
