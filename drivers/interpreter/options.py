"""Options of the interpreter: implementation choices, limits, and what to watch for."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from cts.base.errors import BadInput
from cts.case.stages import Stage
from cts.device.driver_options import among, number, says
from cts.device.vendors import meanings
from cts.drivers.interpreter.fragments import QUAD
from cts.drivers.interpreter.mutants import mutants
from cts.drivers.interpreter.values import BLOCKS, COLUMNS, ROWS

MAX_SUBGROUP_SIZE = 128

#: Instructions that a dispatch may execute, those of each batch of workgroups counted once: a bound for loops without
#: an end.
DEFAULT_MAX_STEPS = 10_000_000

#: Bytes that a dispatch may take: a bound for hostile modules, which could exhaust the machine.
DEFAULT_MAX_MEMORY = 4 << 30

#: What can be watched for: data races, undefined values that decide something, rules on operands and such values
#: together, and who writes.
RACES, UNINITIALISED, CONTRACT, WRITERS = "races", "uninitialised", "contract", "writers"


def mutant_names() -> list[str]:
    """The names of the planted bugs."""
    return [mutant.name for mutant in mutants()]


class Options(msgspec.Struct, frozen=True):
    """What stands after `interpreter:`. `cts dispatch` has some of these options as well."""

    subgroup_size: Annotated[int, number("invocations of a subgroup", least=1, most=MAX_SUBGROUP_SIZE)] = 32
    vendor: Annotated[str, among("list what such a device lists, with its size of subgroups", meanings())] = ""
    decode: Annotated[
        str,
        among(
            "what a load calls that has a DecodeVectorFunc (DV-010)",
            {"vector": "that function", "scalar": "its DecodeFunc"},
        ),
    ] = "vector"
    fp8_input: Annotated[
        str,
        among(
            "a float16 vector that a multiplication reads as float8 (CV-033)",
            {"rounded": "is rounded to it", "kept": "keeps its values"},
        ),
    ] = "rounded"
    distribution: Annotated[
        str,
        among(
            "which elements of a matrix an invocation holds (KM-011)",
            {ROWS: "every n-th of n invocations, by rows", COLUMNS: "the same by columns", BLOCKS: "successive ones"},
        ),
    ] = ROWS
    max_steps: Annotated[int, number("end a dispatch that executes more instructions", least=1, most=10**15)] = (
        DEFAULT_MAX_STEPS
    )
    max_seconds: Annotated[float, says("end a dispatch that takes longer")] | None = None
    max_memory: Annotated[int, number("end a dispatch that needs more bytes", least=1 << 20, most=1 << 50)] = (
        DEFAULT_MAX_MEMORY
    )
    robust: Annotated[bool, says("reads outside a buffer give zeros, and writes outside one do nothing")] = False
    check: Annotated[
        frozenset[Literal["races", "uninitialised", "contract", "writers", "none"]],
        says(
            "end a dispatch with a race, with an undefined value that decides something, or with a broken rule on"
            " values or such a value (contract); or record which workgroups wrote none of a buffer"
        ),
    ] = frozenset()
    trace: Annotated[str, says("record what a function executes, or what an id is each time", metavar="NAME or ID")] = (
        ""
    )
    stage: Annotated[Stage, says("run cases of cooperative vectors in shaders of this stage")] = Stage.COMPUTE
    mutant: Annotated[str, among("have this bug, of fragment shaders", mutant_names)] = ""

    def __post_init__(self) -> None:
        """Raise BadInput for options that do not go together."""
        if self.stage is Stage.FRAGMENT and self.subgroup_size % QUAD:
            what = f"subgroups of {self.subgroup_size} invocations cannot hold the quads of a fragment shader"
            raise BadInput("driver-option", what, remedy=f"a multiple of {QUAD} (ST-005)")
        if self.check and self.stage is not Stage.COMPUTE:
            what = f"check={'+'.join(sorted(self.check))} in the stage {self.stage.value}"
            raise BadInput("driver-option", what, remedy="check= for compute shaders alone")
        if self.mutant and self.stage is not Stage.FRAGMENT:
            what = f"mutant {self.mutant} in the stage {self.stage.value}"
            raise BadInput("driver-option", what, remedy=f"stage=fragment,mutant={self.mutant}")
