"""What a race is, in words: who accesses what, who did before, and what would have ordered the two."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cts.drivers.interpreter.access_history import NOW, Accesses
from cts.drivers.interpreter.builtins import Batch
from cts.drivers.interpreter.clocks import Agents, Missing
from cts.drivers.interpreter.fences import IN_SUBGROUP, SEMANTICS, scope_name
from cts.drivers.interpreter.memory import Segment
from cts.drivers.interpreter.parse import Instruction


@dataclass(frozen=True)
class Rival:
    """The earlier access of a race: by whom (-1: somebody in another workgroup), how, by which instruction.

    `private` says that no barrier orders it, `missing` what is not there, None if nothing is missing.
    """

    agent: int
    did: str
    instruction: Instruction | None
    private: bool
    missing: Missing | None


@dataclass(frozen=True)
class Words:
    """Names for agents and instructions in messages."""

    batch: Batch
    agents: Agents
    describe: Callable[[Instruction], str]

    def race(self, accesses: Accesses, k: int, more: int, rival: Rival) -> str:
        """Byte k of some accesses races with a rival's; `more` accesses race alike."""
        by = int(accesses.by[k])
        first = int(accesses.bytes_[k // accesses.size * accesses.size])
        what = f"{self.named(by)} {NOW[accesses.way]} {span(accesses.segment, first, accesses.size)}, which "
        if rival.agent < 0:
            return f"{what}another workgroup {rival.did}, and nothing orders different workgroups{_alike(more)}"
        what += f"{'it' if rival.agent == by else self.named(rival.agent)} {rival.did}"
        if rival.instruction is not None:
            same = rival.instruction.at == accesses.at
            what += " by the same instruction" if same else f" by {self.describe(rival.instruction)}"
        return f"{what}{self._why(by, accesses, rival)}{_alike(more)}"

    def _why(self, by: int, accesses: Accesses, rival: Rival) -> str:
        if rival.agent >> self.agents.bits != by >> self.agents.bits:
            return ", and nothing orders different workgroups"
        if rival.missing is not None and rival.missing.barrier:
            wide = "workgroup" if rival.missing.level != IN_SUBGROUP else "workgroup or subgroup"
            why = f", and no barrier of their {wide} lies between"
            if rival.agent == by:
                why += " (any invocation of it may make its accesses, TA-044)"
            return why
        reasons = []
        if rival.missing is not None:
            reasons.append(_lacking(rival.missing, accesses.memory))
        if rival.private or accesses.private:
            both = rival.private and accesses.private
            which = "neither access is" if both else f"the {'earlier' if rival.private else 'later'} access is not"
            reasons.append(f"{which} NonPrivatePointer")
        return f", and the barriers between do not order them: {'; '.join(reasons)}"

    def named(self, agent: int) -> str:
        agents = self.agents
        workgroup, number = agent >> agents.bits, agent & (1 << agents.bits) - 1
        if number < agents.invocations:
            return self.batch.invocation(workgroup, number)
        if number == agents.whole:
            return self.batch.workgroup(workgroup)
        return f"subgroup {number - agents.invocations} of {self.batch.workgroup(workgroup)}"


def _lacking(missing: Missing, memory: int) -> str:
    both = missing.release and missing.acquire
    orders = "Release and Acquire" if both else "Release" if missing.release else "Acquire"
    semantics = f"{orders} with {SEMANTICS[memory]} at memory scope {scope_name(missing.level)} or wider"
    return f"{semantics} {'are' if both else 'is'} missing"


def _alike(more: int) -> str:
    races = "races" if more == 1 else "race"
    return f"; {count(more, 'access')} by this instruction {races} alike" if more else ""


def count(more: int, noun: str) -> str:
    """So many more of something."""
    plural = noun + ("es" if noun.endswith("s") else "s")
    return f"{more} more {noun if more == 1 else plural}"


def span(segment: Segment, byte: int, size: int) -> str:
    """The bytes of an access in messages."""
    offset = byte % segment.size if segment.pitch else byte - segment.start
    return (
        f"byte {offset} of {segment.name}" if size == 1 else f"bytes {offset} to {offset + size - 1} of {segment.name}"
    )
