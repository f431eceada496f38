"""Messages between the suite and a driver in a process of its own.

A frame is the length of its body as 4 bytes, little-endian, and the body: one message in msgpack. Messages to the
driver have numbers in their order, and an answer names the message that it answers. Values are checked against the
types below when they arrive. So what comes from a driver is data, whatever the driver does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, BinaryIO, Literal, NamedTuple, TypeAlias, get_args

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta, Struct

from cts.base.errors import BadInput, CtsError, HarnessTrouble, described
from cts.base.printable import printable_data, said
from cts.case.model import Case
from cts.case.model.sweep import Sweep
from cts.case.stages import Stage
from cts.device.capabilities import Capabilities
from cts.device.driver import Fault, Job, Outcome, Status, SweepJob
from cts.device.job import Making, ModuleJob, Submitting
from cts.device.trials import Trial, Tried
from cts.spirv.lowering import Made, OfCase, OfSweep

#: A longer frame is neither sent nor read.
MAX_FRAME_BYTES = 1 << 30

Bytes: TypeAlias = npt.NDArray[np.uint8]


class _Message(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    number: int


class Open(_Message, frozen=True, tag="open"):
    """Build the driver of a spec. Answered by `Opened`."""

    spec: str


class Call(_Message, frozen=True, tag="call"):
    """Call a method with arguments. Answered by `Returned`."""

    method: str
    arguments: msgspec.Raw


class Stream(_Message, frozen=True, tag="stream"):
    """Call a method that takes jobs and yields what becomes of them: any `Wants` and `Gave`, then `Returned`."""

    method: str


class Given(_Message, frozen=True, tag="given"):
    """A job for a stream; without one there are no more."""

    jobs: tuple[msgspec.Raw, ...] = ()


class Opened(_Message, frozen=True, tag="opened"):
    """The driver is there, with these methods."""

    name: str
    methods: tuple[str, ...]


class Wants(_Message, frozen=True, tag="wants"):
    """The stream asks for its next job."""


class Gave(_Message, frozen=True, tag="gave"):
    """What became of a job, whose message has this number."""

    value: msgspec.Raw


class Returned(_Message, frozen=True, tag="returned"):
    """What a call returned, or that a stream has ended."""

    value: msgspec.Raw


class Raised(_Message, frozen=True, tag="raised"):
    """What a call raised: an error of ours by its parts, another one by its text."""

    kind: str
    parts: tuple[str, str, str, str]


Request: TypeAlias = Open | Call | Stream | Given
Reply: TypeAlias = Opened | Wants | Gave | Returned | Raised


class Method(NamedTuple):
    """The types of a method's arguments, or of the jobs that it takes, and of what it returns, or gives for each."""

    takes: Any
    returns: Any


_Words: TypeAlias = npt.NDArray[np.uint32]

#: Methods that return a value.
CALLS: dict[str, Method] = {
    "capabilities": Method(tuple[()], Capabilities),
    "run": Method(tuple[Job], Outcome),
    "close": Method(tuple[()], None),
    "identity": Method(tuple[()], str),
    "run_module": Method(tuple[ModuleJob], Outcome),
    "lacks_for": Method(tuple[Making, Submitting], str),
    "lacks_module": Method(tuple[ModuleJob], str),
    "layer": Method(tuple[()], str),
    "judge_module": Method(tuple[_Words, ModuleJob], tuple[Status, str]),
    "report": Method(tuple[()], list[tuple[str, str]]),
    "stages": Method(tuple[()], dict[str, str]),
    "answers": Method(tuple[()], dict[str, Any]),
    "lacks_conversions": Method(tuple[()], str),
}
#: Those that every driver has.
OF_ALL = frozenset({"capabilities", "run", "close"})
#: Methods that take jobs and yield what becomes of each.
STREAMS: dict[str, Method] = {
    "run_many": Method(Job, Outcome),
    "run_modules": Method(ModuleJob, Outcome),
    "run_sweeps": Method(SweepJob, Outcome),
    "convert": Method(Trial, Tried),
}


