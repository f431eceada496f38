"""What RDNA 3 has in place of instructions of RDNA 4: other names, waits and barriers (RDNA 3 ISA).

Products of matrices are in `wmma`, for they differ in where registers have the elements.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from cts.drivers.amd.isa import (
    flow,
    packed,
    scalar_alu,
    vector_alu,
    vector_doubles,
    vector_functions,
    vector_lanes,
)
from cts.drivers.amd.listing import Instruction
from cts.drivers.amd.operands import scalar, to_scalar, to_vector, vector
from cts.drivers.amd.registry import INSTRUCTIONS, Builder, Context, Run, instruction
from cts.drivers.amd.wave import MASK32, Wave
from cts.drivers.machine.problems import Unsupported

#: The names of RDNA 3 for what has another name in RDNA 4.
RENAMED = {
    "s_add_u32": "s_add_co_u32",
    "s_sub_u32": "s_sub_co_u32",
    "s_add_i32": "s_add_co_i32",
    "s_sub_i32": "s_sub_co_i32",
    "s_addk_i32": "s_addk_co_i32",
    "v_max_f32": "v_max_num_f32",
    "v_min_f32": "v_min_num_f32",
    "v_max_f16": "v_max_num_f16",
    "v_min_f16": "v_min_num_f16",
    "v_pk_max_f16": "v_pk_max_num_f16",
    "v_pk_min_f16": "v_pk_min_num_f16",
    "v_min_f64": "v_min_num_f64",
    "v_max_f64": "v_max_num_f64",
    **{
        f"v_{name}_{kind}": f"v_{name}_num_{kind}"
        for name in ("min3", "max3", "med3", "minmax", "maxmin")
        for kind in ("f32", "f16")
    },
    "s_waitcnt_depctr": "s_wait_alu",
    "s_waitcnt_vscnt": "s_wait_storecnt",
}

#: Chapters whose instructions are named here, so that they are there first.
_FIRST = flow, packed, scalar_alu, vector_alu, vector_doubles, vector_functions, vector_lanes


def _rename(name: str) -> Builder:
    return lambda i, context: INSTRUCTIONS[name].build(replace(i, mnemonic=name), context)


for _old, _new in RENAMED.items():
    _entry = INSTRUCTIONS[_new]
    INSTRUCTIONS[_old] = _entry._replace(build=_rename(_new))


@instruction("s_waitcnt", outs=0)
def _wait(i: Instruction, _: Context) -> Run:
    """`vmcnt` counts loads of vector memory; `lgkmcnt` those of LDS and of scalars, the latter in no order."""
    counts = {name: int(n) for name, n in re.findall(r"(\w+)\((\d+)\)", i.text)}
    if set(counts) - {"vmcnt", "lgkmcnt", "expcnt"}:
        raise Unsupported(f"a wait for {i.text.partition(' ')[2]}")

    def run(w: Wave) -> None:
        if "vmcnt" in counts:
            w.wait("load", counts["vmcnt"])
        left = counts.get("lgkmcnt")
        if left == 0:
            w.wait("ds", 0)
            w.wait("km", 0)
        elif left is not None:
            # So many are left at most, whatever they are; those of LDS are delivered in order.
            w.wait("ds", left)

    return run


@instruction("s_barrier", outs=0)
def _barrier(i: Instruction, _: Context) -> Run:
    def run(w: Wave) -> None:
        w.signalled = w.waits = True

    return run


@instruction("s_addc_u32", "s_subb_u32", "s_add_co_ci_u32", "s_sub_co_ci_u32")
def _with_carry(i: Instruction, _: Context) -> Run:
    """A sum or difference with the carry in SCC."""
    write, a, b = to_scalar(i.operands[0]), scalar(i.operands[1]), scalar(i.operands[2])
    subtracts = i.mnemonic.startswith("s_sub")

    def run(w: Wave) -> None:
        total = a(w) - b(w) - w.scc if subtracts else a(w) + b(w) + w.scc
        write(w, total & MASK32)
        w.scc = int(not 0 <= total <= MASK32)

    return run


_COMPARED = {
    f"s_cmpk_{how}_{kind}": f"s_cmp_{how}_{kind}"
    for how in ("eq", "lg", "gt", "ge", "lt", "le")
    for kind in ("i32", "u32")
}


@instruction(*_COMPARED, outs=0)
def _compare_with_constant(i: Instruction, context: Context) -> Run:
    """With a constant of 16 bits, whose sign counts in comparisons of signed numbers."""
    register, constant = i.operands
    value = constant.number & 0xFFFF
    if i.mnemonic.endswith("i32") and value >> 15:
        value |= 0xFFFF0000
    compared = replace(i, mnemonic=_COMPARED[i.mnemonic], operands=(register, replace(constant, number=value)))
    return INSTRUCTIONS[compared.mnemonic].build(compared, context)


@instruction("v_pack_b32_f16")
def _pack(i: Instruction, context: Context) -> Run:
    """Two halves in one register."""
    chosen = i.bits("op_sel", (0, 0))
    halves = (vector_alu.half_chosen(i, o, half) for o, half in zip(i.operands[1:], chosen, strict=False))
    write, (low, high) = (
        to_vector(i.operands[0], "b32", i, context.modes),
        (vector(o, "b16", context.modes) for o in halves),
    )
    return lambda w: write(w, low(w) | np.asarray(high(w)).astype(np.uint32) << np.uint32(16))
