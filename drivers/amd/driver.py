"""The driver: modules that RADV compiles for an AMD GPU, which need not be there, and whose code runs on NumPy."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import partial

from cts.base.errors import HarnessTrouble
from cts.device.driver import Job, Outcome, Status
from cts.drivers.amd.interface import Place, Pushed, arguments, interface
from cts.drivers.amd.leads import Code, Lead, found_beside
from cts.drivers.amd.machine import Dispatch, Program, program
from cts.drivers.amd.modes import Freedoms
from cts.drivers.amd.module import Compile, short_numbers, used_words
from cts.drivers.amd.options import RDNA3, SHIM, Options
from cts.drivers.amd.runs import Used, dispatched, memory_of
from cts.drivers.amd.wave import OTHER_POISON, POISON
from cts.drivers.machine.problems import Problem, Unsupported, Wrong, together
from cts.drivers.machine.remembering import remember
from cts.drivers.vulkan import batches
from cts.drivers.vulkan.driver import VulkanDriver
from cts.drivers.vulkan.session import Loss
from cts.drivers.vulkan.worker.protocol import Done, ParameterSet, Run


class Executor:
    """Runs what a pipeline was compiled to."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._generation = 3 if options.chip in RDNA3 else 4
        self._freedoms = Freedoms(options.sums == "chained", options.functions == "low")
        self._programs: OrderedDict[Hashable, Program] = OrderedDict()
        self._used: OrderedDict[Hashable, Used] = OrderedDict()

    def execute(self, run: Run, made: Done, make: Compile) -> Done | Loss:
        """The memory after a run, or the reason why the run failed."""
        try:
            if run.opaque or run.conversions:
                raise Unsupported("matrices in layouts of the driver's own")
            ready, used = self.ready(run, made, make)
            sets = tuple(self._checked(run, parameters, ready, used) for parameters in run.sets)
        except Problem as problem:
            lacking = problem.every if isinstance(problem, Unsupported) else ()
            return Loss(problem.status, str(problem), made.messages, lacking=lacking)
        except Exception as e:  # noqa: BLE001 - a bug of ours must not end the run of other cases
            return Loss(Status.ERROR, f"amd: {type(e).__name__}: {e}", made.messages)
        return Done(made.id, sets, made.messages)

    def ready(self, run: Run, made: Done, make: Compile) -> tuple[Program, Used]:
        """The program, and what the module uses of its inputs. Raises Unsupported, which names all that is lacking."""
        lacking: list[Unsupported] = []
        try:
            used = self._used_by(run, made, make)
            arguments_of(run, made.listing, used)
        except Unsupported as problem:
            lacking.append(problem)
        try:
            ready = self._program(made.listing)
        except Unsupported as problem:
            lacking.insert(0, problem)
        if lacking:
            raise together(lacking)
        return ready, used

    def _run(
        self, run: Run, parameters: ParameterSet, ready: Program, used: Used, poison: int = POISON
    ) -> tuple[tuple[bytes | None, ...], Dispatch]:
        memory = memory_of(run, parameters)
        dispatch = Dispatch(ready, memory, self._options.max_steps, time.monotonic() + run.timeout, poison)
        return dispatched(run, parameters, used, dispatch), dispatch

    def _checked(self, run: Run, parameters: ParameterSet, ready: Program, used: Used) -> tuple[bytes | None, ...]:
        """The memory after a run that does nothing which the option `check` finds fault with. Raises Wrong."""
        after, dispatch = self._run(run, parameters, ready, used)
        if "beyond" in self._options.check and dispatch.beyond:
            raise Wrong("an access outside its descriptor", dispatch.beyond[0])
        if "uninitialised" in self._options.check:
            again, _ = self._run(run, parameters, ready, used, OTHER_POISON)
            if again != after:
                read = "; ".join(f"{name} at {where}" for name, where in dispatch.unwritten.items()) or "LDS"
                raise Wrong(f"what is stored depends on what nothing has written: {read}")
        return after

    def _used_by(self, run: Run, made: Done, make: Compile) -> Used:
        def find() -> Used:
            words = used_words(run, made.listing["Assembly"], make) if run.sets[0].push_constants else ([],)
            short = short_numbers(run.module) if self._generation == 3 else ()
            shader = interface(made.listing.get("NIR Shader(s)", ""), made.listing.get("ACO IR", ""))
            words = words if shader.fetches_computed else words[-1:]
            fitting = {tuple(a): u for w in reversed(words) if (a := _fitting(run, made, u := Used(w, short)))}
            if len(fitting) > 1:
                raise Unsupported(
                    "push constants of which it is not known which are used: as many registers hold either"
                )
            return next(iter(fitting.values()), Used(words[-1], short))

        return remember(self._used, (run.module, tuple(run.specialization.items())), find)

    def _program(self, texts: dict[str, str]) -> Program:
        if "Assembly" not in texts:
            raise Unsupported("what Mesa hands out no code of, such as a shader object")
        made = partial(program, texts, self._generation, self._freedoms, self._options.mutant)
        return remember(self._programs, tuple(texts.values()), made)


