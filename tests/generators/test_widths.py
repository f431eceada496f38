"""Products of every type have sizes beyond a tile, and factors as large as the type that still add up exactly."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from cts.case.model import Buffer, ComponentType, Use, decode, initial_bits
from cts.device.capabilities import Capabilities, everything
from cts.generators.build.supports import LONG, MAX_ELEMENTS, long_extent, shortened
from cts.generators.parts.full_range import addends, adds_up, ends, large, raised
from cts.plugins import registry
from tests.generators.devices import LAVAPIPE, NVIDIA
from tests.generators.samples import sample
from tests.generators.width_situations import width_situations

C = ComponentType
INTEGERS = (C.int8, C.uint8, C.int16, C.uint16)
FLOATS = (C.float16, C.bfloat16, C.float32, C.float8_e4m3fn, C.float8_e5m2)


def only(component: C, capabilities: Capabilities) -> Capabilities:
    """A device whose products take one type, and which computes nothing else."""
    rows = tuple(r for r in capabilities.mul_adds if r.a is r.b is component)
    used = {component, *(r.result for r in rows)}
    matrices = tuple(r for r in capabilities.matrices if r.component in used)
    return replace(capabilities, mul_adds=rows, matrices=matrices)


@cache
def found(component: C, capabilities: Capabilities) -> set[str]:
    """What 240 examples contain: of several seeds, for later examples of one are made of its earlier ones."""
    oracle, device = registry.oracle(), only(component, capabilities)
    cases = [case for seed in range(6) for case in sample(40, device, "matrix_arithmetic", seed)]
    return set().union(*(width_situations(case, oracle.expect(case)) for case in cases))


@pytest.mark.parametrize("component", [*INTEGERS, *FLOATS], ids=lambda c: c.value)
def test_products_of_every_type_have_several_tiles(component: C) -> None:
    assert {f"MulAdd: {n} above 32" for n in "MNK"} <= found(component, everything())


def test_matrices_of_products_have_rows_above_64_in_every_use() -> None:
    seen = set().union(*(found(component, everything()) for component in (*INTEGERS, *FLOATS)))
    assert {f"rows above 64, Use {use.value}" for use in Use} <= seen


@pytest.mark.parametrize("device", [LAVAPIPE, NVIDIA], ids=["lavapipe", "nvidia"])
@pytest.mark.parametrize("component", [C.int8, C.float16], ids=lambda c: c.value)
def test_devices_with_granules_get_several_tiles_too(device: Capabilities, component: C) -> None:
    assert {"MulAdd: M above 32", "MulAdd: N above 32"} <= found(component, device)


@pytest.mark.parametrize(
    ("component", "situation"),
    [
        (C.int8, "MulAdd: pair of signed bytes' products above 32767"),
        (C.uint8, "MulAdd: pair of unsigned bytes' products above 65535"),
        (C.float16, "MulAdd: greatest float16, exact sums"),
        (C.float8_e4m3fn, "MulAdd: greatest float8_e4m3fn, exact sums"),
        (C.float8_e5m2, "MulAdd: greatest float8_e5m2, exact sums"),
        (C.bfloat16, "MulAdd: greatest bfloat16, exact sums"),
    ],
)
def test_factors_are_as_large_as_their_type(component: C, situation: str) -> None:
    assert situation in found(component, everything())


def test_tensors_of_bytes_have_elements_behind_the_2_24th() -> None:
    device = everything()
    bytes_alone = replace(device, matrices=tuple(r for r in device.matrices if r.component is C.uint8))
    oracle = registry.oracle()
    cases = [case for seed in range(12) for case in sample(40, bytes_alone, number=seed)]
    large_ones = [case for case in cases if any(b.size > 1 << 24 for b in case.buffers.values())]
    assert len(large_ones) < len(cases) // 10
    seen = set().union(*(width_situations(case, oracle.expect(case)) for case in large_ones))
    assert "load: element index of 2^24 or more" in seen


@pytest.mark.parametrize("component", INTEGERS, ids=lambda c: c.value)
def test_ends_are_the_ends_of_the_type_and_neighbours_agree(component: C) -> None:
    info = np.iinfo(component.dtype)
    for which in range(5):
        numbers = decode(component, initial_bits(Buffer(component, (60,), ends(component, which).data))).astype(int)
        assert {*numbers.tolist()} <= {info.min, info.max}
        assert (numbers[1:] == numbers[:-1]).any()
        assert np.abs(numbers).max() == max(-info.min, info.max)
        positive = decode(
            component, initial_bits(Buffer(component, (60,), ends(component, which, nonnegative=True).data))
        )
        assert positive.min() >= 0


@pytest.mark.parametrize("component", FLOATS, ids=lambda c: c.value)
def test_large_contents_are_what_is_known_of_them(component: C) -> None:
    for contents in (*large(component), raised(component, 3, 0), *addends(component, 5, C.float32, 24)):
        numbers = decode(component, initial_bits(Buffer(component, (64,), contents.data))).astype(np.float64)
        assert np.isfinite(numbers).all()
        assert contents.known.low <= numbers.min() and numbers.max() <= contents.known.high
        assert contents.known.grain is not None and (numbers % 2.0**contents.known.grain == 0).all()
        assert np.abs(numbers).max() == contents.known.size


def test_what_adds_up_leaves_room_for_as_much_again() -> None:
    few, many = raised(C.float16, 3, 4).known, raised(C.float16, 61, 4).known
    assert adds_up(few, few, 8, C.float32, 24)
    assert adds_up(few, few, 64, C.float16, 11) is False  # 2 * 64 * 2^8 is more than float16 has
    assert adds_up(few, few, 1 << 22, C.float32, 24)
    assert adds_up(many, many, 1 << 22, C.float32, 24) is False


@pytest.mark.parametrize("granules", [(1, 1, 1), (8, 8, 8), (64, 32, 32)])
def test_long_extents_are_multiples_of_granules_and_give_way_last(granules: tuple[int, ...]) -> None:
    for which in range(len(LONG)):
        for axis, granule in enumerate(granules):
            long = long_extent(which, granule, 1024)
            assert long % granule == 0 and 0 <= long - LONG[which] < granule
            extents = [long if n == axis else 2 * g for n, g in enumerate(granules)]
            fitted = shortened(extents, granules, (axis,))
            assert all(e % g == 0 for e, g in zip(fitted, granules, strict=True))
            assert max(a * b for n, a in enumerate(fitted) for b in fitted[n + 1 :]) <= MAX_ELEMENTS
            others = [n for n in range(3) if n != axis]
            assert fitted[axis] == long or any(fitted[n] == granules[n] for n in others)
