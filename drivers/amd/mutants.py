"""The catalogue of planted bugs: changes of one word of compiled code, as a compiler's mistake could be."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from cts.drivers.amd.listing import Instruction, Listing, instruction
from cts.drivers.machine.mutants import Catalogue, more

#: What an instruction becomes; None for one that the change does not fit.
Change = Callable[[Instruction], "Instruction | None"]

CATALOGUE: Catalogue[Instruction] = Catalogue(instruction, lambda i: i.mnemonic)


def mutated(listing: Listing, name: str) -> Listing:
    """A listing with the change of a mutant in the first instruction that it fits."""
    return replace(listing, instructions=CATALOGUE.changed(listing.instructions, name))


def _operand(mnemonics: str, number: int, kind: str = "v", by: int = 1) -> Change:
    """Another register as operand `number`."""

    def change(i: Instruction) -> Instruction | None:
        if not re.fullmatch(mnemonics, i.mnemonic) or len(i.operands) <= number:
            return None
        text = i.operands[number].text
        if not re.fullmatch(rf"{kind}(\d+|\[\d+:\d+\])(\.[lh])?", text):
            return None
        pieces = i.text.split(", ")
        at = next(n for n in range(number, len(pieces)) if text in pieces[n])
        pieces[at] = pieces[at].replace(text, re.sub(r"\d+", lambda n: str(int(n[0]) + by), text), 1)
        return instruction(", ".join(pieces))

    return change


def _swapped(mnemonics: str, a: int, b: int) -> Change:
    """Two operands in each other's places."""

    def change(i: Instruction) -> Instruction | None:
        if not re.fullmatch(mnemonics, i.mnemonic) or i.operands[a].text == i.operands[b].text:
            return None
        operands = list(i.operands)
        operands[a], operands[b] = operands[b], operands[a]
        return replace(i, operands=tuple(operands), text=f"{i.text} (operands {a} and {b} swapped)")

    return change


def _dropped(mnemonics: str) -> Change:
    return CATALOGUE.whole(mnemonics, "s_nop 0")


_plant, _text = CATALOGUE.plant, CATALOGUE.text

_LOADS, _STORES = r"buffer_load_\w+", r"buffer_store_\w+"

