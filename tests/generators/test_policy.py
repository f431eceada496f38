"""The numbers that decide draws stand in the policy of generators, not in the calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from cts.base.choices import Chance, DrawPolicy, Odds
from cts.generators import policy
from cts.generators.policy import cases, matrices, programs, tensors, vectors
from cts.generators.policy.weighted import signed, weights

POLICY = Path(policy.__file__).parent
GENERATORS = POLICY.parent

#: Calls of `record` with literal ends, by file. A record is one unit of a few small numbers, which the code below it
#: reads: its ends belong to that code. There may be fewer of these, and no new ones: name the options instead.
RECORDS = {
    "areas/block_loads.py": 1,
    "areas/conversions.py": 1,
    "areas/matrix_programs.py": 1,
    "areas/vector_conversions.py": 3,
    "build/contents.py": 1,
    "build/far_buffers.py": 1,
    "build/fast_math.py": 1,
    "build/float_modes.py": 1,
    "build/layout_sketches.py": 9,
    "build/returns.py": 1,
    "build/robustness.py": 1,
    "build/specials.py": 1,
    "build/supports.py": 1,
    "build/vector_kernels.py": 2,
    "build/vector_operands.py": 2,
    "build/views.py": 3,
    "build/workgroups.py": 1,
    "parts/attention.py": 2,
    "parts/blocks.py": 2,
    "parts/bodies.py": 1,
    "parts/combine_functions.py": 2,
    "parts/convolutions.py": 1,
    "parts/epilogues.py": 1,
    "parts/expressions.py": 4,
    "parts/flow.py": 1,
    "parts/outputs.py": 1,
    "parts/per_element.py": 1,
    "parts/products.py": 4,
    "parts/reductions.py": 1,
    "parts/routes.py": 2,
    "parts/scopes.py": 1,
    "parts/shared_memory.py": 3,
    "parts/switches.py": 1,
    "parts/tables.py": 2,
    "parts/tiled_products.py": 1,
    "parts/training.py": 2,
    "parts/vector_flow.py": 1,
    "parts/vector_layers.py": 1,
    "parts/vector_matrices.py": 3,
    "parts/vector_parts.py": 4,
    "parts/vector_products.py": 3,
}


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """The method calls of a file, each with the method's name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node.func.attr, node


def numbers(node: ast.AST) -> list[float]:
    """The numbers that are written in an expression, except 0, 1 and -1: first places and last ones."""
    constants = (n.value for n in ast.walk(node) if isinstance(n, ast.Constant))
    return [n for n in constants if isinstance(n, int | float) and n not in (0, 1)]


def literal(method: str, call: ast.Call) -> bool:
    """Whether a draw is decided by numbers that are written in its call."""
    if method in ("chance", "odds"):
        return any(not isinstance(a, ast.Name | ast.Attribute | ast.IfExp) or numbers(a) for a in call.args)
    if method == "pick":
        either = [e for a in call.args for e in ((a.body, a.orelse) if isinstance(a, ast.IfExp) else (a,))]
        tuples = [e.elts for e in either if isinstance(e, ast.Tuple | ast.List)]
        return any(any(map(numbers, t)) or len({ast.dump(e) for e in t}) < len(t) for t in tuples)
    if method in ("between", "below"):
        return any(map(numbers, call.args)) and not any(isinstance(n, ast.Name) for a in call.args for n in ast.walk(a))
    return method == "record" and any(map(numbers, call.args))


def found(path: Path) -> list[tuple[str, str]]:
    """The literal draws of a file: the method, and the place."""
    return [(m, f"{path.relative_to(GENERATORS)}:{c.lineno} {ast.unparse(c)}") for m, c in calls(path) if literal(m, c)]


FILES = [path for path in sorted(GENERATORS.rglob("*.py")) if POLICY not in path.parents]


def test_no_draw_is_decided_by_a_number_in_its_call() -> None:
    assert [place for path in FILES for method, place in found(path) if method != "record"] == []


def test_no_constant_weighs_its_options_by_repeating_them() -> None:
    """Outside the policy a constant that is drawn from has each option once."""
    picked = {ast.unparse(a) for path in FILES for method, c in calls(path) if method == "pick" for a in c.args}
    repeated = []
    for path in FILES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
            value = getattr(node, "value", None)
            if target is None or ast.unparse(target) not in picked or not isinstance(value, ast.Tuple):
                continue
            if len({ast.dump(e) for e in value.elts}) < len(value.elts):
                repeated.append(f"{path.relative_to(GENERATORS)} {ast.unparse(target)}")
    assert repeated == []


def test_records_with_literal_ends_get_fewer() -> None:
    counts = {str(p.relative_to(GENERATORS)): sum(m == "record" for m, _ in found(p)) for p in FILES}
    assert {name: count for name, count in counts.items() if count} == RECORDS


def _draw(text: str) -> bool:
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Attribute)
    return literal(call.func.attr, call)


@pytest.mark.parametrize(
    "text",
    [
        "choices.chance(3)",
        "c.chance(4 if wide else 2)",
        "choices.pick((1, 1, 2))",
        "choices.pick(('a', 'a', 'b'))",
        "choices.pick(numbers if exact else (2, 5))",
        "choices.between(0, 9)",
        "choices.below(12)",
        "choices.record(9, len(a) - 1)",
    ],
)
def test_literal_draws_are_found(text: str) -> None:
    assert _draw(text)


@pytest.mark.parametrize(
    "text",
    [
        "choices.chance(CaseDraws.FAR)",
        "c.chance(A.B if wide else A.C)",
        "choices.pick(('positive', 'negative'))",
        "choices.between(0, len(pool) - 1)",
        "choices.between(1, min(70, most))",
        "choices.record(len(a) - 1, 1)",
    ],
)
def test_named_draws_are_not(text: str) -> None:
    assert not _draw(text)


def sections() -> Iterator[type]:
    """The classes of the policy."""
    for module in (cases, matrices, programs, tensors, vectors):
        yield from (v for v in vars(module).values() if isinstance(v, type) and v.__module__ == module.__name__)


def test_every_value_is_used_and_has_a_sentence_and_a_name_of_its_own() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in FILES)
    names = [f"{s.__name__}.{name}" for s in sections() for name in vars(s) if name.isupper()]
    assert len(names) == len(set(names)) > 200
    assert [name for name in names if name not in text] == []
    for module in (cases, matrices, programs, tensors, vectors):
        assert module.__file__ is not None
        lines = Path(module.__file__).read_text(encoding="utf-8").splitlines()
        values = [n for n, line in enumerate(lines) if line[:4].isspace() and line[4:5].isupper()]
        assert [lines[n] for n in values if not lines[n - 1].startswith("    #: ")] == []


def test_the_usual_odds_are_within_their_range() -> None:
    chances = [value for s in sections() for value in vars(s).values() if isinstance(value, Chance)]
    assert len(chances) > 150
    for chance in chances:
        shares = [Fraction(*odds) for odds in chance.drawn]
        assert 0 < min(shares) <= Fraction(*chance.usual) <= max(shares) < 1, chance.name
        assert isinstance(chance.usual, Odds), chance.name
        assert chance.usual in chance.drawn, chance.name
        assert DrawPolicy(5).odds(chance) in chance.drawn


def test_options_in_the_order_of_shrinking() -> None:
    assert weights({"a b": 2}, c=1) == ("a b", "a b", "c")
    assert signed(2, 4) == (0, 1, -1, 2, -2, 3, 4)
