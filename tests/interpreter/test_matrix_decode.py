"""Tensor loads through DecodeFunc and DecodeVectorFunc: blocks of 32 signed bytes behind their scale (34 bytes)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cts.base.errors import BadInput
from cts.device.job import Address
from cts.drivers.interpreter import create
from tests.interpreter.matrix_modules import Mat, run

Array = Any

ROWS, BLOCKS, BLOCK = 6, 3, 32
COLS = BLOCKS * BLOCK
BLOCK_BYTES = 34

_HEAD = """
OpCapability TensorAddressingNV
OpCapability CooperativeMatrixTensorAddressingNV
OpCapability CooperativeMatrixBlockLoadsNV
OpCapability PhysicalStorageBufferAddresses
"""

_DECORATIONS = """
OpDecorate %bytes ArrayStride 1
OpMemberDecorate %q8 0 Offset 0
OpMemberDecorate %q8 1 Offset 2
OpMemberDecorate %push_block 0 Offset 0
OpDecorate %push_block Block
OpDecorate %array_psb ArrayStride 1
"""

_GLOBALS = """
%thirty_two = OpConstant %uint 32
%bytes = OpTypeArray %i8 %thirty_two
%q8 = OpTypeStruct %half %bytes
%to_q8 = OpTypePointer PhysicalStorageBuffer %q8
%to_half = OpTypePointer PhysicalStorageBuffer %half
%to_i8 = OpTypePointer PhysicalStorageBuffer %i8
%array_psb = OpTypeRuntimeArray %u8
%to_array_psb = OpTypePointer PhysicalStorageBuffer %array_psb
%to_u8 = OpTypePointer PhysicalStorageBuffer %u8
%push_block = OpTypeStruct %to_array_psb
%to_push = OpTypePointer PushConstant %push_block
%to_address = OpTypePointer PushConstant %to_array_psb
%push = OpVariable %to_push PushConstant
%yes = OpConstantTrue %bool
%no = OpConstantFalse %bool
%pair = OpTypeArray %uint %n2
%layout = OpTypeTensorLayoutNV %n2 CLAMP
%view = OpTypeTensorViewNV %n2 %no %n1 %n0
%straight = OpTypeTensorViewNV %n2 %no %n0 %n1
%decoding = OpTypeFunction %half %to_q8 %pair %pair
"""

_DECODE = """
%decode = OpFunction %half None %decoding
%p = OpFunctionParameter %to_q8
%block_coord = OpFunctionParameter %pair
%in_block = OpFunctionParameter %pair
%decode_entry = OpLabel
%k = OpCompositeExtract %uint %in_block 1
%scale_at = OpAccessChain %to_half %p %n0
%scale = OpLoad %half %scale_at Aligned 2
%q_at = OpAccessChain %to_i8 %p %n1 %k
%q = OpLoad %i8 %q_at Aligned 1
%qf = OpConvertSToF %half %q
%value = OpFMul %half %scale %qf
OpReturnValue %value
OpFunctionEnd
"""


def vector_decode(length: int) -> str:
    """A DecodeVectorFunc of so many components, and (before the first blank line) its types.

    To tell it from the scalar function, it adds 1000.
    """
    lanes = "".join(
        f"""
%k{n} = OpIAdd %uint %vk %n{n}
%q_at{n} = OpAccessChain %to_i8 %vp %n1 %k{n}
%q{n} = OpLoad %i8 %q_at{n} Aligned 1
%qf{n} = OpConvertSToF %half %q{n}
%v{n} = OpFMul %half %vscale %qf{n}
%w{n} = OpFAdd %half %v{n} %thousand"""
        for n in range(length)
    )
    return f"""%vhalf = OpTypeVector %half {length}
%decoding_vector = OpTypeFunction %vhalf %to_q8 %pair %pair
%thousand = OpConstant %half 1000

