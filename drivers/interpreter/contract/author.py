"""Instructions and values in the words of the module's author: names, expressions over names, and source lines."""

from __future__ import annotations

from cts.drivers.interpreter.parse import Instruction, Module
from cts.spirv.decode import DecodeError
from cts.spirv.source_lines import Line, source_lines

#: Binary operators by the names of instructions, without Op and the letter of the kind of number.
_INFIX = {
    "Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "Mod": "%", "Rem": "%", "LessThan": "<", "GreaterThan": ">",
    "LessThanEqual": "<=", "GreaterThanEqual": ">=", "Equal": "==", "NotEqual": "!=", "And": "&", "Or": "|",
    "hiftLeftLogical": "<<", "hiftRightLogical": ">>", "hiftRightArithmetic": ">>",
}  # fmt: skip
#: What stands between Op and such a name.
_KINDS = ("Bitwise", "Logical", "FOrd", "FUnord", "I", "F", "U", "S")
_CHAINS = frozenset({"OpAccessChain", "OpInBoundsAccessChain"})
#: How deep and how long an expression may be.
_DEEP, _LONG = 8, 120


class Author:
    """The names, expressions and source lines of a module."""

    def __init__(self, module: Module) -> None:
        self._module = module
        bodies = [i for f in module.functions.values() for b in f.blocks for i in (*b.phis, *b.body)]
        self._made_by = {i.result: i for i in (*module.globals, *bodies) if i.result}
        self._kept_in = {i.id(1): i.id(0) for i in bodies if i.name == "OpStore"}
        self._lines: dict[int, Line] | None = None

    def line(self, i: Instruction) -> Line | None:
        """The source line of an instruction."""
        if self._lines is None:
            try:
                self._lines = {} if self._module.words is None else source_lines(self._module.words)
            except (DecodeError, IndexError):
                self._lines = {}
        return self._lines.get(i.at)

    def instruction(self, i: Instruction) -> str:
        """What an instruction does, behind its name; "" if nothing has a name."""
        said = []
        is_access = "Load" in i.name or "Store" in i.name
        if is_access and i.ids and (what := self.expression(i.ids[0])):
            said.append(f"{'to' if 'Store' in i.name else 'from'} {what}")
        if i.result not in self._module.names and (kept := self._module.names.get(self._kept_in.get(i.result, 0))):
            said.append(f'for "{kept}"')
        if (line := self.line(i)) is not None:
            said.append(f"at {line}")
        return ", ".join(said)

    def value(self, id_: int) -> str:
        """A value as an expression in parentheses; "" if it has a name, or no part of it has one."""
        words = "" if id_ in self._module.names else self.expression(id_)
        return f" ({words})" if words else ""

    def expression(self, id_: int) -> str:
        """An expression over names; "" if no part of it has a name, or it is long."""
        words, named = self._words(id_, 0)
        return words if named and len(words) <= _LONG else ""

    def _words(self, id_: int, depth: int) -> tuple[str, bool]:
        """An expression, and whether it has a name in it."""
        if self._module.names.get(id_):
            return self._module.names[id_], True
        i = self._made_by.get(id_)
        if i is None or depth > _DEEP:
            return f"%{int(id_)}", False
        if i.name == "OpConstant" and isinstance(i.operands[0], int):
            return str(int(i.operands[0])), False
        if i.name[2:] in ("Load", "Bitcast", "CopyObject") or i.name.endswith("Convert"):
            return self._words(i.id(0), depth + 1)
        if (operator := _operator(i.name)) and len(i.ids) == 2:
            parts = [self._words(operand, depth + 1) for operand in i.ids]
            shown = [f"({w})" if " " in w else w for w, _ in parts]
            return f" {operator} ".join(shown), any(named for _, named in parts)
        if i.name in _CHAINS:
            return self._chain(i, depth)
        if i.name == "OpCompositeExtract":
            words, named = self._words(i.id(0), depth + 1)
            return words + "".join(f".{'xyzw'[int(n)]}" if int(n) < 4 else f"[{n}]" for n in i.operands[1:]), named
        return f"%{int(id_)}", False

    def _chain(self, i: Instruction, depth: int) -> tuple[str, bool]:
        """A chain of members and indices; an unnamed block is called by its type's name."""
        base = self._made_by.get(i.id(0))
        words, named = self._words(i.id(0), depth + 1)
        t = 0
        if base is not None and base.type in self._made_by:
            t = self._made_by[base.type].ids[-1]
            if not named and self._module.names.get(t):
                words, named = self._module.names[t], True
        for id_ in i.ids[1:]:
            made, type_ = self._made_by.get(id_), self._made_by.get(t)
            if type_ is not None and type_.name == "OpTypeStruct" and made is not None and made.name == "OpConstant":
                member = int(made.operands[0])
                words += f".{self._module.member_names.get((t, member), member)}"
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


def author(module: Module) -> Author:
    """What a module says; made once for each module."""
    if module.author is None:
        module.author = Author(module)
    assert isinstance(module.author, Author)
    return module.author


def described(module: Module, i: Instruction) -> str:
    """An instruction in messages, with the author's words."""
    words = author(module).instruction(i)
    return module.describe(i) + (f" {words}" if words else "")
