"""Coverage: for each fact, the cases that cover it, the generators that exercise it and the drivers that can run it.

A case of the corpus lists in `covers` the facts that it tests. A generated case lists nothing: which facts its
instructions exercise is declared by their structs, and by rules where it depends on the case around them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from cts.capabilities import Capabilities
from cts.coverage.vectors import VECTOR_RULES, of_conversions, of_vectors
from cts.model import (
    Case,
    ClampMode,
    Combine,
    Component,
    ComponentType,
    Conversion,
    Decode,
    DecodeVector,
    FastMath,
    FloatControls,
    FloatMode,
    Helper,
    Instruction,
    MatrixArithmetic,
    MatrixComponents,
    MatrixConvert,
    MatrixLoadTensor,
    MatrixMulAdd,
    MatrixPerElement,
    MatrixReduce,
    MatrixShape,
    MatrixTimesScalar,
    MulAddOperand,
    PerElement,
    Robustness,
    Scope,
    StorageClass,
    TensorLayoutSlice,
    VectorArithmetic,
    VectorConvert,
    VectorShape,
    VectorTimesScalar,
    Walk,
    WorkgroupShape,
    body_of,
    factors_of,
    outputs_of,
    tables_of,
    types_of,
)
from cts.model.expression import Branch, Loop
from cts.model.operand import Scalar
from cts.model.types import ResultType

#: Facts about the values of operands and elements, of which instructions and options say nothing.
SITUATIONS = frozenset({
    "AM-09", "NU-015", "NU-020", "NU-022", "NU-023", "NU-025", "TA-039", "TA-061", "TA-062", "TA-063", "TA-065",
    "TA-072", "TA-073", "TA-075", "TA-081", "TA-082", "TA-085", "TA-085b", "TA-088",
})  # fmt: skip


@dataclass(frozen=True)
class _Context:
    """What a rule may ask about the case around an instruction."""

    case: Case
    types: Mapping[str, ResultType]

    def component(self, name: str) -> ComponentType:
        shape = self.types[name]
        assert isinstance(shape, MatrixShape)
        return shape.component

    def clamp(self, layout: str) -> ClampMode:
        layout_type = self.types[layout]
        return getattr(layout_type, "clamp", ClampMode.Undefined)

    def made_by(self, name: str) -> Instruction | None:
        """The instruction whose result `name` is."""
        return next((i for i in self.case.program if getattr(i, "id", None) == name), None)


def exercised(case: Case) -> frozenset[str]:
    """The facts that the instructions and options of a well-formed case put to the test."""
    context = _Context(case, types_of(case))
    all_facts = set(_of_case(context))
    for instruction in case.program:
        all_facts.update(instruction.exercised)
        for kind, rule in _RULES:
            if isinstance(instruction, kind):
                all_facts.update(fact for facts in rule(instruction, context) for fact in facts.split())
    return frozenset(all_facts)


def _of_case(context: _Context) -> Iterator[str]:
    case = context.case
    for shape in context.types.values():
        if isinstance(shape, MatrixShape):
            yield "KM-010"
            yield from ("VK-024", "VK-025") if shape.scope is Scope.Workgroup else ("VK-026",)
            if shape.component.descriptor.fact:
                yield shape.component.descriptor.fact
            if max(shape.rows, shape.cols) >= 256:
                yield "VK-023"
    for buffer in case.buffers.values():
        if buffer.storage is not StorageClass.StorageBuffer:
            yield "CM-013"
        if buffer.storage is StorageClass.PhysicalStorageBuffer:
            yield "VK-043"
        if buffer.begins_at:
            yield "VK-066"
    for function in case.functions.values():
        yield from _of_function(function)
        if tables_of(function):
            yield "CM-032"
        if outputs_of(function):
            yield "CM-035"
        if isinstance(function, PerElement) and any(
            e.pointer or e.members or e.count or e.integer for e in function.extras
        ):
            yield "CM-036"
        if isinstance(function, Helper):
            yield "CM-033"
        if any(isinstance(s, Branch | Loop) for s in body_of(function, case.helpers).statements):
            yield "CM-034"
    if case.robustness is not None:
        yield from ("VK-060", "VK-061", "VK-064")
        yield "VK-062" if case.robustness is Robustness.ROBUST_BUFFER_ACCESS_2 else "VK-063"
    yield from _of_modes(context)
    yield from _of_fast_math(case)
    yield from of_vectors(case, context.types)
    yield from of_conversions(case)
    size_by = case.dispatch.size_by
    if case.dispatch.times > 1:
        yield "VK-057"
    if case.dispatch.shape != WorkgroupShape():
        yield "VK-027"
    if size_by.by_mode_of_ids:
        yield "VK-027b"
    elif size_by.specialized:
        yield "VK-044"
    if any(factors_of(o).any_set for i in case.program for o in _scalars(i)):
        yield "TA-071"


def _of_fast_math(case: Case) -> Iterator[str]:
    given = (*case.fast_math.values(), *(getattr(i, "fast_math", None) or () for i in case.program))
    bits = {bit for bits in given for bit in bits}
    if bits:
        yield "NU-048"
    if bits & {FastMath.AllowContract, FastMath.AllowReassoc, FastMath.AllowTransform}:
        yield "NU-049"
    if bits & {FastMath.NotNaN, FastMath.NotInf, FastMath.NSZ}:
        yield "NU-050"


def _of_modes(context: _Context) -> Iterator[str]:
    """What float execution modes bind: instructions with a result of their type, where roundings bind (NU-046)."""
    case = context.case
    if not case.float_modes:
        return
    yield from ("NU-040", "NU-046")
    if case.float_controls is FloatControls.Undecorated:
        return
    results = (context.types[i.id] for i in case.program if isinstance(i, _BOUND))
    computed = {shape.component.value for shape in results if isinstance(shape, (MatrixShape, VectorShape))}
    for width, modes in case.float_modes.items():
        if width.value in computed:
            yield from (_OF_MODE[mode] for mode in modes)


_BOUND = (MatrixArithmetic, MatrixTimesScalar, MatrixConvert, VectorArithmetic, VectorTimesScalar, VectorConvert)
_OF_MODE = {
    FloatMode.DenormPreserve: "NU-042",
    FloatMode.DenormFlushToZero: "NU-043",
    FloatMode.RoundingModeRTE: "NU-044",
    FloatMode.RoundingModeRTZ: "NU-044",
    FloatMode.SignedZeroInfNanPreserve: "NU-045",
}


def _of_function(function: object) -> Iterator[str]:
    match function:
        case Combine(type=t) | PerElement(type=t) | Component(type=t) if t.storage_only:
            yield "NU-034"
        case Decode(returns=t) if t.storage_only:
            yield "NU-034"
        case DecodeVector(lanes=8):
            yield "VK-013"


def _scalars(instruction: Instruction) -> Iterator[Scalar]:
    for name in instruction.__struct_fields__:
        value = getattr(instruction, name)
        yield from (v for v in (value if isinstance(value, tuple) else (value,)) if isinstance(v, Scalar))


def _slice(i: TensorLayoutSlice, context: _Context) -> Iterator[str]:
    if isinstance(context.made_by(i.of), TensorLayoutSlice):
        yield "TA-084"


def _tensor_load(i: MatrixLoadTensor, context: _Context) -> Iterator[str]:
    constant = context.clamp(i.layout) is ClampMode.Constant
    if constant or i.view is not None:
        yield "TA-038"
    if i.decode is None:
        yield "TA-036"
        return
    yield "DV-011 TA-037"
    if constant or i.view is not None:
        yield "AM-10"
    if i.decode_vector is not None:
        yield "DV-010 DV-012 DV-013 DV-014 AM-11"
        scalar, vector = context.case.functions[i.decode], context.case.functions[i.decode_vector]
        if getattr(scalar, "block", None) != getattr(vector, "block", None):
            yield "AM-41"


def _mul_add(i: MatrixMulAdd, context: _Context) -> Iterator[str]:
    if context.component(i.c).is_float:
        yield "NU-010 NU-013"
        return
    yield "KM-002 NU-001 VK-022"
    if MulAddOperand.SaturatingAccumulation in i.operands:
        yield "NU-002"


def _elements(i: MatrixArithmetic | MatrixTimesScalar, context: _Context) -> Iterator[str]:
    component = context.component(i.a if isinstance(i, MatrixArithmetic) else i.matrix)
    if not component.is_float:
        yield "NU-004"
        return
    yield "NU-011 NU-012 NU-013"
    yield from _environment(context)


def _environment(context: _Context) -> Iterator[str]:
    yield "NU-017 NU-018" if context.case.float_controls is FloatControls.Undecorated else "NU-019"


def _convert(i: MatrixConvert, context: _Context) -> Iterator[str]:
    if i.use is not None:
        yield "CM-050"
    if i.operation in (Conversion.SConvert, Conversion.UConvert):
        yield "NU-005"
    elif i.operation in (Conversion.ConvertFToS, Conversion.ConvertFToU):
        yield "NU-016"
    else:
        yield "NU-012"
        yield from _environment(context)
        if i.component is ComponentType.bfloat16 and context.case.float_controls is FloatControls.FastMathNone:
            yield "NU-021"
    if i.component.is_float8:
        yield "NU-033"


def _reduce(i: MatrixReduce, context: _Context) -> Iterator[str]:
    if not context.component(i.matrix).is_float:
        yield "CM-024"
    if i.rows is not None or i.cols is not None:
        yield "VK-029"
        if len(i.mode) > 1:
            yield "AM-16"


def _components(i: MatrixComponents, context: _Context) -> Iterator[str]:
    if i.walk is Walk.ByInvocation:
        yield "KM-019"


def _per_element(i: MatrixPerElement, context: _Context) -> Iterator[str]:
    if context.component(i.matrix).is_float:
        yield "NU-011 NU-012"
        yield from _environment(context)
    else:
        yield "NU-004"
    if i.scalars:
        yield "AM-19"


_Rule = Callable[..., Iterator[str]]
#: Facts that depend on what the operands of an instruction are, and on the case around it.
_RULES: Sequence[tuple[type[Instruction] | tuple[type[Instruction], ...], _Rule]] = (
    (TensorLayoutSlice, _slice),
    (MatrixLoadTensor, _tensor_load),
    (MatrixMulAdd, _mul_add),
    ((MatrixArithmetic, MatrixTimesScalar), _elements),
    (MatrixConvert, _convert),
    (MatrixReduce, _reduce),
    (MatrixPerElement, _per_element),
    (MatrixComponents, _components),
    *((kind, lambda i, context, rule=rule: rule(i, context.case, context.types)) for kind, rule in VECTOR_RULES),
)


@dataclass(frozen=True)
class Supported:
    """What a driver can run of the corpus: its cases by name, and how many cases lack what it lacks."""

    cases: frozenset[str]
    missing: Counter[str]


@dataclass(frozen=True)
class Row:
    """One fact: the corpus cases that cover it, examples of each generator, and cases that each driver can run.

    `rules` are those with a module that breaks the fact, which `cts validation` gives to tools, `answers` the number of
    its answer sheets.
    """

    fact: str
    cases: tuple[str, ...]
    areas: Mapping[str, int]
    drivers: Mapping[str, int]
    rules: tuple[str, ...] = ()
    answers: int = 0


def supported(cases: Sequence[Case], capabilities: Capabilities) -> Supported:
    """The cases that a driver of such capabilities can run."""
    missing: Counter[str] = Counter()
    able = set()
    for case in cases:
        lacking = capabilities.missing(case)
        missing.update(lacking)
        if not lacking:
            able.add(case.name)
    return Supported(frozenset(able), missing)


def table(
    cases: Sequence[Case],
    samples: Mapping[str, Sequence[Case]],
    drivers: Mapping[str, Supported],
    rules: Mapping[str, Sequence[str]] = MappingProxyType({}),
    answers: Mapping[str, int] = MappingProxyType({}),
) -> list[Row]:
    """A row for every fact that a case covers, a generator produces, a rule breaks or a sheet answers, ascending.

    `samples` maps areas to generated cases, `rules` facts to the rules that break them, `answers` facts to the number
    of their answer sheets.
    """
    covered: dict[str, list[str]] = {}
    for case in cases:
        for fact in case.covers:
            covered.setdefault(fact, []).append(case.name)
    produced = {area: Counter(f for case in drawn for f in exercised(case)) for area, drawn in samples.items()}
    facts = sorted(set(covered).union(rules, answers, *produced.values()))
    return [
        Row(
            fact,
            tuple(covered.get(fact, ())),
            {area: count[fact] for area, count in produced.items() if count[fact]},
            {spec: sum(name in s.cases for name in covered.get(fact, ())) for spec, s in drivers.items()},
            tuple(rules.get(fact, ())),
            answers.get(fact, 0),
        )
        for fact in facts
    ]


def untested(rows: Sequence[Row], drivers: Sequence[str], *, generated: bool = True) -> dict[str, list[str]]:
    """Untested facts, by who should test them: `corpus`, `generators`, each driver that can run no case of a fact.

    A fact that no valid case can show, but a rule breaks, is nobody's gap.
    """
    missing = {"corpus": [r.fact for r in rows if not r.cases and not r.rules]}
    if generated:
        shown = [r for r in rows if r.cases or not r.rules]
        missing["generators"] = [r.fact for r in shown if not r.areas and r.fact not in SITUATIONS]
    return missing | {spec: [r.fact for r in rows if r.cases and not r.drivers[spec]] for spec in drivers}
