"""The addresses of the explorer's page, computed by a browser, against the oracle's."""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from cts.base.errors import BadInput
from cts.case.model import Case, ClampMode, LayoutType, TensorInstruction, ViewType, loads_case
from cts.case.oracle.expectation import Reach
from cts.plugins import registry
from cts.reference.addressing import layout as layouts
from cts.reference.addressing import view as views
from cts.reference.addressing.coordinates import Status
from cts.reference.addressing.elements import tensor_coordinates
from cts.running import corpus
from cts.showing import explorer
from tests.browser import Browse

#: Accesses that are drawn, and of them those that are made cases of.
DRAWN, CASES = 5000, 400

STATUS = {
    "m": Status.OK, "c": Status.SKIP, "v": Status.CLAMPED, "n": Status.DISCARD, "u": Status.UNDEFINED,
    "x": Status.UNCLEAR,
}  # fmt: skip

#: Answers for each link: rules, the status of each element, and of those in memory index, byte, block and place in it.
ANSWERS = """
const letters = {memory: "m", clipped: "c", "clamp value": "v", "not stored": "n", undefined: "u", unclear: "x"};
document.body.textContent = JSON.stringify(JSON.parse(document.getElementById("links").textContent).map((link) => {
  const access = accessOf(link), {broken, elements} = addressed(access);
  if (linkOf(access) !== link) return {unlike: linkOf(access)};
  const reached = elements.filter((e) => e.status === "memory");
  let text = null;
  try { text = WITH_CASES ? caseOf(access, elements) : null; } catch (e) { text = null; }
  return {
    rules: broken.map((b) => b.rule), none: broken.some((b) => b.noAddress), text,
    status: elements.map((e) => letters[e.status]).join(""),
    index: reached.map((e) => e.index), byte: reached.map((e) => e.byte),
    block: reached.map((e) => e.block), within: reached.map((e) => e.within),
  };
}));
"""


def answers(browse: Browse, links: list[str], script: str | None = None, *, cases: bool = False) -> list[Any]:
    """What a browser computes for these links."""
    script = explorer.script(["addressing.js", "programs.js"]) if script is None else script
    embedded = json.dumps(links).replace("<", "\\u003c")
    text = (
        f'<!doctype html><title>t</title><body><script type="application/json" id="links">{embedded}</script>'
        f"<script>{script}\nconst WITH_CASES = {json.dumps(cases)};{ANSWERS}</script></body>"
    )
    body = re.search(r"<body>(\[.*\])", browse(text), re.S)
    assert body is not None
    found: list[Any] = json.loads(html.unescape(body[1]))
    return found


@dataclass(frozen=True)
class Access:
    """A drawn access: its link, and what the oracle says of it."""

    link: str
    layout: layouts.TensorLayoutState
    view: views.TensorViewState | None
    rows: int
    cols: int
    store: bool


def some_accesses(count: int, seed: int) -> list[Access]:
    random = np.random.default_rng(seed)
    return [an_access(random) for _ in range(count)]


