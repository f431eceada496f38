"""The messages between driver and worker, and how they travel: length-prefixed msgpack.

A frame is the length of its body as 4 bytes, little-endian, and the body: one message as a msgpack map
whose `type` names the message. Described for other implementers in docs/vulkan-worker-protocol.md.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct

#: Changes whenever a message changes its meaning; both sides must agree.
VERSION = 12


FailureStatus: TypeAlias = Literal[
    "timeout", "device-lost", "out-of-memory", "rejected", "unsupported", "no-device", "error"
]
Phase: TypeAlias = Literal["pipeline", "dispatch"]
Kind: TypeAlias = Literal["storage", "uniform", "storage-dynamic", "uniform-dynamic"]
StageName: TypeAlias = Literal[
    "vertex",
    "tessellation_control",
    "tessellation_evaluation",
    "geometry",
    "fragment",
    "task",
    "mesh",
    "ray_generation",
    "any_hit",
    "closest_hit",
    "miss",
    "intersection",
    "callable",
]


DeviceType: TypeAlias = Literal["discrete", "integrated", "virtual", "cpu", "other"]


class _Message(Struct, frozen=True, tag_field="type", forbid_unknown_fields=True):
    pass


# Driver to worker


class Hello(_Message, frozen=True, tag="hello"):
    """First message. Answered by `Devices` or `Failed`. `validation` loads the Khronos validation layer.

    With `gpu_assisted` the layer checks on the device what modules do there, and nothing else. `icd` is the file of a
    Vulkan driver on the worker's machine, which alone is loaded; "" for those that are installed.
    """

    version: int = VERSION
    validation: bool = False
    gpu_assisted: bool = False
    icd: str = ""


class Open(_Message, frozen=True, tag="open"):
    """Second message: use this device. Answered by `Opened` or `Failed`.

    `threads` create pipelines while others run. `memory` is where buffers lie while a module runs:
    "host" (host-visible memory), "staged" (device-local memory, copied in and out), or "auto".
    """

    device: int
    threads: int = 1
    memory: Literal["auto", "host", "staged"] = "auto"


class Ask(_Message, frozen=True, tag="ask"):
    """Instead of `Open`, or before it: what this device answers to every query. Answered by `Asking` and `Answers`."""

    device: int


class Try(_Message, frozen=True, tag="try"):
    """Like `Ask`: calls that convert matrices, as cts/device/trials.py has them. `memory` is as in `Open`.

    Answered by `Asking` and `Tried`, or `Failed`, with the same `id`.
    """

    id: int
    device: int
    trial: dict[str, Any]
    memory: Literal["auto", "host", "staged"] = "auto"


class Address(Struct, frozen=True):
    """A 64-bit little-endian device address at byte `at`: that of the window of `buffer`, plus `offset`."""

    at: int
    buffer: int
    offset: int = 0


class Memory(Struct, frozen=True):
    """A buffer of the job: all its bytes, and the window [start, start + size) that the module sees.

    `start` may be negative: then the window begins so many bytes before the first one.
    """

    data: bytes
    start: int
    size: int
    addresses: tuple[Address, ...] = ()


class Opaque(Struct, frozen=True):
    """Memory for a matrix in a layout whose size the device says, in Vulkan's numbers (VK-005, VK-053b).

    The matrix begins `offset` bytes into it; all of it is zeros first where `zero`. `beside` are more matrices in the
    same memory, in the order of their offsets: a run in which they overlap is unsupported.
    """

    component: int
    layout: int
    rows: int
    cols: int
    offset: int = 0
    zero: bool = False
    beside: tuple[Opaque, ...] = ()


class Place(Struct, frozen=True):
    """A matrix `offset` bytes into the window of buffer number `buffer`; `stride` is in bytes, too."""

    buffer: int
    component: int
    layout: int
    offset: int = 0
    stride: int = 0


class Conversion(Struct, frozen=True):
    """A conversion of a rows x cols matrix, before or after the dispatches; on the `host` or by a command."""

    source: Place
    destination: Place
    rows: int
    cols: int
    after: bool = False
    host: bool = False


class ParameterSet(Struct, frozen=True):
    """What one dispatch of the pipeline works on."""

    buffers: tuple[Memory, ...]
    push_constants: bytes = b""
    push_addresses: tuple[Address, ...] = ()


class Binding(Struct, frozen=True):
    """A descriptor: the window of buffer number `buffer` of each parameter set.

    It is descriptor `index` of the `count` that the binding has: more than one make an array, which
    need not be bound as a whole. Descriptors of a dynamic `kind` are written for the first parameter set, where its
    buffer's bytes begin, and bound for each with the offset of the window from there.
    """

    set: int
    binding: int
    buffer: int
    kind: Kind = "storage"
    index: int = 0
    count: int = 1


class Staged(Struct, frozen=True):
    """The run's module is a shader of another stage than compute: a draw or a trace of so many invocations.

    `extent` is the width and height in pixels that are drawn for a fragment shader; task and mesh shaders are started
    with the run's workgroups. `companions` are the modules of the other stages that the pipeline has.
    """

    stage: StageName
    invocations: int
    extent: tuple[int, int]
    companions: dict[StageName, bytes] = {}


class Making(Struct, frozen=True):
    """How the pipeline is made, or what in place of it; see docs/vulkan-worker-protocol.md."""

    kind: Literal["pipeline", "shader", "shader-binary"] = "pipeline"
    cache: Literal["none", "new", "shared", "hit", "merged", "stored"] = "none"
    neighbours: int = 0
    place: int = 0
    derivative: Literal["none", "handle", "index"] = "none"
    unoptimised: bool = False
    statistics: bool = False
    inline: bool = False
    later: int = 0
    varying: bool = False


Queues: TypeAlias = Literal["one", "exclusive", "concurrent"]


class Submitting(Struct, frozen=True):
    """How dispatches are recorded and submitted; see docs/vulkan-worker-protocol.md."""

    parts: tuple[tuple[tuple[int, int, int], tuple[int, int, int]], ...] = ()
    indirect: int | None = None
    again: bool = False
    secondary: bool = False
    queues: Queues = "one"


class Run(_Message, frozen=True, tag="run"):
    """Run a module once per parameter set. Answered, in order of arrival, by `Done` or `Failed`.

    `features` are the Vulkan features to enable, by name, nothing else is; `full_subgroups` asks for a
    pipeline without partial subgroups (VK-042); `timeout` is how many seconds all dispatches together may
    take, with the `conversions` by commands around them. Each parameter set has `opaque` memory of its own,
    numbered after its buffers and never handed back, and all conversions are done for each, in order. The dispatches
    are repeated `times` times, with a barrier between.
    `only_pipeline`: make the pipeline and run nothing; `Done` has no memory then. Calls that the validation layer
    objects to do not reach the driver. No other run may be in flight. `statistics`: `Done` has the driver's statistics
    of the pipeline's executables, which need the feature pipelineExecutableInfo; `listing`: its compiled code.
    """

    id: int
    module: bytes
    workgroups: tuple[int, int, int]
    sets: tuple[ParameterSet, ...]
    bindings: tuple[Binding, ...] = ()
    specialization: dict[int, bytes] = {}
    features: tuple[str, ...] = ()
    entry: str = "main"
    subgroup_size: int | None = None
    full_subgroups: bool = False
    timeout: float = 10.0
    opaque: tuple[Opaque, ...] = ()
    conversions: tuple[Conversion, ...] = ()
    times: int = 1
    only_pipeline: bool = False
    statistics: bool = False
    listing: bool = False
    making: Making = Making()
    submitting: Submitting = Submitting()
    staged: Staged | None = None


def pipeline_command(run: Run) -> str:
    """The Vulkan command that makes the pipeline of a run."""
    if run.staged is None:
        return "vkCreateComputePipelines"
    rays = ("ray_generation", "any_hit", "closest_hit", "miss", "intersection", "callable")
    return "vkCreateRayTracingPipelinesKHR" if run.staged.stage in rays else "vkCreateGraphicsPipelines"


# Worker to driver


class DeviceSummary(Struct, frozen=True):
    """A physical device. `uuid` is its deviceUUID in hex; `unusable` says why the worker cannot use it."""

    index: int
    name: str
    uuid: str
    type: DeviceType
    api: str
    driver: str
    unusable: str = ""


class Devices(_Message, frozen=True, tag="devices"):
    """The devices of the worker's machine. `worker` names the versions of its parts."""

    version: int
    worker: str
    devices: tuple[DeviceSummary, ...]