%decode_vector = OpFunction %vhalf None %decoding_vector
%vp = OpFunctionParameter %to_q8
%vblock_coord = OpFunctionParameter %pair
%vin_block = OpFunctionParameter %pair
%vector_entry = OpLabel
%vk = OpCompositeExtract %uint %vin_block 1
%vscale_at = OpAccessChain %to_half %vp %n0
%vscale = OpLoad %half %vscale_at Aligned 2
{lanes}
%vvalue = OpCompositeConstruct %vhalf {" ".join(f"%w{n}" for n in range(length))}
OpReturnValue %vvalue
OpFunctionEnd
"""


def tensor(seed: int) -> tuple[Array, Array]:
    """The bytes of a quantised tensor, and its values (ROWS, COLS)."""
    rng = np.random.default_rng(seed)
    scale = rng.choice([0.5, 1.0, 2.0], (ROWS, BLOCKS)).astype(np.float16)
    q = rng.integers(-128, 128, (ROWS, BLOCKS, BLOCK)).astype(np.int8)
    blocks = np.concatenate([scale[..., None].view(np.uint8), q.view(np.uint8)], axis=2)
    return blocks.reshape(1, 1, -1), (scale[..., None].astype(np.float32) * q).reshape(ROWS, COLS)


BYTES = Mat("u8", 1, ROWS * BLOCKS * BLOCK_BYTES)


def load(
    out: Mat,
    offset: tuple[int, int],
    *,
    clamp: int = 1,
    view: str | None = None,
    physical: bool = False,
    vector: int = 0,
    extra: str = "",
    more: str = "",
    pointer: str = "%at_data",
    replace: tuple[str, str] = ("", ""),
    checked: bool = True,
    layout: str = "%l4",
    block: int = BLOCK,
    clip: tuple[int, int, int, int] | None = None,
    instances: int = 1,
    **options: Any,
) -> Array:
    """What a load of a slice of the tensor at `offset` gives, Object being all -1."""
    names = {"TensorView": view, "DecodeFunc": "decode", "DecodeVectorFunc": "decode_vector" if vector else None}
    used = {bit: name for bit, name in zip((1, 2, 4), names.values(), strict=True) if name}
    operands = f"!0 !{sum(used)} " + " ".join(f"%{'v1' if name == view else name}" for name in used.values())
    body = f"""
%from_push = OpAccessChain %to_address %push %n0
%address = OpLoad %to_array_psb %from_push
%physical = OpAccessChain %to_u8 %address %n0
%object = OpCompositeConstruct %{out.name} %minus_one
%l0 = OpCreateTensorLayoutNV %layout
%l1 = OpTensorLayoutSetBlockSizeNV %layout %l0 %n1 %block_cols
%l2 = OpTensorLayoutSetDimensionNV %layout %l1 %n{ROWS} %cols
%l3 = OpTensorLayoutSliceNV %layout %l2 %o0 %rows %o1 %width
%l4 = OpTensorLayoutSetClampValueNV %layout %l3 %clamp
"""
    if view is not None:
        body += f"%v0 = OpCreateTensorViewNV %{view}\n"
        body += f"%v1 = OpTensorViewSetClipNV %{view} %v0 {' '.join(f'%c{n}' for n in range(4))}\n"
    if physical:
        pointer = "%physical"
        operands = operands.replace("!0 ", "!2 !16 ", 1)
    body += extra
    body += f"%result = OpCooperativeMatrixLoadTensorNV %{out.name} {pointer} %object {layout} {operands}\n"
    rows, width = (out.rows, out.cols) if view != "view" else (out.cols, out.rows)
    clip = clip or (0, 0xFFFFFFFF, 0, 0xFFFFFFFF)
    globals_ = (
        _GLOBALS.replace("CLAMP", f"%n{clamp}")
        + f"""
%minus_one = OpConstant %half -1
%block_cols = OpConstant %uint {block}
%cols = OpConstant %int {COLS}
%rows = OpConstant %int {rows}
%width = OpConstant %int {width}
%o0 = OpConstant %int {offset[0]}
%o1 = OpConstant %int {offset[1]}
%clamp = OpConstant %uint 0x4248
"""
        + "".join(f"%c{n} = OpConstant %uint {value}\n" for n, value in enumerate(clip))
    )
    functions = _DECODE
    head = _HEAD
    if vector:
        types, body_ = vector_decode(vector).split("\n\n", 1)
        globals_ += types + "\n"
        functions += body_
        head += "OpCapability !5447\n"
    blocks = np.concatenate([tensor(seed)[0] for seed in range(instances)])
    return run(
        body,
        {"data": (BYTES, blocks)},
        out,
        head=head,
        decorations=_DECORATIONS,
        globals_=globals_.replace(*replace) + more,
        functions=functions,
        interface="%push ",
        addressing="PhysicalStorageBuffer64",
        checked=checked and not vector,
        job={"push_constants": b"\0" * 8, "push_addresses": (Address(0, "data"),)},
        **options,
    ).astype(np.float64)


def expected(out: Mat, offset: tuple[int, int], clamp: int = 1, seed: int = 0) -> Array:
    """The slice of the tensor's values; out of bounds 3.140625 (0x4248) or what the clamp mode says."""
    _, values = tensor(seed)
    r, c = (np.arange(n) + o for n, o in zip((out.rows, out.cols), offset, strict=True))
    if clamp == 2:
        r, c = r.clip(0, ROWS - 1), c.clip(0, COLS - 1)
    elif clamp == 3:
        r, c = r % ROWS, c % COLS
    inside = ((r >= 0) & (r < ROWS))[:, None] & ((c >= 0) & (c < COLS))
    return np.where(inside, values[np.ix_(r.clip(0, ROWS - 1), c.clip(0, COLS - 1))], 3.140625)


