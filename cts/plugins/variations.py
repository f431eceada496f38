"""Variations of drivers: the same cases in other forms, optimised, in other shader stages and sizes of subgroups.

`--vary KIND=VALUES` adds drivers to those that are asked for; each is a spec of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing

from cts.base.errors import BadInput, did_you_mean
from cts.case.stages import Stage
from cts.case.stages import parse as parse_stages
from cts.device.driver import SizedDriver, StagedFactory
from cts.plugins import registry

Specs = tuple[str, ...]

#: What a kind has when nothing follows its name.
_DEFAULTS = {"forms": "1", "optimised": "1", "stages": "all", "subgroup-sizes": "all"}

_EXAMPLES = "forms=2, optimised=4, stages=fragment,miss or subgroup-sizes=all"


def varied(specs: Iterable[str], variations: Iterable[str]) -> Specs:
    """The specs, and those that variations add: of subgroup sizes, then of stages, then of forms and passes.

    Raises BadInput for an unknown variation, a spec with which no driver can be built, and a variation of no driver.
    """
    varied_specs = tuple(specs)
    asked = parse(variations)
    for kind in ("subgroup-sizes", "stages"):
        if kind in asked:
            varied_specs = _KINDS[kind](varied_specs, asked[kind])
    drawn: dict[str, str] = {kind: asked[kind] for kind in ("forms", "optimised") if kind in asked}
    return _drawn(varied_specs, drawn) if drawn else varied_specs


def parse(variations: Iterable[str]) -> dict[str, str]:
    """The values of each kind of variation. Raises BadInput for an unknown kind, one given twice, and a wrong value.

    >>> parse(["forms=2", "stages"])
    {'forms': '2', 'stages': 'all'}
    """
    values_of: dict[str, str] = {}
    for text in variations:
        kind, _, values = text.partition("=")
        where = f"--vary {text}"
        if kind not in _DEFAULTS:
            remedy = f"{did_you_mean(kind, _DEFAULTS)} Such as {_EXAMPLES}"
            raise BadInput("unknown-variation", f"there is no variation {kind!r}", where, remedy)
        if kind in values_of:
            raise BadInput(
                "variation-twice", f"the variation {kind} is given twice", where, f"{kind}={values_of[kind]} or this"
            )
        values = values.strip() or _DEFAULTS[kind]
        if kind == "stages":
            parse_stages(values, where)
        elif kind == "subgroup-sizes":
            _sizes(values)
        elif not values.isdecimal() or not int(values):
            raise BadInput("variation-count", f"{kind} cannot be {values!r}", where, f"a number from 1, as in {kind}=2")
        values_of[kind] = values
    return values_of


def _drawn(specs: Specs, counts: dict[str, str]) -> Specs:
    """Also each driver that runs modules, with its modules in drawn forms, and after drawn passes of spirv-opt."""
    transforms = {"forms": "form:drawn", "optimised": "spirv-opt:drawn"}
    added = [f"{transforms[kind]}:{seed}" for kind, count in counts.items() for seed in range(1, int(count) + 1)]
    drawn_specs: list[str] = []
    for spec in specs:
        running = registry.runs_modules(registry.parsed_spec(spec.partition("|")[0])[0])
        drawn_specs += [spec, *(f"{spec}|{text}" for text in added if running)]
    if len(drawn_specs) == len(specs):
        what = "none of the drivers runs modules, so there is nothing to write in another form or to optimise"
        where = " ".join(f"--vary {kind}={count}" for kind, count in counts.items())
        raise BadInput("forms", what, where, "interpreter, vulkan or another module driver")
    return tuple(drawn_specs)


def in_stages(specs: Specs, names: str) -> Specs:
    """Also each driver that runs in any stage and names none, in each of the stages.

    Raises BadInput for a spec with which no driver can be built, and if no driver runs in several stages.
    """
    where = f"--vary stages={names}"
    stages: Sequence[Stage] = parse_stages(names, where)
    staged_specs, running = [], False
    for spec in specs:
        staged_specs.append(spec)
        plain, *transforms = spec.split("|")
        factory, options = registry.parsed_spec(plain)
        if isinstance(factory, StagedFactory) and factory.runs_stages:
            running = True
            staged = [registry.extended_spec(plain, [f"stage={s.value}"]) for s in stages if "stage" not in options]
            staged_specs += registry.transformed(staged, transforms)
    if not running:
        raise BadInput("stages", "none of the drivers runs in several stages", where, "interpreter or vulkan")
    return tuple(staged_specs)


def _sizes(text: str) -> tuple[int, ...]:
    """The sizes of "32,64"; none for "all". Raises BadInput."""
    if text == "all":
        return ()
    parts = text.split(",")
    if not all(part.strip().isdecimal() and int(part) > 0 for part in parts):
        where = f"--vary subgroup-sizes={text}"
        raise BadInput("subgroup-sizes", f"no sizes of subgroups: {text!r}", where, "all, or as in 32,64")
    return tuple(dict.fromkeys(int(part) for part in parts))


def of_sizes(specs: Specs, text: str) -> Specs:
    """Also each driver that names no size of subgroups, in each of these sizes; for "all", in all that it lists.

    Its own size is not repeated. Drivers are opened to ask them. Raises BadInput for a spec with which no driver can be
    built, for a size that a driver does not have, and if no driver has several sizes.
    """
    sizes, where = _sizes(text), f"--vary subgroup-sizes={text}"
    sized_specs, running = [], False
    for spec in specs:
        sized_specs.append(spec)
        plain, *transforms = spec.split("|")
        if registry.parsed_spec(plain)[1].keys() & {"subgroup_size", "vendor"}:
            continue
        with closing(registry.driver(plain)) as asked:
            listed = asked.subgroup_sizes() if isinstance(asked, SizedDriver) else ()
            own = asked.capabilities().subgroup_size
        if not listed:
            continue
        running = running or len(listed) > 1
        for size in sizes or listed:
            if size not in listed:
                has = ", ".join(map(str, listed))
                raise BadInput("subgroup-sizes", f"{plain} has no subgroups of {size}", where, f"of {has}")
            if size != own:
                sized = registry.extended_spec(plain, [f"subgroup_size={size}"])
                sized_specs += registry.transformed([sized], transforms)
    if not running:
        raise BadInput("subgroup-sizes", "none of the drivers has several sizes of subgroups", where, "another driver")
    return tuple(sized_specs)


_KINDS: dict[str, Callable[[Specs, str], Specs]] = {"subgroup-sizes": of_sizes, "stages": in_stages}
