"""Features of modules that use cooperative matrices and vectors, to be counted: in anybody's modules, and in ours.

A feature is a line such as `CooperativeMatrixMulAdd: A from a load from Workgroup`. An instruction's features are the
origin of its operands, the use of its result, the form of its pointer, stride and layout, the built-ins in its address,
and the control flow around it. A module's features are its types, scopes, built-ins and barriers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cts.case.model import Case
from cts.spirv.decode import Decoded, decode
from cts.spirv.encode import Id

#: Operands of products by their places.
_OF_PRODUCTS = {
    "OpCooperativeMatrixMulAddKHR": ("A", "B", "C"),
    "OpCooperativeVectorMatrixMulNV": ("the input",),
    "OpCooperativeVectorMatrixMulAddNV": ("the input",),
}

#: Types of matrices and vectors.
_TYPES = ("OpTypeCooperativeMatrixKHR", "OpTypeCooperativeVectorNV", "OpTypeVectorIdEXT")

_CHAINS = ("OpAccessChain", "OpInBoundsAccessChain", "OpPtrAccessChain", "OpInBoundsPtrAccessChain")
_CONSTANTS = ("OpConstant", "OpConstantComposite", "OpConstantNull", "OpConstantCompositeReplicateEXT")
_SPECIAL = tuple(f"OpSpecConstant{kind}" for kind in ("", "Op", "Composite", "True", "False"))

#: The subgroup size that cases are lowered for: the most common one. No feature depends on it.
SUBGROUP_SIZE = 32

#: The most instructions that are followed behind an operand: a bound for hostile modules.
_DEEP = 400


class Row(NamedTuple):
    """A feature, how many modules have it, how often all of these do, and how many generated modules have it."""

    feature: str
    modules: int
    times: int
    generated: int


def of_cases(samples: Mapping[str, Sequence[Case]]) -> Counter[str]:
    """How many generated cases have each feature in their modules: in the plain module, or in a drawn form of it."""
    from cts.case.model import initial_memory
    from cts.spirv.forms import DRAWN, formed_job
    from cts.spirv.lower import module_job

    counts: Counter[str] = Counter()
    for number, case in enumerate(case for cases in samples.values() for case in cases):
        job = module_job(case, initial_memory(case), SUBGROUP_SIZE)
        other = formed_job(job, [DRAWN], number)
        counts.update(features(job.words).keys() | features(other.words).keys())
    return counts


def census(modules: Sequence[tuple[Path, Counter[str]]], generated: Mapping[str, int]) -> list[Row]:
    """Every feature of the modules, that which most have first."""
    names = sorted({name for _, counts in modules for name in counts})
    rows = [
        Row(
            name,
            sum(name in counts for _, counts in modules),
            sum(counts[name] for _, counts in modules),
            generated.get(name, 0),
        )
        for name in names
    ]
    return sorted(rows, key=lambda row: (-row.modules, -row.times, row.feature))


def features(words: npt.NDArray[np.uint32]) -> Counter[str]:
    """How often a module has each feature. Raises DecodeError."""
    return Counter(_Module(words).features())


class _Module:
    def __init__(self, words: npt.NDArray[np.uint32]) -> None:
        self.instructions = list(decode(words))
        self.made = {d.result: d for d in self.instructions if d.result is not None}
        self.stores: dict[Id, list[Decoded]] = {}
        self.builtins: dict[Id, str] = {}
        for d in self.instructions:
            if d.name == "OpStore" and isinstance(d.values[0], Id):
                self.stores.setdefault(self._root(d.values[0]), []).append(d)
            if d.name == "OpDecorate" and d.values[1] == "BuiltIn" and isinstance(d.values[0], Id):
                self.builtins[d.values[0]] = str(d.values[2])

    def features(self) -> Iterator[str]:
        """Every feature of every instruction, and those of the module."""
        blocks: list[tuple[object, str]] = []
        users: dict[Id, set[str]] = {}
        for d in self.instructions:
            for value in d.values[d.rule.has_type :]:
                if isinstance(value, Id):
                    users.setdefault(value, set()).add(d.name)
        for d in self.instructions:
            if d.name in ("OpLoopMerge", "OpSelectionMerge"):
                blocks.append((d.values[0], "a loop" if d.name == "OpLoopMerge" else "a condition"))
            elif d.name == "OpLabel":
                while any(merge == d.result for merge, _ in blocks):
                    blocks.pop()
            elif self._concerns(d):
                yield from self._features_of(d, {kind for _, kind in blocks}, users)
            yield from self._of_module(d)

    def _concerns(self, d: Decoded) -> bool:
        """Whether an instruction gives or takes a cooperative matrix or vector, and does more than pass it on."""
        if d.name in ("OpLoad", "OpStore", "OpVariable", "OpName", "OpReturnValue", *_CHAINS) or "Type" in d.name:
            return False
        ids = [value for value in d.values if isinstance(value, Id)]
        typed = d.rule.has_type and self._cooperative(d.values[0])
        return typed or any(self._cooperative(self._type(value)) for value in ids)

    def _features_of(self, d: Decoded, around: set[str], users: dict[Id, set[str]]) -> Iterator[str]:
        name = _short(d.name)
        yield name
        yield from (f"{name}: in {block}" for block in sorted(around))
        operands = [v for v in d.values[d.rule.has_type :] if isinstance(v, Id)]
        of_type = [v for v in operands if self._cooperative(self._type(v))]
        for n, value in enumerate(of_type):
            operand_names = _OF_PRODUCTS.get(d.name, ())
            which = operand_names[n] if n < len(operand_names) else "an operand"
            yield f"{name}: {which} from {self._origin(value)}"
        if d.result is not None:
            yield from (f"{name}: to {_short(user)}" for user in sorted(users.get(d.result, set())))
        if d.name in ("OpCompositeExtract", "OpCompositeInsert"):
            index = d.values[-1]
            yield f"{name}: component {'0' if index == 0 else 'beyond 0'} by literal"
        if "Load" in d.name or "Store" in d.name or "Accumulate" in d.name or "MatrixMul" in d.name:
            yield from self._of_access(d, name)

    def _of_access(self, d: Decoded, name: str) -> Iterator[str]:
        for value in d.values[d.rule.has_type :]:
            if not isinstance(value, Id):
                continue
            kind = self.made.get(self._type(value) or Id(0))
            if kind is None or kind.name != "OpTypePointer":
                continue
            storage = str(kind.values[0])
            yield f"{name}: in {storage}"
            chain = self.made.get(value)
            depth = 0
            while chain is not None and chain.name in _CHAINS:
                depth += len(chain.values) - 2
                chain = self.made.get(chain.values[1]) if isinstance(chain.values[1], Id) else None
            yield f"{name}: pointer of {depth} indices"
            yield from (f"{name}: address by {what}" for what in sorted(self._made_of(value)))
        if d.name in ("OpCooperativeMatrixLoadKHR", "OpCooperativeMatrixStoreKHR"):
            layout, *more = d.values[2:]
            yield f"{name}: layout {self._operand_form(layout)}"
            if more and isinstance(more[0], Id):
                yield f"{name}: stride {self._operand_form(more[0], sized=True)}"
                yield from (f"{name}: stride by {what}" for what in sorted(self._made_of(more[0])))

    def _of_module(self, d: Decoded) -> Iterator[str]:
        if d.name == "OpTypeCooperativeMatrixKHR":
            component, scope, _, _, use = d.values
            yield f"type: matrix of {self._scalar(component)}, use {self._number(use)}, scope {self._number(scope)}"
        elif d.name in ("OpTypeCooperativeVectorNV", "OpTypeVectorIdEXT"):
            yield f"type: vector of {self._scalar(d.values[0])}"
        elif d.name == "OpControlBarrier":
            yield f"barrier: execution scope {self._number(d.values[0])}, memory scope {self._number(d.values[1])}"
        elif d.name == "OpMemoryBarrier":
            yield f"memory barrier: scope {self._number(d.values[0])}"
        elif d.name == "OpDecorate" and d.values[1] == "BuiltIn":
            yield f"built-in {d.values[2]}"
        elif d.name == "OpTypeArray" and self._cooperative(d.values[0]):
            yield "type: array of matrices or vectors"

    def _type(self, value: Id) -> Id | None:
        made = self.made.get(value)
        type_ = made.values[0] if made is not None and made.rule.has_type else None
        return type_ if isinstance(type_, Id) else None

    def _cooperative(self, kind: object) -> bool:
        made = self.made.get(kind) if isinstance(kind, Id) else None
        return made is not None and made.name in _TYPES

    def _root(self, pointer: Id) -> Id:
        """What a pointer leads into: a variable as a rule."""
        made = self.made.get(pointer)
        while made is not None and (made.name in _CHAINS or made.name == "OpCopyObject"):
            base = made.values[1]
            if not isinstance(base, Id):
                break
            pointer, made = base, self.made.get(base)
        return pointer

    def _origin(self, value: Id, left: int = 8) -> str:
        """What made a matrix or vector, through variables that hold it."""
        made = self.made.get(value)
        if made is None or not left:
            return "elsewhere"
        name = made.name
        if name == "OpLoad" and isinstance(made.values[1], Id):
            pointer = self.made.get(made.values[1])
            if pointer is not None and pointer.name in _CHAINS:
                return "a member or an element"
            stored = [s.values[1] for s in self.stores.get(self._root(made.values[1]), [])]
            if len(stored) == 1 and isinstance(stored[0], Id):
                return self._origin(stored[0], left - 1)
            return "a variable with several values" if stored else "a variable"
        if name in ("OpCopyObject", "OpPhi") and name == "OpCopyObject" and isinstance(made.values[1], Id):
            return self._origin(made.values[1], left - 1)
        if "Load" in name:
            pointers = (self.made.get(self._type(v) or Id(0)) for v in made.values[1:] if isinstance(v, Id))
            storage = next((str(p.values[0]) for p in pointers if p is not None and p.name == "OpTypePointer"), "?")
            return f"a {_short(name)} from {storage}"
        if name in _CONSTANTS:
            return "a constant"
        return _short(name) if name not in _SPECIAL else "a specialization constant"

    def _operand_form(self, value: object, *, sized: bool = False) -> str:
        """How an operand is given: as a constant, with its size, specialized or computed."""
        made = self.made.get(value) if isinstance(value, Id) else None
        if made is None:
            return "not given"
        if made.name in _SPECIAL:
            return "specialized"
        if made.name != "OpConstant":
            return "computed"
        number = made.values[1]
        if not sized or not isinstance(number, int):
            return f"constant {number}"
        return f"constant below {next(1 << bits for bits in (4, 8, 12, 16, 32) if number < 1 << bits)}"

    def _made_of(self, value: Id) -> set[str]:
        """Built-ins, push constants, loops and memory that a number or a pointer is computed from."""
        makers, visited, left = set[str](), set[Id](), [value]
        while left and len(visited) < _DEEP:
            id_ = left.pop()
            made = self.made.get(id_)
            if id_ in visited or made is None:
                continue
            visited.add(id_)
            if id_ in self.builtins:
                makers.add(self.builtins[id_])
                continue
            if made.name == "OpVariable":
                storage = str(made.values[1])
                if storage == "Function":
                    left += [v for s in self.stores.get(id_, []) for v in s.values[1:] if isinstance(v, Id)]
                elif storage == "PushConstant":
                    makers.add("a push constant")
                elif id_ != self._root(value):
                    makers.add(f"memory in {storage}")
                continue
            if made.name in ("OpPhi",):
                makers.add("a phi")
            if made.name in _SPECIAL:
                makers.add("a specialization constant")
            left += [v for v in made.values[made.rule.has_type :] if isinstance(v, Id)]
        return makers

    def _scalar(self, kind: object) -> str:
        made = self.made.get(kind) if isinstance(kind, Id) else None
        if made is None:
            return "?"
        encoding = f" {made.values[-1]}" if made.name == "OpTypeFloat" and len(made.values) > 1 else ""
        sign = "u" if made.name == "OpTypeInt" and not made.values[1] else ""
        return f"{sign}{'float' if made.name == 'OpTypeFloat' else 'int'}{made.values[0]}{encoding}"

    def _number(self, value: object) -> str:
        made = self.made.get(value) if isinstance(value, Id) else None
        if made is None:
            return "?"
        return "specialized" if made.name in _SPECIAL else str(made.values[-1])


def _short(name: str) -> str:
    return name.removeprefix("Op").removesuffix("KHR").removesuffix("NV").removesuffix("EXT")
