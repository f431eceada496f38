"""How many product files name each instruction, each component type, and each option of a driver.

    python bench/touch.py [--files NAME | --rooms]

Exit status 1 if a mean is above its limit in budgets.toml.

A name is followed through imports to the module that defines it (bench/resolving.py): the `Loop` of a parser is no
instruction. A file names an instruction if its code has one of the instruction's names.

- Its struct: imported, in an expression or pattern, as an attribute of a module, or defined there. Or the struct's name
  alone in a string, in a file that imports the case model.
- The name of one of its opcodes, alone in a string. This finds the handlers of the interpreter, the forms of modules,
  and the grammar. An opcode that SPIR-V has without cooperative matrices and vectors, such as OpIAdd, is also a tool
  that modules are made with: outside the interpreter, which makes no modules, an argument of a call does not count.

A file names a component type if its code has the member, of `ComponentType` or of another enum of the product with
members of these names, or if it defines such an enum. Its name alone in a string counts, too.

A file names an option of a driver if an attribute, a parameter, an argument or a field in the driver's folder has the
option's name. The count cannot tell options from other things with the same name, so the middle of the options counts,
not their mean.

Comments, docstrings and sentences do not count. A file is a module under cts, generators, reference, drivers and cases.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import statistics
import sys
from collections import Counter
from collections.abc import Iterator
from enum import Enum
from functools import cache
from pathlib import Path
from typing import get_args, get_type_hints

from budgets import limit
from measuring import Figure, concluded
from resolving import Module, Origin, Resolver

from cts.case.model import AnyInstruction, ComponentType, Instruction, Interpretation
from cts.case.model.operations import OPERATIONS

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("cts", "generators", "reference", "drivers", "cases")
INTERPRETER = "drivers/interpreter/"
#: The drivers of the suite with options of their own.
DRIVERS = ("amd", "emulator", "intel", "interpreter", "vulkan")
#: The operations of GLSL.std.450.
EXTENDED = frozenset(name for name, form in OPERATIONS.items() if form.extended)
#: Modules of numbers, whose attributes are no options.
NUMBERS = ("np", "numpy")

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
        found |= {o.value if o.value in EXTENDED else f"Op{o.value}" for o in operation}
    assert found or kind.__name__ in FURTHER, f"which opcodes has {kind.__name__}?"
    return frozenset(found)


OPCODES = {kind.__name__: opcodes_of(kind) for kind in KINDS}


#: The structs by where they are defined.
STRUCTS = {Origin(kind.__module__, kind.__name__): kind.__name__ for kind in KINDS}


def strings_of(tree: ast.Module, known: frozenset[str]) -> Iterator[str]:
    """The words of strings that have nothing but known words."""
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if all(word in known for word in text.split()):
                yield from text.split()


def structs_named(module: Module, resolver: Resolver) -> set[str]:
    """The instructions whose structs a module names."""
    origins = resolver.named(module)
    found = {STRUCTS[origin] for origin in origins & STRUCTS.keys()}
    if any(origin.module.startswith("cts.case.model") for origin in origins):
        found |= set(strings_of(module.tree, frozenset(INSTRUCTIONS)))
    return found


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


def members_of(module: Module) -> dict[Origin, frozenset[str]]:
    """The component types among the members of each enum that a module defines."""
    return {
        Origin(module.name, node.name): frozenset(
            a.targets[0].id for a in node.body if isinstance(a, ast.Assign) and isinstance(a.targets[0], ast.Name)
        )
        & set(COMPONENTS)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
    }


def components_named(module: Module, resolver: Resolver, enums: dict[Origin, frozenset[str]]) -> set[str]:
    """The component types that a module names or defines."""
    found = set(strings_of(module.tree, frozenset({i.value for i in Interpretation} | set(COMPONENTS))))
    for origin, members in members_of(module).items():
        found |= members if origin in enums else set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and node.attr in COMPONENTS:
            origin = resolver.expression(module, node.value)
            found |= {node.attr} & enums.get(origin, frozenset()) if origin is not None else set()
    return found & set(COMPONENTS)


@cache
def product() -> Resolver:
    """Every module of the product, parsed."""
    paths = (path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py")))
    modules = (Module(p.relative_to(ROOT).as_posix(), ast.parse(p.read_text(encoding="utf-8"))) for p in paths)
    return Resolver({module.name: module for module in modules})


def touched() -> tuple[dict[str, list[str]], dict[str, list[str]], dict[str, list[str]]]:
    """The files that name each instruction by its struct, by any of its names, and those that name a component type."""
    structs: dict[str, list[str]] = {name: [] for name in INSTRUCTIONS}
    instructions: dict[str, list[str]] = {name: [] for name in INSTRUCTIONS}
    components: dict[str, list[str]] = {name: [] for name in COMPONENTS}
    resolver = product()
    # A class with one member of such a name may be anything: two make it an enum of number types.
    every = (item for module in resolver.modules.values() for item in members_of(module).items())
    enums = {origin: members for origin, members in every if len(members) > 1}
    for module in resolver.modules.values():
        path, named = module.path, structs_named(module, resolver)
        opcodes = set(opcodes_named(module.tree, makes_modules=not path.startswith(INTERPRETER)))
        for name in INSTRUCTIONS:
            if name in named:
                structs[name].append(path)
            if name in named or opcodes & OPCODES[name]:
                instructions[name].append(path)
        for name in components_named(module, resolver, enums):
            components[name].append(path)
    return structs, instructions, components


def options_touched() -> dict[str, list[str]]:
    """The files of each driver that name each of its options, by driver:option."""
    found: dict[str, list[str]] = {}
    for driver in DRIVERS:
        declared = importlib.import_module(f"cts.drivers.{driver}.options").Options.__struct_fields__
        found |= {f"{driver}:{name}": [] for name in declared}
        for module in product().modules.values():
            if module.path.startswith(f"drivers/{driver}/"):
                for name in set(_fields_named(module.tree)) & set(declared):
                    found[f"{driver}:{name}"].append(module.path)
    return found


def _fields_named(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=module)) if module in NUMBERS:
                pass
            case (
                ast.Attribute(attr=name)
                | ast.arg(arg=name)
                | ast.keyword(arg=str(name))
                | ast.AnnAssign(target=ast.Name(id=name))
            ):
                yield name


def _printed(title: str, found: dict[str, list[str]]) -> Figure:
    counts = {name: len(files) for name, files in found.items()}
    print(f"{title}: min {min(counts.values())}, max {max(counts.values())}")
    for name, count in sorted(counts.items(), key=lambda item: -item[1]):
        print(f"  {count:3} {name}")
    middle = statistics.median if title.startswith("middle") else statistics.mean
    return Figure(title, middle(counts.values()), "files", at_most=limit(title))


def _printed_rooms(found: dict[str, list[str]]) -> None:
    """The mean number of files in each folder of the first two levels."""
    rooms = Counter("/".join(path.split("/")[:2]) for files in found.values() for path in files)
    for room, count in rooms.most_common():
        print(f"{count / len(found):5.1f} {room}")


def main() -> int:
    """Print the tables, or the files that name an instruction or component type."""
    parser = argparse.ArgumentParser()
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--files", metavar="NAME", help="the files that name one instruction, component type or option")
    what.add_argument("--rooms", action="store_true", help="files per instruction, by folder")
    given = parser.parse_args()
    structs, instructions, components = touched()
    options = options_touched()
    if given.files is not None:
        print("\n".join((instructions | components | options)[given.files]))
        return 0
    if given.rooms:
        _printed_rooms(instructions)
        return 0
    return concluded(
        _printed("files per instruction, by the name of its struct", structs),
        _printed("files per instruction, by all its names", instructions),
        _printed("files per component type", components),
        _printed("middle of files per option of a driver", options),
    )


if __name__ == "__main__":
    sys.exit(main())
