"""Numbers to bits and back, for every component type."""

import numpy as np
import pytest

from cts.base.memory import splitmix64
from cts.case.model import ComponentType, decode, encode
from cts.case.model.buffer import Buffer, Counter, Data, Iota, Random, RandomBits, initial_bits

ONE = {
    "float16": 0x3C00, "float32": 0x3F800000, "bfloat16": 0x3F80, "float8_e4m3fn": 0x38, "float8_e5m2": 0x3C,
    "int8": 1, "uint8": 1, "int16": 1, "uint16": 1, "int32": 1, "uint32": 1,
}  # fmt: skip


def test_one_has_the_bits_the_formats_say() -> None:
    assert {t.value: int(encode(t, [1])[0]) for t in ComponentType} == ONE


@pytest.mark.parametrize("component", ComponentType)
def test_every_pattern_of_narrow_types_round_trips(component: ComponentType) -> None:
    width = min(16, 8 * component.size)
    bits = np.arange(1 << width).astype(component.bits_dtype)
    values = decode(component, bits)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        wide = values.astype(np.float64)
    finite = np.isfinite(wide)
    again = encode(component, wide[finite] if component.is_float else values.astype(np.int64))
    assert (again == (bits[finite] if component.is_float else bits)).all()


@pytest.mark.parametrize(
    ("component", "number"),
    [
        (ComponentType.float16, 2049),
        (ComponentType.float16, 65520),
        (ComponentType.bfloat16, 257),
        (ComponentType.float8_e4m3fn, 17),
        (ComponentType.float8_e4m3fn, 480),
        (ComponentType.float8_e5m2, 9),
        (ComponentType.float32, 2**24 + 1),
        (ComponentType.int8, 128),
        (ComponentType.uint8, -1),
        (ComponentType.int16, 1.5),
        (ComponentType.uint32, 2**32),
        (ComponentType.int8, "0x100"),
    ],
)
def test_what_a_type_does_not_represent_is_refused(component: ComponentType, number: int | float | str) -> None:
    with pytest.raises(ValueError, match=r"not exactly representable|not a bit pattern"):
        encode(component, [number])


def test_numbers_and_patterns_mix() -> None:
    assert [hex(b) for b in encode(ComponentType.bfloat16, [1, "0x7fc1", -2.0])] == ["0x3f80", "0x7fc1", "0xc000"]


def buffer(component: ComponentType, count: int, data: Data) -> Buffer:
    return Buffer(type=component, shape=(count,), data=data)


def test_initial_contents() -> None:
    u8, f16 = ComponentType.uint8, ComponentType.float16
    assert initial_bits(buffer(u8, 5, Data(iota=Iota(start=3, step=2, modulo=3)))).tolist() == [3, 5, 7, 3, 5]
    assert initial_bits(buffer(u8, 3, Data(counter=Counter(start=254)))).tolist() == [254, 255, 0]
    assert initial_bits(buffer(f16, 2, Data(fill="0x7e01"))).tolist() == [0x7E01, 0x7E01]
    assert initial_bits(buffer(f16, 2, Data(values=(1, "0xffff")))).tolist() == [0x3C00, 0xFFFF]
    vectors = Buffer(type=u8, shape=(2,), components=4, data=Data(iota=Iota()))
    assert initial_bits(vectors).tolist() == list(range(8))
    assert (vectors.element_size, vectors.size) == (4, 8)
    with pytest.raises(ValueError, match="3 numbers where the buffer has 2"):
        initial_bits(buffer(u8, 2, Data(values=(1, 2, 3))))


def test_random_bits_are_splitmix64() -> None:
    # The generator's published first outputs for seed 1234567.
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert splitmix64(1234567, np.arange(3, dtype=np.uint64)).tolist() == expected
    low = initial_bits(buffer(ComponentType.uint32, 3, Data(random_bits=RandomBits(seed=1234567))))
    assert low.tolist() == [e & 0xFFFFFFFF for e in expected]


def test_a_cycle_starts_again() -> None:
    f16 = ComponentType.float16
    assert initial_bits(buffer(f16, 5, Data(cycle=(1, "0xffff")))).tolist() == [0x3C00, 0xFFFF, 0x3C00, 0xFFFF, 0x3C00]


@pytest.mark.parametrize("component", [ComponentType.float16, ComponentType.int8, ComponentType.uint32])
def test_random_numbers_are_within_their_bounds(component: ComponentType) -> None:
    low = 0 if component is ComponentType.uint32 else -3
    values = decode(component, initial_bits(buffer(component, 400, Data(random=Random(seed=9, low=low, high=5)))))
    assert sorted({int(v) for v in values}) == list(range(low, 6))


def test_random_numbers_may_be_fractions() -> None:
    data = Data(random=Random(seed=9, low=-2, high=1, halvings=2))
    values = decode(ComponentType.float16, initial_bits(buffer(ComponentType.float16, 100, data)))
    assert sorted({float(v) for v in values}) == [-0.5, -0.25, 0, 0.25]
    with pytest.raises(ValueError, match="high is 1"):
        Random(seed=1, low=2, high=1)
