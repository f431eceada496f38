"""Special numbers are what they are called, come among ordinary ones, and survive YAML."""

from __future__ import annotations

import math
import re

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cts.base.choices import OfHypothesis, Seeded
from cts.case.model import Buffer, ComponentType, decode, dumps_case, encode, initial_bits, loads_case
from cts.generators.build.specials import BOUNDED, KINDS, draw_special, specials
from cts.generators.build.value_ranges import UNBOUNDED
from cts.generators.parts.bodies import draw_body
from cts.generators.parts.expressions import Term
from cts.generators.parts.vector_products import ties
from tests.generators.special_situations import are_ties

C = ComponentType
FLOATS = [c for c in ComponentType if c.is_float]


def numbers(component: C, kind: str) -> npt.NDArray[np.float64]:
    with np.errstate(invalid="ignore"):
        return decode(component, encode(component, specials(component, kind))).astype(np.float64)


@pytest.mark.parametrize("component", FLOATS)
def test_kinds_are_what_they_are_called(component: C) -> None:
    assert (numbers(component, "zeros") == 0).all() and np.signbit(numbers(component, "zeros")).tolist() == [
        False,
        True,
    ]
    small = numbers(component, "denormals")
    least = float(decode(component, np.array([1], component.bits_dtype))[0])
    assert (
        (small != 0).all()
        and np.abs(small).min() == least
        and (np.abs(small) < least * 2 ** (8 * component.size)).all()
    )
    large = numbers(component, "greatest")
    assert np.isfinite(large).all() and large.max() == -large.min()
    with np.errstate(over="ignore", invalid="ignore"):
        beyond = np.array([2 * large.max()]).astype(component.dtype).astype(np.float64)
    assert not math.isfinite(beyond[0])
    assert np.isnan(numbers(component, "nans")).all()
    assert np.isinf(numbers(component, "infinities")).all()
    assert bool(specials(component, "infinities")) == (component is not C.float8_e4m3fn)


@pytest.mark.parametrize("component", [c for c in FLOATS if c.size > 1])
def test_some_nans_keep_their_payload_in_the_low_bits(component: C) -> None:
    fraction = {C.float16: 10, C.float32: 23, C.bfloat16: 7}[component]
    bits = encode(component, specials(component, "nans")).astype(np.int64)
    payloads = bits & ((1 << fraction) - 1)
    assert 1 in payloads and (payloads >> (fraction - 1) == 1).any() and (payloads >> (fraction - 1) == 0).any()


@given(st.data(), st.sampled_from(FLOATS), st.sampled_from([KINDS, BOUNDED]), st.integers(1, 40), st.booleans())
@settings(max_examples=200, database=None, deadline=None, derandomize=True)
def test_special_contents_are_what_is_known_of_them(
    data: st.DataObject, component: C, kinds: tuple[str, ...], one_in: int, negative: bool
) -> None:
    among = (1, 2, 3) if not negative else (1, -2, 3)
    contents = draw_special(
        OfHypothesis(data.draw), component, kinds, among=among, one_in=one_in, sign="any" if negative else "nonnegative"
    )
    buffer = Buffer(component, (301,), contents.data)
    with np.errstate(invalid="ignore"):
        values = decode(component, initial_bits(buffer)).astype(np.float64)
    if contents.known.bounded:
        assert contents.known.low <= values.min() and values.max() <= contents.known.high
    else:
        assert kinds is KINDS
    if contents.known.grain is not None:
        assert (values % math.ldexp(1, contents.known.grain) == 0).all()
    assert len(contents.data.cycle or ()) in (7, 13, 31)
    assert any(isinstance(n, str) for n in contents.data.cycle or ())


@pytest.mark.parametrize(("given", "reading"), [(C.uint32, C.float32), (C.int32, C.float16), (C.uint32, C.float16)])
def test_ties_are_halfway_between_two_floats(given: C, reading: C) -> None:
    for seed in range(31):
        contents = ties(given, reading, seed)
        found = decode(given, initial_bits(Buffer(given, (40,), contents.data))).astype(np.float64)
        assert are_ties(found, reading).mean() > 0.25
        assert found.min() >= contents.known.low and found.max() <= contents.known.high


def test_special_contents_survive_yaml() -> None:
    cycle = ", ".join(f"'{n}'" for kind in KINDS for n in specials(C.float16, kind))
    case = loads_case(f"""\
schema: 1
name: x
buffers:
  src: {{type: float16, shape: [64], data: {{cycle: [1, {cycle}, -2]}}}}
program:
  - {{op: MatrixLoad, id: a, type: {{component: float16, scope: Subgroup, rows: 8, cols: 8, use: A}},
     buffer: src, stride: 8}}
""")
    assert loads_case(dumps_case(case)) == case


#: Comparisons of a parameter `value`, by their form.
COMPARED = {
    "plain": r"if value [<>=!]+ (-1|0|2) else",
    "negated": r"if not \(value [<>=!]+ (-1|0|2)\) else",
    "number first": r"if float32\((-1|0|2)\) [<>=!]+ value else",
    "two values": r"if value [<>=!]+ (value|other) else",
    "negated values": r"if not \(value [<>=!]+ (value|other)\) else",
}


def test_numbers_that_may_be_nan_are_compared_in_every_form() -> None:
    terms = [Term("value", C.float32, UNBOUNDED), Term("other", C.float32, UNBOUNDED)]
    bodies = [draw_body(Seeded(f"{seed}"), C.float32, terms).text for seed in range(1000)]
    counts = {form: sum(bool(re.search(pattern, text)) for text in bodies) for form, pattern in COMPARED.items()}
    assert min(counts.values()) > 10 and counts["negated"] > 30, counts
