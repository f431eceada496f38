"""Loads: source memory by the row of the matrix that each element belongs to, and what was read instead."""

from __future__ import annotations

import numpy as np

from cts.case.model import Store
from cts.findings.pictures import memory as memories
from cts.findings.pictures import work as works
from cts.findings.pictures.combined import multiplied
from cts.findings.pictures.grid import NO_HUE, Grid, Ints, Mark, Mask, Scene, Texture, hues, names, short
from cts.findings.pictures.memory import NONE, Memory
from cts.judging.sentences import value_text

#: How far the colours of neighbouring instances are from each other.
INSTANCE_HUES = 5


def loaded(work: works.PictureInputs) -> Scene | None:
    """A load: source memory, the expected matrix, and the driver's matrix."""
    reached, name, observed = work.reached, work.result, work.observed
    assert reached is not None and name is not None
    of_product = reached.byte.shape[1:] != work.bits(name).shape
    component = work.case.buffers[reached.buffer].type if of_product else work.component(name)
    memory = memories.of_elements(work.case, reached, component, work.instance)
    if memory is None:
        return None
    if of_product:
        return multiplied(work, memory)
    instance = work.instance
    status = reached.status[instance]
    expected = work.bits(name)
    location, owner = memories.owners(memory, reached.byte[instance], status)
    texture = works.textures_of(work)
    row_of = np.arange(expected.shape[0])[:, None] + np.zeros(expected.shape, np.int64)
    in_memory = location != NONE
    wrong = observed.wrong(expected.shape) if work.driver else np.zeros(expected.shape, bool)
    actual = observed.values(expected) if work.driver else expected
    taken = np.where(wrong, memories.only_place_of(memory.bits, actual), location)
    idle = wrong & ~in_memory
    if idle.sum() > 1 and not actual[idle].any():
        # Zeros alone, where nothing is to be read, were most likely not read either.
        taken = np.where(idle, NONE, taken)
    instead = np.zeros(memory.count, bool)
    instead[taken[wrong & (taken != NONE) & (taken != location)]] = True
    missed = _missed(memory, location, wrong)
    source_mark = np.where(instead, Mark.READ_INSTEAD, np.where(missed, Mark.MISSED, Mark.NONE)).astype(np.int64)
    source_hue = np.where(owner == NONE, NO_HUE, hues(owner // expected.shape[1], owner != NONE))
    elements = works.elements_of(memory.count, location)
    takers = works.elements_of(memory.count, np.where(wrong, taken, NONE))

    def source_title(row: int, col: int) -> str:
        at = row * memory.cols + col
        if at >= memory.count:
            return ""
        lines = [f"{memory.name(at)}, byte {memory.byte(at)}: {value_text(component, int(memory.bits[at]))}"]
        if elements.get(at):
            lines.append(f"belongs to {works.listed(name, elements[at], expected.shape[1])}")
        if takers.get(at):
            lines.append(f"the driver has it in {works.listed(name, takers[at], expected.shape[1])}")
        return "\n".join(lines)

    pad = memories.padding(memory, reached, instance)
    source = Grid(
        "source",
        f"memory {reached.buffer}: which row of {name} each element belongs to",
        memory.grid(short(component, memory.bits), ""),
        memory.grid(source_hue, NO_HUE),
        memory.grid(np.where(pad, Texture.PADDING, Texture.PLAIN).astype(np.int64), Texture.PLAIN),
        memory.grid(source_mark, Mark.NONE),
        memory.row_names,
        names(memory.cols),
        source_title,
        works.memory_data(memory, owner, expected.shape[1]),
        memory.band,
    )

    def expected_title(row: int, col: int) -> str:
        text = f"{name}({row}, {col}): {work.allowed(row, col)}"
        if in_memory[row, col]:
            text += f", from {memory.name(int(location[row, col]))}, byte {int(reached.byte[instance, row, col])}"
        return text + (f"; {works.how(texture[row, col])}" if texture[row, col] else "")

    def actual_title(row: int, col: int) -> str:
        if not wrong[row, col]:
            return expected_title(row, col)
        text = f"{name}({row}, {col}): expected {work.allowed(row, col)}"
        text += f" from {memory.name(int(location[row, col]))}" if in_memory[row, col] else ""
        text += f", actual {value_text(component, int(actual[row, col]))}"
        if taken[row, col] != NONE:
            text += f", the value of {memory.name(int(taken[row, col]))}"
        return text + work.steps_title(row, col)

    own_hue = hues(row_of, in_memory)
    from_owner = np.where(taken == NONE, NONE, owner[np.maximum(taken, 0)])
    actual_hue = np.where(from_owner == NONE, NO_HUE, hues(from_owner // expected.shape[1], from_owner != NONE))
    places = works.places_of(memory, location)
    title = f"{name}, expected"
    expected_grid = works.matrix_grid(
        work, "expected", title, expected, own_hue, texture=texture, title_of=expected_title, data={"from": places}
    )
    if any(_stores_to(work, n, reached.buffer) for n in range(work.index or 0)):
        work.notes.append(f"{reached.buffer} is shown as it is before the program, which stores to it")
    described = f"program[{work.index}] {work.op}: which element of {reached.buffer} each element of {name} is"
    if not work.driver:
        return work.scene(described, described, source, expected_grid, _by_instance(work, memory))
    mark = np.where(wrong, Mark.WRONG, Mark.NONE).astype(np.int64)
    actual_grid = works.matrix_grid(
        work,
        "actual",
        f"{name}, actual",
        actual,
        np.where(wrong, actual_hue, own_hue),
        texture=np.where(wrong, Texture.PLAIN, texture),
        mark=mark,
        text=works.distinct(component, expected, actual, wrong),
        title_of=actual_title,
        data={"from": works.places_of(memory, taken)},
    )
    if wrong.any() and not instead.any():
        work.notes.append(f"the values do not tell which elements of {reached.buffer} the driver read")
    text = f"{described}; {int(wrong.sum())} of {wrong.size} elements are wrong"
    if instead.any():
        text += f"; the framed elements of {reached.buffer} were read instead"
    return work.scene(described, text, source, expected_grid, actual_grid)


def decoded(work: works.PictureInputs) -> Scene:
    """A load with a decode function: which block each element is of, and where in the block it is."""
    reached, name = work.reached, work.result
    assert reached is not None and name is not None and reached.tensor is not None
    tensor = reached.tensor
    assert tensor.block is not None and tensor.within is not None
    component, instance, expected = work.component(name), work.instance, work.bits(name)
    memory = memories.of_blocks(work.case, reached, component, instance)
    location, owner = memories.owners(memory, reached.byte[instance], reached.status[instance])
    texture = works.textures_of(work)
    in_memory = location != NONE
    wrong = work.observed.wrong(expected.shape) if work.driver else np.zeros(expected.shape, bool)
    actual = work.observed.values(expected) if work.driver else expected
    # A decoded value is in no location; but it may be the right one of just one other element.
    other = np.where(wrong, memories.only_place_of(expected.ravel(), actual), NONE)
    taken = np.where(wrong, np.where(other == NONE, NONE, location.ravel()[other]), location)
    instead = np.zeros(memory.count, bool)
    instead[taken[wrong & (taken != NONE) & (taken != location)]] = True
    mark = np.where(instead, Mark.READ_INSTEAD, Mark.NONE).astype(np.int64)
    within = tensor.within[:, instance]
    block = tensor.block[:, instance]
    elements = works.elements_of(memory.count, location)

    def source_title(row: int, col: int) -> str:
        at = row * memory.cols + col
        if at >= memory.count:
            return ""
        text = f"block {at} of {reached.buffer}, bytes {memory.byte(at)} to {memory.byte(at) + memory.size - 1}"
        if elements.get(at):
            text += f"\nbelongs to {works.listed(name, elements[at], expected.shape[1])}"
        return text

    def element(row: int, col: int) -> str:
        text = f"{name}({row}, {col})"
        if in_memory[row, col]:
            where = ", ".join(str(int(n)) for n in within[:, row, col])
            blocks = ", ".join(str(int(n)) for n in block[:, row, col])
            text += f": element ({where}) of block ({blocks}), at byte {int(reached.byte[instance, row, col])}"
        return text + (f"; {works.how(texture[row, col])}" if texture[row, col] else "")

    def expected_title(row: int, col: int) -> str:
        return f"{element(row, col)}; {work.allowed(row, col)}"

    def actual_title(row: int, col: int) -> str:
        if not wrong[row, col]:
            return expected_title(row, col)
        text = f"{expected_title(row, col)} expected, actual {value_text(component, int(actual[row, col]))}"
        if other[row, col] != NONE:
            place = divmod(int(other[row, col]), expected.shape[1])
            text += f", which is right for {place}"
        return text + work.steps_title(row, col)

    texts = np.arange(memory.count).astype(str)
    source = Grid(
        "source",
        f"the blocks of {reached.buffer}, {memory.size} bytes each",
        memory.grid(texts, ""),
        memory.grid(np.where(owner == NONE, NO_HUE, hues(np.arange(memory.count), owner != NONE)), NO_HUE),
        np.zeros((memory.rows, memory.cols), np.int64),
        memory.grid(mark, Mark.NONE),
        memory.row_names,
        names(memory.cols),
        source_title,
        works.memory_data(memory, owner, expected.shape[1]),
    )
    hue = np.where(in_memory, hues(location, in_memory), NO_HUE)
    places = works.places_of(memory, location)
    inside = np.array(
        [",".join(map(str, p)) for p in within.reshape(len(within), -1).T.tolist()], dtype=np.str_
    ).reshape(expected.shape)  # fmt: skip
    inside = np.where(in_memory, inside, "")
    title = f"program[{work.index}] {work.op}: which block of {reached.buffer} each element of {name} is decoded from"
    where_grid = works.matrix_grid(
        work,
        "within",
        "which element within its block",
        expected,
        hue,
        texture=texture,
        text=inside,
        title_of=lambda r, c: element(r, c),
        data={"from": places, "within": inside},
    )
    expected_grid = works.matrix_grid(
        work,
        "expected",
        f"{name}, expected",
        expected,
        hue,
        texture=texture,
        title_of=expected_title,
        data={"from": places},
    )
    actual_grid = None
    if work.driver:
        actual_grid = works.matrix_grid(
            work,
            "actual",
            f"{name}, actual",
            actual,
            np.where(taken == NONE, NO_HUE, hues(taken, taken != NONE)),
            texture=np.where(wrong, Texture.PLAIN, texture),
            mark=np.where(wrong, Mark.WRONG, Mark.NONE).astype(np.int64),
            text=works.distinct(component, expected, actual, wrong),
            title_of=actual_title,
            data={"from": works.places_of(memory, taken)},
        )
    found = work.scene(title, title, source, where_grid, expected_grid, actual_grid)
    found.legend["hue"] = "colour: the block"  # type: ignore[index]
    return found


def _stores_to(work: works.PictureInputs, number: int, buffer: str) -> bool:
    stores = isinstance(work.case.program[number], Store)
    reached = work.oracle.reached(work.case, number) if stores else None
    return reached is not None and reached.buffer == buffer


def _missed(memory: Memory, location: Ints, wrong: Mask) -> Mask:
    """Locations all of whose elements are wrong."""
    own = np.zeros(memory.count, np.int64)
    bad = np.zeros(memory.count, np.int64)
    located = location != NONE
    np.add.at(own, location[located], 1)
    np.add.at(bad, location[located & wrong], 1)
    missed: Mask = (own > 0) & (own == bad)
    return missed


def _by_instance(work: works.PictureInputs, memory: Memory) -> Grid | None:
    """Which instance each element of memory belongs to, where several go to different ones."""
    reached = work.reached
    assert reached is not None and work.result is not None
    if len(reached.byte) < 2 or (reached.byte == reached.byte[:1]).all():
        return None
    _, owner = memories.owners(memory, reached.byte, reached.status)
    number = np.where(owner == NONE, NONE, owner // work.bits(work.result).size)

    def title_of(row: int, col: int) -> str:
        at = row * memory.cols + col
        if at >= memory.count:
            return ""
        return memory.name(at) + (f": instance {number[at]}" if number[at] != NONE else ": no instance")

    texts = np.where(number == NONE, "", number.astype(str))
    return Grid(
        "instances",
        f"memory {reached.buffer}: which instance reads each element",
        memory.grid(texts, ""),
        memory.grid(hues(INSTANCE_HUES * number, number != NONE), NO_HUE),
        np.zeros((memory.rows, memory.cols), np.int64),
        np.zeros((memory.rows, memory.cols), np.int64),
        memory.row_names,
        names(memory.cols),
        title_of,
        band=memory.band,
    )