def an_access(random: np.random.Generator) -> Access:
    """Mostly small numbers that belong together, and sometimes any."""

    def word(low: int, high: int) -> int:
        if random.random() < 0.004:
            return int(random.choice([0, 2**31 - 1, 2**31, 2**32 - 1, int(random.integers(2**32))]))
        return int(random.integers(low, high + 1))

    def words(low: int, high: int, count: int) -> list[int]:
        return [word(low, high) for _ in range(count)]

    def state(numbers: list[int]) -> Any:
        return np.array([[numbers]], np.int64).astype(np.uint32)

    rows, cols = (int(n) for n in random.integers(1, 11, 2))
    store, dim = bool(random.random() < 0.3), int(random.integers(1, 6))
    clamp = ClampMode(str(random.choice([m.value for m in ClampMode])))
    parts: list[list[Any]] = [["store" if store else "load", rows, cols, "float16", "Accumulator", "Subgroup"]]
    if random.random() < 0.3:
        parts.append(["pointer", 16 * int(random.integers(1, 9))])
    parts.append(["Layout", dim, clamp.value])
    layout = layouts.create_tensor_layout(LayoutType(dim, clamp))
    kinds = ["SetDimension", *random.choice(["SetBlockSize", "SetStride", "Slice", "SetClampValue"], 3)]
    if random.random() < 0.5:
        kinds.insert(0, "SetBlockSize")
    if random.random() < 0.1:
        kinds.pop(0)
    for kind in map(str, kinds):
        if kind == "SetBlockSize":
            numbers = words(1, 1 if store and random.random() < 0.8 else 4, dim)
            layout = layouts.set_block_size(layout, state(numbers))
        elif kind == "SetDimension":
            numbers = words(1, 9 if dim < 4 else 4, dim)
            layout = layouts.set_dimension(layout, state(numbers))
        elif kind == "SetStride":
            numbers = np.cumprod(words(1, 12, dim)[::-1])[::-1].tolist()
            numbers = [n % 2**32 for n in numbers]
            layout = layouts.set_stride(layout, state(numbers))
        elif kind == "Slice":
            numbers = words(-3, 5, dim) + words(1, 9, dim)
            layout = layouts.slice_(layout, state(numbers[:dim]), state(numbers[dim:]))
        else:
            numbers = words(0, 99, 1)
            layout = layouts.set_clamp_value(layout, state(numbers))
        parts.append([kind, *numbers])
    view = None
    if random.random() < 0.5:
        own = bool(random.random() < 0.5)
        rank = int(random.integers(1, 6)) if own or random.random() < 0.05 else dim
        permutation = [int(n) for n in random.permutation(rank)]
        view = views.create_tensor_view(ViewType(rank, own, tuple(permutation)))
        parts.append(["View", rank, "own" if own else "spans", *permutation])
        kinds = [*(["SetDimension"] if own else []), *random.choice(["SetStride", "SetClip", "SetClip"], 2)]
        for kind in map(str, kinds):
            if kind == "SetDimension":
                numbers = words(1, 6, rank)
                view = views.set_dimension(view, state(numbers))
            elif kind == "SetStride":
                numbers = words(-2, 9, rank)
                view = views.set_stride(view, state(numbers))
            else:
                numbers = words(0, 6, 4)
                view = views.set_clip(view, *(state([n]) for n in numbers))
            parts.append([kind, *numbers])
    return Access("/".join(",".join(map(str, part)) for part in parts), layout, view, rows, cols, store)


def differs(access: Access, answer: Any) -> str:
    """How an answer is not the oracle's; nothing where it is."""
    if "unlike" in answer:
        return f"the link became {answer['unlike']}"
    layout, view = access.layout, access.view
    spans = [layout.span, layout.block_size, *([view.view_dimension] if view and view.type.has_dimensions else [])]
    none = any((s == 0).any() for s in spans) or (
        view is not None and not view.type.has_dimensions and view.dim > layout.dim
    )
    if none != answer["none"]:
        return f"addresses: {answer['rules']}"
    if none:
        return "" if not answer["status"] else "elements without addresses"
    elements, block, within = tensor_coordinates(layout, view, access.rows, access.cols, access.store)
    shape = (access.rows, access.cols)
    status = np.broadcast_to(elements.status, (1, 1, *shape)).reshape(-1)
    if [STATUS[letter] for letter in answer["status"]] != status.tolist():
        return f"status: {answer['status']}"
    reached = status == Status.OK

    def taken(array: Any) -> list[int]:
        found: list[int] = np.broadcast_to(array, (1, 1, *shape)).reshape(-1)[reached].tolist()
        return found

    pointer = int(found[1]) if (found := re.search(r"/pointer,(\d+)", access.link)) else 0
    expected = {
        "index": taken(elements.index),
        "byte": [pointer + 2 * n for n in taken(elements.index)],
        "block": [list(b) for b in zip(*map(taken, block), strict=True)],
        "within": [list(w) for w in zip(*map(taken, within), strict=True)],
    }
    return "".join(f"{name}: {answer[name]} for {right}; " for name, right in expected.items() if answer[name] != right)


def test_drawn_layouts_lie_where_the_oracle_says(browse: Browse) -> None:
    accesses = some_accesses(DRAWN, 1)
    found = answers(browse, [a.link for a in accesses])
    assert len(found) == DRAWN
    wrong = [(a.link, how) for a, answer in zip(accesses, found, strict=True) if (how := differs(a, answer))]
    assert wrong[:3] == [] and not wrong
    seen = "".join(answer["status"] for answer in found)
    seldom = {Status.UNCLEAR: 200}  # huge dimensions, and out of bounds
    enough = {letter: seen.count(letter) > seldom.get(status, 2000) for letter, status in STATUS.items()}
    assert all(enough.values()), enough
    assert sum(not answer["none"] for answer in found) > DRAWN * 0.8


