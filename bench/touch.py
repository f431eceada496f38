"""How many product files name each instruction and each component type.

    python bench/touch.py [--files NAME | --rooms]

Exit status 1 if a mean is above its limit. The limits are the means of today, rounded up: they may only fall.

A file names an instruction if its code has one of the instruction's names.

- The name of its struct, as a word of its own: in an import, an expression, a pattern, a class statement, or alone in
  a string. A file that cannot import the case model does not name structs: a class with such a name is its own.
- The name of one of its opcodes, alone in a string. This finds the handlers of the interpreter, the forms of modules,
  and the grammar. An opcode that SPIR-V has without cooperative matrices and vectors, such as OpIAdd, is also a tool
  that modules are made with: outside the interpreter, which makes no modules, an argument of a call does not count.

A file names a component type if its code has the member, of `ComponentType` under any name or of an enum with the same
members, or its name alone in a string; NumPy's and ml_dtypes' types of that name are others.

Comments, docstrings and sentences do not count. A file is a module under cts, generators, reference, drivers and cases;
the one that only exports the model's names counts as one.
"""

from __future__ import annotations

import argparse
import ast
import statistics
import sys
from collections import Counter
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import get_args, get_type_hints

from measuring import Figure, concluded

from cts.model import AnyInstruction, ComponentType, Instruction, Interpretation
from cts.model.vector_arithmetic import EXTENDED

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("cts", "generators", "reference", "drivers", "cases")
INTERPRETER = "drivers/interpreter/"
#: Rooms that share nothing with the case model.
APART = (INTERPRETER, "drivers/vulkan/worker/")
#: Modules of number types that have names of component types as well.
NUMBERS = frozenset({"np", "numpy", "ml_dtypes", "numba", "nb"})

STRUCT_LIMIT = 12.3
INSTRUCTION_LIMIT = 16.4
COMPONENT_LIMIT = 22.4

KINDS: tuple[type[Instruction], ...] = get_args(AnyInstruction)
INSTRUCTIONS = tuple(kind.__name__ for kind in KINDS)
COMPONENTS = tuple(t.value for t in ComponentType)

#: Opcodes that neither `opcode` nor an enum of operations says. A copy has no opcode.
FURTHER = {
    "VectorAtomicAdd": ("OpAtomicIAdd",),
    "VectorMatrixMul": ("OpCooperativeVectorMatrixMulNV", "OpCooperativeVectorMatrixMulAddNV"),
    "MatrixCopy": (),
}


def opcodes_of(kind: type[Instruction]) -> frozenset[str]:
    """The opcodes of an instruction; of operations of GLSL.std.450 their names there."""
    found = {kind.opcode, *FURTHER.get(kind.__name__, ())} - {""}
    operation = get_type_hints(kind).get("operation")
    if isinstance(operation, type) and issubclass(operation, Enum):
        found |= {o.value if o in EXTENDED else f"Op{o.value}" for o in operation}
    assert found or kind.__name__ in FURTHER, f"which opcodes has {kind.__name__}?"
    return frozenset(found)


OPCODES = {kind.__name__: opcodes_of(kind) for kind in KINDS}


def structs_named(tree: ast.Module) -> Iterator[str]:
    """The identifiers of a module, and the words of strings that are nothing but names of instructions."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.ClassDef(name=name) | ast.alias(name=name):
                yield name
            case ast.Constant(value=str(text)) if all(word in INSTRUCTIONS for word in text.split()):
                yield from text.split()


def opcodes_named(tree: ast.Module, makes_modules: bool) -> Iterator[str]:
    """The words of strings that are nothing but opcodes, without those that a module is made with."""
    known = frozenset().union(*OPCODES.values())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)] if makes_modules else []
    arguments = {id(argument) for call in calls for argument in call.args}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if all(word in known or word[:2] == "Op" for word in text.split()):
                own = ("Cooperative", "Tensor")
                yield from (w for w in text.split() if id(node) not in arguments or any(name in w for name in own))


def components_named(tree: ast.Module) -> Iterator[str]:
    """The members of enums that a module writes, and the words of strings that are nothing but names of components."""
    readings = {i.value for i in Interpretation} | set(COMPONENTS)
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=module)) if module in NUMBERS:
                pass
            case ast.Attribute(attr=name):
                yield name
            case ast.ClassDef(body=body):
                yield from (
                    a.targets[0].id for a in body if isinstance(a, ast.Assign) and isinstance(a.targets[0], ast.Name)
                )
            case ast.Constant(value=str(text)) if all(word in readings for word in text.split()):
                yield from text.split()


def product_files() -> dict[str, ast.Module]:
    """Every module of the product, parsed, by its path from the root."""
    paths = (path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py")))
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text()) for path in paths}


def touched() -> tuple[dict[str, list[str]], dict[str, list[str]], dict[str, list[str]]]:
    """The files that name each instruction by its struct, by any of its names, and those that name a component type."""
    structs: dict[str, list[str]] = {name: [] for name in INSTRUCTIONS}
    instructions: dict[str, list[str]] = {name: [] for name in INSTRUCTIONS}
    components: dict[str, list[str]] = {name: [] for name in COMPONENTS}
    for path, tree in product_files().items():
        named = set() if path.startswith(APART) else set(structs_named(tree))
        opcodes = set(opcodes_named(tree, makes_modules=not path.startswith(INTERPRETER)))
        for name in INSTRUCTIONS:
            if name in named:
                structs[name].append(path)
            if name in named or opcodes & OPCODES[name]:
                instructions[name].append(path)
        for name in set(components_named(tree)) & components.keys():
            components[name].append(path)
    return structs, instructions, components


def _printed(title: str, found: dict[str, list[str]], limit: float) -> Figure:
    counts = {name: len(files) for name, files in found.items()}
    print(f"{title}: min {min(counts.values())}, max {max(counts.values())}")
    for name, count in sorted(counts.items(), key=lambda item: -item[1]):
        print(f"  {count:3} {name}")
    return Figure(title, statistics.mean(counts.values()), "files", at_most=limit)


def _printed_rooms(found: dict[str, list[str]]) -> None:
    """The mean number of files in each folder of the first two levels."""
    rooms = Counter("/".join(path.split("/")[:2]) for files in found.values() for path in files)
    for room, count in rooms.most_common():
        print(f"{count / len(found):5.1f} {room}")


def main() -> int:
    """Print the tables, or the files that name an instruction or component type."""
    parser = argparse.ArgumentParser()
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--files", metavar="NAME", help="the files that name one instruction or component type")
    what.add_argument("--rooms", action="store_true", help="files per instruction, by folder")
    given = parser.parse_args()
    structs, instructions, components = touched()
    if given.files is not None:
        print("\n".join((instructions | components)[given.files]))
        return 0
    if given.rooms:
        _printed_rooms(instructions)
        return 0
    return concluded(
        _printed("files per instruction, by the name of its struct", structs, STRUCT_LIMIT),
        _printed("files per instruction, by all its names", instructions, INSTRUCTION_LIMIT),
        _printed("files per component type", components, COMPONENT_LIMIT),
    )


if __name__ == "__main__":
    sys.exit(main())
