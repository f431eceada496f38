"""Instructions and values in the words of the module's author: names, expressions over names, and source lines."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cts.spirv.decode import decode
from cts.spirv.encode import Id, Value
from cts.spirv.source_lines import Line, source_lines

#: Binary operators by the names of instructions, without Op and the letter of the kind of number.
_INFIX = {
    "Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "Mod": "%", "Rem": "%", "LessThan": "<", "GreaterThan": ">",
    "LessThanEqual": "<=", "GreaterThanEqual": ">=", "Equal": "==", "NotEqual": "!=", "And": "&", "Or": "|",
    "hiftLeftLogical": "<<", "hiftRightLogical": ">>", "hiftRightArithmetic": ">>",
}  # fmt: skip
#: What stands between Op and such a name.
_KINDS = ("Bitwise", "Logical", "FOrd", "FUnord", "I", "F", "U", "S")
_POINTERS = ("OpTypePointer", "OpTypeUntypedPointerKHR")
_CHAINS = frozenset({"OpAccessChain", "OpInBoundsAccessChain"})
#: How deep and how long an expression may be.
_DEEP, _LONG = 8, 120


class Said(NamedTuple):
    """An instruction at word `at`: operands, result and the result's type; the last two are 0 if it has no result."""

    name: str
    result: int
    type: int
    operands: tuple[Value, ...]
    at: int

    @property
    def ids(self) -> tuple[Id, ...]:
        """The operands that are ids."""
        return tuple(v for v in self.operands if type(v) is Id)


