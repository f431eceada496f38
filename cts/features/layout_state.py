"""The settings of tensor layouts and views, as setters give them one after the other."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from cts.case.model import LayoutType, Operand, Setter, ViewType


@dataclass(frozen=True)
class Layout:
    """The settings of a layout or a view so far, by the fields of its setters.

    `block_then` is the block size when the dimensions were set.
    """

    type: LayoutType | ViewType
    dims: tuple[Operand, ...] = ()
    strides: tuple[Operand, ...] | None = None
    block_size: tuple[Operand, ...] = ()
    block_then: tuple[Operand, ...] = ()
    span: tuple[Operand, ...] = ()
    offset: tuple[Operand, ...] = ()
    value: Operand | None = None
    row_offset: Operand | None = None
    row_span: Operand | None = None
    col_offset: Operand | None = None
    col_span: Operand | None = None

    @property
    def spans(self) -> tuple[Operand, ...]:
        """Of a layout the spans of its slice, or its dimensions."""
        return self.span or (self.dims if isinstance(self.type, LayoutType) else ())

    @property
    def clamp_value(self) -> tuple[Operand, ...] | None:
        """The clamp value, if one is set."""
        return None if self.value is None else (self.value,)

    @property
    def clip(self) -> tuple[Operand, ...] | None:
        """All operands of the clip, in SPIR-V's order."""
        fields = (self.row_offset, self.row_span, self.col_offset, self.col_span)
        operands = tuple(operand for operand in fields if operand is not None)
        return operands or None

    def after(self, setter: Setter) -> Layout:
        """The settings after a setter."""
        changes = {**{name: _DEFAULTS[name] for name in setter.resets}, **setter.given}
        if "dims" in changes:
            changes["block_then"] = self.block_size
        return replace(self, **changes)


_DEFAULTS = {field.name: field.default for field in fields(Layout)}
