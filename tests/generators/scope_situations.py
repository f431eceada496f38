"""What cases of matrices of both scopes contain: the rows on that in docs/generators.md."""

from __future__ import annotations

from collections.abc import Iterator

from cts.case import model as m
from cts.case.model.types import ResultType
from cts.device.capabilities import everything, workgroup_bytes

#: Bytes of workgroup memory that are left where nearly all of it is used.
NEARLY = 512


def scope_situations(case: m.Case) -> set[str]:
    """Every such situation that occurs in the case."""
    return set(_found(case))


def _found(case: m.Case) -> Iterator[str]:
    types = m.types_of(case)
    scopes = {shape.scope for shape in types.values() if isinstance(shape, m.MatrixShape)}
    if scopes:
        yield from _limits(case, m.Scope.Workgroup if m.Scope.Workgroup in scopes else m.Scope.Subgroup)
    if len(scopes) < 2:
        return
    subgroups = case.dispatch.subgroups
    yield f"both scopes, subgroups {1 if subgroups == 1 else 'several'}"
    written: dict[str, m.MatrixShape] = {}
    depth = 0
    for i in case.program:
        depth += isinstance(i, m.Loop) - isinstance(i, m.EndLoop)
        if isinstance(i, m.MatrixStore):
            written[i.buffer] = _shape(types, i.matrix)
        before = written.get(i.buffer) if isinstance(i, m.MatrixLoad) else None
        if isinstance(i, m.MatrixLoad) and before is not None:
            shape = _shape(types, i.id)
            if shape.scope is not before.scope:
                yield f"{before.scope.value} to {shape.scope.value} scope: {case.buffers[i.buffer].storage.value}"
                own, wide = (shape, before) if shape.scope is m.Scope.Subgroup else (before, shape)
                yield from _sizes(own, wide, subgroups)
                if depth:
                    yield "both scopes in a loop"
    yield from _computed(case, types)


def _limits(case: m.Case, scope: m.Scope) -> Iterator[str]:
    """Whether a case is at the limits of what runs everything, or next to them."""
    everywhere = everything()
    if scope is m.Scope.Workgroup and case.dispatch.subgroups == everywhere.subgroups_of(scope):
        yield "as many subgroups as Workgroup scope may have"
    room = everywhere.workgroup_room(scope)
    left = room - workgroup_bytes(case)
    if left == 0:
        yield f"all of the workgroup memory, {scope.value} scope"
    elif left <= NEARLY:
        yield f"nearly all of the workgroup memory, {scope.value} scope"


def _sizes(own: m.MatrixShape, wide: m.MatrixShape, subgroups: int) -> Iterator[str]:
    """How the matrices of the subgroups make up that of the workgroup."""
    if subgroups == 1:
        return
    if (wide.rows, wide.cols) == (own.rows * subgroups, own.cols):
        yield "subgroups' matrices below one another"
    elif (wide.rows, wide.cols) == (own.rows, own.cols * subgroups):
        yield "subgroups' matrices side by side"
    else:
        yield "a workgroup's matrix as large as a subgroup's"


def _computed(case: m.Case, types: dict[str, ResultType]) -> Iterator[str]:
    """What is computed at both scopes."""
    products: set[m.Scope] = set()
    computations: set[m.Scope] = set()
    moving = (m.MatrixLoad, m.MatrixLoadTensor, m.MatrixNull, m.MatrixConstant, m.MatrixCopy)
    for i in case.program:
        shape = types.get(getattr(i, "id", ""))
        if isinstance(shape, m.MatrixShape) and not isinstance(i, moving):
            (products if isinstance(i, m.MatrixMulAdd) else computations).add(shape.scope)
    if len(products) == 2:
        yield "products at both scopes"
    if len(products | computations) == 2:
        yield "computations at both scopes"
    if m.Scope.Subgroup in products and m.Scope.Workgroup in computations:
        yield "products of subgroups, computations of the workgroup"


def _shape(types: dict[str, ResultType], name: str) -> m.MatrixShape:
    shape = types[name]
    assert isinstance(shape, m.MatrixShape)
    return shape
