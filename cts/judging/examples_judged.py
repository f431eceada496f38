"""The event of a chunk of generated examples, whose fields are in groups: each adds to the one before."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from cts.judging.finding_data import Finding
from cts.judging.verdict import Verdict


class Kept(Struct, frozen=True, omit_defaults=True):
    """A generated case that did not pass and that no baseline lists, as it was drawn.

    `cause` is the suspected cause, `number` the example's number, and `size` the number of characters of its file.
    `runs` counts the verdicts of a case that was run again.
    """

    cause: str
    number: int
    verdict: Verdict
    detail: str
    finding: Finding
    size: int
    runs: dict[str, int] = {}


class FaultSeen(Struct, frozen=True, omit_defaults=True):
    """Faults of one kind of an area's generator: the first of them, the number of its example, and how many there are.

    `case` is the YAML of the case, if there is one.
    """

    code: str
    what: str
    where: str
    number: int
    count: int
    detail: str = ""
    case: str = ""


class _Chunk(Struct, frozen=True, tag_field="event", forbid_unknown_fields=True, omit_defaults=True):
    """Generated examples of an area that are finished on a driver: `count` numbers from `start` on.

    `last`: a quarantine had left this example for last. `part` numbers the pieces of a chunk that is judged in several.
    """

    driver: str
    area: str
    start: int
    count: int
    last: bool = False
    part: int = 0


class _WithOutcomes(_Chunk, frozen=True, omit_defaults=True):
    """What became of examples.

    The fields count cases: `drawn` cases, `verdicts` of cases that ran, `unsupported` cases and what they lack, cases
    `not_run` by reason, `repeated` cases, and cases of other shards or of dear sizes, which
    nobody asks for again (`elsewhere`). A quarantine leaves the numbers in
    `for_last` for last; those in `set_aside` took too long, and are finished at the end. `faults` are the generator's,
    by kind. `sets` other parameter sets of cases were judged. `not_passed` has by verdict the content hashes, 8 bytes
    each, of the cases that did not pass, known failures too.
    """

    drawn: int = 0
    verdicts: dict[str, int] = {}
    unsupported: int = 0
    lacks: dict[str, int] = {}
    not_run: dict[str, int] = {}
    repeated: int = 0
    elsewhere: int = 0
    for_last: tuple[int, ...] = ()
    set_aside: tuple[int, ...] = ()
    faults: dict[str, FaultSeen] = {}
    sets: int = 0
    not_passed: dict[str, bytes] = {}


class _WithFailures(_WithOutcomes, frozen=True, omit_defaults=True):
    """The failures of examples, and the baseline's part in them.

    `known` counts failures by the baseline's reason. `failing` has by suspected cause the content hashes, 8 bytes each,
    of the other failures; some of these are `kept`. `matching` of the cases that ran match a condition of the baseline.
    `entries` have, by the text of the entry, how many cases ran, how many of these failed as it lists, and how many a
    quarantine left out.
    """

    known: dict[str, int] = {}
    failing: dict[str, bytes] = {}
    kept: tuple[Kept, ...] = ()
    matching: int = 0
    entries: dict[str, tuple[int, int, int]] = {}


class _WithNovelty(_WithFailures, frozen=True, omit_defaults=True):
    """What shows whether a case is new.

    `cases` and `structures` have 8 bytes for each case that ran: its content hash, and a digest of the case without its
    numbers. `facts` and `features` count the cases that have each; lines of JSON name the features `situations`.
    """

    cases: bytes = b""
    structures: bytes = b""
    facts: dict[str, int] = {}
    features: dict[str, int] = msgspec.field(default_factory=dict, name="situations")


class ExamplesJudged(_WithNovelty, frozen=True, tag="examples-judged", omit_defaults=True):
    """All that a chunk of generated examples came to: its groups, and times, processes and the compiler's numbers.

    `seconds` are by stage: draw, oracle, driver, sets. `at` is the second of the run in which the answer came from the
    process `where`, and `restarts` counts how often a process of the device was restarted in between. `statistics` are
    the compiler's numbers by name: the number of cases, their sum, the largest, and the number of that example.
    `slowest` has seconds and content hashes of the slowest cases, if there are slow ones. `times` has the seconds of
    cases that ran, by size, and `slow` how many cases of each size the device was given that were set aside. `timed`:
    the device says itself how long it takes.
    """

    seconds: dict[str, float] = {}
    at: float = 0.0
    where: str = ""
    restarts: int = 0
    statistics: dict[str, tuple[int, float, float, int]] = {}
    slowest: tuple[tuple[float, str], ...] = ()
    times: dict[str, tuple[float, ...]] = {}
    slow: dict[str, int] = {}
    timed: bool = False
