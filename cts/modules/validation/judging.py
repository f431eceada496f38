"""One rule on one tool: the twin must be accepted, the module that breaks the rule rejected."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from cts.case.model import initial_memory, load_case
from cts.device.job import ModuleJob
from cts.judging.verdict import Verdict
from cts.modules.validation.rules import SUBGROUP_SIZE, Rule, bases
from cts.modules.validation.shaders import ShaderRule
from cts.modules.validation.tools import Answer, Glslang, Kind, Tool
from cts.spirv.lower import module_job

_BINDING = re.compile(r"OpDecorate %\w+ Binding \d+$")
_PUSHED = re.compile(r"OpVariable %\w+ PushConstant$")

#: Bytes of push constants that every Vulkan device has (maxPushConstantsSize), and more than any rule declares.
_PUSH_BYTES = 128


@dataclass(frozen=True)
class Judgement:
    """What came of a rule. `reason` is one line; `other` says that the rejection is about something else.

    `twin` and `broken` are the tool's answers, None where it was not asked.
    """

    rule: Rule | ShaderRule
    verdict: Verdict
    reason: str
    twin: Answer | None = None
    broken: Answer | None = None
    other: bool = False


def judge(rules: Iterable[Rule], tool: Tool) -> Iterator[Judgement]:
    """The judgement of each rule, in order. Raises BadInput for a rule whose edits do not fit its base."""
    for rule in rules:
        yield _judge(rule, tool)


def _judge(rule: Rule, tool: Tool) -> Judgement:
    twin_words, broken_words = rule.modules()
    job = job_of(rule)
    if rule.of_runtime and not tool.knows_device:
        return Judgement(rule, Verdict.UNSUPPORTED, "depends on the device or the pipeline: for validation layers")
    for capability in _capabilities(rule):
        if why := tool.unknown(capability):
            return Judgement(rule, Verdict.UNSUPPORTED, f"does not know {capability}: {_line(why)}")
    twin = tool.ask(twin_words, job)
    return _told_of(rule, twin, tool.ask(broken_words, job) if twin.kind is Kind.ACCEPTED else None)


def _told_of(rule: Rule | ShaderRule, twin: Answer, broken: Answer | None) -> Judgement:
    """What comes of both answers."""
    if twin.kind is not Kind.ACCEPTED or broken is None:
        return Judgement(rule, _VERDICTS[twin.kind], f"the valid twin: {_answer_text(twin)}", twin)
    if broken.kind is Kind.REJECTED:
        other = bool(rule.message) and not re.search(rule.message, broken.text)
        reason = f"rejected{' for another reason' if other else ''}: {_line(broken.text)}"
        return Judgement(rule, Verdict.PASS, reason, twin, broken, other)
    if broken.kind is Kind.ACCEPTED:
        return Judgement(rule, Verdict.FAIL, "accepted though forbidden", twin, broken)
    return Judgement(rule, _VERDICTS[broken.kind], _answer_text(broken), twin, broken)


def judge_shaders(rules: Sequence[ShaderRule], tool: Glslang) -> Iterator[Judgement]:
    """The same of rules of GLSL."""
    answers = list(tool.ask([text for rule in rules for text in (rule.twin, rule.broken)]))
    for rule, twin, broken in zip(rules, answers[::2], answers[1::2], strict=True):
        yield _told_of(rule, twin, broken)


#: Verdicts of modules that must be accepted, and were not; also of those that must be rejected, and were not either.
_VERDICTS = {
    Kind.REJECTED: Verdict.FAIL,
    Kind.CRASH: Verdict.CRASH,
    Kind.TIMEOUT: Verdict.TIMEOUT,
    Kind.UNSUPPORTED: Verdict.UNSUPPORTED,
    Kind.ERROR: Verdict.ERROR,
}


def _answer_text(answer: Answer) -> str:
    return f"{answer.kind.value}: {_line(answer.text)}" if answer.text else answer.kind.value


def _line(text: str) -> str:
    return text.partition("\n")[0]


@cache
def _job_of_base(base: str) -> ModuleJob:
    """The job of a base. It is never dispatched, and asks for no subgroup size."""
    case = load_case(bases()[base])
    return replace(module_job(case, initial_memory(case), SUBGROUP_SIZE), subgroup_size=None)


def job_of(rule: Rule) -> ModuleJob:
    """The job of a rule's twin: its module, and the buffers and push constants that it is bound to.

    They are those of its base; what the twin's edits declare beside them is given memory, too.
    """
    job, lines = _job_of_base(rule.base), rule.lines()[0]
    places = {(0, int(line.split()[3])) for line in lines if _BINDING.match(line)}
    some = next(iter(job.buffers))
    bindings = {place: job.bindings.get(place, some) for place in places}
    pushed = job.push_constants or (bytes(_PUSH_BYTES) if any(map(_PUSHED.search, lines)) else b"")
    return replace(job, words=rule.modules()[0], bindings=bindings, push_constants=pushed)


def _capabilities(rule: Rule) -> Iterator[str]:
    """What the twin declares."""
    for line in rule.lines()[0]:
        opcode, _, name = line.partition(" ")
        if opcode == "OpCapability":
            yield name
