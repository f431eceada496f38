"""Where the core finds what it does not import: drivers, the oracle, generators, corpora."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from cts.base.errors import BadInput, HarnessTrouble, did_you_mean
from cts.device import driver as drivers
from cts.device.driver_options import parse as parse_options

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

    from cts.base.choices import Source
    from cts.case.model import Case
    from cts.case.oracle.expectation import Oracle
    from cts.device.capabilities import Capabilities
    from cts.plugins.needs import ModuleNeeds
    from cts.plugins.transform import TransformFactory

#: The embedded parts, by name, so that a plain checkout needs no installation. Other packages register parts as entry
#: points.
_EMBEDDED = {
    "cts.drivers": {
        "amd": "cts.drivers.amd:create",
        "emulator": "cts.drivers.emulator:create",
        "intel": "cts.drivers.intel:create",
        "interpreter": "cts.drivers.interpreter:create",
        "vulkan": "cts.drivers.vulkan:create",
    },
    "cts.areas": {
        "block_loads": "cts.generators.areas.block_loads:cases",
        "compute": "cts.generators.areas.compute:cases",
        "conversions": "cts.generators.areas.conversions:cases",
        "kernels": "cts.generators.areas.kernels:cases",
        "matrix_arithmetic": "cts.generators.areas.matrix_arithmetic:cases",
        "matrix_memory": "cts.generators.areas.matrix_memory:cases",
        "matrix_programs": "cts.generators.areas.matrix_programs:cases",
        "per_element": "cts.generators.areas.per_element:cases",
        "reductions": "cts.generators.areas.reductions:cases",
        "tensor_addressing": "cts.generators.areas.tensor_addressing:cases",
        "vector_arithmetic": "cts.generators.areas.vector_arithmetic:cases",
        "vector_conversions": "cts.generators.areas.vector_conversions:cases",
        "vector_multiply": "cts.generators.areas.vector_multiply:cases",
        "vector_training": "cts.generators.areas.vector_training:cases",
    },
    "cts.listed": {"rows": "cts.generators.listed:cases"},
    "cts.oracles": {"reference": "cts.reference:ORACLE"},
    "cts.needs": {"vulkan": "cts.drivers.vulkan.needs:needs"},
    "cts.transforms": {
        "form": "cts.plugins.form:parse",
        "glslang": "cts.showing.export.glsl.transform:parse",
        "spirv-opt": "cts.plugins.optimiser:parse",
    },
}


#: Options of any driver: whether it has a process of its own, see `cts.plugins.own_process`.
_OF_PROCESS = ("process", "process_timeout")

#: What has a verb of its own, and is looked for here.
_ELSEWHERE = {("driver", "spirv-val"): "cts validation --driver spirv-val", ("area", "validation"): "cts validation"}


class Area(Protocol):
    """What a `cts.areas` entry point names: a generator of valid cases that such a driver can run.

    Raises `cts.base.errors.NothingToGenerate` where there is no such case.
    """

    def __call__(self, capabilities: Capabilities) -> Source[Case]: ...


@dataclass(frozen=True)
class ListedCases:
    """A case for each thing that a driver's capabilities list, and what of it no case can say, in words."""

    cases: tuple[Case, ...]
    left_out: tuple[str, ...]


class ListedGenerator(Protocol):
    """What makes cases of all that capabilities list."""

    def __call__(self, capabilities: Capabilities) -> ListedCases: ...


def names(group: str) -> list[str]:
    """Everything registered under an entry point group, sorted."""
    return sorted({*_EMBEDDED[group], *(entry.name for entry in _installed(group))})


def _installed(group: str) -> EntryPoints:
    # What reads the metadata of packages takes longer to import than a built-in driver.
    from importlib.metadata import entry_points

    return entry_points(group=group)