class Author:
    """The names, expressions and source lines of a module that can be decoded."""

    def __init__(self, words: npt.NDArray[np.uint32]) -> None:
        self._code = words
        self._names: dict[int, str] = {}
        self._members: dict[tuple[int, int], str] = {}
        self._made_by: dict[int, Said] = {}
        self._kept_in: dict[int, int] = {}
        self._at: dict[int, Said] = {}
        for i in self._said():
            if i.name == "OpName":
                self._names.setdefault(i.ids[0], str(i.operands[1]))
            elif i.name == "OpMemberName":
                target, number, name = i.operands
                if isinstance(target, int) and isinstance(number, int):
                    self._members.setdefault((target, number), str(name))
            else:
                self._at[i.at] = i
                if i.result:
                    self._made_by[i.result] = i
                elif i.name == "OpStore":
                    self._kept_in[i.ids[1]] = i.ids[0]

    def _said(self) -> Iterator[Said]:
        for d in decode(self._code):
            typed = d.rule.has_type and d.result is not None
            kind = d.values[0] if typed else 0
            yield Said(d.name, d.result or 0, kind if isinstance(kind, int) else 0, d.values[typed:], d.at)

    @cached_property
    def _lines(self) -> dict[int, Line]:
        try:
            return source_lines(self._code)
        except IndexError:  # of an instruction without semantics, which may be anything
            return {}

    def line(self, at: int) -> Line | None:
        """The source line of the instruction at a word."""
        return self._lines.get(at)

    def storage(self, id_: int) -> str:
        """The storage class of a pointer; "" of another value."""
        made = self._made_by.get(id_)
        type_ = None if made is None else self._made_by.get(made.type)
        return "" if type_ is None or type_.name not in _POINTERS else str(type_.operands[0])

    def label(self, id_: int) -> str:
        """An id in messages: `%7 "name"`."""
        name = self._names.get(id_)
        return f"%{int(id_)}" if name is None else f'%{int(id_)} "{name}"'

    def described(self, at: int) -> str:
        """The instruction at a word: opcode, result or place, names, line."""
        i = self._at[at]
        head = f"{i.name} {self.label(i.result)}" if i.result else f"{i.name} at word {at}"
        words = self.instruction(at)
        return f"{head} {words}" if words else head

    def where(self, at: int) -> str:
        """How messages name the target of a branch: the line of the instruction at a word, or its text."""
        line = self.line(at)
        return self.described(at) if line is None else str(line)

    def instruction(self, at: int) -> str:
        """What the instruction at a word does, behind its name; "" if nothing has a name."""
        said = []
        i = self._at[at]
        is_access = "Load" in i.name or "Store" in i.name
        if is_access and i.ids and (what := self.expression(i.ids[0])):
            said.append(f"{'to' if 'Store' in i.name else 'from'} {what}")
        if i.result not in self._names and (kept := self._names.get(self._kept_in.get(i.result, 0))):
            said.append(f'for "{kept}"')
        if (line := self.line(at)) is not None:
            said.append(f"at {line}")
        return ", ".join(said)

    def value(self, id_: int) -> str:
        """A value as an expression in parentheses; "" if it has a name, or no part of it has one."""
        words = "" if id_ in self._names else self.expression(id_)
        return f" ({words})" if words else ""

    def expression(self, id_: int) -> str:
        """An expression over names; "" if no part of it has a name, or it is long."""
        words, named = self._words(id_, 0)
        return words if named and len(words) <= _LONG else ""

    def _words(self, id_: int, depth: int) -> tuple[str, bool]:
        """An expression, and whether it has a name in it."""
        if self._names.get(id_):
            return self._names[id_], True
        i = self._made_by.get(id_)
        if i is None or depth > _DEEP:
            return f"%{int(id_)}", False
        if i.name == "OpConstant" and isinstance(i.operands[0], int):
            return self._constant(i.type, int(i.operands[0])), False
        if i.name[2:] in ("Load", "Bitcast", "CopyObject") or i.name.endswith("Convert"):
            return self._words(i.ids[0], depth + 1)
        if (operator := _operator(i.name)) and len(i.ids) == 2:
            parts = [self._words(operand, depth + 1) for operand in i.ids]
            shown = [f"({w})" if " " in w else w for w, _ in parts]
            return f" {operator} ".join(shown), any(named for _, named in parts)
        if i.name in _CHAINS:
            return self._chain(i, depth)
        if i.name == "OpCompositeExtract":
            words, named = self._words(i.ids[0], depth + 1)
            return words + "".join(f".{'xyzw'[int(n)]}" if int(n) < 4 else f"[{n}]" for n in i.operands[1:]), named
        return f"%{int(id_)}", False

    def _constant(self, type_: int, bits: int) -> str:
        """A number; of a float its bits are given."""
        made = self._made_by.get(type_)
        if made is None or made.name != "OpTypeFloat" or len(made.operands) > 1 or made.operands[0] not in (16, 32, 64):
            return str(bits)
        size = int(made.operands[0]) // 8
        return str(np.frombuffer(bits.to_bytes(size, "little"), f"<f{size}")[0])

    def _chain(self, i: Said, depth: int) -> tuple[str, bool]:
        """A chain of members and indices; an unnamed block is called by its type's name."""
        base = self._made_by.get(i.ids[0])
        words, named = self._words(i.ids[0], depth + 1)
        t = 0
        if base is not None and base.type in self._made_by:
            t = (self._made_by[base.type].ids or (0,))[-1]
            if not named and self._names.get(t):
                words, named = self._names[t], True
        for id_ in i.ids[1:]:
            made, type_ = self._made_by.get(id_), self._made_by.get(t)
            if type_ is not None and type_.name == "OpTypeStruct" and made is not None and made.name == "OpConstant":
                member = int(made.operands[0])
                words += f".{self._members.get((t, member), member)}"
                t = type_.ids[member] if member < len(type_.ids) else 0
            else:
                index, of_name = self._words(id_, depth + 1)
                words, named = f"{words}[{index}]", named or of_name
                t = type_.ids[0] if type_ is not None and type_.ids else 0
        return words, named


def _operator(name: str) -> str:
    """The operator of an instruction, or "".

    >>> [_operator(name) for name in ("OpIAdd", "OpFOrdLessThan", "OpLogicalAnd", "OpShiftLeftLogical", "OpExtInst")]
    ['+', '<', '&', '<<', '']
    """
    for kind in _KINDS:
        if (operator := _INFIX.get(name.removeprefix(f"Op{kind}"))) is not None:
            return operator
    return ""
