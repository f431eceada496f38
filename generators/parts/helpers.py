"""Functions that the bodies of callbacks call (CM-033): what they do, and what they are called with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from cts.base.choices import Choices
from cts.case.model import AnyFunction, Helper, Parameter, with_helpers
from cts.generators.build.kernels import Kernel
from cts.generators.build.vector_kernels import VectorKernel
from cts.generators.parts.bodies import draw_body
from cts.generators.parts.expressions import Term
from cts.generators.policy.cases import CallbackDraws


@dataclass
class Helpers:
    """Helpers by name, and calls of them that a body may use."""

    functions: dict[str, Helper] = field(default_factory=dict)
    calls: list[Term] = field(default_factory=list)

    def use(self, kernel: Kernel | VectorKernel, body: str) -> None:
        """Give the kernel those that a body calls, and those that these call."""
        functions: dict[str, AnyFunction] = dict(self.functions)
        called = {name for name in functions if f"{name}(" in body}
        kernel.functions |= {name: functions[name] for name in functions if name in with_helpers(called, functions)}


def draw_helpers(choices: Choices, kernel: Kernel | VectorKernel, terms: Sequence[Term]) -> Helpers:
    """In three of ten callbacks a helper or two of one or two parameters, each called with other arguments, too.

    The second one has the parameters of the first, and may call it.
    """
    drawn = Helpers()
    usable = [t for t in terms if not t.number]
    if not choices.chance(CallbackDraws.HELPERS) or not usable:
        return drawn
    count, parameters, first, second = choices.record(1, 1, len(usable) - 1, len(usable) - 1)
    arguments = [usable[first], usable[second]][: parameters + 1]
    # Each is called with these, and with others of their types.
    others = [
        choices.pick([t for t in usable if t.type is argument.type and t is not argument] or [argument])
        for argument in arguments
    ]
    inside = [
        Term("xy"[n], a.type, a.known.union(b.known)) for n, (a, b) in enumerate(zip(arguments, others, strict=True))
    ]
    computing = [t for t in inside if not t.type.storage_only]
    if not computing or all(t.known.grain is None for t in inside):
        # There would be nothing to compute with, or nothing that a condition may be made of.
        return drawn
    known = list(inside)
    for n in range(count + 1):
        name = f"h{len(kernel.functions) + n}"
        returns = computing[n % len(computing)].type
        body = choices.group(partial(draw_body, returns=returns, terms=tuple(known), inexact=False))
        drawn.functions[name] = Helper(
            parameters=tuple(Parameter(name=t.text, type=t.type) for t in inside), returns=returns, body=body.text
        )
        known.append(Term(f"{name}({', '.join(t.text for t in inside)})", returns, body.known))
        for passed in (arguments, others):
            drawn.calls.append(Term(f"{name}({', '.join(t.text for t in passed)})", returns, body.known))
    return drawn
