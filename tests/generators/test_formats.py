"""Every block format decodes as llama.cpp's layouts say, element by element, by dequantisers written apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from cts.case import model
from cts.generators.parts.blocks import block_bytes
from cts.generators.parts.formats import FORMATS, MICROSCALED, Format
from cts.plugins import registry

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.floating[Any]]
BLOCKS = 5


def half(block: Bytes, at: int) -> float:
    return float(block[at : at + 2].view(np.float16)[0])


def halves(packed: Bytes) -> npt.NDArray[np.int64]:
    """The low halves of all bytes, then the high ones."""
    return np.concatenate([packed & 15, packed >> 4]).astype(np.int64)


def q4_0(b: Bytes) -> Floats:
    return half(b, 0) * (halves(b[2:18]) - 8.0)


def q4_1(b: Bytes) -> Floats:
    return half(b, 0) * halves(b[4:20]) + half(b, 2)


def q5_0(b: Bytes) -> Floats:
    high = np.unpackbits(b[2:6], bitorder="little").astype(np.int64)
    return half(b, 0) * (halves(b[6:22]) + 16 * high - 16.0)


def q8_0(b: Bytes) -> Floats:
    return half(b, 0) * b[2:34].view(np.int8).astype(np.float64)


def iq4_nl(b: Bytes) -> Floats:
    table = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113])
    found: Floats = half(b, 0) * table[halves(b[2:18])].astype(np.float64)
    return found


def bit(b: Bytes) -> Floats:
    return half(b, 0) * (2.0 * np.unpackbits(b[2:6], bitorder="little") - 1)


def float8_scaled(b: Bytes) -> Floats:
    found: Floats = float(b[:4].view(np.float32)[0]) * b[4:20].view(ml_dtypes.float8_e4m3fn).astype(np.float64)
    return found


def q2_k(b: Bytes) -> Floats:
    scales, packed, d, least = b[:16], b[16:80], half(b, 80), half(b, 82)
    found = [(part >> shift) & 3 for part in packed.reshape(2, 32) for shift in (0, 2, 4, 6)]
    groups = np.concatenate(found).reshape(16, 16).astype(np.float64)
    return (d * (scales & 15)[:, None] * groups - least * (scales >> 4)[:, None]).reshape(-1)


def q4_k(b: Bytes) -> Floats:
    d, least, scales, packed = half(b, 0), half(b, 2), b[4:16].astype(np.int64), b[16:144]
    found = []
    for pair, part in enumerate(packed.reshape(4, 32)):
        for j, nibbles in ((2 * pair, part & 15), (2 * pair + 1, part >> 4)):
            if j < 4:
                scale, offset = scales[j] & 63, scales[j + 4] & 63
            else:
                scale = (scales[j + 4] & 15) | (scales[j - 4] >> 6 << 4)
                offset = (scales[j + 4] >> 4) | (scales[j] >> 6 << 4)
            found.append(d * scale * nibbles.astype(np.float64) - least * offset)
    return np.concatenate(found)


def q6_k(b: Bytes) -> Floats:
    low, high, scales, d = b[:128], b[128:192], b[192:208].view(np.int8), half(b, 208)
    found = []
    for n in range(2):
        first, second, upper = low[64 * n : 64 * n + 32], low[64 * n + 32 : 64 * n + 64], high[32 * n : 32 * n + 32]
        for part, shift in ((first & 15, 0), (second & 15, 2), (first >> 4, 4), (second >> 4, 6)):
            found.append((part | ((upper >> shift) & 3) << 4).astype(np.float64) - 32)
    return d * np.repeat(scales.astype(np.float64), 16) * np.concatenate(found)


#: The elements of the OCP Microscaling Formats 1.0, tables 1 to 5, as the document lists them.
FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def scale(b: Bytes) -> float:
    return float(2.0 ** (int(b[0]) - 127))


def fp4(nibbles: npt.NDArray[np.int64]) -> Floats:
    found: Floats = np.where(nibbles & 8, -1.0, 1.0) * FP4[nibbles & 7]
    return found


def fp6(packed: Bytes, exponent_bits: int, bias: int) -> Floats:
    """32 elements of 6 bits in a row, the lowest bit of each first."""
    six = np.unpackbits(packed, bitorder="little").reshape(32, 6).astype(np.int64)
    code, fraction_bits = six @ (1 << np.arange(6)), 5 - exponent_bits
    exponent, fraction = code >> fraction_bits & ((1 << exponent_bits) - 1), code & ((1 << fraction_bits) - 1)
    normal = 2.0 ** (exponent - bias) * (1 + fraction / 2**fraction_bits)
    denormal = 2.0 ** (1 - bias) * fraction / 2**fraction_bits
    found: Floats = np.where(code & 32, -1.0, 1.0) * np.where(exponent > 0, normal, denormal)
    return found


def alternating(packed: Bytes) -> npt.NDArray[np.int64]:
    return np.stack([packed & 15, packed >> 4], axis=1).reshape(-1).astype(np.int64)


DEQUANTISERS: dict[str, Callable[[Bytes], Floats]] = {
    "q4_0": q4_0,
    "q4_1": q4_1,
    "q5_0": q5_0,
    "q8_0": q8_0,
    "iq4_nl": iq4_nl,
    "bit": bit,
    "float8_scaled": float8_scaled,
    "q2_K": q2_k,
    "q4_K": q4_k,
    "q6_K": q6_k,
    "mxfp4": lambda b: scale(b) * fp4(halves(b[1:17])),
    "mxfp4_pairs": lambda b: scale(b) * fp4(alternating(b[1:17])),
    "mxfp6_e2m3": lambda b: scale(b) * fp6(b[1:25], 2, 1),
    "mxfp6_e3m2": lambda b: scale(b) * fp6(b[1:25], 3, 3),
    "mxfp8_e4m3": lambda b: scale(b) * b[1:33].view(ml_dtypes.float8_e4m3fn).astype(np.float64),
    "mxfp8_e5m2": lambda b: scale(b) * b[1:33].view(ml_dtypes.float8_e5m2).astype(np.float64),
    "mxint8": lambda b: scale(b) * b[1:33].view(np.int8).astype(np.float64) / 64,
    "nvfp4": lambda b: float(b[:1].view(ml_dtypes.float8_e4m3fn)[0]) * fp4(halves(b[1:9])),
}

#: What llama.cpp asserts of its blocks.
SIZES = {"q4_0": 18, "q4_1": 20, "q5_0": 22, "q8_0": 34, "iq4_nl": 18, "q2_K": 84, "q4_K": 144, "q6_K": 210}


def expected(chosen: Format, memory: bytes) -> Floats:
    blocks = np.frombuffer(memory, np.uint8).reshape(BLOCKS, chosen.size)
    return np.stack([DEQUANTISERS[chosen.name](block) for block in blocks])


def decoded(chosen: Format, memory: bytes, lanes: int) -> Floats:
    """What the oracle makes of a load of BLOCKS blocks as rows, by one lane or by several of a vector function."""
    words = np.frombuffer(memory, np.uint8)
    kind = model.MatrixType(
        model.ComponentType.float32, model.Scope.Subgroup, BLOCKS, chosen.elements, model.Use.Accumulator
    )
    functions: dict[str, model.AnyFunction] = {
        "one": model.Decode(
            model.ComponentType.float32, 2, chosen.fields, chosen.body(model.ComponentType.float32, "coordInBlock[1]")
        )
    }
    if lanes > 1:
        body = chosen.body(model.ComponentType.float32, "coordInBlock[1] + lane")
        functions["many"] = model.DecodeVector(model.ComponentType.float32, 2, lanes, chosen.fields, body)  # type: ignore[arg-type]
    program = (
        model.TensorLayout(id="t", dim=2),
        model.TensorLayoutSetBlockSize(id="t1", of="t", block_size=(1, chosen.elements)),
        model.TensorLayoutSetDimension(id="t2", of="t1", dims=(BLOCKS, chosen.elements)),
        model.MatrixNull(id="z", type=kind),
        model.MatrixLoadTensor(
            id="m", object="z", buffer="src", layout="t2", decode="one", decode_vector="many" if lanes > 1 else None
        ),
        model.MatrixStore(matrix="m", buffer="dst", stride=chosen.elements),
    )
    buffers = {
        "src": model.Buffer(model.ComponentType.uint8, (words.size,), model.Data(values=tuple(int(w) for w in words))),
        "dst": model.Buffer(model.ComponentType.float32, (BLOCKS, chosen.elements), model.Data(fill=-5)),
    }
    case = model.Case(
        schema=model.SCHEMA_VERSION, name=chosen.name, buffers=buffers, program=program, functions=functions
    )
    oracle = registry.oracle()
    assert oracle.violations(case) == []
    expectation = oracle.expect(case)
    if "m" in expectation.spreads and chosen not in MICROSCALED:
        # Scales are chosen so that products are exact: nothing is free but the sign of zeros.
        low, high = (model.decode(model.ComponentType.float32, bits) for bits in astuple(expectation.spreads["m"])[:2])
        assert (low == high).all()
    return model.decode(model.ComponentType.float32, expectation.matrices["m"][0]).astype(np.float64)


def test_every_format_has_a_dequantiser() -> None:
    assert {f.name for f in (*FORMATS, *MICROSCALED)} == set(DEQUANTISERS)


def test_microscaled_blocks_are_as_large_as_the_document_says() -> None:
    assert [f.size for f in MICROSCALED] == [17, 17, 25, 25, 33, 33, 33, 9]


def test_blocks_are_as_large_as_llama_cpp_says() -> None:
    assert {f.name: f.size for f in FORMATS if f.name in SIZES} == SIZES


@pytest.mark.parametrize("lanes", [1, 2, 8])
@pytest.mark.parametrize("chosen", [*FORMATS, *MICROSCALED], ids=lambda f: f.name)
def test_bodies_decode_every_element(chosen: Format, lanes: int) -> None:
    memory = block_bytes(chosen.fields, BLOCKS, seed=lanes)
    wanted = expected(chosen, memory)
    np.testing.assert_array_equal(decoded(chosen, memory, lanes), wanted)
    assert chosen.known.low <= wanted.min() and wanted.max() <= chosen.known.high