def _fitting(run: Run, made: Done, used: Used) -> list[int | Place] | None:
    """The registers of arguments if these words are used; None if there are others."""
    try:
        return arguments_of(run, made.listing, used)
    except Unsupported:
        return None


def arguments_of(run: Run, texts: dict[str, str], used: Used) -> list[int | Place]:
    """The registers of arguments; each word of the push constants is its number, and addresses are 0.

    Raises Unsupported where registers have other arguments than are known.
    """
    shader = interface(texts.get("NIR Shader(s)", ""), texts.get("ACO IR", ""))
    if any(b.kind.endswith("dynamic") for b in run.bindings):
        raise Unsupported("descriptors with dynamic offsets")
    sets = len({b.set for b in run.bindings})
    return arguments(shader, [0] * sets, Pushed({n: n for n in used.words}, 0), run.workgroups, used.short)


class AmdDriver(VulkanDriver):
    """Compiles on Mesa's RADV for a chip that need not be there, and runs the machine code."""

    name = "amd"

    def __init__(self, options: Options) -> None:
        """Raises HarnessTrouble where there is no RADV for the chip, BadInput for wrong options."""
        executor = Executor(options)
        remedy = f"Mesa's RADV and {SHIM} where the option `worker` leads: `cts docs amd`"
        try:
            super().__init__(options.vulkan(), executor)
        except HarnessTrouble as trouble:
            raise HarnessTrouble(trouble.code, trouble.what, trouble.where, remedy) from trouble
        self._executor, self._amd = executor, options
        self._others: list[AmdDriver] = []
        name = self.description.device.name
        if options.chip.upper() not in name.upper():
            self.close()
            what = f"the worker's RADV compiles for {name}, and not for {options.chip}"
            raise HarnessTrouble("no-device", what, "the Vulkan worker", remedy)

    def identity(self) -> str:
        """The compiler, and that it is its code that is run here."""
        return f"{super().identity()}, its code run by this suite"

    def leads(self, job: Job, is_right: Callable[[Outcome], bool]) -> tuple[str, ...]:
        """The line of the code that makes a case go wrong, in a sentence; () if nothing is sure."""
        try:
            lead = self.lead(job, is_right)
        except Exception:  # noqa: BLE001 - no second worker, or a bug of ours, must not end an explanation
            return ()
        return () if lead is None else (lead.why,)

    def lead(self, job: Job, is_right: Callable[[Outcome], bool]) -> Lead | None:
        """The same as data, found beside the code without ACO's optimisations, which must be right."""
        if self._amd.aco == "plain":
            return None
        mine, good = self._code(job), self._other_code(job)
        if mine is None or good is None:
            return None
        item, bad = mine

        def right(after: tuple[bytes | None, ...]) -> bool:
            return is_right(batches.outcome_of(item, 0, Done(item.number, (after,))))

        return found_beside(bad, good, right)

    def _other_code(self, job: Job) -> Code | None:
        """The code of a case that ACO makes without its optimisations; None if it cannot be run."""
        for number, options in enumerate(self._amd.others()):
            if number == len(self._others):
                self._others.append(AmdDriver(options))
            found = self._others[number]._code(job)
            if found is not None:
                return found[1]
        return None

    def _code(self, job: Job) -> tuple[batches.Item, Code] | None:
        """The code of a case; None if it cannot be run."""
        item = batches.Item(self.pool.number(), job.case, job.module())
        if self._examine(item) is not None:
            return None
        assert item.support is not None
        run = batches.request(item.number, [item], item.support, self._timeout(item.job), frozenset())
        run = batches.with_listing(run)
        made = self._made(run)
        if isinstance(made, Loss) or run.opaque or run.conversions:
            return None
        try:
            return item, Code(run, *self._executor.ready(run, made, self._made))
        except Problem:
            return None

    def close(self) -> None:
        for other in self._others:
            other.close()
        super().close()
