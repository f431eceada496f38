"""What a picture says of its cells, as arrays: read from the data attributes of the SVG."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Cell:
    """A cell that says more than a value: its data attributes, hover text and value."""

    data: dict[str, str]
    title: str
    text: str


def panels(svg: str) -> dict[str, list[Cell]]:
    """The cells of each panel of a picture of its own, by the panel's name."""
    root = ET.fromstring(svg)
    return {
        str(panel.get("data-panel")): [_cell(g) for g in panel.iter(f"{SVG}g") if g.get("data-at")]
        for panel in root.iter(f"{SVG}g")
        if panel.get("data-panel")
    }


def _cell(group: ET.Element) -> Cell:
    data = {name.removeprefix("data-"): value for name, value in group.attrib.items() if name.startswith("data-")}
    return Cell(data, group.findtext(f"{SVG}title") or "", group.findtext(f"{SVG}text") or "")


def mask(cells: list[Cell], name: str, value: str, shape: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    """Where an attribute of cells has a value, as an array of the coordinates that `at` gives."""
    found = np.zeros(shape, bool)
    for cell in cells:
        if cell.data.get(name) == value:
            found[tuple(map(int, cell.data["at"].split(",")))] = True
    return found


def sources(cells: list[Cell], shape: tuple[int, ...], extents: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """The row-major number of the memory element in each cell's `from`, in the shape of the matrix; -1 for none."""
    found = np.full(shape, -1, np.int64)
    for cell in cells:
        if "from" in cell.data:
            at = tuple(map(int, cell.data["at"].split(",")))
            found[at] = np.ravel_multi_index(tuple(map(int, cell.data["from"].split(","))), extents)
    return found


def sizes_of_text(svg: str) -> set[float]:
    """The sizes of fonts that the style of a picture names, in pixels."""
    style = ET.fromstring(svg).findtext(f"{SVG}style") or ""
    return {float(size) for size in re.findall(r"(\d+)px", style)}
