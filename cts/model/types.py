"""What each result of a program is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from cts.model.component import ComponentType
from cts.model.instruction import MatrixType
from cts.model.operand import ClampMode, Scope, Use
from cts.model.vectors import VectorType


@dataclass(frozen=True)
class LayoutType:
    """OpTypeTensorLayoutNV with its constants resolved."""

    dim: int
    clamp: ClampMode


@dataclass(frozen=True)
class ViewType:
    """OpTypeTensorViewNV with its constants resolved."""

    dim: int
    has_dimensions: bool
    permutation: tuple[int, ...]


@dataclass(frozen=True)
class MatrixShape:
    """OpTypeCooperativeMatrixKHR with its constants resolved; `declared` is the type as written."""

    component: ComponentType
    scope: Scope
    rows: int
    cols: int
    use: Use
    declared: MatrixType


@dataclass(frozen=True)
class PointerType:
    """A pointer into a buffer."""

    buffer: str


@dataclass(frozen=True)
class VectorShape:
    """OpTypeCooperativeVectorNV with its constants resolved; `declared` is the type as written."""

    component: ComponentType
    length: int
    declared: VectorType


@dataclass(frozen=True)
class ScalarType:
    """A component of a vector."""

    component: ComponentType


ResultType: TypeAlias = LayoutType | ViewType | MatrixShape | PointerType | VectorShape | ScalarType


@dataclass(frozen=True)
class Problem:
    """A case that is not well-formed: `path` as in YAML (`program[2].dims`), and what would be right."""

    path: str
    what: str
    remedy: str
    rule: str = ""
