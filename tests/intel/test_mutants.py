"""The planted changes on texts, and on code of Mesa's ANV, of which CTS_TEST_INTEL_WORKER starts a worker."""

from __future__ import annotations

from pathlib import Path

import pytest

from cts.drivers.intel import create
from cts.drivers.intel.listing import parse
from cts.drivers.intel.mutants import mutated
from cts.judging.verdict import Verdict
from tests.intel.test_driver import attempt, needs_mesa

#: Code with something for each change.
_CODE = """
(W) mov (8) r13:uw 0x76543210:v
(W) add (8) r13.8:uw r13:uw 8:uw {I@1}
(W) mov (1) r50 r50
mov (32) r14:uw r15.1<2>:uw {$0.dst}
mov (32) r16.1<2>:uw r17<4>:ub {F@2}
mov (32) r18:f r20:w
mov (32) r22:f r24:d
mul (32) r26:hf r27:hf r28:hf
add (32) r30:f r32:bf r34:bf
add (32) r36:f r38:f r40:f
shl (32) r42:d r44:d 0x00000002
asr (32) r46:d r48:d 0x00000002
mul (32) r10:d r6<0>:d r91<2>:uw {I@3}
cmp (32) (lt)f0.0 null:d r10:d 5:d
cmp (32) (ge)f0.0 null r10 r11
(W) sync.nop (1) null {$1.src}
(f0.0) sel (32) r60 r62 r64
(f0.0) if (32) jip:L0 uip:L0
L0:
endif (32) L1
L1:
while (32) L1
mach (16|M16) r66 r68 r70
(W) dpas.8x8 (16) r72<0>:f r80<0;0,0>:f r90<0;0,0>:hf r94<0;0,0>:hf {$2}
(W) dpas.8x8 (16) r72<0>:d r80<0;0,0>:d r90<0;0,0>:b r94<0;0,0>:b {$3}
send.ugm (32) r98 r96 null:0 0x01000000 0x64200500 {$4}
send.ugm (32) null r96 r98:2 0x00000080 0x64000504 {$5}
send.slm (32) r98 r96 null:0 0x00000000 0x64200500 {$6}
send.slm (32) null r96 r98:2 0x00000080 0x64000504 {$7}
(W) send.gtwy (32) null r100 null:0 0x00000000 0x02000004 {$8}
(W) send.gtwy (32) null r127 null:0 0x00000000 0x02000000 {EOT}
"""


@pytest.mark.family("name", [mutant.name for mutant in create.mutants()])
def test_a_change_is_one_of_an_instruction(name: str) -> None:
    """One instruction differs, by one word or by all of them, and its place is the same; the thread still ends."""
    before = parse(_CODE)
    after = mutated(before, name)
    differ = [(a, b) for a, b in zip(before.instructions, after.instructions, strict=True) if a != b]
    ((old, new),) = differ
    words, changed = old.text.split(), new.text.split()
    assert new.line == old.line and after.labels == before.labels and "EOT" not in old.notes
    if len(words) == len(changed):
        assert 1 <= sum(a != b for a, b in zip(words, changed, strict=True)) <= 2
    else:
        assert new.text == "(W) sync.nop (1) null"
    assert mutated(parse("(W) nop (1)"), name) == parse("(W) nop (1)")


#: A change of each class that this case has: regions, types, waits, descriptors, masks.
_FOUND = ("lane-for-all", "bfloat16-as-half", "load-half-awaited", "store-offset", "half-of-lanes")


@needs_mesa
@pytest.mark.parametrize("mutant", _FOUND)
def test_a_change_is_found(mutant: str, tmp_path: Path) -> None:
    found = attempt("conversions.constants.loaded_bfloat16", tmp_path, mutant=mutant)
    assert found.verdict in (Verdict.FAIL, Verdict.CRASH)