_plant("load-wait-dropped", "matrix_memory", "nothing waits for a load of a buffer", _dropped("s_wait_loadcnt"))
_plant("lds-wait-dropped", "matrix_memory", "nothing waits for a load of LDS", _dropped("s_wait_dscnt"))
_plant("scalar-wait-dropped", "matrix_memory", "nothing waits for a scalar load", _dropped("s_wait_kmcnt"))
_plant(
    "load-wait-too-few",
    "matrix_memory",
    "a wait leaves one load more outstanding",
    _text("s_wait_loadcnt", r"0x(?P<n>[0-9a-f]+)$", lambda found: f"{int(found[0], 16) + 1:#x}"),
)
_plant("load-offset", "matrix_memory", "a load reads 64 bytes on", _text(_LOADS, r"offset:(?P<n>\d+)", more(64)))
_plant("store-offset", "matrix_memory", "a store writes 64 bytes on", _text(_STORES, r"offset:(?P<n>\d+)", more(64)))
_plant("load-to-next-register", "matrix_memory", "a load fills the next register", _operand("buffer_load_b32", 0))
_plant("store-of-next-register", "matrix_memory", "a store takes the next register", _operand(_STORES, 0))
_plant("store-address", "matrix_memory", "a store takes its address of another register", _operand(_STORES, 1, by=-1))
_plant("store-descriptor", "matrix_memory", "a store takes another descriptor", _operand(_STORES, 2, kind="s", by=-4))
_plant(
    "store-of-low-half",
    "matrix_memory",
    "a store takes the low half of a register",
    _text("buffer_store_d16_hi_b16", "buffer_store_d16_hi_b16", "buffer_store_b16"),
)
_plant(
    "load-to-other-half",
    "matrix_memory",
    "a load fills the other half of a register",
    _text(r"ds_load_u16_d16|ds_load_u8_d16", r"_d16\b", "_d16_hi"),
)
_plant(
    "lds-store-offset",
    "matrix_memory",
    "a store to LDS is 2 bytes on",
    _text(r"ds_store_b\w+", r"offset:(?P<n>\d+)", more(2)),
)
_plant(
    "lds-load-offset",
    "matrix_memory",
    "a load of LDS is 32 bytes on",
    _text(r"ds_load_\w+", r"offset:(?P<n>\d+)", more(32)),
)
_plant("lds-store-register", "matrix_memory", "a store to LDS takes the next register", _operand(r"ds_store_b\w+", 1))
_plant(
    "transposed-load-address",
    "matrix_memory",
    "a load with transpose takes its address of another register",
    _operand(r"global_load_tr_\w+", 1),
)
_plant(
    "descriptor-of-next-binding",
    "matrix_memory",
    "a descriptor is loaded of the next binding",
    _text(r"s_load_b\w+", r"0x(?P<n>[0-9a-f]+)$", lambda found: f"{int(found[0], 16) + 16:#x}"),
)
_plant("product-swapped", "matrix_arithmetic", "A and B of a product are swapped", _swapped(r"v_wmma_\w+", 1, 2))
_plant(
    "product-without-c",
    "matrix_arithmetic",
    "a product is added to nothing",
    _text(r"v_wmma_\w+", r"v\[\d+:\d+\](?=$| neg| clamp)", "0"),
)
_plant(
    "product-sign",
    "matrix_arithmetic",
    "A of a product of integers has the other sign",
    _text("v_wmma_i32_16x16x16_iu8", r"neg_lo:\[(?P<n>\d)", lambda found: f"neg_lo:[{1 - int(found['n'])}"),
)
_plant("product-unclamped", "matrix_arithmetic", "a product does not saturate", _text(r"v_wmma_\w+", " clamp", ""))
_plant(
    "product-of-other-register",
    "matrix_arithmetic",
    "a product takes B of the next registers",
    _operand(r"v_wmma_\w+", 2),
)
_plant(
    "shift-by-one-more",
    "matrix_memory",
    "an index is shifted by one bit more",
    _text("v_lshl_add_u32", r"(?P<n>\d+), (?=v\d+$)", more(1)),
)
_plant("lanes-masked", "matrix_memory", "a mask of lanes has one bit less", _text("v_and_b32", r"\b15\b", "7"))
_plant(
    "rows-not-reversed",
    "matrix_memory",
    "the bits of a row's number are not reversed",
    _text("v_bfrev_b32", "v_bfrev_b32", "v_mov_b32"),
)
_plant("half-selected-wrongly", "matrix_memory", "lanes of the other half are chosen", _swapped("v_cndmask_b32", 1, 2))
_plant(
    "lanes-replicated-wrongly",
    "matrix_memory",
    "a mask of lanes has the other halves",
    _text("s_bitreplicate_b64_b32", r"0x(?P<n>[0-9a-f]+)$", lambda found: f"{int(found[0], 16) ^ 0xFFFFFFFF:#x}"),
)
_plant(
    "loop-condition",
    "matrix_programs",
    "a comparison of a loop is without equality",
    _text(r"v_cmpx?_ge_\w+", "_ge_", "_gt_"),
)
_TWINS = {"lt": "nge", "le": "ngt", "gt": "nle", "ge": "nlt", "eq": "nlg", "neq": "lg"}
_TWINS |= {twin: how for how, twin in _TWINS.items()}
_plant(
    "comparison-twin",
    "conversions",
    "a comparison of floats is the one that differs of NaN alone",
    _text(r"v_cmpx?_\w+_f\d+", rf"(?<=_)({'|'.join(_TWINS)})(?=_f\d)", lambda found: _TWINS[found[0]]),
)
_plant("branch-condition", "matrix_programs", "a branch goes the other way", _text("s_cbranch_scc1", "scc1", "scc0"))
_plant(
    "sum-is-difference", "matrix_arithmetic", "a sum is a difference", _text("v_add_f32|v_add_f16", "_add_", "_sub_")
)
_plant(
    "packed-half",
    "matrix_arithmetic",
    "a packed operation takes the high half of an operand twice",
    lambda i: (
        instruction(f"{i.text} op_sel:[{','.join('1' + '0' * (len(i.operands) - 2))}]")
        if re.fullmatch(r"v_pk_(add|mul|fma)_f16", i.mnemonic) and not i.flag("op_sel")
        else None
    ),
)
_plant(
    "mixed-half",
    "conversions",
    "a mixed operation takes the other half of an operand",
    _text("v_fma_mix_f32", r"op_sel:\[1", "op_sel:[0"),
)
_plant(
    "mixed-to-other-half", "conversions", "a result goes to the other half", _text("v_fma_mixhi_f16", "mixhi", "mixlo")
)
_plant(
    "bytes-permuted",
    "matrix_memory",
    "a byte is taken of another place",
    _text("v_perm_b32", r"0x(?P<n>[0-9a-f]+)$", lambda found: f"{int(found[0], 16) ^ 1:#x}"),
)
_plant(
    "multiplied-by-other",
    "matrix_memory",
    "a product of indices takes another register",
    _operand(r"s_mul_i32|v_mad_u32_u24|v_mul_lo_u32", 1, kind="[sv]"),
)
_plant("conversion-of-next-register", "conversions", "a conversion takes the next register", _operand(r"v_cvt_\w+", 1))
_plant("trunc-dropped", "conversions", "a number is not truncated", _text("v_trunc_f32", "v_trunc_f32", "v_mov_b32"))
