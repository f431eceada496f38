"""A program under construction: fresh names, emitted instructions, and the layouts later ones can start from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cts.case import model
from cts.generators.build import layouts as lay
from cts.generators.build import views as vw
from cts.generators.build.layout_plans import LayoutPlan
from cts.generators.build.operands import Constness, Varying


@dataclass(frozen=True)
class Named:
    """A layout in the program: its id and its state."""

    id: str
    state: lay.LayoutState


class Program:
    """Collects instructions in SSA form."""

    def __init__(self, constness: Constness) -> None:
        self.constness = constness
        self.instructions: list[model.AnyInstruction] = []
        self.layouts: list[Named] = []
        #: How many of these there were before each block that is open.
        self._outside: list[int] = []
        self._taken: dict[str, int] = {}

    def name(self, prefix: str) -> str:
        """A fresh id: `t`, `t1`, `t2`, ..."""
        number = self._taken.get(prefix, 0)
        self._taken[prefix] = number + 1
        return f"{prefix}{number or ''}"

    @property
    def in_block(self) -> bool:
        """Whether what is emitted next stands in a loop, condition or switch."""
        return bool(self._outside)

    def emit(self, instruction: model.AnyInstruction) -> None:
        """One more instruction; layouts of a block, or a branch, are not seen behind it."""
        self.instructions.append(instruction)
        if isinstance(instruction, model.BlockStart):
            self._outside.append(len(self.layouts))
        elif isinstance(instruction, model.BranchStart | model.Else | model.BlockEnd):
            del self.layouts[self._outside[-1] :]
        if isinstance(instruction, model.BlockEnd):
            self._outside.pop()

    def begin_loop(self, count: model.Operand, carried: Iterable[tuple[str, str]] = ()) -> None:
        """A loop of so many iterations; `carried` are the ids in it, each with that of its first value."""
        self.emit(model.Loop(count=count, carry=tuple(model.Carry(id=name, init=init) for name, init in carried)))

    def end_loop(self, following: Iterable[str] = ()) -> None:
        """The end of an iteration, with what is carried into the following one."""
        self.emit(model.EndLoop(next=tuple(following)))

    def leave(
        self, kind: type[model.Break | model.Continue], condition: model.Operand, following: Iterable[str] = ()
    ) -> None:
        """A Break or Continue, with what is carried on from there."""
        self.emit(kind(condition=condition, next=tuple(following)))

    def begin_if(self, condition: model.Operand) -> None:
        """The first branch of a condition."""
        self.emit(model.If(condition=condition))

    def begin_else(self) -> None:
        """The second branch of a condition."""
        self.emit(model.Else())

    def end_if(self, *merged: tuple[str, str, str]) -> None:
        """The end of a condition: ids of either branch's value, then of each branch's."""
        self.emit(
            model.EndIf(merge=tuple(model.Merge(id=name, then=then, otherwise=other) for name, then, other in merged))
        )

    def begin_switch(self, selector: model.Operand) -> None:
        """A switch, before its first branch."""
        self.emit(model.Switch(selector=selector))

    def begin_branch(self, literals: tuple[int, ...] = ()) -> None:
        """A branch of a switch, for some values of the selector or, without any, for all others."""
        self.emit(model.Branch(literals=literals) if literals else model.Default())

    def end_switch(self, name: str | None = None, branches: Iterable[str] = (), default: str = "") -> None:
        """The end of a switch: the id of what it gives, if anything, then of each branch's value, and the default's."""
        merge = () if name is None else (model.SwitchMerge(id=name, branches=tuple(branches), default=default),)
        self.emit(model.EndSwitch(merge=merge))

    def barrier(self, scope: model.Scope = model.Scope.Workgroup) -> None:
        """What the scope's invocations accessed before is visible to them behind it (TA-044)."""
        self.emit(model.ControlBarrier(scope=scope))

    def keep_only(self, first: int) -> None:
        """Drop the instructions before index `first` but for the layouts that later ones start from."""
        needed = {getattr(i, "of", "") for i in self.instructions[first:]}
        kept = self.instructions[first:]
        for instruction in reversed(self.instructions[:first]):
            if getattr(instruction, "id", None) in needed:
                kept.insert(0, instruction)
                needed.add(getattr(instruction, "of", ""))
        self.instructions = kept

    def create_layout(self, dim: int, clamp: model.ClampMode) -> Named:
        """TA-012."""
        name = self.name("t")
        written_dim, written_clamp = self.constness.dim_and_clamp(dim, clamp)
        self.emit(model.TensorLayout(id=name, dim=written_dim, clamp=written_clamp))
        return Named(name, lay.LayoutState.fresh(dim, clamp))

    def place_layout(self, start: Named, plan: LayoutPlan) -> str:
        """Emit a plan's steps; the id of the layout it leads to."""
        current = start
        for step in plan.steps:
            current = Named(self._layout_step(current.id, step), current.state.after(step))
            if plan.reusable:
                self.layouts.append(current)
        if plan.dead is not None:
            self._layout_step(current.id, plan.dead)
        return current.id

    def _layout_step(self, source: str, step: lay.Step) -> str:
        name, scalars = self.name("t"), self.constness.scalars
        match step:
            case lay.SetBlockSize(block):
                self.emit(model.TensorLayoutSetBlockSize(id=name, of=source, block_size=scalars(block)))
            case lay.SetDimension(dims):
                self.emit(model.TensorLayoutSetDimension(id=name, of=source, dims=scalars(dims)))
            case lay.SetStride(strides):
                self.emit(model.TensorLayoutSetStride(id=name, of=source, strides=scalars(strides)))
            case lay.Slice(offset, span):
                both = scalars([*offset, *span])
                self.emit(
                    model.TensorLayoutSlice(id=name, of=source, offset=both[: len(offset)], span=both[len(offset) :])
                )
            case lay.SetClampValue(value):
                self.emit(model.TensorLayoutSetClampValue(id=name, of=source, value=scalars([value])[0]))
        return name

    def place_view(self, plan: vw.ViewPlan) -> str:
        """Emit a view; its id."""
        name = self.name("v")
        dim, has_dimensions, permutation = self.constness.view_type(plan.has_dimensions, plan.permutation)
        self.emit(model.TensorView(id=name, dim=dim, has_dimensions=has_dimensions, permutation=permutation))
        for step in plan.steps:
            name = self._view_step(name, step)
        if plan.dead is not None:
            self._view_step(name, plan.dead)
        return name

    def _view_step(self, source: str, step: vw.ViewStep) -> str:
        name, scalars = self.name("v"), self.constness.scalars
        match step:
            case vw.SetDimension(dims):
                self.emit(model.TensorViewSetDimension(id=name, of=source, dims=scalars(dims)))
            case vw.SetStride(strides):
                self.emit(model.TensorViewSetStride(id=name, of=source, strides=scalars(strides)))
            case vw.SetClip(row_offset, row_span, col_offset, col_span):
                a, b, c, d = scalars([row_offset, row_span, col_offset, col_span])
                self.emit(
                    model.TensorViewSetClip(id=name, of=source, row_offset=a, row_span=b, col_offset=c, col_span=d)
                )
        return name

    def tensor(self, dims: Sequence[Varying | int], clamp: model.ClampMode) -> str:
        """A layout of a dense tensor; its id."""
        written_dim, written_clamp = self.constness.dim_and_clamp(len(dims), clamp)
        start, name = self.name("t"), self.name("t")
        self.emit(model.TensorLayout(id=start, dim=written_dim, clamp=written_clamp))
        self.emit(model.TensorLayoutSetDimension(id=name, of=start, dims=self.constness.scalars(dims)))
        return name

    def sliced(self, of: str, offset: Sequence[Varying | int], span: Sequence[int]) -> str:
        """A slice of a layout; its id."""
        both = self.constness.scalars([*offset, *span])
        name = self.name("t")
        self.emit(model.TensorLayoutSlice(id=name, of=of, offset=both[: len(offset)], span=both[len(offset) :]))
        return name

    def reusable_layout(self, dim: int, clamp: model.ClampMode, back: int, store: bool) -> Named | None:
        """A layout of this type that another may start from, `back` before the last; blocks are for loads (TA-068)."""
        usable = [
            n
            for n in self.layouts
            if (n.state.dim, n.state.clamp) == (dim, clamp) and not (store and max(n.state.block) > 1)
        ]
        return usable[-1 - back % len(usable)] if usable else None
