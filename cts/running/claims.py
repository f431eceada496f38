"""Claims of findings on drivers and tools: what can run there is run, and compared with what is claimed.

Cases go through the runner, as in `cts run`; rules through `modules/validation`. Claims about other drivers, versions
and stages are reported as such, and not run.
"""

from __future__ import annotations

import enum
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cts.base.errors import BadInput, HarnessTrouble, did_you_mean
from cts.case.model import initial_memory, load_case
from cts.case.stages import Stage
from cts.device.driver import CompilingDriver
from cts.judging.events import Event, Rejected, Result, Trouble
from cts.judging.known.claims import Claim, Shown
from cts.judging.known.versions import holds
from cts.judging.verdict import Verdict
from cts.modules.validation.judging import Judgement, judge, judge_shaders
from cts.modules.validation.rules import SUBGROUP_SIZE, rules
from cts.modules.validation.shaders import shader_rules
from cts.modules.validation.tools import Answer, Glslang, Kind, Tool, open_tool
from cts.plugins.transform import Origin, ToolTransform, TransformFailed, parse
from cts.running import corpus
from cts.running.corpus import Entry
from cts.running.opening import open_driver
from cts.running.plan import Plan
from cts.running.profiles import profile
from cts.running.runner import run
from cts.spirv.lower import module_job
from cts.spirv.subprocess_tools import validate_apart

#: Tools that stand for a driver, and what they are asked about.
TOOLS = ("spirv-val", "glslang")

#: A v before a version, which tools write and names of drivers do not have.
_V = re.compile(r"\bv(?=\d)")
_VERSION = re.compile(r"\d+(?:\.\d+)+")


class State(enum.Enum):
    """What became of a claim on a driver."""

    REPRODUCED = "reproduced"
    CONTRADICTED = "contradicted"
    NOT_RUN = "not run"
    TROUBLE = "trouble"


#: The state of a claim whose experiments came to these: the first that any of them has.
_WORST = (State.TROUBLE, State.CONTRADICTED, State.REPRODUCED, State.NOT_RUN)


@dataclass(frozen=True)
class Checked:
    """What became of a claim on a driver, or on all that were given, which have no `spec`. `driver` is what it is."""

    claim: Claim
    state: State
    why: str
    driver: str = ""
    spec: str = ""


@dataclass(frozen=True)
class End:
    """How one case or rule ended: its verdict, and the messages."""

    name: str
    verdict: Verdict
    message: str


@dataclass(frozen=True)
class Compiler:
    """glslang: its messages on shaders, and the module of one. A shader without a module raises HarnessTrouble."""

    glslang: Glslang
    module: Callable[[str], npt.NDArray[np.uint32]]


#: Opens glslang by its spec, which a room above this one does.
OpenCompiler: TypeAlias = Callable[[str], Compiler]


@dataclass
class _Bench:
    """A driver or a tool: its spec, its identity, the stage in which it runs cases, and what runs an experiment."""

    spec: str
    identity: str
    stage: Stage
    experiment: Callable[[Claim, Shown], list[End]]
    #: Of which verdicts it cannot tell anything, and why.
    blind: dict[str, str] = field(default_factory=dict)


def check(claims: Sequence[Claim], specs: Sequence[str], compiler: OpenCompiler) -> Iterator[Checked]:
    """What became of each claim on each driver where some of it can run; once NOT_RUN for the other claims.

    Raises BadInput and HarnessTrouble for a driver that cannot be opened.
    """
    ran: set[str] = set()
    reasons: dict[str, list[str]] = {claim.id: [] for claim in claims}
    for spec in dict.fromkeys(specs):
        for checked in _checked_on(spec, claims, compiler):
            if checked.state is State.NOT_RUN:
                reasons[checked.claim.id].append(checked.why)
                continue
            ran.add(checked.claim.id)
            yield checked
    for claim in claims:
        if claim.id not in ran:
            yield Checked(claim, State.NOT_RUN, "; ".join(dict.fromkeys(reasons[claim.id])))


def _checked_on(spec: str, claims: Sequence[Claim], compiler: OpenCompiler) -> Iterator[Checked]:
    """Each claim on one driver."""
    name = spec.partition(":")[0]
    if name == "glslang":
        opened = compiler(spec)
        yield from _checked(_Bench(spec, opened.glslang.label, Stage.COMPUTE, _of_compiler(opened)), claims)
    elif name == "spirv-val":
        tool = open_tool(spec)
        try:
            yield from _checked(_Bench(spec, tool.label, Stage.COMPUTE, _of_tool(tool)), claims)
        finally:
            tool.close()
    else:
        yield from _checked(_driver(spec, claims), claims)


