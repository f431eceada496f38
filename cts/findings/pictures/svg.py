"""Pictures as SVG: text of 12 pixels and more at its natural size, light and dark, nothing told by colour alone."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

import numpy as np

from cts.findings.pictures.grid import HUES, NO_HUE, Grid, Ints, Limits, Mark, Scene, Texture, drawn_part
from cts.findings.pictures.names import MARK_NAMES, MEANINGS, TEXTURE_NAMES

#: The height of a cell, the advance of a character of 12 pixels, and the least width of a cell, in pixels.
HIGH, ADVANCE, LEAST = 22, 7.3, 24

#: The most that a character of a title (600 14 px) and of a note (12 px) takes on average, in pixels, in the widest
#: fonts of an interface, so that no title is cut off.
TITLE_ADVANCE, NOTE_ADVANCE = 9.6, 7.6

#: Between bands of rows and where some are left out, above the first row of cells, and between panels.
BAND, HEAD, GAP = 10, 42, 28

#: The widest that panels are drawn beside each other.
WIDEST = 980

_FONT = "ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace"


def _colours(saturation: int, lightness: int) -> str:
    # Neighbours are far from each other on the circle of hues, and the order repeats none.
    return " ".join(f"--h{n}:hsl({n * 360 // HUES} {saturation}% {lightness}%);" for n in range(HUES))


LIGHT = (
    f"--paper:#ffffff;--ink:#1b1f24;--faint:#4d5661;--rule:#c9ced6;--cell:#f1f2f4;--bad:#a3120b;--took:#0b4fa0;"
    f"{_colours(75, 82)}"
)
DARK = (
    f"--paper:#14171b;--ink:#f0f2f4;--faint:#a9b1bb;--rule:#3b434d;--cell:#22272e;--bad:#ff9d94;--took:#8cc4ff;"
    f"{_colours(38, 26)}"
)

#: What every picture needs; a page has it once.
RULES = (
    f".picture text{{font:12px {_FONT};fill:var(--ink)}}"
    ".picture .v{text-anchor:middle}.picture .n{fill:var(--faint);text-anchor:middle}"
    ".picture .r{fill:var(--faint);text-anchor:end}.picture .t{font:600 14px system-ui,sans-serif}"
    ".picture .o{font:12px system-ui,sans-serif;fill:var(--faint)}"
    ".picture .g{fill:var(--cell)}.picture .b{font-weight:700}"
    ".picture .x{fill:none;stroke:var(--ink);stroke-opacity:.55}"
    ".picture .l{fill:none;stroke:var(--paper)}"
    ".picture .f{fill:none;stroke-width:2.5}"
    ".picture .f-wrong,.picture .f-untouched{stroke:var(--bad)}"
    ".picture .f-instead,.picture .f-focus{stroke:var(--took)}"
    ".picture .f-missed{stroke:var(--ink)}"
    ".picture .f-missed{stroke-dasharray:3 3;stroke-width:2}.picture .f-untouched{stroke-dasharray:6 3}"
    ".picture .f-focus{stroke-width:3.5}" + "".join(f".picture .h{n}{{fill:var(--h{n})}}" for n in range(HUES))
)

STYLE = f".picture{{{LIGHT}}}@media(prefers-color-scheme:dark){{.picture{{{DARK}}}}}{RULES}"


def panels(scene: Scene, limits: Limits) -> list[str]:
    """Each panel as an SVG of its own, for a page that has STYLE and puts them beside or below each other."""
    drawn = []
    for grid in scene.grids:
        panel = _Panel(grid, limits)
        label = escape(f"{grid.title}. {panel.said}", quote=True)
        size = f'width="{panel.width:g}" height="{panel.height:g}" viewBox="0 0 {panel.width:g} {panel.height:g}"'
        drawn.append(
            f'<svg class="picture" role="img" aria-label="{label}" data-panel="{grid.key}" {size}>'
            f"{''.join(panel.content())}</svg>"
        )
    return drawn


def legend(scene: Scene) -> list[tuple[str, str]]:
    """For each entry of the legend a small SVG, for a page that has STYLE, and its text."""
    return [(_swatch(name), text) for name, text in scene.legend.items()]


def standalone(scene: Scene, limits: Limits) -> str:
    """The whole picture as one SVG file: title, panels, legend and notes."""
    drawn = [(grid, _Panel(grid, limits)) for grid in scene.grids]
    placed, x, y, high, wide = [], 0.0, 34.0, 0.0, 480.0
    for grid, panel in drawn:
        if x and x + panel.width > WIDEST:
            x, y, high = 0.0, y + high + GAP, 0.0
        placed.append((grid, panel, x, y))
        wide, high, x = max(wide, x + panel.width), max(high, panel.height), x + panel.width + GAP
    y += high + 16
    lines: list[str] = []
    x = 0.0
    for name, text in scene.legend.items():
        advance = 34 + ADVANCE * len(text) + 20
        if x and x + advance > wide:
            x, y = 0.0, y + 26
        lines.append(
            f'<g transform="translate({x:g} {y:g})">{_mark_of(name)}<text x="34" y="16">{escape(text)}</text></g>'
        )
        wide, x = max(wide, x + advance), x + advance
    y += 26 if scene.legend else 0
    for note in scene.notes:
        y += 20
        lines.append(f'<text class="o" x="0" y="{y:g}">{escape(note)}</text>')
        wide = max(wide, 6.6 * len(note))
    wide = max(wide, TITLE_ADVANCE * len(scene.title))
    margin = 16
    box = f"{-margin} {-margin} {wide + 2 * margin:g} {y + 12 + 2 * margin:g}"
    size = f'width="{wide + 2 * margin:g}" height="{y + 12 + 2 * margin:g}"'
    body = "".join(
        f'<g data-panel="{grid.key}" transform="translate({x:g} {y:g})">{"".join(panel.content())}</g>'
        for grid, panel, x, y in placed
    )
    description = " ".join(f"{grid.title}: {panel.said}" for grid, panel in drawn)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="picture" role="img" aria-labelledby="title desc" {size} '
        f'viewBox="{box}"><title id="title">{escape(scene.title)}</title>'
        f'<desc id="desc">{escape(scene.description)}. {escape(description)}</desc><style>{STYLE}</style>'
        f'<rect x="{-margin}" y="{-margin}" width="100%" height="100%" style="fill:var(--paper)"/>'
        f'<text class="t" x="0" y="14">{escape(scene.title)}</text>{body}{"".join(lines)}</svg>\n'
    )


class _Panel:
    """A grid with its rows and columns of pixels."""

    def __init__(self, grid: Grid, limits: Limits) -> None:
        self.grid, self.limits = grid, limits
        self.rows, self.cols, self.note = drawn_part(grid, limits)
        shown = grid.text[np.ix_(self.rows, self.cols)]
        longest = int(np.char.str_len(shown).max()) if shown.size else 1
        named = max((len(grid.col_names[c]) for c in self.cols.tolist()), default=1)
        self.cell = max(LEAST, round(ADVANCE * max(longest, named) + 8))
        self.left = round(ADVANCE * max((len(grid.row_names[r]) for r in self.rows.tolist()), default=1) + 8)
        self.y = self._tops()
        self.x = self._lefts()
        bottom = (float(self.y[-1]) if len(self.y) else HEAD) + HIGH
        right = self._x(len(self.cols) - 1) + self.cell if len(self.cols) else self.left
        self.width = max(right + 2, TITLE_ADVANCE * len(grid.title), NOTE_ADVANCE * len(self.note))
        self.height = bottom + (22 if self.note else 4)

    def _tops(self) -> Ints:
        """The upper side of each row: with a gap before a new band, and where rows are left out."""
        if not len(self.rows):
            return self.rows
        gaps = np.diff(self.rows, prepend=self.rows[0] - 1) > 1
        if self.grid.band:
            bands = self.rows // self.grid.band
            gaps |= np.diff(bands, prepend=bands[0]) > 0
        tops: Ints = HEAD + HIGH * np.arange(len(self.rows)) + BAND * np.cumsum(gaps)
        return tops

    def _lefts(self) -> Ints:
        """The left side of each column: with a gap where columns are left out."""
        if not len(self.cols):
            return self.cols
        gaps = np.diff(self.cols, prepend=self.cols[0] - 1) > 1
        lefts: Ints = self.left + self.cell * np.arange(len(self.cols)) + BAND * np.cumsum(gaps)
        return lefts

    @property
    def said(self) -> str:
        """The description for screen readers."""
        grid = self.grid
        rows, cols = grid.text.shape
        parts = [f"{rows} rows of {cols}"]
        for codes, values in ((MARK_NAMES, grid.mark), (TEXTURE_NAMES, grid.texture)):
            for code, name in codes.items():
                count = int((values == code).sum())
                if count:
                    parts.append(f"{count}: {MEANINGS[name]}")
        return "; ".join(parts) + (f"; {self.note}." if self.note else ".")

    def content(self) -> Iterator[str]:
        """Everything of the panel, from its own origin."""
        grid = self.grid
        yield f'<text class="t" x="0" y="14">{escape(grid.title)}</text>'
        for n, col in enumerate(self.cols.tolist()):
            yield f'<text class="n" x="{self._x(n) + self.cell / 2:g}" y="{HEAD - 6}">{grid.col_names[col]}</text>'
        if not len(self.rows):
            return
        for n, row in enumerate(self.rows.tolist()):
            yield f'<text class="r" x="{self.left - 6}" y="{self.y[n] + 15}">{grid.row_names[row]}</text>'
        shown = np.ix_(self.rows, self.cols)
        telling, text = grid.telling[shown], grid.text[shown]
        plain = (~telling) & (text != "")
        yield self._boxes(plain)
        for i, row in enumerate(self.rows.tolist()):
            for j, col in enumerate(self.cols.tolist()):
                if text[i, j] or telling[i, j]:
                    yield self._cell(i, j, row, col, told=bool(telling[i, j]))
        yield from self._textures(grid.texture[shown])
        yield from self._frames(grid.mark[shown])
        if self.note:
            yield f'<text class="o" x="0" y="{self.height - 4:g}">{escape(self.note)}</text>'

    def _x(self, n: int) -> int:
        return int(self.x[n])

    def _boxes(self, cells: np.ndarray) -> str:
        """Stretches of cells that say nothing but a value, as one path."""
        parts = []
        for i, line in enumerate(cells.tolist()):
            start = None
            for j, here in enumerate([*line, False]):
                if here and start is None:
                    start = j
                elif not here and start is not None:
                    parts.append(
                        f"M{self._x(start)} {self.y[i]}h{(j - start) * self.cell - 1}v{HIGH - 1}H{self._x(start)}z"
                    )
                    start = None
        return f'<path class="g" d="{"".join(parts)}"/>' if parts else ""

    def _cell(self, i: int, j: int, row: int, col: int, *, told: bool) -> str:
        grid, x, y = self.grid, self._x(j), int(self.y[i])
        hue, mark, texture = int(grid.hue[row, col]), int(grid.mark[row, col]), int(grid.texture[row, col])
        strong = " b" if mark in (Mark.WRONG, Mark.UNTOUCHED) else ""
        value = escape(str(grid.text[row, col]))
        label = f'<text class="v{strong}" x="{x + self.cell / 2:g}" y="{y + 15}">{value}</text>' if value else ""
        if not told:
            return label
        data = {name: value for name, value in grid.data_of(row, col).items() if value}
        data.setdefault("at", f"{row},{col}")
        if texture:
            data["is"] = TEXTURE_NAMES[Texture(texture)]
        if mark:
            data["mark"] = MARK_NAMES[Mark(mark)]
        attributes = "".join(f' data-{name}="{escape(value, quote=True)}"' for name, value in data.items())
        title = escape(grid.title_of(row, col)) if mark or self.limits.all_titles else ""
        shape = "g" if hue == NO_HUE else f"h{hue}"
        box = f'<rect class="{shape}" x="{x}" y="{y}" width="{self.cell - 1}" height="{HIGH - 1}"/>'
        return f"<g{attributes}>{f'<title>{title}</title>' if title else ''}{box}{label}</g>"

    def _textures(self, texture: Ints) -> Iterator[str]:
        for code, name in TEXTURE_NAMES.items():
            cells = np.argwhere(texture == code).tolist()
            if cells:
                lines = "".join(strokes(name, self._x(j), int(self.y[i]), self.cell - 1, HIGH - 1) for i, j in cells)
                yield f'<path class="x" d="{lines}"/>'

    def _frames(self, mark: Ints) -> Iterator[str]:
        for code, name in MARK_NAMES.items():
            cells = np.argwhere(mark == code).tolist()
            if cells:
                boxes = "".join(
                    f"M{self._x(j) + 1} {self.y[i] + 1}h{self.cell - 3}v{HIGH - 3}H{self._x(j) + 1}z" for i, j in cells
                )
                yield f'<path class="f f-{name}" d="{boxes}"/>'


def strokes(name: str, x: int, y: int, wide: int, high: int) -> str:
    """The texture of a cell, as strokes of a path that leave its text readable: along its edges."""
    if name == "clipped":  # one diagonal in two corners
        return f"M{x} {y + 8}l8 -8M{x + wide - 8} {y + high}l8 -8"
    if name == "outside":  # crossed corners: both diagonals
        return f"M{x} {y}l7 7M{x + wide} {y}l-7 7M{x} {y + high}l7 -7M{x + wide} {y + high}l-7 -7"
    if name == "moved":  # a line below, with an arrow's head
        return f"M{x + 2} {y + high - 2}h{wide - 4}M{x + 6} {y + high - 5}l-4 3l4 3"
    if name == "padding":  # lines above and below
        return f"M{x} {y + 2}h{wide}M{x} {y + high - 2}h{wide}"
    return f"M{x + 2} {y + 4}v{high - 8}M{x + wide - 2} {y + 4}v{high - 8}"  # unknown: sides


def _mark_of(name: str) -> str:
    """The sign of an entry of the legend, 26 by 22 pixels."""
    if name == "hue":
        return "".join(f'<rect class="h{4 * n}" x="{7 * n}" y="0" width="6" height="21"/>' for n in range(4))
    box = '<rect class="g" x="0" y="0" width="25" height="21"/>'
    if name in TEXTURE_NAMES.values():
        return f'{box}<path class="x" d="{strokes(name, 0, 0, 25, 21)}"/>'
    return f'{box}<path class="f f-{name}" d="M1 1h23v19H1z"/>'


def _swatch(name: str) -> str:
    return f'<svg class="picture" width="27" height="22" viewBox="0 0 27 22" aria-hidden="true">{_mark_of(name)}</svg>'
