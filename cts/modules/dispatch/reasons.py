"""Why drivers may rightly differ: what a module leaves to the device. Each reason is tried where it can be."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace

from cts.device.driver import UNDEFINED, ModuleDriver, Outcome, Status
from cts.device.job import ModuleJob
from cts.modules.dispatch.comparing import between
from cts.modules.dispatch.interface import read
from cts.modules.dispatch.loaded import Dispatch
from cts.plugins import registry
from cts.spirv.decode import Decoded, decode
from cts.spirv.encode import Value

#: Built-ins that say how a workgroup is cut into subgroups.
_BUILTINS = ("SubgroupSize", "SubgroupId", "NumSubgroups", "SubgroupLocalInvocationId")

_MATRIX = "OpTypeCooperativeMatrixKHR"


def reasons(
    dispatch: Dispatch,
    label: str,
    outcome: Outcome,
    sizes: Mapping[str, int],
    buffers: Collection[str],
    rules: Iterable[str],
) -> Iterator[str]:
    """Reasons for differences in some buffers after a driver's run that ended normally.

    `sizes` are the drivers' subgroup sizes, `rules` are the texts that `broken` returns for the dispatch.
    """
    instructions = list(decode(dispatch.job.words))
    yield from _silent(dispatch, buffers)
    if _by_component(instructions):
        yield (
            "the module takes single components of matrices by their number, and every driver has its own order of"
            " them (KM-011)"
        )
    yield from rules
    if not _of_subgroups(instructions):
        return
    size = dispatch.job.subgroup_size or sizes[label]
    extents = read(dispatch.job.words).interface(dispatch.job.spec_constants).local_sizes[dispatch.job.entry]
    invocations = math.prod(extent.value or 1 for extent in extents)
    if invocations % size:
        yield f"a workgroup has {invocations} invocations, so that a subgroup of {size} is not full"
    others = {s for name, s in sizes.items() if name != label}
    if dispatch.job.subgroup_size is None and others != {size}:
        yield _tried(dispatch, label, outcome, size, others or {_interpreters()})


def _silent(dispatch: Dispatch, buffers: Collection[str]) -> Iterator[str]:
    """The workgroups that write none of a wrong buffer on the interpreter."""
    named = tuple(f"buffer {name!r}:" for name in buffers)
    said = _interpreted(dispatch.job, "check=writers,max_seconds=20")
    yield from (line for line in said.trace if line.startswith(named))


def _interpreted(job: ModuleJob, *options: str) -> Outcome:
    """What the interpreter makes of a dispatch."""
    with closing(registry.driver(":".join(("interpreter", *options)))) as driver:
        assert isinstance(driver, ModuleDriver)
        return driver.run_module(job)


def dealt(dispatch: Dispatch) -> str:
    """Which results depend on which invocation holds which element of a matrix; "" where none does, on the interpreter.

    Modules that take no single components are not run.
    """
    if not _by_component(list(decode(dispatch.job.words))):
        return ""
    left = {}
    for name in ("rows", "columns", "blocks"):
        if (outcome := _interpreted(dispatch.job, f"distribution={name},max_seconds=20")).status is not Status.DONE:
            return ""
        left[name] = outcome.memory
    found = []
    for name in ("columns", "blocks"):
        differ = [f"{d.count} of {d.total} of {d.buffer}" for d in between(dispatch, "", left["rows"], left[name])]
        found += [f"{' and '.join(differ)} differ with `distribution={name}`"] * bool(differ)
    head = "the result depends on which invocation holds which element of a matrix, which every driver decides (KM-011)"
    return f"{head}: on the interpreter {', '.join(found)}" if found else ""


def broken(dispatch: Dispatch) -> list[str]:
    """The rule that the module breaks on the interpreter, or its data race: the first, if there is one."""
    fault = _interpreted(dispatch.job, "check=contract+races,max_seconds=20").fault
    if fault is None or fault.code not in UNDEFINED:
        return []
    check, what = ("races", "a data race") if fault.code == "race" else ("contract", "a broken rule")
    return [f"{what} (`--check {check}`): {fault.where}: {fault.what}"]


def _tried(dispatch: Dispatch, label: str, outcome: Outcome, size: int, others: set[int]) -> str:
    """What the interpreter makes of it with the driver's size of subgroups."""
    listed = " and ".join(map(str, sorted(others)))
    head = f"subgroups have {size} invocations on {label}, and {listed} elsewhere"
    other = _interpreted(replace(dispatch.job, subgroup_size=size))
    if other.status is not Status.DONE:
        return f"{head}; with `subgroup_size: {size}` the interpreter says: {other.detail}"
    different = sum(d.count for d in between(dispatch, "the interpreter", other.memory, outcome.memory))
    if different:
        return f"{head}; with `subgroup_size: {size}` the interpreter differs, too ({different} elements)"
    return f"{head}; with `subgroup_size: {size}` the interpreter leaves what {label} leaves: the module depends on it"


def _interpreters() -> int:
    with closing(registry.driver("interpreter")) as driver:
        return driver.capabilities().subgroup_size


def _of_subgroups(instructions: list[Decoded]) -> bool:
    """Whether what a module does may depend on how large subgroups are."""
    return any(
        i.name.startswith(("OpGroupNonUniform", "OpSubgroup", "OpCooperativeMatrixLength"))
        or (i.name == "OpDecorate" and i.values[1] == "BuiltIn" and i.values[2] in _BUILTINS)
        or i.name == _MATRIX
        for i in instructions
    )


def _by_component(instructions: list[Decoded]) -> bool:
    """Whether a module reads or writes single components of cooperative matrices."""
    matrices = {i.result for i in instructions if i.name == _MATRIX}
    type_of: dict[Value | None, Value] = {i.result: i.values[0] for i in instructions if i.rule.has_type}
    pointees: dict[Value | None, Value] = {i.result: i.values[1] for i in instructions if i.name == "OpTypePointer"}
    composite = {"OpCompositeExtract": 1, "OpCompositeInsert": 2}
    return any(
        (i.name in composite and type_of.get(i.values[composite[i.name]]) in matrices)
        or (i.name.endswith("AccessChain") and pointees.get(type_of.get(i.values[1])) in matrices)
        for i in instructions
    )