def _checked(bench: _Bench, claims: Sequence[Claim]) -> Iterator[Checked]:
    for claim in claims:
        if not claim.block.shows:
            yield Checked(claim, State.NOT_RUN, f"by hand: {claim.block.by_hand}")
            continue
        experiments = [_experiment(bench, claim, shown) for shown in claim.block.shows]
        state = next(state for state in _WORST if any(f.state is state for f in experiments))
        these = [f for f in experiments if f.state is state]
        why = "; ".join(dict.fromkeys(f.why for f in these))
        if state is State.REPRODUCED:
            ends = Counter(end for f in these for end in f.ends)
            why = ", ".join(f"{count} {end}" for end, count in ends.items())
            if lacking := sum(f.lacking for f in these):
                why += f"; {lacking} unsupported"
        yield Checked(claim, state, why, these[0].driver, bench.spec)


@dataclass(frozen=True)
class _Experiment:
    """What became of one entry of `shows`: `ends` are the verdicts of all that ran, and agree."""

    state: State
    why: str = ""
    driver: str = ""
    ends: tuple[str, ...] = ()
    lacking: int = 0


def _experiment(bench: _Bench, claim: Claim, shown: Shown) -> _Experiment:
    """One entry of `shows` on a driver."""
    if why := _elsewhere(bench, shown):
        return _Experiment(State.NOT_RUN, why)
    identity, driver = _identity(bench, shown), sight(bench.identity, shown.transform)
    if shown.version and not holds(shown.version, identity):
        return _Experiment(State.NOT_RUN, f"claimed of versions {shown.version}: this is {driver}")
    try:
        ends = bench.experiment(claim, shown)
    except HarnessTrouble as e:
        return _Experiment(State.TROUBLE, e.what, driver)
    ran = [end for end in ends if end.verdict not in (Verdict.UNSUPPORTED, Verdict.NOT_RUN)]
    if not ran:
        return _Experiment(State.NOT_RUN, f"{driver} lacks: {_line(ends[0].message)}", driver)
    if errors := [end for end in ran if end.verdict is Verdict.ERROR]:
        return _Experiment(State.TROUBLE, f"{errors[0].name}: {_line(errors[0].message)}", driver)
    if wrong := [why for end in ran if (why := differs(shown, end))]:
        return _Experiment(State.CONTRADICTED, "; ".join(wrong), driver)
    verdicts = tuple(end.verdict.value for end in ran)
    return _Experiment(State.REPRODUCED, "", driver, verdicts, len(ends) - len(ran))


def differs(shown: Shown, seen: End) -> str:
    """How an end differs from the claimed one; "" if it agrees."""
    ending = f"{seen.verdict.value}: {_line(seen.message)}" if seen.message else seen.verdict.value
    if seen.verdict.value not in shown.verdicts:
        return f"{seen.name}: {ending}; claimed is {' or '.join(shown.verdicts)}"
    if shown.says and " ".join(shown.says.split()) not in " ".join(seen.message.split()):
        return f"{seen.name}: {ending}; claimed is the message {shown.says!r}"
    return ""


def _elsewhere(bench: _Bench, shown: Shown) -> str:
    """Why an experiment is for other drivers than this one; "" if it is for it."""
    of_tool = bench.spec.partition(":")[0] in TOOLS
    if not any(fnmatchcase(name, shown.driver) for name in (bench.spec, bench.identity)) or (
        not of_tool and not shown.cases
    ):
        return f"its drivers are {shown.driver}"
    if bench.stage not in (shown.stages or (Stage.COMPUTE,)):
        return f"its stages are {', '.join(stage.value for stage in shown.stages) or Stage.COMPUTE.value} shaders"
    blind = [bench.blind.get(verdict) for verdict in shown.verdicts]
    return "" if None in blind else blind[0] or ""


def _identity(bench: _Bench, shown: Shown) -> str:
    """The identity with the version that counts at its end: that of the last transform's tool, if there is one."""
    return _V.sub("", ", ".join([bench.identity, *_tools(shown.transform)]))


def _tools(transform: str) -> list[str]:
    """The tools of transforms with their versions: "spirv-opt 2026.4". Raises BadInput for what is no transform."""
    tools = []
    for text in filter(None, transform.split("|")):
        parsed = parse(text)
        if isinstance(parsed, ToolTransform):
            version = _VERSION.search(parsed.version())
            tools.append(f"{text.partition(':')[0]} {version[0] if version else 'of unknown version'}")
    return tools


def sight(identity: str, transform: str = "") -> str:
    """How a driver is named that shows a finding; the last transform's tool, if the finding is that tool's."""
    return next(reversed(_tools(transform)), _V.sub("", identity))


def _driver(spec: str, claims: Sequence[Claim]) -> _Bench:
    """A driver: all cases that claims have for it are run at once, when the first of them is asked for."""
    opened = open_driver(spec)
    opened.close()
    ends: dict[tuple[str, str], End] = {}

    def experiment(claim: Claim, shown: Shown) -> list[End]:
        if not ends:
            ends.update(_run(wanted()))
        return [ends[_transformed(spec, shown), name] for name in shown.cases]

    bench = _Bench(spec, opened.identity or spec, opened.capabilities.stage, experiment)
    if isinstance(opened.driver, CompilingDriver) and opened.driver.only_makes:
        bench.blind["fail"] = "this driver makes pipelines and runs none"

    def wanted() -> list[tuple[str, str]]:
        every = [s for claim in claims for s in claim.block.shows if s.cases and not _elsewhere(bench, s)]
        some = [s for s in every if not s.version or holds(s.version, _identity(bench, s))]
        return [(_transformed(spec, s), name) for s in some for name in s.cases]

    return bench


