"""The types of results: as a case declares them, and with their constants resolved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from msgspec import Struct

from cts.case.model.component import ComponentType
from cts.case.model.operand import ClampMode, Scope, SpecInt, SpecScope, SpecUse, Use

__all__ = [
    "LayoutType", "MatrixShape", "MatrixType", "PointerType", "Problem", "ScalarType", "VectorShape", "VectorType",
    "ViewType",
]  # fmt: skip


class MatrixType(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """OpTypeCooperativeMatrixKHR (KM-010)."""

    component: ComponentType
    scope: Scope | SpecScope
    rows: int | SpecInt
    cols: int | SpecInt
    use: Use | SpecUse


class VectorType(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """OpTypeCooperativeVectorNV (CV-010). An `ordinary` one is OpTypeVector of 2 to 4 components, of any shader."""

    component: ComponentType
    length: int | SpecInt
    ordinary: bool = False


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
    """A vector type with its constants resolved; `declared` is the type as written."""

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
