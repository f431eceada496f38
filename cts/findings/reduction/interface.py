"""The interface of the reducer's passes.

A pass proposes smaller versions of a case: its candidates. It does not know which cases are interesting. The
reducer gives candidates to the interestingness function, takes the first that is still interesting, and asks
for the candidates of that one. The rules for a pass:

1. One idea. The module has the pass's name: a verb and what it reduces. Its docstring is one sentence that
   says what the candidates are; `docs/reduction.md` has a row with it.
2. Pure and deterministic. Candidates depend on the case alone, and come in the same order each time: no random
   numbers, no clock, no iteration over sets that are not sorted, no state from one call to the next.
3. Each candidate stands for itself. It is a whole case, made from the given case and not from another candidate, with
   all changes that its main change needs (the buffers in workgroup memory when there are fewer workgroups).
4. Well-formed and strictly smaller by `cost.size`. `CasePass` and `InstructionPass` drop every other
   candidate, so a function may propose cases that are neither; it must not raise. Validity by the rules of the
   specifications, and support by the driver, are checked after the pass, for all candidates.
5. Large steps first. If one candidate has much less and another a little less, the first comes first: half of the
   rows before one row. Greedy descent then takes about a logarithm of the size.
6. Lazy. Candidates are yielded one by one; most of them are never asked for.
7. Nothing is left unused: parts that no instruction needs any more are removed, too (`remove_unused`).

Since the size of a case goes down with every step, and cases of a size are finite, reduction ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from cts.case.model import Case
from cts.findings.reduction.candidates import if_smaller


class Candidate(NamedTuple):
    """A smaller case, and the name of the pass that proposes it."""

    case: Case
    by: str


class Pass(Protocol):
    """Proposes smaller cases, by the rules of this module."""

    @property
    def name(self) -> str:
        """The name: a verb and an object; unique."""

    def candidates(self, case: Case) -> Iterator[Candidate]:
        """Smaller versions of a well-formed case, the smallest first as a rule; all of them well-formed."""


@dataclass(frozen=True)
class CasePass:
    """A pass over the case as a whole. `propose` yields cases that need be neither well-formed nor smaller."""

    name: str
    propose: Callable[[Case], Iterator[Case]]

    def candidates(self, case: Case) -> Iterator[Candidate]:
        """Those proposals that are well-formed and smaller."""
        for smaller in self.propose(case):
            yield from (Candidate(c, self.name) for c in if_smaller(smaller, case))


@dataclass(frozen=True)
class InstructionPass:
    """A pass over one instruction at a time. `propose` gets the case and an index into its program."""

    name: str
    propose: Callable[[Case, int], Iterator[Case]]

    def candidates(self, case: Case) -> Iterator[Candidate]:
        """Candidates of all instructions, from the last to the first: users go before the values that they use."""
        for i in reversed(range(len(case.program))):
            yield from self.candidates_at(case, i)

    def candidates_at(self, case: Case, i: int) -> Iterator[Candidate]:
        """Those proposals for instruction `i` that are well-formed and smaller."""
        for smaller in self.propose(case, i):
            yield from (Candidate(c, self.name) for c in if_smaller(smaller, case))
