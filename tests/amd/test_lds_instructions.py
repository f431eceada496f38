"""DS: loads and stores of LDS."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest

from cts.drivers.machine.problems import Wrong
from tests.amd.tables import Case, State, active, check, name
from tests.amd.waves import run

LANES = range(32)
OLD = 0x0DDC0FFE
CONTENTS = random.Random("LDS").randbytes(1024)
MASK = 0xF00F0F05

#: Bytes in memory, whether they are signed, and the half that they go to; None for the whole register.
LOADS: dict[str, tuple[int, bool, int | None]] = {
    "u8": (1, False, None),
    "i8": (1, True, None),
    "u16": (2, False, None),
    "i16": (2, True, None),
    "b32": (4, False, None),
    "b64": (8, False, None),
    "b96": (12, False, None),
    "b128": (16, False, None),
    "u8_d16": (1, False, 0),
    "i8_d16": (1, True, 0),
    "u16_d16": (2, False, 0),
    "u8_d16_hi": (1, False, 1),
    "i8_d16_hi": (1, True, 1),
    "u16_d16_hi": (2, False, 1),
}
STORES: dict[str, tuple[int, int]] = {
    "b8": (1, 0),
    "b16": (2, 0),
    "b8_d16_hi": (1, 1),
    "b16_d16_hi": (2, 1),
    "b32": (4, 0),
    "b64": (8, 0),
    "b96": (12, 0),
    "b128": (16, 0),
}


def span(first: int, size: int) -> str:
    """The registers of so many bytes."""
    return f"v{first}" if size <= 4 else f"v[{first}:{first + size // 4 - 1}]"


def loaded(data: bytes, signed: bool, half: int | None, old: int) -> int:
    """What a register, or several, are after a load of bytes."""
    bits = 32 if half is None else 16
    value = int.from_bytes(data, "little", signed=signed) & (1 << max(bits, 8 * len(data))) - 1
    if half is None:
        return value
    return old & 0xFFFF0000 | value if half == 0 else old & 0xFFFF | value << 16


def _loads() -> Iterator[Case]:
    for kind, (size, signed, half) in LOADS.items():
        for exec_, base, text, offset in (
            (0xFFFFFFFF, 0, "", 0),
            (MASK, 0, " offset:272", 272),
            (0xFFFFFFFF, -256, " offset:512", 512),
        ):
            addresses = [base + 16 * (31 - n) + (n % 4 if size == 1 else 0) for n in LANES]
            target, old = span(0, size), OLD * (0x0000000100000001000000010000001 if size > 4 else 1)
            old &= (1 << 8 * max(size, 4)) - 1
            new = [loaded(CONTENTS[a + offset : a + offset + size], signed, half, old) for a in addresses]
            before: State = {target: old, "v8": [a & 0xFFFFFFFF for a in addresses], "exec": exec_, "lds": CONTENTS}
            yield Case(f"ds_load_{kind} {target}, v8{text}", before, {target: active(exec_, new, old)})
    yield Case("ds_load_b32 v0, v0", {"v0": 8, "lds": CONTENTS}, {"v0": int.from_bytes(CONTENTS[8:12], "little")})
    wide: State = {"v0": OLD, "v8": 4, "exec": 1 << 63, "lds": CONTENTS}
    found = active(1 << 63, int.from_bytes(CONTENTS[4:8], "little"), OLD, 64)
    yield Case("ds_load_b32 v0, v8", wide, {"v0": found}, {"lanes": 64})


def _stores() -> Iterator[Case]:
    source = random.Random("stores")
    for kind, (size, half) in STORES.items():
        values = [source.getrandbits(8 * max(size, 4)) for _ in LANES]
        data = [(x >> 16 * half).to_bytes(16, "little")[:size] for x in values]
        for exec_, base, text, offset in (
            (0xFFFFFFFF, 0, "", 0),
            (MASK, 0, " offset:272", 272),
            (0xFFFFFFFF, -256, " offset:512", 512),
        ):
            addresses = [base + 16 * (31 - n) + (n % 4 if size == 1 else 0) for n in LANES]
            registers = span(0, size)
            before: State = {
                registers: values,
                "v8": [a & 0xFFFFFFFF for a in addresses],
                "exec": exec_,
                "lds": CONTENTS,
            }
            after = stored(CONTENTS, [a + offset for a in addresses], data, exec_)
            yield Case(f"ds_store_{kind} v8, {registers}{text}", before, {"lds": after})


def stored(contents: bytes, addresses: Sequence[int], data: Sequence[bytes], exec_: int) -> bytes:
    """Memory after stores of active lanes."""
    after = bytearray(contents)
    for n, (at, written) in enumerate(zip(addresses, data, strict=True)):
        if exec_ >> n & 1:
            after[at : at + len(written)] = written
    return bytes(after)


def _two_addresses() -> Iterator[Case]:
    """Two values at offsets that count elements, or 64 of them."""
    contents = random.Random("pairs").randbytes(4096)
    for bits, stride, first, second in ((32, 1, 1, 200), (64, 1, 3, 100), (32, 64, 1, 9), (64, 64, 0, 7)):
        size, suffix = bits // 8, "_stride64" if stride == 64 else ""
        addresses = [8 * n for n in LANES]
        places = [[a + size * stride * offset for a in addresses] for offset in (first, second)]
        numbers = f"offset0:{first} offset1:{second}"
        values = [
            int.from_bytes(contents[a : a + size] + contents[b : b + size], "little")
            for a, b in zip(*places, strict=True)
        ]
        target, old = span(0, 2 * size), [0] * 32
        before: State = {target: old, "v8": addresses, "exec": MASK, "lds": contents}
        after: State = {target: active(MASK, values, old)}
        yield Case(f"ds_load_2addr{suffix}_b{bits} {target}, v8 {numbers}", before, after)
        one, two = span(0, size), span(4, size)
        x, y = ([(n + 1) * 0x0101010101010101 * k & (1 << bits) - 1 for n in LANES] for k in (1, 3))
        lds = stored(contents, places[0], [v.to_bytes(size, "little") for v in x], MASK)
        lds = stored(lds, places[1], [v.to_bytes(size, "little") for v in y], MASK)
        before = {one: x, two: y, "v8": addresses, "exec": MASK, "lds": contents}
        yield Case(f"ds_store_2addr{suffix}_b{bits} v8, {one}, {two} {numbers}", before, {"lds": lds})
    words = [int.from_bytes(contents[n : n + 8], "little") for n in addresses]
    yield Case("ds_load_2addr_b32 v[0:1], v8 offset1:1", {"v8": addresses, "lds": contents}, {"v[0:1]": words})


def _own_words() -> Iterator[Case]:
    """A word of each lane: behind M0's low half and the offset."""
    words = [int.from_bytes(CONTENTS[4 * n : 4 * n + 4], "little") for n in range(256)]
    first = 10 + 33
    before: State = {"v0": OLD, "m0": 0xABCD0028, "exec": MASK, "lds": CONTENTS}
    found = active(MASK, words[first : first + 32], [OLD] * 32)
    yield Case("ds_load_addtid_b32 v0 offset:132", before, {"v0": found})
    values = [0x01010101 * n for n in LANES]
    after = stored(CONTENTS, [4 * (first + n) for n in LANES], [v.to_bytes(4, "little") for v in values], MASK)
    yield Case("ds_store_addtid_b32 v0 offset:132", {**before, "v0": values}, {"lds": after})


CASES = [*_loads(), *_stores(), *_two_addresses(), *_own_words()]


@pytest.mark.family("case", CASES, ids=name)
def test_lds(case: Case) -> None:
    check(case)


@pytest.mark.parametrize(
    "code", ["ds_load_b32 v0, v1", "ds_store_b32 v1, v0", "ds_load_2addr_b32 v[2:3], v1 offset1:1"]
)
def test_accesses_beyond_the_workgroups_memory_are_found(code: str) -> None:
    with pytest.raises(Wrong, match=f"64 bytes of LDS, at line 1, {code.split()[0]}"):
        run(code, v={0: 0, 1: 61}, lds=64)


def test_inactive_lanes_may_have_any_address() -> None:
    w = run("ds_load_b32 v0, v1", v={0: 5, 1: [0, *[1000] * 31]}, exec=1, lds=bytes(64))
    assert w.v[0].tolist() == [0, *[5] * 31]