Property: TypeAlias = int | float | str | tuple[int | float, ...]


class MatrixRow(Struct, frozen=True):
    """An entry of the cooperative matrix queries, in Vulkan's numbers (VK-002, VK-003, VK-007, VK-028).

    `m`, `n`, `k` are sizes, or granularities from the flexible dimensions query (`flexible`).
    `subgroup_size` is None unless the row comes from the cooperativeMatrixProperties2 query: then it is
    the required subgroup size that was asked about, 0 for pipelines that require none; the sizes are
    granularities where flexible dimensions are enabled. `workgroup_invocations` says something only at
    Workgroup scope and in rows of these two queries.
    """

    m: int
    n: int
    k: int
    a: int
    b: int
    c: int
    result: int
    saturating: bool
    scope: int
    workgroup_invocations: int = 0
    flexible: bool = False
    subgroup_size: int | None = None


class VectorRow(Struct, frozen=True):
    """An entry of the cooperative vector query, in Vulkan's numbers (VK-005)."""

    input: int
    input_interpretation: int
    matrix_interpretation: int
    bias_interpretation: int
    result: int
    transpose: bool


class Description(Struct, frozen=True):
    """Everything the worker asked of a device.

    `features` are the features it knows by name; `properties` are by structure, then by member;
    `processors` is how many the worker may use; `layer` the validation layer that is loaded, with its version.
    `queues` are the flags of each queue family, and how many queues it has.
    """

    device: DeviceSummary
    extensions: tuple[str, ...]
    features: dict[str, bool]
    properties: dict[str, dict[str, Property]]
    matrices: tuple[MatrixRow, ...]
    vectors: tuple[VectorRow, ...]
    processors: int = 1
    layer: str = ""
    queues: tuple[tuple[int, int], ...] = ()


