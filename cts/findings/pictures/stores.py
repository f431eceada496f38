"""Stores: the matrix, and the expected and actual destination memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from cts.case.model import initial_bits
from cts.case.oracle.expectation import Reach
from cts.findings.pictures import memory as memories
from cts.findings.pictures import work as works
from cts.findings.pictures.grid import NO_HUE, Grid, Ints, Mark, Mask, Scene, Texture, hues, names, short
from cts.findings.pictures.memory import NONE, Memory
from cts.judging.sentences import value_text


def stored(work: works.PictureInputs) -> Scene:
    """A store: the matrix, and the expected and actual destination memory."""
    reached, name = work.reached, work.result
    assert reached is not None and name is not None
    buffer = work.case.buffers[reached.buffer]
    matrix, instance, several = work.bits(name), work.instance, work.instances(name) > 1
    component = work.component(name)
    memory = memories.of_elements(work.case, reached, component, instance)
    texture = works.textures_of(work)
    rows = np.arange(matrix.shape[0])[:, None] + np.zeros(matrix.shape, np.int64)
    stored = reached.status[instance] == Reach.MEMORY
    hue = hues(np.full(matrix.shape, instance) if several else rows, stored)
    title = f"program[{work.index}] {work.op}: which element of {name} each element of {reached.buffer} holds"
    if memory is None:
        return work.scene(title, title, works.matrix_grid(work, "matrix", name, matrix, hue, texture=texture))
    location, _ = memories.owners(memory, reached.byte[instance], reached.status[instance])
    _, owner = memories.owners(memory, reached.byte, reached.status)
    size = matrix.size

    def matrix_title(row: int, col: int) -> str:
        title_text = f"{name}({row}, {col}): {value_text(component, int(matrix[row, col]))}"
        if location[row, col] != NONE:
            return (
                f"{title_text}, to {memory.name(int(location[row, col]))}, byte {int(reached.byte[instance, row, col])}"
            )
        return f"{title_text}; {works.how(texture[row, col])}: not stored"

    source = works.matrix_grid(
        work,
        "matrix",
        f"{name}, which is stored",
        matrix,
        hue,
        texture=texture,
        title_of=matrix_title,
        data={"to": works.places_of(memory, location)},
    )
    allowed = work.expectation.buffers[reached.buffer].exact.view(component.bits_dtype)
    before = initial_bits(buffer).view(np.uint8).view(component.bits_dtype)
    number = owner // size if several else owner % size // matrix.shape[1]
    memory_hue = np.where(owner == NONE, NO_HUE, hues(number, owner != NONE))
    pad = memories.padding(memory, reached, instance)
    memory_texture = np.where(pad & (owner == NONE), Texture.PADDING, Texture.PLAIN).astype(np.int64)

    def owner_text(at: int) -> str:
        if owner[at] == NONE:
            return "no store may change it"
        number, place = divmod(int(owner[at]), size)
        which = f" of instance {number}" if several else ""
        return f"holds {works.listed(name, [place], matrix.shape[1])}{which}"

    def memory_title(row: int, col: int) -> str:
        at = row * memory.cols + col
        if at >= memory.count:
            return ""
        return f"{memory.name(at)}, byte {memory.byte(at)}: {value_text(component, int(allowed[at]))}; {owner_text(at)}"

    def grid(key: str, heading: str, bits: Any, hue: Ints, mark: Ints, title_of: Any, text: Any = None) -> Grid:
        return Grid(
            key,
            heading,
            memory.grid(short(component, bits) if text is None else text, ""),
            memory.grid(hue, NO_HUE),
            memory.grid(memory_texture, Texture.PLAIN),
            memory.grid(mark, Mark.NONE),
            memory.row_names,
            names(memory.cols),
            title_of,
            works.memory_data(memory, np.where(owner == NONE, NONE, owner % size), matrix.shape[1]),
            memory.band,
        )

    nothing = np.zeros(memory.count, np.int64)
    expected_grid = grid("expected", f"memory {reached.buffer}, expected", allowed, memory_hue, nothing, memory_title)
    actual_memory = None
    title_text = title
    if work.driver:
        actual, wrong = _in_memory(work, memory, allowed)
        held = np.where(wrong, memories.only_place_of(matrix.ravel(), actual), NONE)
        untouched = wrong & (actual == before)
        mark = np.where(untouched, Mark.UNTOUCHED, np.where(wrong, Mark.WRONG, Mark.NONE)).astype(np.int64)

        def actual_title(row: int, col: int) -> str:
            at = row * memory.cols + col
            if at >= memory.count or not wrong[at]:
                return memory_title(row, col)
            title_text = (
                f"{memory.name(at)}, byte {memory.byte(at)}: expected {value_text(component, int(allowed[at]))}"
            )
            title_text += f", actual {value_text(component, int(actual[at]))}; {owner_text(at)}"
            if untouched[at]:
                return title_text + "; it holds its old value"
            return title_text + (
                f"; it has {works.listed(name, [int(held[at])], matrix.shape[1])}" if held[at] != NONE else ""
            )

        held_row = np.full(memory.count, instance) if several else held // matrix.shape[1]
        actual_hue = np.where(wrong, hues(held_row, held != NONE), memory_hue)
        text = works.distinct(component, allowed, actual, wrong)
        heading = f"memory {reached.buffer}, actual"
        actual_memory = grid("actual", heading, actual, actual_hue, mark, actual_title, text)
        title_text += f"; {int(wrong.sum())} elements of {reached.buffer} are wrong"
    shown = work.scene(title, title_text, source, expected_grid, actual_memory)
    if several and "hue" in shown.legend:
        shown.legend["hue"] = "colour: the instance"  # type: ignore[index]
    return shown


def remembered(work: works.PictureInputs) -> Scene | None:
    """Expected and actual memory, if no matrix shows more; beside the values that an instruction adds."""
    if not work.observed.memory:
        return None
    name = next(iter(work.observed.memory))
    buffer = work.case.buffers[name]
    memory = memories.of_buffer(name, buffer)
    allowed = work.expectation.buffers[name].exact.view(buffer.type.bits_dtype)
    actual, wrong = _in_memory(work, memory, allowed)
    untouched = wrong & (actual == memory.bits)
    mark = np.where(untouched, Mark.UNTOUCHED, np.where(wrong, Mark.WRONG, Mark.NONE)).astype(np.int64)
    nothing = np.zeros(memory.count, np.int64)
    nobody = np.full(memory.count, NONE, np.int64)

    def grid(key: str, heading: str, bits: Any, mark: Ints, text: Any) -> Grid:
        def title_of(row: int, col: int) -> str:
            at = row * memory.cols + col
            if at >= memory.count:
                return ""
            title_text = (
                f"{memory.name(at)}, byte {memory.byte(at)}: expected {value_text(buffer.type, int(allowed[at]))}"
            )
            return f"{title_text}, actual {value_text(buffer.type, int(bits[at]))}" if wrong[at] else title_text

        return Grid(
            key,
            heading,
            memory.grid(text, ""),
            memory.grid(nobody, NO_HUE),
            memory.grid(nothing, Texture.PLAIN),
            memory.grid(mark, Mark.NONE),
            memory.row_names,
            names(memory.cols),
            title_of,
            works.memory_data(memory, nobody, 1),
            memory.band,
        )

    expected_grid = grid("expected", f"memory {name}, expected", allowed, nothing, short(buffer.type, allowed))
    text = works.distinct(buffer.type, allowed, actual, wrong)
    actual_grid = grid("actual", f"memory {name}, actual", actual, mark, text)
    who = f"program[{work.index}] {work.op}: " if work.index is not None else ""
    title_text = f"{who}memory {name}"
    return work.scene(title_text, f"{title_text}; {int(wrong.sum())} elements are wrong", expected_grid, actual_grid)


def _in_memory(work: works.PictureInputs, memory: Memory, allowed: Any) -> tuple[Any, Mask]:
    """The actual elements of memory and which are wrong, as far as they are known."""
    actual = allowed.copy()
    wrong: Mask = np.zeros(memory.count, bool)
    buffer = work.case.buffers[memory.buffer]
    if memory.buffer in work.observed.memory:
        elements, bits = work.observed.memory[memory.buffer]
        flat = np.ascontiguousarray(actual).view(np.uint8).view(buffer.type.bits_dtype)
        changed = np.zeros(len(flat), bool)
        flat[elements], changed[elements] = bits.astype(np.uint64).astype(flat.dtype), True
        actual = flat.view(np.uint8).view(memory.component.bits_dtype)
        wrong |= np.repeat(changed, buffer.type.size).reshape(memory.count, -1).any(axis=1)
    return actual, wrong
