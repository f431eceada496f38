"""The catalogue of planted bugs: changes of one word of compiled code, as a compiler's mistake could be."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from cts.drivers.intel.listing import Instruction, Listing, instruction
from cts.drivers.machine.mutants import Catalogue, more

CATALOGUE: Catalogue[Instruction] = Catalogue(instruction, lambda i: i.name)

#: What does nothing, and a note that says nothing about order.
_NOTHING, _NO_NOTE = "(W) sync.nop (1) null", "Compacted"


def mutated(listing: Listing, name: str) -> Listing:
    """A listing with the change of a mutant in the first instruction that it fits."""
    return replace(listing, instructions=CATALOGUE.changed(listing.instructions, name))


_plant, _text = CATALOGUE.plant, CATALOGUE.text

_MEMORY, _SUMS, _PROGRAMS, _TYPES = "matrix_memory", "matrix_arithmetic", "matrix_programs", "conversions"
_ALU, _ANY, _DPAS = "mov|add|mul", r".*", r"dpas\.8x\d"

#: Words of an instruction before its first source, and the end of its operands.
_TO, _END = r"\(\d+(?:\|M16)?\) \S+ ", r"(?= \{|$)"

# Regions: the register, the element in it, the stride.
_plant(
    "lane-for-all",
    _MEMORY,
    "one lane's number is all lanes'",
    _text("add|shl", rf"{_TO}(\S+ )?-?r\d+(?=[: ])", r"\g<0><0>"),
)
_plant(
    "lanes-for-one",
    _MEMORY,
    "each lane has an element of its own, not all the same",
    _text("add|mul|cmp", r"(\(32\).*)<0>", r"\1"),
)
_plant(
    "source-stride",
    _TYPES,
    "a source's elements follow each other",
    _text("mov", rf"({_TO}\S*?r[\d.]+)<[24]>", r"\1<1>"),
)
_plant(
    "result-stride",
    _TYPES,
    "a result's elements follow each other",
    _text(_ALU, r"(\(\d+(?:\|M16)?\) r[\d.]+)<[24]>", r"\1<1>"),
)
_plant(
    "source-part",
    _TYPES,
    "a source is the other part of a register",
    _text("mov", rf"({_TO}r\d+)\.\d+(?=<[24]>)", r"\1"),
)
_plant("result-part", _MEMORY, "a result goes to the first part of a register", _text(_ALU, r"(\) r\d+)\.\d+", r"\1"))
_plant("byte-stride", _TYPES, "bytes are taken two apart, not four", _text("mov", rf"({_TO}\S+)<4>(?=:u?b)", r"\1<2>"))
_plant("source-register", _MEMORY, "a source is the next register", _text("add|shl", rf"{_TO}-?r(?P<n>\d+)", more(1)))
_plant("result-register", _SUMS, "a result goes to the next register", _text("add|mul", r"\(32\) r(?P<n>\d+)", more(1)))

# Types.
_plant(
    "sign-lost",
    _TYPES,
    "a signed number is taken for one without sign",
    _text("mov", rf"({_TO}r.*):(?=[bw]{_END})", r"\1:u"),
)
_plant(
    "sign-found",
    _TYPES,
    "a byte without sign is taken for a signed one",
    _text("mov", rf"({_TO}r.*):u(?=b{_END})", r"\1:"),
)
_plant(
    "float-of-unsigned",
    _TYPES,
    "a float is made of a signed number as of one without sign",
    _text("mov", rf"(r\S+:h?f .*):(?=[dw]{_END})", r"\1:u"),
)
_plant("half-as-bfloat16", _TYPES, "a half is taken for a bfloat16", _text(_ALU, rf"({_TO}\S*r\S*):hf", r"\1:bf"))
_plant("bfloat16-as-half", _TYPES, "a bfloat16 is taken for a half", _text(_ALU, rf"({_TO}\S*r\S*):bf", r"\1:hf"))
_plant("shift-without-sign", _SUMS, "a shift to the right leaves out the sign", _text("asr", "asr", "shr"))
_plant(
    "comparison-without-sign",
    _PROGRAMS,
    "signed numbers are compared without signs",
    _text("cmp", rf":d (\S+):d{_END}", r":ud \1:ud"),
)

# The scoreboard.
_plant("load-not-awaited", _MEMORY, "nothing waits for a message's result", _text(_ANY, r"\$\d+\.dst", _NO_NOTE))
_plant(
    "load-half-awaited",
    _MEMORY,
    "a wait for a message's result is one for its operands",
    _text(_ANY, r"(\$\d+)\.dst", r"\1.src"),
)
_plant(
    "other-message-awaited",
    _MEMORY,
    "a wait for a message is one for another",
    _text(_ANY, r"\$(?P<n>\d+)(?=\.dst)", more(1)),
)
_plant(
    "operands-not-awaited",
    _MEMORY,
    "registers are written before a message has read them",
    _text(_ANY, r"\$\d+\.src", _NO_NOTE),
)
_plant("result-not-awaited", _SUMS, "nothing waits for an earlier instruction", _text(_ANY, r"[AFILM]?@\d+", _NO_NOTE))
_plant(
    "earlier-result-awaited",
    _SUMS,
    "a wait leaves one instruction more in flight",
    _text(_ANY, r"@(?P<n>\d+)", more(1)),
)
_plant("other-pipe-awaited", _SUMS, "a wait for floats is one for integers", _text(_ANY, r"F@", "I@"))
_plant("other-token", _MEMORY, "a message has the next token", _text(r"send\.\w+", r"\$(?P<n>\d+)(?=[,}])", more(1)))

# Products.
_plant("product-of-fewer-rows", _SUMS, "a product has half of its rows", _text(_DPAS, r"8x8", "8x4"))
_plant("product-swapped", _SUMS, "A and B of a product are swapped", _text(_DPAS, rf"(r\S+) (r\S+){_END}", r"\2 \1"))
_plant("product-without-c", _SUMS, "a product is added to nothing", _text(_DPAS, r"(\(\d+\) \S+) r\S+", r"\1 null"))
_plant(
    "product-of-other-a",
    _SUMS,
    "a product takes A of the next register",
    _text(_DPAS, rf"r(?P<n>\d+)(?=\S+{_END})", more(1)),
)
_plant(
    "product-to-other-register", _SUMS, "a product goes to the next register", _text(_DPAS, r"\) r(?P<n>\d+)", more(1))
)
_plant("product-of-bfloat16", _SUMS, "a product takes halves for bfloat16", _text(_DPAS, r":hf (\S+):hf", r":bf \1:bf"))
_plant("product-sign", _SUMS, "A of a product has no signs", _text(_DPAS, rf":b{_END}", ":ub"))

# Messages and their descriptors.
_SURFACE, _OFFSET = 1 << 24, 4 << 12


def _word(names: str, last: int, bits: int) -> Callable[[Instruction], Instruction | None]:
    """Inverts bits of the first word of a load (`last` is 0) or store (4): the surface in byte 3, offset below it."""

    def inverted(found: re.Match[str]) -> str:
        return f"0x{int(found[1], 16) ^ bits:08X}"

    return _text(names, rf"0x([0-9A-F]{{8}})(?= 0x[0-9A-F]{{6}}[08]{last})", inverted)


_plant("load-of-other-binding", _MEMORY, "a load takes another binding", _word("send.ugm", 0, _SURFACE))
_plant("store-to-other-binding", _MEMORY, "a store takes another binding", _word("send.ugm", 4, _SURFACE))
_plant("load-offset", _MEMORY, "a load reads four bytes beside", _word("send.ugm", 0, _OFFSET))
_plant("store-offset", _MEMORY, "a store writes four bytes beside", _word("send.ugm", 4, _OFFSET))
_plant("shared-load-offset", _MEMORY, "a load of shared memory reads four bytes beside", _word("send.slm", 0, _OFFSET))
_plant(
    "shared-store-offset", _MEMORY, "a store to shared memory writes four bytes beside", _word("send.slm", 4, _OFFSET)
)
_plant("load-of-half-words", _MEMORY, "a load reads 16 of 32 bits", _text("send.ugm", r"5(?=[08]0 )", "B"))
_plant("store-of-half-words", _MEMORY, "a store writes 16 of 32 bits", _text("send.ugm", r"5(?=[08]4 )", "B"))
_plant(
    "store-of-next-register",
    _MEMORY,
    "a store takes the next register",
    _text("send.ugm", r"(?<=r)(?P<n>\d+)(?=:\d)", more(1)),
)
_plant(
    "load-at-other-addresses",
    _MEMORY,
    "a load takes its addresses of the next register",
    _text("send.ugm", r"(?<=r)(?P<n>\d+)(?= null)", more(1)),
)
_plant(
    "signal-dropped",
    _MEMORY,
    "a thread gives no signal at a barrier",
    lambda i: instruction(_NOTHING) if i.name == "send.gtwy" and "EOT" not in i.notes else None,
)

# Flags and masks of lanes.
_plant("choice-inverted", _PROGRAMS, "a selection takes the other operand", _text("sel", r"^\(f", "(~f"))
_plant("branch-inverted", _PROGRAMS, "a branch goes the other way", _text("if|break", r"^\(f", "(~f"))
_plant(
    "other-flag", _PROGRAMS, "an instruction takes another flag", _text("sel|if|break|mov", r"^(\(~?f)\d", r"\g<1>3")
)
_plant(
    "condition-with-equality",
    _PROGRAMS,
    "a comparison takes equal numbers for larger ones",
    _text("cmp", r"\(lt\)", "(le)"),
)
_plant(
    "condition-without-equality", _PROGRAMS, "a comparison leaves out equal numbers", _text("cmp", r"\(ge\)", "(gt)")
)
_plant("half-of-lanes", _MEMORY, "half of the lanes take part", _text(_ALU, r"\(32\)", "(16)"))
_plant("first-half-of-lanes", _SUMS, "the second half of the lanes is the first one", _text("mach", r"\|M\d+\)", ")"))
_plant("loop-without-end", _PROGRAMS, "a loop ends after its first turn", CATALOGUE.whole("while", _NOTHING))

# What is computed.
_plant("sum-is-difference", _SUMS, "a sum is a difference", _text("add", rf"({_TO}r\S*f )(?=r\S*f)", r"\1-"))
_plant("shift-by-one-more", _MEMORY, "a shift is by one bit more", _text("shl|shr", r"0x0000000(?P<n>\d)", more(1)))