#: Mistakes that would be easy to make in the script.
MISTAKES = {
    "mirrored border twice": ("2 * dimension - 2", "2 * dimension"),
    "C's remainder": ("((a % b) + b) % b", "(a % b)"),
    "rounded down": ("Math.ceil(extent / Math.max(1, block))", "Math.floor(extent / Math.max(1, block))"),
    "offsets replaced": ("add(o, given[d])", "given[d]"),
    "clip's own width": ("Math.min(access.cols, colSpan)", "colSpan"),
    "permutation from its front": ("[...order].reverse()", "[...order]"),
    "dimensions for spans": ("digits(index, layout.span,", "digits(index, layout.dimension.map((d) => d || 1),"),
    "sums that do not wrap": ("(a + b) >>> 0", "a + b"),
    "a clip that ends late": ("row >= add(rowOffset, rowSpan)", "row > add(rowOffset, rowSpan)"),
    "stores that clamp": ('if (access.op === "store") return "not stored";', ""),
    "the last coordinate outside": ("inside = c < Math.min", "inside = c + 1 < Math.min"),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES.keys())
def test_mistakes_are_found(browse: Browse, mistake: tuple[str, str]) -> None:
    script = explorer.script(["addressing.js", "programs.js"])
    assert script.count(mistake[0]) == 1
    accesses = some_accesses(300, 2)
    found = answers(browse, [a.link for a in accesses], script.replace(*mistake))
    assert any(differs(a, answer) for a, answer in zip(accesses, found, strict=True))


#: Rules on layouts and views that the page checks, and those on locations: the oracle looks at these where none of the
#: others is broken, and whether two elements of a store are at one place last.
OF_STATE = {"TA-061", "TA-062", "TA-064", "TA-065", "TA-068", "TA-070"}
OF_LOCATIONS = {"AM-57", "TA-042", "TA-060", "TA-063", "TA-069"}


def test_cases_break_the_rules_that_the_page_names(browse: Browse) -> None:
    accesses, oracle = some_accesses(CASES, 3), registry.oracle()
    found = answers(browse, [a.link for a in accesses], cases=True)
    valid = cases = 0
    for access, answer in zip(accesses, found, strict=True):
        if answer["text"] is None:
            continue
        case = loads_case(answer["text"])
        broken = {v.rule for v in oracle.violations(case)}
        cases += 1
        valid += not broken
        named = set(answer["rules"])
        assert broken & OF_STATE == named & OF_STATE, access.link
        if not broken & OF_STATE:
            assert broken & OF_LOCATIONS == named & OF_LOCATIONS, access.link
        if not broken - {"TA-067"}:
            assert broken == named, access.link
        if not broken:
            again = explorer.link_of(case, oracle)
            assert re.sub(r"/memory,\d+", "", again).split("/") == access.link.split("/")
    assert cases > CASES * 0.9 and valid > CASES * 0.3


def tensor_cases() -> list[Case]:
    """Cases of the corpus with tensor loads and stores of matrices that can be drawn.

    The explorer counts from the beginning of a buffer, and knows none whose contents begin later.
    """
    areas = ("tensor_addressing.", "block_loads.")
    cases = [corpus.read(e, registry.oracle()) for e in corpus.entries() if e.name.startswith(areas)]
    return [case for case in cases if not any(buffer.begins_at for buffer in case.buffers.values())]


def test_the_corpus_lies_where_the_oracle_says(browse: Browse) -> None:
    oracle = registry.oracle()
    links, reached, too_large = [], [], 0
    for case in tensor_cases():
        for n, instruction in enumerate(case.program):
            if not isinstance(instruction, TensorInstruction):
                continue
            try:
                links.append(explorer.link_of(case, oracle, n))
            except BadInput:
                too_large += 1
                continue
            reached.append((case.name, n, oracle.reached(case, n)))
    assert too_large < 20
    assert len(links) > 200
    for (name, n, at), answer in zip(reached, answers(browse, links), strict=True):
        assert at is not None and at.tensor is not None
        status = np.broadcast_to(at.status, (len(at.status), *at.status.shape[1:]))[0].reshape(-1)
        memory = np.array([letter == "m" for letter in answer["status"]])
        assert (memory == (status == Reach.MEMORY)).all(), f"{name}: program[{n}]"
        assert answer["byte"] == at.byte[0].reshape(-1)[memory].tolist(), f"{name}: program[{n}]"
        assert answer["rules"] == [], f"{name}: program[{n}]"
