"""How many product files name each instruction and each component type: `python bench/touch.py [--files NAME]`.

Exit status 1 where a mean is above its limit. A file names an instruction where its code has the struct's
name as a word of its own: in an import, an expression, a pattern, a class statement, or alone in a string.
It names a component type where its code has the member, of `ComponentType` under any name or of an enum
with the same members, or its name alone in a string; NumPy's and ml_dtypes' types of that name are others.
Comments, docstrings and sentences do not count. A file that cannot import the case model does not name
instructions: what has the name of one is a class of its own. What counts as a file is a module under cts,
generators, reference, drivers and cases; the one that only exports the model's names counts as one.
"""

from __future__ import annotations

import argparse
import ast
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from cts.model import AnyInstruction, ComponentType, Interpretation

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("cts", "generators", "reference", "drivers", "cases")
#: Rooms that share nothing with the case model.
APART = ("drivers/interpreter/", "drivers/vulkan/worker/")
#: Modules of number types that have names of component types as well.
NUMBERS = frozenset({"np", "numpy", "ml_dtypes", "numba", "nb"})

INSTRUCTION_LIMIT = 10.0
COMPONENT_LIMIT = 16.0

INSTRUCTIONS = tuple(kind.__name__ for kind in get_args(AnyInstruction))
COMPONENTS = tuple(t.value for t in ComponentType)


def instructions_named(tree: ast.Module) -> Iterator[str]:
    """The identifiers of a module, and the words of strings that are nothing but names of instructions."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.ClassDef(name=name) | ast.alias(name=name):
                yield name
            case ast.Constant(value=str(text)) if all(word in INSTRUCTIONS for word in text.split()):
                yield from text.split()


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


def touched() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The files that name each instruction, and those that name each component type."""
    instructions: dict[str, list[str]] = {name: [] for name in INSTRUCTIONS}
    components: dict[str, list[str]] = {name: [] for name in COMPONENTS}
    for path, tree in product_files().items():
        if not path.startswith(APART):
            for name in set(instructions_named(tree)) & instructions.keys():
                instructions[name].append(path)
        for name in set(components_named(tree)) & components.keys():
            components[name].append(path)
    return instructions, components


def _printed(title: str, found: dict[str, list[str]], limit: float) -> bool:
    counts = {name: len(files) for name, files in found.items()}
    mean = statistics.mean(counts.values())
    print(f"{title}: mean {mean:.1f} (limit {limit:g}), min {min(counts.values())}, max {max(counts.values())}")
    for name, count in sorted(counts.items(), key=lambda item: -item[1]):
        print(f"  {count:3} {name}")
    return mean <= limit


def main() -> int:
    """Print both tables, or the files that name one of them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", metavar="NAME", help="the files that name one instruction or component type")
    name = parser.parse_args().files
    instructions, components = touched()
    if name is not None:
        print("\n".join((instructions | components)[name]))
        return 0
    kept = [
        _printed("files that name an instruction", instructions, INSTRUCTION_LIMIT),
        _printed("files that name a component type", components, COMPONENT_LIMIT),
    ]
    return int(not all(kept))


if __name__ == "__main__":
    sys.exit(main())
