"""The oracle's answer: for every byte of every buffer the set of allowed values."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from cts.base.memory import guarded
from cts.case.model import Case, ComponentType
from cts.case.model.sweep import Sweep
from cts.case.oracle.dependence import Dependence
from cts.case.oracle.deviation import Deviation
from cts.case.oracle.trace import TraceStep


class Freedom(enum.IntFlag):
    """What one element may be beside a value of its interval."""

    NONE = 0
    ANY = 1
    NAN = 2
    EITHER_ZERO = 4


class Policy(str):
    """A reason of a freedom whose bound is this suite's own: the specifications set none there."""

    __slots__ = ()


@dataclass(frozen=True)
class Intervals:
    """Elements with more than one allowed value, all of one component type.

    `offsets` are byte offsets into the buffer's contents, shape (n,). `lo` and `hi` are the bit
    patterns of a closed interval in the type's numeric order (-0 below +0); a NaN is in no
    interval and allowed only by `Freedom.NAN` or `Freedom.ANY` in `flags`, shape (n,), uint8.
    `reasons` name what leaves the freedom: facts, or the suite's own policy and its bound.
    Where `step`, shape (n,), is not 0, only its multiples are allowed: a power of two, to which
    roundings that the program makes binding leave every result (NU-019). None: 0 everywhere.
    """

    component: ComponentType
    offsets: npt.NDArray[np.int64]
    lo: npt.NDArray[Any]
    hi: npt.NDArray[Any]
    flags: npt.NDArray[np.uint8]
    reasons: tuple[str, ...] = ()
    step: npt.NDArray[np.float64] | None = None

    @property
    def policy(self) -> str:
        """The reasons that are this suite's policy, between semicolons; empty where none is."""
        return "; ".join(reason for reason in self.reasons if isinstance(reason, Policy))


@dataclass(frozen=True)
class Identical:
    """Elements whose bits must be the same as those of others, whatever they are (CM-021, CM-023).

    `offsets` are byte offsets into the buffer's contents, shape (n,); elements of one `group`, shape
    (n,), hold one bit pattern.
    """

    component: ComponentType
    offsets: npt.NDArray[np.int64]
    group: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Allowed:
    """Allowed contents of one buffer, and of its guard bytes before and behind it if a wrong program writes these.

    `exact` holds an allowed value of each byte, shape (size,), dtype uint8, and the only one but for elements named in
    `intervals`, which are judged by those where they differ from it. `identical` is asked beside either. `free` are the
    intervals, or what makes those of all elements, or of those alone that have one of some bytes, (size,) bool. `raced`
    are elements to which a wrong program stores several values at once, by their first bytes, and these values.
    """

    exact: npt.NDArray[np.uint8]
    free: tuple[Intervals, ...] | Callable[[npt.NDArray[np.bool_] | None], tuple[Intervals, ...]] = ()
    identical: tuple[Identical, ...] = ()
    guards: npt.NDArray[np.uint8] | None = None
    raced: Mapping[int, Set[bytes]] = field(default_factory=dict)

    @property
    def memory(self) -> npt.NDArray[np.uint8]:
        """Allowed memory: guard, contents, guard."""
        if self.guards is None:
            return guarded(self.exact)
        before, after = np.split(self.guards, 2)
        return np.concatenate([before, self.exact, after])

    @cached_property
    def intervals(self) -> tuple[Intervals, ...]:
        """The elements that may have other values."""
        return self.free(None) if callable(self.free) else self.free

    def intervals_at(self, some: npt.NDArray[np.bool_]) -> tuple[Intervals, ...]:
        """At least those of elements that have one of some bytes, (size,): it may be far less work than all."""
        return self.free(some) if callable(self.free) else self.free


@dataclass(frozen=True)
class Spread:
    """Where elements of a matrix have more than one allowed value: as in `Intervals`, in the matrix's shape."""

    lo: npt.NDArray[Any]
    hi: npt.NDArray[Any]
    flags: npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Expectation:
    """What a case may leave behind.

    `matrices` maps each matrix id to its bit patterns, shape (instances, rows, cols), dtype the
    component's `bits_dtype`; instances are the matrix scope's, workgroup index major (x fastest),
    subgroup minor. Where a matrix has more than one allowed value, `matrices` holds one of them and
    `spreads` all. In a loop, the last iteration's.
    """

    buffers: dict[str, Allowed]
    matrices: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    spreads: dict[str, Spread] = field(default_factory=dict)


class ViolationKind(enum.Enum):
    """Why a rule excludes cases."""

    #: Behaviour is undefined, or the case is invalid, by a sentence of a specification.
    UNDEFINED = "undefined"
    #: The specifications can be read in several ways.
    UNCLEAR = "unclear"
    #: Behaviour is defined, but the oracle cannot say what is allowed.
    LIMIT = "limit"


@dataclass(frozen=True)
class Violation:
    """A rule that a well-formed case breaks, and why it is not run and judged.

    `rule` is the fact ID, `path` the YAML path (`program[3].offset`). What is unclear has `readings`, in words.
    """

    rule: str
    path: str
    what: str
    remedy: str
    kind: ViolationKind = ViolationKind.UNDEFINED
    readings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Exclusion:
    """Parameter sets that break a rule: `sets` are their numbers, ascending, (m,) int64; `violation` is the first's.

    A set that breaks several rules belongs to the first that it breaks in program order.
    """

    violation: Violation
    sets: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Swept:
    """The oracle's answer to a sweep.

    `valid` are the numbers of the parameter sets that break no rule, ascending, (m,) int64; the others are in one of
    `exclusions` each. `buffers` are what the valid sets may leave in the buffers that the template writes, one set
    after the other: `exact` has m times the buffer's size bytes, and offsets count from the first valid set's contents.
    The reasons of intervals may be those of other sets of the sweep.
    """

    valid: npt.NDArray[np.int64]
    exclusions: tuple[Exclusion, ...]
    buffers: dict[str, Allowed]


