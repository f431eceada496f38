"""Results that drivers may compute otherwise: addresses, the order of atomics, and who holds which element."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cts.spirv.encode import Id
from cts.spirv.forms.layout import Op

_ORDERED = ("OpAtomic", "OpReadClock", "OpGroupNonUniformElect", "OpConvertPtrToU", "OpPtrDiff")
_CHAINS = ("AccessChain", "OpCopyObject")
_MATRIX = "OpTypeCooperativeMatrixKHR"


class Roots:
    """The variables that pointers lead to."""

    def __init__(self, made: Mapping[Id, Op]) -> None:
        self._made = made

    def root(self, pointer: Id) -> Op | None:
        """The variable, or what else makes the first pointer."""
        op = self._made.get(pointer)
        while op is not None and op.name.endswith(_CHAINS):
            op = self._made.get(Id(int(op.values[1])))
        return op

    def storage(self, pointer: Id) -> str:
        """The storage class of a pointer's variable; "" of another pointer."""
        root = self.root(pointer)
        return str(root.values[1]) if root is not None and root.name == "OpVariable" else ""


def incomparable(functions: Iterable[list[Op]], made: Mapping[Id, Op]) -> set[Id]:
    """The results that may differ, with those that are computed from them, and addresses.

    Variables of functions and invocations carry them on; memory does not.
    """
    ops = [op for function in functions for op in function]
    roots = Roots(made)
    found = {op.result for op in ops if op.result is not None and _is_free(op, made)}
    count = -1
    while len(found) != count:
        count = len(found)
        for op in ops:
            if op.name == "OpStore" and op.values[1] in found:
                root = roots.root(Id(int(op.values[0])))
                if root is not None and root.result is not None and not _holds_matrix(root, made):
                    found.add(root.result)
            elif op.result is not None and op.result not in found and _carries(op, found, roots, made):
                found.add(op.result)
    return found | _addresses(ops, roots, made)


def _is_free(op: Op, made: Mapping[Id, Op]) -> bool:
    if op.name.startswith((*_ORDERED, "OpCooperativeMatrixLength")):
        return True
    if op.name == "OpCompositeExtract":
        return _type_name(made.get(Id(int(op.values[1]))), made) == _MATRIX
    if op.name.endswith("AccessChain") and (base := made.get(Id(int(op.values[1])))) is not None:
        return _holds_matrix(base, made)
    return False


def _type_name(op: Op | None, made: Mapping[Id, Op]) -> str:
    type_ = made.get(Id(int(op.values[0]))) if op is not None and op.values and isinstance(op.values[0], Id) else None
    return "" if type_ is None else type_.name


def _holds_matrix(pointer: Op, made: Mapping[Id, Op]) -> bool:
    type_ = made.get(Id(int(pointer.values[0])))
    pointee = made.get(Id(int(type_.values[1]))) if type_ is not None and type_.name == "OpTypePointer" else None
    return pointee is not None and pointee.name == _MATRIX


def _carries(op: Op, found: set[Id], roots: Roots, made: Mapping[Id, Op]) -> bool:
    """Whether a result comes from one that may differ. A whole matrix does not: it is compared as one."""
    if _type_name(op, made) == _MATRIX or op.name == "OpFunctionCall":
        return False
    if op.name == "OpLoad":
        root = roots.root(Id(int(op.values[1])))
        return op.values[1] in found or (root is not None and root.result in found)
    return any(v in found for v in op.ids)


def _addresses(ops: list[Op], roots: Roots, made: Mapping[Id, Op]) -> set[Id]:
    """The numbers that become addresses, back to what was loaded."""
    waiting = [
        Id(int(op.values[1]))
        for op in ops
        if op.name == "OpConvertUToPtr" or (op.name == "OpBitcast" and _type_name(op, made) == "OpTypePointer")
    ]
    if not waiting:
        return set()
    stored: dict[Id | None, list[Id]] = {}
    for op in ops:
        if op.name == "OpStore" and (root := roots.root(Id(int(op.values[0])))) is not None:
            stored.setdefault(root.result, []).append(Id(int(op.values[1])))
    found: set[Id] = set()
    while waiting:
        id_ = waiting.pop()
        made_by = made.get(id_)
        if id_ in found or made_by is None or made_by.name.startswith(("OpType", "OpConstant", "OpSpec")):
            continue
        found.add(id_)
        if made_by.name == "OpLoad":
            root = roots.root(Id(int(made_by.values[1])))
            local = root is not None and root.name == "OpVariable" and root.values[1] in ("Function", "Private")
            waiting += stored.get(root.result, []) if local and root is not None else []
        elif not made_by.name.startswith(("OpVariable", "OpFunction", "OpAccessChain")):
            waiting += list(made_by.ids)
    return found
