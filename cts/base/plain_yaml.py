"""YAML as plain data: safe, without aliases, tags and duplicate keys, with errors that name file, line and remedy.

Everything that reads or writes YAML does it here, so that all of it agrees on what is YAML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import yaml  # noqa: TID251

from cts.base.errors import BadInput

#: The largest case or dispatch file read, in bytes.
MAX_FILE_BYTES = 4 << 20

#: How deep lists and mappings may be nested, in any YAML file. A case needs 7.
MAX_DEPTH = 32

#: The most bits of an integer. Python prints no integers of more than about 14,000.
MAX_INTEGER_BITS = 4096

#: The most values, keys, lists and mappings of a file. Each takes about 10 microseconds and a kilobyte.
MAX_NODES = 1 << 18

#: What newer builds of libyaml say of brackets that its scanner, which reads ahead of all events, meets 1000 deep.
_TOO_DEEP_FOR_LIBYAML = "exceeded maximum nesting depth"

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


#: Floats of YAML 1.2 that YAML 1.1, which PyYAML reads, takes for strings: `1e-5`, `2.5e3`.
_FLOAT = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$")


class _Loader(_Base):  # type: ignore[misc]
    """Safe YAML without duplicate keys (one would be lost)."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        keys = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.MarkedYAMLError(problem="a key is a name or a number", problem_mark=key.start_mark)
            if key.value in keys:
                raise yaml.MarkedYAMLError(problem=f"key {key.value!r} is given twice", problem_mark=key.start_mark)
            keys.add(key.value)
        return super().construct_mapping(node, deep)

    def construct_integer(self, node: Any) -> int:
        """Like PyYAML's; refuses what could not be printed in an error."""
        value: int = self.construct_yaml_int(node)
        if value.bit_length() > MAX_INTEGER_BITS:
            what = f"an integer of more than {MAX_INTEGER_BITS} bits"
            raise yaml.MarkedYAMLError(problem=what, problem_mark=node.start_mark)
        return value


class _Dumper(yaml.SafeDumper):
    """Without aliases, which cannot be read again."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_integer)
for _class in (_Loader, _Dumper):
    _class.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+.0123456789"))


class NotPlain(ValueError):
    """Something that YAML has no plain data for."""


def flow(value: Any) -> str:
    """Plain data on one line. Raises NotPlain for anything else."""
    try:
        text: str = yaml.dump(
            value, Dumper=_Dumper, default_flow_style=True, width=float("inf"), sort_keys=False, allow_unicode=True
        )
    except yaml.YAMLError as e:
        raise NotPlain(f"no data: {e.args[-1]!r}") from e
    return text.removesuffix("\n").removesuffix("\n...")


def parse(text: str, where: str, page: str = "`cts docs writing-a-case`") -> Any:
    """Plain data of YAML without aliases, tags, deep nesting and duplicate keys.

    Raises BadInput, which refers to `page`.
    """
    try:
        _check(text, where, page)
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - CSafeLoader or SafeLoader
    except yaml.YAMLError as e:
        mark, problem = getattr(e, "problem_mark", None), getattr(e, "problem", None)
        place = where + (f":{mark.line + 1}:{mark.column + 1}" if mark else "")
        if problem == _TOO_DEEP_FOR_LIBYAML:
            raise _too_deep(place, page) from e
        raise BadInput("yaml", f"not YAML: {problem or e}", place, f"see {page}") from e
    except ValueError as e:  # dates of no calendar, integers of thousands of digits
        raise BadInput("yaml", f"not a value: {e}", where, f"see {page}") from e


def line_of(text: str, steps: Iterable[str | int]) -> int:
    """The line of what keys and indices lead to, or of the deepest part of it that exists.

    The first line of a text of JSON that is no YAML.
    """
    try:
        node = _composed(text)
    except yaml.YAMLError:
        return 1
    if node is None:
        return 1
    for step in steps:
        below = _below(node, step)
        if below is None:
            break
        node = below
    return int(node.start_mark.line) + 1


@lru_cache(maxsize=4)
def _composed(text: str) -> Any:
    """The nodes of a text, None of an empty one."""
    return yaml.compose(text, Loader=_Loader)


def _below(node: yaml.Node, step: str | int) -> Any:
    if isinstance(node, yaml.SequenceNode):
        return node.value[step] if isinstance(step, int) and 0 <= step < len(node.value) else None
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == str(step)), None)
    return None


def _check(text: str, where: str, page: str) -> None:
    """Raises BadInput for nesting that the loader, which recurses in C, may not survive, for aliases and for tags.

    With aliases, few bytes can stand for gigabytes. The loader has hooks for both, which that of libyaml
    does not call. A tag can say that a text is a number that it is not.
    """
    depth = nodes = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.NodeEvent):
            mark = event.start_mark
            assert mark is not None, "what is read has a place"
            place = f"{where}:{mark.line + 1}:{mark.column + 1}"
            if isinstance(event, yaml.AliasEvent):
                raise BadInput("yaml", "an alias, which no file of the suite may have", place, "what it stands for")
            if getattr(event, "tag", None) is not None:
                raise BadInput("yaml", "a tag, which no file of the suite may have", place, "the value without it")
            nodes += 1
            if nodes > MAX_NODES:
                raise BadInput("yaml-too-large", f"more than {MAX_NODES} values", place, f"fewer values, see {page}")
            depth += isinstance(event, yaml.CollectionStartEvent)
            if depth > MAX_DEPTH:
                raise _too_deep(place, page)


def _too_deep(place: str, page: str) -> BadInput:
    what = f"lists and mappings nested more than {MAX_DEPTH} deep"
    return BadInput("yaml-depth", what, place, f"fewer brackets or less indentation, see {page}")