class _Outcome(Struct, frozen=True):
    """The fields of `Outcome`, whose module names their types for type checkers alone."""

    status: Status
    memory: dict[str, Bytes] = {}
    detail: str = ""
    matrices: dict[str, npt.NDArray[Any]] = {}
    fault: Fault | None = None
    trace: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()
    only_made: bool = False
    statistics: dict[str, float] = {}
    idle: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    seconds: dict[str, float] = {}

    def arrived(self) -> Outcome:
        return Outcome(**{name: getattr(self, name) for name in self.__struct_fields__})


class _Job(Struct, frozen=True):
    """A job; its module is `made`, or is lowered where it arrives: for a subgroup size, a stage and maintenance1."""

    case: Case
    memory: dict[str, Bytes]
    lowered: tuple[int, Stage, bool] | None
    made: ModuleJob | None
    patience: float | None

    def arrived(self) -> Job:
        made = self.made
        module = OfCase(self.case, self.memory, *self.lowered) if self.lowered else made and Made(made)
        if not module:
            raise ValueError("a job without a module")
        return Job(self.case, self.memory, module, self.patience)


class _SweepJob(Struct, frozen=True):
    """The same of a sweep, which is lowered for a subgroup size."""

    sweep: Sweep
    memory: dict[str, Bytes]
    lowered: int | None
    made: ModuleJob | None

    def arrived(self) -> SweepJob:
        made = self.made
        module = OfSweep(self.sweep, self.memory, self.lowered) if self.lowered else made and Made(made)
        if not module:
            raise ValueError("a job without a module")
        return SweepJob(self.sweep, self.memory, module)


_MIRRORS: dict[Any, Any] = {Outcome: _Outcome, Job: _Job, SweepJob: _SweepJob}


def _sent(value: Any) -> Any:
    """A job in the form that is sent."""
    match value:
        case Job(case, memory, OfCase(of, _, size, stage, maintenance1), patience) if of is case:
            return _Job(case, memory, (size, stage, maintenance1), None, patience)
        case Job(case, memory, module, patience):
            return _Job(case, memory, None, module(), patience)
        case SweepJob(sweep, memory, OfSweep(of, _, size)) if of is sweep:
            return _SweepJob(sweep, memory, size, None)
        case SweepJob(sweep, memory, module):
            return _SweepJob(sweep, memory, None, module())
    return value


_Element: TypeAlias = Literal[
    "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32", "float64"
]
#: An array: the name of its type, its shape, and its bytes.
_Array: TypeAlias = tuple[_Element, tuple[Annotated[int, Meta(ge=0, le=MAX_FRAME_BYTES)], ...], bytes]


def _flat(value: Any) -> Any:
    """What msgspec does not know: arrays."""
    if isinstance(value, np.ndarray):
        return value.dtype.name, value.shape, value.tobytes()
    raise TypeError(f"a {type(value).__name__} cannot be sent")


def _array(kind: Any, value: Any) -> Any:
    """An array of the element type that an annotation asks for. Raises ValueError and TypeError."""
    if not isinstance(value, np.ndarray):
        name, shape, data = msgspec.convert(value, _Array)
        value = np.array(np.frombuffer(data, name).reshape(shape))
    (wanted,) = get_args(get_args(kind)[1])
    names = get_args(_Element) if wanted is Any else (np.dtype(wanted).name,)
    if value.dtype.name not in names:
        raise ValueError(f"Expected an array of {' or '.join(names)}, got {value.dtype}")
    return value


_encoder = msgspec.msgpack.Encoder(enc_hook=_flat)


@cache
def _decoder(kind: Any) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(_MIRRORS.get(kind, kind), dec_hook=_array)


def packed(value: object) -> msgspec.Raw:
    """A value, ready to be part of a message. Raises TypeError for one that no message can have."""
    plain = tuple(map(_sent, value)) if isinstance(value, tuple) else _sent(value)
    try:
        return msgspec.Raw(_encoder.encode(plain))
    except UnicodeEncodeError:  # text that is no text
        return msgspec.Raw(_encoder.encode(printable_data(msgspec.to_builtins(plain, enc_hook=_flat))))


