"""YAML as plain data: safe, without aliases and duplicate keys, with errors that name file, line and remedy."""

from __future__ import annotations

import re
from typing import Any

import yaml

from cts.errors import BadInput

#: The largest case or dispatch file read, in bytes.
MAX_FILE_BYTES = 4 << 20

#: How deep lists and mappings may be nested, in any YAML file. A case needs 7.
MAX_DEPTH = 32

#: What newer builds of libyaml say of brackets that its scanner, which reads ahead of all events, meets 1000 deep.
_TOO_DEEP_FOR_LIBYAML = "exceeded maximum nesting depth"

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


#: Floats of YAML 1.2 that YAML 1.1, which PyYAML reads, takes for strings: `1e-5`, `2.5e3`.
_FLOAT = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$")


class Loader(_Base):  # type: ignore[misc]
    """Safe YAML without duplicate keys (one would be lost)."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.MarkedYAMLError(problem="a key is a name or a number", problem_mark=key.start_mark)
            if key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"key {key.value!r} is given twice", problem_mark=key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_floats(class_: Any) -> None:
    """Have a loader or dumper of PyYAML know all floats of YAML 1.2."""
    class_.add_implicit_resolver("tag:yaml.org,2002:float", _FLOAT, list("-+.0123456789"))


read_floats(Loader)


def parse(text: str, where: str, page: str = "docs/writing-a-case.md") -> Any:
    """Plain data of YAML without aliases, deep nesting and duplicate keys. Raises BadInput, which refers to `page`."""
    try:
        _check(text, where, page)
        return yaml.load(text, Loader=Loader)  # noqa: S506 - CSafeLoader or SafeLoader
    except yaml.YAMLError as e:
        mark, problem = getattr(e, "problem_mark", None), getattr(e, "problem", None)
        place = where + (f":{mark.line + 1}:{mark.column + 1}" if mark else "")
        if problem == _TOO_DEEP_FOR_LIBYAML:
            raise _too_deep(place, page) from e
        raise BadInput("yaml", f"not YAML: {problem or e}", place, f"see {page}") from e
    except ValueError as e:  # dates of no calendar, integers of thousands of digits
        raise BadInput("yaml", f"not a value: {e}", where, f"see {page}") from e


def _check(text: str, where: str, page: str) -> None:
    """Raises BadInput for nesting that the loader, which recurses in C, may not survive, and for aliases.

    With aliases, few bytes can stand for gigabytes. The loader has hooks for both, which that of libyaml
    does not call.
    """
    depth = 0
    for event in yaml.parse(text, Loader=Loader):
        if isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, (yaml.CollectionStartEvent, yaml.AliasEvent)):
            depth += 1
            mark = event.start_mark
            assert mark is not None, "what is read has a place"
            place = f"{where}:{mark.line + 1}:{mark.column + 1}"
            if isinstance(event, yaml.AliasEvent):
                raise BadInput("yaml", "an alias, which no file of the suite may have", place, "what it stands for")
            if depth > MAX_DEPTH:
                raise _too_deep(place, page)


def _too_deep(place: str, page: str) -> BadInput:
    what = f"lists and mappings nested more than {MAX_DEPTH} deep"
    return BadInput("yaml-depth", what, place, f"fewer brackets or less indentation, see {page}")
