"""What the oracle says of every rewriting of drawn expressions, and how much wider its bounds are."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tests.adversary.arithmetic import DTYPES, F64, FORMATS, Choices, Evaluation, Mask, directed, rounded
from tests.adversary.cases import ELEMENTS, SETTINGS, AllowedValues, Setting, ask, written
from tests.adversary.expressions import FLOATS, INTEGERS, Drawn, Node, drawn
from tests.adversary.rules import rewritten

#: The promise about ratios is for expressions of so many operations.
MOST_OPERATIONS = 5


@dataclass
class Report:
    """What became of some expressions: refused results as text, and ratios by setting and operation."""

    expressions: int = 0
    rewritings: int = 0
    refused: list[str] = field(default_factory=list)
    ratios: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    wild: Counter[str] = field(default_factory=Counter)

    def add(self, other: Report) -> None:
        self.expressions += other.expressions
        self.rewritings += other.rewritings
        self.refused += other.refused
        self.wild += other.wild
        for key, values in other.ratios.items():
            self.ratios[key] += values


def leaves_of(expression: Drawn, rng: np.random.Generator) -> list[F64]:
    """Values of the leaves: of one flavour, so that sums cancel, products are exact, or denormals turn up."""
    count, base = expression.leaves, expression.base
    if base in INTEGERS:
        info = np.iinfo(DTYPES[base])
        wide = rng.random() < 0.3
        low, high = (info.min, info.max) if wide else (max(info.min, -9), min(info.max, 9))
        return [rng.integers(low, high, ELEMENTS, endpoint=True).astype(np.float64) for _ in range(count)]
    precision, least = FORMATS[base]
    flavour = rng.choice(
        ("whole", "near", "spread", "cancelling", "tiny", "great"), p=(0.2, 0.3, 0.25, 0.15, 0.06, 0.04)
    )
    shape = (count, ELEMENTS)
    signs = rng.choice((-1.0, 1.0), shape)
    match flavour:
        case "whole":
            numbers = rng.integers(-20, 20, shape).astype(np.float64)
        case "near":
            numbers = signs * np.ldexp(1 + rng.random(shape), rng.integers(-2, 3, shape))
        case "spread":
            numbers = signs * np.ldexp(1 + rng.random(shape), rng.integers(-8, 9, shape))
        case "cancelling":
            pool = np.ldexp(1 + rng.random((2, ELEMENTS)), rng.integers(0, 12, (2, ELEMENTS)))
            numbers = signs * np.where(
                rng.random(shape) < 0.6, pool[rng.integers(0, 2, shape), np.arange(ELEMENTS)], rng.random(shape)
            )
        case "tiny":
            numbers = signs * np.ldexp(1 + rng.random(shape), rng.integers(least - precision + 2, least + 3, shape))
        case _:
            numbers = signs * np.ldexp(1 + rng.random(shape), rng.integers(-least - 6, -least + 1, shape))
    with np.errstate(over="ignore"):
        numbers = numbers.astype(DTYPES[base])
    numbers[rng.random(shape) < 0.03] = 0
    numbers = np.where(np.isfinite(numbers.astype(np.float64)), numbers.astype(np.float64), 1.0)
    return list(numbers)


def choices_of(setting: Setting, rng: random.Random) -> Choices:
    """What an implementation does where the setting leaves it open."""
    rounding = dict.fromkeys(FLOATS, setting.rounding)
    if setting.denormals == "kept":
        return Choices(rounding, False, False, loose_conversions=not setting.strict_conversions)
    flush_out = setting.denormals == "flushed" or rng.random() < 0.5
    unrounded = rng.choice((0.0, 0.0, 0.3, 1.0)) if setting.rearranges else 0.0
    loose = not setting.strict_conversions and rng.random() < 0.5
    return Choices(rounding, rng.random() < 0.5, flush_out, unrounded, loose)


def results(
    expression: Drawn, leaves: list[F64], setting: Setting, count: int, rng: random.Random
) -> Iterator[tuple[Node, tuple[F64, Mask]]]:
    """Rewritten trees, each with the least, the greatest and some result of it: (3, elements)."""
    numbers = np.random.default_rng(rng.getrandbits(32))
    for k in range(count):
        tree = expression.root
        if setting.rearranges and k:
            tree = rewritten(tree, rng, rng.randint(1, 24))
        evaluation = Evaluation(leaves, choices_of(setting, rng), numbers)
        with np.errstate(all="ignore"):
            yield tree, _stored(expression, evaluation, tree, setting, numbers)


def _stored(
    expression: Drawn, evaluation: Evaluation, tree: Node, setting: Setting, numbers: np.random.Generator
) -> tuple[F64, Mask]:
    """The least, the greatest and some result as the type holds them; and which cannot be judged."""
    low, high, some = evaluation.value(tree)
    if evaluation.repeated:
        low = high = some
    zero, type_ = np.zeros_like(low), expression.root.type
    if setting.rounding == "either":
        low, high = rounded(type_, low, zero, up=False), rounded(type_, high, zero, up=True)
        up = numbers.random(some.shape) < 0.5
        some = np.where(up, rounded(type_, some, zero, up=True), rounded(type_, some, zero, up=False))
    else:
        low, high, some = (directed(type_, x, zero, setting.rounding) for x in (low, high, some))
    return np.stack([low, high, some]), evaluation.unjudged


def examine(seed: int, count: int, rewritings: int, most: int = MOST_OPERATIONS) -> Report:
    """The report on so many expressions of a seed."""
    report = Report()
    rng = random.Random(seed)
    for n in range(count):
        expression = drawn(rng, rng.randint(1, most))
        setting = rng.choice(SETTINGS)
        leaves = leaves_of(expression, np.random.default_rng(rng.getrandbits(32)))
        allowed = ask(written(expression, leaves, setting))
        trees, arrays = zip(*results(expression, leaves, setting, rewritings, rng), strict=True)
        found = np.stack([values for values, _ in arrays])
        judged = ~np.stack([unjudged for _, unjudged in arrays])[:, None]
        report.expressions += 1
        report.rewritings += len(trees)
        wrong = ~allowed.admits(found) & judged
        if wrong.any():
            report.refused.append(_refusal(seed, n, expression, setting, leaves, allowed, trees, found, wrong))
        _measure(report, expression, setting, allowed, found, np.asarray(judged.all(axis=(0, 1))))
    return report


def _measure(
    report: Report, expression: Drawn, setting: Setting, allowed: AllowedValues, found: F64, judged: Mask
) -> None:
    key = setting.name if setting.name in ("Undecorated", "fast math", "NoContraction", "FastMathNone") else "modes"
    finite = np.isfinite(found).all(axis=(0, 1)) & judged
    report.wild[key] += int((finite & allowed.anything).sum())
    usable = finite & ~allowed.anything & np.isfinite(allowed.low) & np.isfinite(allowed.high)
    low, high = found.min(axis=(0, 1)), found.max(axis=(0, 1))
    had = _count(allowed, low, high, usable)
    inexact = usable & (had > 1)
    if not inexact.any():
        return
    ratio = float(np.median((_count(allowed, allowed.low, allowed.high, usable) / had)[inexact]))
    report.ratios[key, "all"].append(ratio)
    for op in {n.op for n in expression.root.walk()} - {"leaf", "constant"}:
        report.ratios[key, op].append(ratio)


def _count(allowed: AllowedValues, low: F64, high: F64, usable: Mask) -> F64:
    """How many numbers of the type, and multiples of the step, lie in intervals."""
    stepped = (allowed.step > 0) & usable
    low, high = np.where(usable, low, 0.0), np.where(usable, high, 0.0)
    multiples = (high - low) / np.where(stepped, allowed.step, 1.0)
    return 1 + np.where(stepped, multiples, _ordinals(allowed.type, high) - _ordinals(allowed.type, low))


def _ordinals(type_: str, x: F64) -> F64:
    dtype = DTYPES[type_]
    with np.errstate(over="ignore"):
        bits = np.where(np.isfinite(x), x, 0.0).astype(dtype).view(f"u{dtype.itemsize}").astype(np.int64)
    sign = 1 << 8 * dtype.itemsize - 1
    return np.where(bits & sign, -(bits & sign - 1), bits).astype(np.float64)


def _refusal(
    seed: int, n: int, expression: Drawn, setting: Setting, leaves: list[F64], allowed: AllowedValues,
    trees: tuple[Node, ...], found: F64, wrong: Mask,
) -> str:  # fmt: skip
    k, which, element = (int(i) for i in np.argwhere(wrong)[0])
    values = ", ".join(f"x{i} = {v[element]!r}" for i, v in enumerate(leaves))
    return (
        f"seed {seed}, expression {n}, {setting.name}, {expression.way} of {expression.base} to {allowed.type}:"
        f" {int(wrong.sum())} of {wrong.size}\n  {expression.root}\n  as {trees[k]}\n  {values}\n"
        f"  is {found[k, which, element]!r}; allowed {allowed.low[element]!r} to {allowed.high[element]!r},"
        f" step {allowed.step[element]!r}, flags {int(allowed.flags[element])}, exact {allowed.exact[element]!r}"
    )
