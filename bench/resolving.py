"""What the names of a module stand for: each name is followed through imports to the module that defines it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

#: Folders beside `cts` that are packages of it.
PACKAGES = ("generators", "reference", "drivers", "answers", "cases", "rules", "universes")


class Origin(NamedTuple):
    """A module, and a name that it defines; without a name the module itself."""

    module: str
    name: str = ""


def module_of(path: str) -> str:
    """The dotted name of a file by its path from the root.

    >>> module_of("drivers/amd/__init__.py")
    'cts.drivers.amd'
    """
    parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
    return ".".join(["cts", *parts] if parts[0] in PACKAGES else parts)


@dataclass(frozen=True)
class Module:
    """A parsed file of the product."""

    path: str
    tree: ast.Module

    @property
    def name(self) -> str:
        return module_of(self.path)

    @cached_property
    def defined(self) -> frozenset[str]:
        """The names that it defines itself: classes, functions, assignments of other than a name or attribute."""
        return frozenset(_defined(self.tree.body))

    @cached_property
    def bindings(self) -> dict[str, Origin]:
        """What imports bind, wherever in the file they stand."""
        found: dict[str, Origin] = {}
        for node in ast.walk(self.tree):
            match node:
                case ast.ImportFrom(names=names):
                    base = self._base(node)
                    found |= {a.asname or a.name: Origin(base, a.name) for a in names if a.name != "*"}
                case ast.Import(names=names):
                    found |= {
                        a.asname or a.name.partition(".")[0]: Origin(a.name if a.asname else a.name.partition(".")[0])
                        for a in names
                    }
        return found

    @cached_property
    def aliases(self) -> dict[str, ast.expr]:
        """Names of the module that are given to another name or attribute."""
        pairs = ((node.targets[0], node.value) for node in self.tree.body if isinstance(node, ast.Assign))
        return {
            target.id: value
            for target, value in pairs
            if isinstance(target, ast.Name) and isinstance(value, ast.Name | ast.Attribute)
        }

    @cached_property
    def starred(self) -> tuple[str, ...]:
        """The modules of which all names are imported."""
        nodes = (node for node in ast.walk(self.tree) if isinstance(node, ast.ImportFrom))
        return tuple(self._base(node) for node in nodes if node.names[0].name == "*")

    def _base(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        package = self.name.split(".")
        package = package[: len(package) - node.level + self.path.endswith("__init__.py")]
        return ".".join([*package, *([node.module] if node.module else [])])


def _defined(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                yield name
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if not isinstance(
                value, ast.Name | ast.Attribute
            ):
                yield name


class Resolver:
    """Follows names through the modules of the product."""

    def __init__(self, modules: Mapping[str, Module]) -> None:
        self.modules = modules
        self._known: dict[Origin, Origin] = {}

    def origin(self, module: str, name: str, waiting: frozenset[Origin] = frozenset()) -> Origin:
        """What a name of a module stands for; `waiting` are the names on the way there, against circles."""
        here = Origin(module, name)
        if waiting:
            return self._followed(module, name, waiting)
        if here not in self._known:
            self._known[here] = self._followed(module, name, waiting)
        return self._known[here]

    def _followed(self, module: str, name: str, waiting: frozenset[Origin]) -> Origin:
        here = Origin(module, name)
        found, inner = self.modules.get(module), f"{module}.{name}"
        if found is None or here in waiting:
            return Origin(inner) if inner in self.modules else here
        waiting |= {here}
        if name in found.defined:
            return here
        if name in found.aliases:
            return self.expression(found, found.aliases[name], waiting) or here
        if name in found.bindings:
            return self._bound(found.bindings[name], waiting)
        for base in found.starred:
            followed = self.origin(base, name, waiting)
            if followed.module in self.modules and followed.name in self.modules[followed.module].defined:
                return followed
        return Origin(inner) if inner in self.modules else here

    def _bound(self, bound: Origin, waiting: frozenset[Origin]) -> Origin:
        return bound if not bound.name else self.origin(bound.module, bound.name, waiting)

    def expression(self, module: Module, node: ast.expr, waiting: frozenset[Origin] = frozenset()) -> Origin | None:
        """What a name, or an attribute of a module, stands for; None for anything else."""
        match node:
            case ast.Name(id=name):
                return self.origin(module.name, name, waiting)
            case ast.Attribute(value=value, attr=name):
                base = self.expression(module, value, waiting)
                if base is not None and not base.name:
                    return self.origin(base.module, name, waiting)
        return None

    def named(self, module: Module) -> set[Origin]:
        """All that a module's imports, expressions and classes name."""
        found = {self._bound(bound, frozenset()) for bound in module.bindings.values()}
        for node in ast.walk(module.tree):
            match node:
                case ast.Name() | ast.Attribute():
                    origin = self.expression(module, node)
                    if origin is not None:
                        found.add(origin)
                case ast.ClassDef(name=name):
                    found.add(Origin(module.name, name))
        return found