@dataclass(frozen=True)
class Trace:
    """The steps that lead to the expected value of one byte.

    `instruction` is the index of the store that writes it (None: no instruction writes it);
    `instance`, `row` and `col` are the matrix element stored there. `conversion` is the index of the conversion that
    writes it, if one does.
    """

    instruction: int | None
    instance: int | None
    row: int | None
    col: int | None
    steps: tuple[TraceStep, ...]
    conversion: int | None = None


class Reach(enum.IntEnum):
    """What happens to an element where an instruction accesses memory."""

    MEMORY = 0
    CLIPPED = 1
    CLAMPED = 2
    INACTIVE = 3
    #: Outside the range of a storage buffer, in a case with robustness.
    OUTSIDE = 4


@dataclass(frozen=True, eq=False)
class SeenTensor:
    """The tensor that an instruction takes memory for, in each instance.

    `pointer` are the bytes of its first location, (instances,), each location of `size` bytes: an element, or a block
    that is decoded. `dimension`, `stride` (in blocks) and `block_size` are (instances, dim). `moved` are the elements
    out of bounds that the clamp mode moved into the tensor, (instances, rows, cols). `block` and `within` are an
    element's block and its place in that, (dim, instances, rows, cols); None without a decode function.
    """

    pointer: npt.NDArray[np.int64]
    size: int
    dimension: npt.NDArray[np.int64]
    stride: npt.NDArray[np.int64]
    block_size: npt.NDArray[np.int64]
    moved: npt.NDArray[np.bool_]
    block: npt.NDArray[np.int64] | None = None
    within: npt.NDArray[np.int64] | None = None


@dataclass(frozen=True)
class AccessMap:
    """Where the elements of a load or store access memory, in the last iteration of loops around it.

    `byte` is the offset in the contents of `buffer`, int64, and `status` a `Reach`, uint8; both are
    (instances, rows, cols). A byte says nothing where the status is not MEMORY. `tensor` is what a tensor instruction
    takes memory for. `pitch` are the bytes from one row of memory to the next, (instances,), of instructions with a
    stride.
    """

    buffer: str
    byte: npt.NDArray[np.int64]
    status: npt.NDArray[np.uint8]
    tensor: SeenTensor | None = None
    pitch: npt.NDArray[np.int64] | None = None


@dataclass(frozen=True)
class Extent:
    """What the elements of a tensor load or store reach: the lowest and the highest coordinate in each dimension of
    those that are in memory (-1: none is), and what becomes of them.
    """

    first: tuple[int, ...]
    last: tuple[int, ...]
    status: frozenset[Reach]


class Oracle(Protocol):
    """The reference executor, found through `cts.plugins.registry.oracle()`."""

    def violations(self, case: Case) -> list[Violation]:
        """Every rule the well-formed case breaks; empty when it may be run and judged."""
        ...

    def expect(self, case: Case) -> Expectation:
        """Allowed contents of all buffers, and of every matrix. The case must have no violations."""
        ...

    def leaves(self, case: Case, deviations: Sequence[Deviation]) -> Expectation | None:
        """What buffers may hold if instructions of the case deviate; None if nobody can say."""
        ...

    def sweep(self, sweep: Sweep) -> Swept:
        """Which parameter sets may be run, and what these may leave behind.

        Raises BadInput for a template that cannot be swept, and for more sets than can be judged at a time.
        """
        ...

    def coordinates(self, sweep: Sweep) -> dict[str, npt.NDArray[np.int64]]:
        """Where tensor loads and stores go under each parameter set, by name, (n,): numbers that tell sets apart.

        The lowest and highest coordinates that are accessed, say. A template without such instructions has none.
        """
        ...

    def extents(self, case: Case) -> dict[int, Extent]:
        """What each tensor load and store of a well-formed case reaches, by its place in the program."""
        ...

    def dependences(self, case: Case) -> tuple[Dependence, ...]:
        """Which instructions of a valid case depend on one another through memory."""
        ...

    def trace(self, case: Case, buffer: str, offset: int, *, detail: bool = False, depth: int | None = None) -> Trace:
        """Every step behind the byte at `offset` of the buffer's contents, for the reader of a failure.

        With `detail`, also each term of sums and how layouts and views came to be. `depth` counts the
        instructions before the store that are described; None: as many as are readable.
        """
        ...

    def trace_element(
        self,
        case: Case,
        result: str,
        instance: int,
        row: int,
        col: int,
        *,
        iterations: tuple[int, ...] | None = None,
        depth: int | None = None,
    ) -> Trace:
        """Every step, in detail, behind an element of a matrix or (in row 0) of a vector.

        As it is after the program, or after the iteration `iterations` of the loops around what defines it. The
        instruction of the trace is that one; None where the instance never comes to it.
        """
        ...

    def reached(self, case: Case, instruction: int) -> AccessMap | None:
        """Where a load or store accesses memory; None for other instructions, and where none is taken."""
        ...