def unpacked(raw: msgspec.Raw | bytes, kind: Any) -> Any:
    """The value of a message, which must be of this type. Raises ValueError."""
    try:
        value = _decoder(kind).decode(raw)
        return value.arrived() if kind in _MIRRORS else value
    except (TypeError, RecursionError, MemoryError) as e:
        raise ValueError(described(e)) from e


def arguments_of(raw: msgspec.Raw, method: str) -> tuple[Any, ...]:
    """The arguments of a call."""
    kinds = get_args(CALLS[method].takes)
    parts = msgspec.msgpack.decode(raw, type=tuple[msgspec.Raw, ...])
    return tuple(unpacked(part, kind) for part, kind in zip(parts, kinds, strict=True))


def checked(value: Any, kind: Any) -> Any:
    """What a driver's method returned, if it is of the type that the method has; raises ValueError for anything else.

    A wrong outcome is an outcome, too: the ERROR that says what is wrong.
    """
    if kind is Outcome:
        return outcome_of(value)
    try:
        return unpacked(packed(value), kind)
    except Exception as e:
        raise ValueError(f"it returned a wrong value: {said(e)}") from e


def outcome_of(value: Any) -> Outcome:
    """What a driver returned in the place of an outcome: itself, or the ERROR that says what is wrong."""
    try:
        if isinstance(value, Outcome):
            return msgspec.convert(value, _Outcome, from_attributes=True, dec_hook=_array).arrived()
        what = f"a {type(value).__name__}"
    except Exception as e:  # noqa: BLE001 - a driver may return anything
        what = said(e)
    return Outcome(Status.ERROR, detail=f"the driver returned a wrong Outcome: {what}")


def frame(message: Request | Reply) -> bytes:
    """A message as it travels. Raises HarnessTrouble for one that is too long."""
    body = _encoder.encode(message)
    if len(body) > MAX_FRAME_BYTES:
        what = f"a message of {len(body)} bytes; the longest has {MAX_FRAME_BYTES}"
        raise HarnessTrouble("driver-message", what, type(message).__name__, "less memory in the case")
    return len(body).to_bytes(4, "little") + body


def reading(kind: Any) -> Callable[[BinaryIO], Any]:
    """What reads the next message of a kind, Request or Reply, from a stream; None at its end.

    It raises ValueError for what is no message, and EOFError for one that is cut off.
    """
    decoder = msgspec.msgpack.Decoder(kind)

    def read(stream: BinaryIO) -> Any:
        head = stream.read(4)
        if not head:
            return None
        length = int.from_bytes(head, "little")
        if len(head) == 4 and length > MAX_FRAME_BYTES:
            raise ValueError(f"a frame of {length} bytes; it starts with {head!r}")
        body = stream.read(length) if len(head) == 4 else b""
        if len(head) < 4 or len(body) < length:
            raise EOFError(f"truncated frame: {len(head) + len(body)} of {4 + length} bytes")
        try:
            return decoder.decode(body)
        except (ValueError, RecursionError, MemoryError) as e:
            raise ValueError(f"no message: {e}; it starts with {body[:40]!r}") from e

    return read


def raised(number: int, error: BaseException) -> Raised:
    """An exception as the answer to a message."""
    if isinstance(error, CtsError):
        kind = "input" if isinstance(error, BadInput) else "trouble"
        return Raised(number, kind, (said(error.code), said(error.what), said(error.where), said(error.remedy)))
    return Raised(number, type(error).__name__, (said(described(error)), "", "", ""))


def error_of(answer: Raised, what: str) -> CtsError:
    """The error of an answer; `what` names the failed call."""
    if answer.kind in ("input", "trouble"):
        return (BadInput if answer.kind == "input" else HarnessTrouble)(*answer.parts)
    return HarnessTrouble("driver-failed", f"{what}: {answer.parts[0]}", "", "what the message asks for")