def _load(group: str, name: str, noun: str) -> Any:
    if name in _EMBEDDED[group]:
        module, _, attribute = _EMBEDDED[group][name].partition(":")
        return getattr(importlib.import_module(module), attribute)
    for entry in _installed(group):
        if entry.name == name:
            try:
                return entry.load()
            except (Exception, SystemExit) as e:
                what = f"{noun} {name!r} cannot be imported: {type(e).__name__}: {e}"
                raise HarnessTrouble("broken-plugin", what, entry.value, "what the message asks for") from e
    if (noun, name) in _ELSEWHERE:
        what = f"no {noun} named {name!r}: nothing is run on tools that accept or reject modules"
        raise BadInput(f"unknown-{noun}", what, f"--{noun} {name}", _ELSEWHERE[noun, name])
    registered = names(group)
    remedy = did_you_mean(name, registered)
    raise BadInput(f"unknown-{noun}", f"no {noun} named {name!r}", f"--{noun} {name}", remedy)


def driver_factory(name: str) -> drivers.DriverFactory:
    """What builds the drivers of that name."""
    factory: drivers.DriverFactory = _load("cts.drivers", name, "driver")
    return factory


def driver(spec: str) -> drivers.Driver:
    """A driver by spec string: `emulator`, `emulator:subgroup_size=64,order=reversed`, `vulkan:0`.

    After bars come transforms of its modules, in the order in which they are applied: `interpreter|spirv-opt:-O`.
    """
    plain, *transforms = spec.split("|")
    built = _plain_driver(plain)
    if not transforms:
        return built
    from cts.plugins.transform import Transformed, parse

    return Transformed(built, [parse(text) for text in transforms])


def transformed(specs: Iterable[str], transforms: Iterable[str]) -> tuple[str, ...]:
    """The specs, each with the transforms behind it."""
    return tuple("|".join((spec, *transforms)) for spec in specs)


def runs_modules(factory: drivers.DriverFactory) -> bool:
    """Whether drivers of a factory run modules."""
    return not isinstance(factory, drivers.DeclaringFactory) or factory.runs_modules


def _makes_pipelines(factory: drivers.DriverFactory) -> bool:
    return isinstance(factory, drivers.PipelineFactory) and factory.makes_pipelines


def check_driver(spec: str) -> None:
    """Raise BadInput for a spec string with which no driver can be built, as far as that is known without starting it.

    Options are checked where the driver's factory declares them or can do that, see `OptionsFactory` and
    `CheckingFactory`. HarnessTrouble where a transform
    needs a program that is not there.
    """
    plain, *transforms = spec.split("|")
    _own_process(plain)
    factory, options = parsed_spec(plain)
    if isinstance(factory, drivers.OptionsFactory):
        parse_options(factory.option_struct, options, plain.partition(":")[0])
    if isinstance(factory, drivers.CheckingFactory):
        factory.check(options)
    if transforms:
        from cts.plugins.transform import PipelineTransform, check_order, makes_no_pipelines, parse, runs_no_modules

        parsed = [parse(text) for text in transforms]
        if not runs_modules(factory):
            raise runs_no_modules(plain, transforms[0])
        for transform in parsed:
            if isinstance(transform, PipelineTransform) and transform.pipelines and not _makes_pipelines(factory):
                raise makes_no_pipelines(plain, transform)
        check_order(spec, parsed)


def check_transform(text: str) -> None:
    """Raise BadInput for a text that is no transform, HarnessTrouble where its program is not there."""
    from cts.plugins.transform import parse

    parse(text)


def transform_factory(name: str) -> TransformFactory:
    """What builds the transforms of that name."""
    factory: TransformFactory = _load("cts.transforms", name, "transform")
    return factory


def _plain_driver(spec: str) -> drivers.Driver:
    seconds = _own_process(spec)
    if seconds is not None:
        from cts.plugins.own_process import OwnProcess

        return OwnProcess(spec, _shared(spec), seconds)
    factory, options = parsed_spec(spec)
    if spec.partition(":")[0] in _EMBEDDED["cts.drivers"]:
        return factory(options)
    from cts.plugins.shared_process import Quiet

    return Quiet(factory, options)


def _shared(spec: str) -> str:
    """The same driver without a process of its own."""
    name, options = options_of(spec)
    kept = (f"{key}={value}" if key else value for key, value in options.items() if key not in _OF_PROCESS)
    return f"{name}:{','.join((*kept, 'process=shared'))}"