def _transformed(spec: str, shown: Shown) -> str:
    return f"{spec}|{shown.transform}" if shown.transform else spec


def _run(wanted: Iterable[tuple[str, str]]) -> dict[tuple[str, str], End]:
    """How cases end on drivers, by spec and name. Raises HarnessTrouble for what could not be run."""
    of_case: dict[str, list[str]] = {}
    for spec, name in dict.fromkeys(wanted):
        of_case.setdefault(name, []).append(spec)
    entries = [entry(name, tuple(specs)) for name, specs in of_case.items()]
    specs = tuple(dict.fromkeys(spec for e in entries for spec in e.drivers))
    ends: dict[tuple[str, str], End] = {}

    def take(event: Event) -> None:
        match event:
            case Result():
                ends[event.driver, event.name] = End(event.name, event.verdict, message_of(event))
            case Rejected() | Trouble() if event.code != "nothing-tested":  # its cases are unsupported
                raise HarnessTrouble(event.code, event.what, event.where, event.remedy)

    run(Plan(specs, profile("smoke"), tuple(entries), reruns=0), take)
    return ends


def entry(name: str, drivers: tuple[str, ...] = ()) -> Entry:
    """The case of the corpus with this name. Raises BadInput."""
    listed = corpus.find_one(name)
    return Entry(listed.name, listed.path, listed.in_corpus, drivers)


def message_of(result: Result) -> str:
    """How a case ended: the driver's words, and how much of its memory is wrong."""
    counts = result.finding.counts if result.finding is not None else ()
    wrong = [
        f"{c.differing} of {c.total} {'guard bytes' if c.guard else 'elements'} of {c.buffer} differ" for c in counts
    ]
    return "\n".join([*filter(None, [result.detail]), *wrong])


def _of_tool(tool: Tool) -> Callable[[Claim, Shown], list[End]]:
    """What runs experiments on spirv-val: rules, and modules of valid cases behind transforms."""
    of_name = {rule.name: rule for rule in rules()}

    def experiment(claim: Claim, shown: Shown) -> list[End]:
        if shown.rules:
            chosen = [of_name[_require_rule(name, of_name, claim)] for name in shown.rules]
            return [_judged(judgement) for judgement in judge(chosen, tool)]
        return [_asked(tool, shown.transform, name) for name in shown.cases]

    return experiment


def _asked(tool: Tool, transform: str, name: str) -> End:
    """A tool's answer on the module of a case, which is valid."""
    case = load_case(entry(name).path)
    job = module_job(case, initial_memory(case), SUBGROUP_SIZE)
    try:
        for text in filter(None, transform.split("|")):
            job = parse(text).job(job, Origin(case, SUBGROUP_SIZE))
    except TransformFailed as e:
        return End(name, Verdict.UNSUPPORTED, str(e))
    return _answered(name, tool.ask(job.words, job))


#: The verdict of a tool that was asked about a valid module.
_ENDS = {
    Kind.ACCEPTED: Verdict.PASS,
    Kind.REJECTED: Verdict.FAIL,
    Kind.CRASH: Verdict.CRASH,
    Kind.TIMEOUT: Verdict.TIMEOUT,
    Kind.UNSUPPORTED: Verdict.UNSUPPORTED,
    Kind.ERROR: Verdict.ERROR,
}


def _answered(name: str, answer: Answer) -> End:
    return End(name, _ENDS[answer.kind], answer.text)


def _of_compiler(compiler: Compiler) -> Callable[[Claim, Shown], list[End]]:
    """What runs experiments on glslang: rules of GLSL, and shaders whose module must be valid."""
    of_name = {rule.name: rule for rule in shader_rules()}

    def experiment(claim: Claim, shown: Shown) -> list[End]:
        if shown.shader:
            wrong = validate_apart(compiler.module(claim.glsl))
            return [End("the shader", Verdict.FAIL if wrong else Verdict.PASS, wrong)]
        chosen = [of_name[_require_rule(name, of_name, claim)] for name in shown.rules]
        return [_judged(judgement) for judgement in judge_shaders(chosen, compiler.glslang)]

    return experiment


def _require_rule(name: str, known: Iterable[str], claim: Claim) -> str:
    if name not in known:
        raise BadInput("unknown-rule", f"no rule is named {name!r}", claim.where, did_you_mean(name, known))
    return name


def _judged(judgement: Judgement) -> End:
    message = judgement.broken.text if judgement.broken is not None else ""
    return End(judgement.rule.name, judgement.verdict, "\n".join(filter(None, [judgement.reason, message])))


def _line(text: str) -> str:
    return text.partition("\n")[0]