@pytest.mark.parametrize("physical", [False, True])
@pytest.mark.parametrize("offset", [(0, 0), (1, 32), (2, 45), (-1, -3), (3, 90), (-9, 0)])
@pytest.mark.parametrize("clamp", [1, 2, 3])
def test_slices(offset: tuple[int, int], clamp: int, physical: bool) -> None:
    """Slices that start inside a block and reach out of the tensor, from both kinds of pointer (TA-037)."""
    out = Mat("half", 4, 20)
    assert np.array_equal(load(out, offset, clamp=clamp, physical=physical)[0], expected(out, offset, clamp))


def test_view_and_clip() -> None:
    """Transposed by a view; outside the clip rectangle Object stays."""
    out = Mat("half", 10, 4)
    found = load(out, (1, 30), view="view")[0]
    straight = expected(Mat("half", 4, 10), (1, 30))
    assert np.array_equal(found, straight.T)
    clipped = load(Mat("half", 4, 10), (1, 30), view="straight", clip=(1, 2, 0, 10))[0]
    assert np.array_equal(clipped[1:3], straight[:2])
    assert (clipped[[0, 3]] == -1).all()


@pytest.mark.parametrize("length", [2, 4, 8])
@pytest.mark.parametrize("offset", [(0, 0), (2, 45), (-1, -3), (3, 83), (0, 31)])
def test_vectors(length: int, offset: tuple[int, int]) -> None:
    """DV-013: groups wanted as a whole come from the vector function (recognised by 1000 more), others do not."""
    out = Mat("half", 4, 20)
    plain = expected(out, offset)
    with np.errstate(over="ignore"):
        marked = (plain + 1000).astype(np.float16)
    col = np.arange(20) + offset[1]
    inside = (col >= 0) & (col < COLS)
    whole = (
        np.array(
            [all(offset[1] <= g < offset[1] + 20 for g in range(c - c % length, c - c % length + length)) for c in col]
        )
        & inside
    )
    row = (np.arange(4) + offset[0] >= 0) & (np.arange(4) + offset[0] < ROWS)
    by_vector = row[:, None] & whole
    found = load(out, offset, vector=length)[0]
    assert np.array_equal(found, np.where(by_vector, marked, plain))
    scalar = load(out, offset, vector=length, driver=create({"decode": "scalar"}))[0]
    assert np.array_equal(scalar, plain)


def test_vectors_of_repeated_elements() -> None:
    """Wider than the tensor: several elements of the matrix stand for one of the tensor (AM-11)."""
    out = Mat("half", 2, 200)
    found = load(out, (0, 4), clamp=3, vector=4)[0]
    assert np.array_equal(found, (expected(out, (0, 4), 3) + 1000).astype(np.float16))


def test_instances() -> None:
    """Subgroup n loads a slice of its own tensor that starts at row and column n."""
    out = Mat("half", 2, 40)
    extra = "%l5 = OpTensorLayoutSliceNV %layout %l4 %instance %rows %instance %width\n"
    found = load(out, (0, 0), instances=3, extra=extra, layout="%l5")
    for n in range(3):
        assert np.array_equal(found[n], expected(out, (n, n), seed=n))


def failure(out: Mat, **options: Any) -> str:
    """What the interpreter says about a load that it must refuse or stop at."""
    with pytest.raises(AssertionError) as refused:
        load(out, (0, 0), checked=False, **options)
    return str(refused.value)


def test_blocks_must_hold_whole_vectors() -> None:
    """DV-014: a block of 6 is no whole number of groups of 4."""
    assert "DV-014" in failure(Mat("half", 2, 8), vector=4, block=6)


def test_decode_needs_a_buffer() -> None:
    """CM-010: not workgroup memory."""
    globals_ = "%shared_array = OpTypeArray %u8 %n16\n%to_shared = OpTypePointer Workgroup %shared_array\n"
    globals_ += "%to_shared_u8 = OpTypePointer Workgroup %u8\n%shared = OpVariable %to_shared Workgroup\n"
    extra = "%at_shared = OpAccessChain %to_shared_u8 %shared %n0\n"
    assert "CM-010" in failure(Mat("half", 2, 8), extra=extra, pointer="%at_shared", more=globals_)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("%pair = OpTypeArray %uint %n2", "%pair = OpTypeArray %uint %n3", "arrays of 2"),
        ("%pair = OpTypeArray %uint %n2", "%pair = OpTypeArray %float %n2", "32-bit integers"),
        (
            "%to_q8 = OpTypePointer PhysicalStorageBuffer",
            "%to_q8 = OpTypePointer StorageBuffer",
            "PhysicalStorageBuffer",
        ),
        ("%decoding = OpTypeFunction %half %to_q8 %pair %pair", "%decoding = OpTypeFunction %half %to_q8 %pair", "3"),
    ],
)
def test_wrong_signatures(old: str, new: str, says: str) -> None:
    """DV-011."""
    assert says in failure(Mat("half", 2, 8), replace=(old, new))


def test_the_option_is_checked() -> None:
    with pytest.raises(BadInput, match="decode cannot be 'both'") as refused:
        create({"decode": "both"})
    assert refused.value.remedy == "one of: vector, scalar"
