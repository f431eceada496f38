"""JSON lines of events: an exact round trip, and nothing that is no whole run."""

from __future__ import annotations

from types import ModuleType

import pytest

from cts.base.errors import BadInput
from cts.case.model import dumps_case, loads_case
from cts.judging.events import CaseJudged, Event, Shrinking, decode, encode, read
from cts.judging.verdict import Verdict
from cts.running import corpus
from cts.running.plan import Plan
from cts.running.profiles import Profile
from cts.running.runner import run


@pytest.fixture
def lines(fakes: ModuleType) -> tuple[list[Event], list[bytes]]:
    plan = Plan(
        ("fake:wrong", "fake:right", "fake:nope"),
        Profile("default", 5, 1),
        (corpus.find_one("tensor_addressing.clamp.edge_low_load"),),
        ("fake_area",),
    )
    events: list[Event] = []
    run(plan, events.append)
    kept: list[Event] = [e for e in events if not isinstance(e, Shrinking)]
    return kept, [encode(e) for e in kept]


def test_round_trip(lines: tuple[list[Event], list[bytes]]) -> None:
    events, encoded = lines
    assert read(encoded) == events
    assert not any(b"\n" in line for line in encoded)


def test_a_run_without_footer_is_refused(lines: tuple[list[Event], list[bytes]]) -> None:
    with pytest.raises(BadInput, match="did not end"):
        read(lines[1][:-1])


def test_a_run_without_header_is_refused(lines: tuple[list[Event], list[bytes]]) -> None:
    with pytest.raises(BadInput, match="events-header"):
        read(lines[1][1:])


@pytest.mark.parametrize("line", [b"", b"{}", b"[1]", b'{"event": "surprise"}', b'{"event": "result"'])
def test_other_lines_are_refused_with_their_number(lines: tuple[list[Event], list[bytes]], line: bytes) -> None:
    encoded = list(lines[1])
    encoded.insert(1, line)
    with pytest.raises(BadInput) as e:
        read(encoded, "run.jsonl")
    assert e.value.where == "run.jsonl:2"


def test_nothing_is_no_run() -> None:
    with pytest.raises(BadInput, match="events-header"):
        read([])


def test_a_case_with_infinities_and_nans_comes_back() -> None:
    case = corpus.load(corpus.find_one("per_element.body.magnitude_of_nan").path).case
    judged = CaseJudged("fake", "files", case.content_hash, Verdict.FAIL, "", case)
    back = decode(encode(judged))
    assert isinstance(back, CaseJudged) and back.case is not None
    assert back.case.content_hash == case.content_hash
    assert loads_case(dumps_case(back.case)).content_hash == case.content_hash