class Opened(_Message, frozen=True, tag="opened"):
    """The device is ready."""

    description: Description


class Asking(_Message, frozen=True, tag="asking"):
    """A query is about to be made: a crash or hang that follows happened in it."""

    call: str


class Answers(_Message, frozen=True, tag="answers"):
    """The raw answers of a device to every query, in the format of docs/device-queries.md."""

    answers: dict[str, Any]


class Tried(_Message, frozen=True, tag="tried"):
    """What came of trial `id`, none of it judged."""

    id: int
    result: dict[str, Any]


class Progress(_Message, frozen=True, tag="progress"):
    """Run `id` has entered a phase: a crash or hang that follows happened in it."""

    id: int
    phase: Phase


class Done(_Message, frozen=True, tag="done"):
    """The memory after a run, by parameter set and buffer; None where it is as it was.

    `messages` are those of the validation layer. `seconds` by phase, `pipeline` being those in which it was made, 0
    where it was `cached`. `statistics` are those of VK_KHR_pipeline_executable_properties by name, summed over the
    executables of the pipeline. `listing` has the texts that the driver has of its executables, by their names, each
    after the other where names are alike.
    """

    id: int
    sets: tuple[tuple[bytes | None, ...], ...]
    messages: tuple[str, ...] = ()
    seconds: dict[str, float] = {}
    cached: bool = False
    statistics: dict[str, float] = {}
    listing: dict[str, str] = {}


class Failed(_Message, frozen=True, tag="failed"):
    """Why a request, run or trial has no result. The worker exits after "timeout" and "device-lost"."""

    status: FailureStatus
    what: str
    id: int | None = None
    messages: tuple[str, ...] = ()


Request: TypeAlias = Hello | Ask | Try | Open | Run
Reply: TypeAlias = Devices | Asking | Answers | Tried | Opened | Progress | Done | Failed