def _own_process(spec: str) -> float | None:
    """How long the driver of a spec without transforms may take in a process of its own; None where it has none.

    Drivers of other packages have one unless the spec says otherwise. Raises BadInput.
    """
    name, options = options_of(spec)
    own = {key: value for key, value in options.items() if key in _OF_PROCESS}
    if not own and name in _EMBEDDED["cts.drivers"]:
        return None
    from cts.plugins.own_process import patience_of

    return patience_of(own, name)


def parsed_spec(spec: str) -> tuple[drivers.DriverFactory, dict[str, str]]:
    """The factory of a spec string without transforms, and its options, of which some are for the process alone."""
    name, options = options_of(spec)
    return driver_factory(name), {k: v for k, v in options.items() if k not in _OF_PROCESS}


def options_of(spec: str) -> tuple[str, dict[str, str]]:
    """The name and the options of a spec string without transforms."""
    name, _, rest = spec.partition(":")
    options: dict[str, str] = {}
    for item in filter(None, rest.split(",")):
        key, equals, value = item.partition("=")
        key, value = (key.strip(), value.strip()) if equals else ("", item.strip())
        if key in options:
            raise BadInput("driver-option", f"option {key or value!r} is given twice", spec, "give each option once")
        options[key] = value
    return name, options


def validated(specs: Iterable[str]) -> tuple[str, ...]:
    """The specs with the option `validation=yes` for every driver that has such a layer and does not say otherwise.

    A driver has one where its factory says so, see `ValidatingFactory`. Raises BadInput where none of them has.
    """
    all_specs = tuple(specs)
    extended = []
    for spec in all_specs:
        plain, bar, transforms = spec.partition("|")
        name, _, rest = plain.partition(":")
        factory = driver_factory(name)
        knows = isinstance(factory, drivers.ValidatingFactory) and factory.validates
        says = any(item.strip().startswith("validation=") for item in rest.split(","))
        more = "" if says or not knows else "validation=yes"
        extended.append(extended_spec(plain, [more]) + bar + transforms if more else spec)
    if tuple(extended) == all_specs and not any("validation=" in spec for spec in all_specs):
        raise BadInput(
            "no-validation", "none of the drivers has a validation layer", ", ".join(all_specs), "a vulkan driver"
        )
    return tuple(extended)


def with_options(specs: Iterable[str], options: Mapping[str, str]) -> tuple[str, ...]:
    """The specs with options added for every driver that takes them, see `TunableFactory`.

    Raises BadInput where none of them takes an option.
    """
    all_specs = tuple(specs)
    for option in options:
        if not any(option in _takes(spec) for spec in all_specs):
            raise BadInput(
                "driver-option", f"none of the drivers has {option}", ", ".join(all_specs), "the interpreter"
            )
    extended = []
    for spec in all_specs:
        plain, bar, transforms = spec.partition("|")
        added = [f"{key}={value}" for key, value in options.items() if key in _takes(plain)]
        extended.append(extended_spec(plain, added) + bar + transforms if added else spec)
    return tuple(extended)


def extended_spec(plain: str, added: Sequence[str]) -> str:
    """A spec without transforms with more options."""
    name, _, rest = plain.partition(":")
    return f"{name}:{','.join(filter(None, (rest, *added)))}"


def _takes(spec: str) -> frozenset[str]:
    factory = driver_factory(spec.partition("|")[0].partition(":")[0])
    return factory.takes if isinstance(factory, drivers.TunableFactory) else frozenset()


def area(name: str) -> Area:
    """The generator of an area by name."""
    generator: Area = _load("cts.areas", name, "area")
    return generator


def listed() -> ListedGenerator:
    """What makes cases of all that a driver lists."""
    generator: ListedGenerator = _load("cts.listed", "rows", "listed")
    return generator


def oracle() -> Oracle:
    """The reference executor."""
    executor: Oracle = _load("cts.oracles", "reference", "oracle")
    return executor


def needs() -> ModuleNeeds:
    """What says which features, types and limits a module asks of a Vulkan device."""
    module_needs: ModuleNeeds = _load("cts.needs", "vulkan", "needs")
    return module_needs
