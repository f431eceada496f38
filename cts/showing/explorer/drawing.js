// Grids of cells as SVG, in the manner of the suite's other pictures: their style, textures and names come from there.
"use strict";

const HUES = 16, ADVANCE = 7.3, HEAD = 42, BAND = 10;

/** The most rows and columns of memory that are drawn, and of its coordinates that are looked at. */
const MOST_ROWS = 48, LONGEST_ROW = 64, USUAL_ROW = 16, MOST_COORDINATES = 1 << 14;

const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => ({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}[c]));

/**
 * An SVG of a grid {title, said, key, rows, cols, cell, band, rowNames, colNames}. `cell(row, col)` is null, or
 * {text, hue, texture, mark, title, data}. `rows` and `cols` are the numbers of those that are drawn, ascending.
 */
function drawn(grid, explorer) {
  const cells = grid.rows.map((row) => grid.cols.map((col) => grid.cell(row, col)));
  const longest = Math.max(1, ...cells.flat().map((c) => (c ? c.text.length : 0)), ...grid.cols.map((c) => grid.colNames(c).length));
  const widths = Object.keys(explorer.strokes).map(Number);
  const wide = widths.find((w) => w >= ADVANCE * longest + 8) ?? widths.at(-1), high = explorer.high;
  const left = Math.round(ADVANCE * Math.max(1, ...grid.rows.map((r) => grid.rowNames(r).length)) + 8);
  const placed = (numbers, start, size, band) => {
    let at = start;
    return numbers.map((n, i) => {
      const before = numbers[i - 1];
      if (i && (n - before > 1 || (band && Math.floor(n / band) > Math.floor(before / band)))) at += BAND;
      return at + i * size;
    });
  };
  const tops = placed(grid.rows, HEAD, high, grid.band), lefts = placed(grid.cols, left, wide, 0);
  const parts = [`<text class="t" x="0" y="14">${escaped(grid.title)}</text>`];
  grid.cols.forEach((c, j) => parts.push(`<text class="n" x="${lefts[j] + wide / 2}" y="${HEAD - 6}">${grid.colNames(c)}</text>`));
  grid.rows.forEach((r, i) => parts.push(`<text class="r" x="${left - 6}" y="${tops[i] + 15}">${grid.rowNames(r)}</text>`));
  const strokes = [], frames = {};
  cells.forEach((line, i) => line.forEach((cell, j) => {
    if (cell === null) return;
    const x = lefts[j], y = tops[i], data = Object.entries(cell.data ?? {}).map(([k, v]) => ` data-${k}="${v}"`).join("");
    parts.push(
      `<g${data}>${cell.title ? `<title>${escaped(cell.title)}</title>` : ""}`
      + `<rect class="${cell.hue === null ? "g" : `h${cell.hue % HUES}`}" x="${x}" y="${y}" width="${wide - 1}" height="${high - 1}"/>`
      + `<text class="v${cell.mark === "wrong" ? " b" : ""}" x="${x + wide / 2}" y="${y + 15}">${escaped(cell.text)}</text></g>`);
    if (cell.texture) strokes.push(`<path class="x" transform="translate(${x} ${y})" d="${explorer.strokes[wide][cell.texture]}"/>`);
    if (cell.mark) (frames[cell.mark] ??= []).push(`M${x + 1} ${y + 1}h${wide - 3}v${high - 3}H${x + 1}z`);
  }));
  parts.push(...strokes, ...Object.entries(frames).map(([mark, boxes]) => `<path class="f f-${mark}" d="${boxes.join("")}"/>`));
  const width = Math.ceil(Math.max((lefts.at(-1) ?? left) + wide + 2, 8.4 * grid.title.length)), height = (tops.at(-1) ?? HEAD) + high + 4;
  const label = escaped(`${grid.title}. ${grid.said}`);
  return `<svg class="picture" role="img" aria-label="${label}" data-panel="${grid.key}" width="${width}" height="${height}"`
    + ` viewBox="0 0 ${width} ${height}">${parts.join("")}</svg>`;
}

const TEXTURES = {clipped: "clipped", "clamp value": "outside", "not stored": "outside"};
const SIGNS = {clipped: "·", "clamp value": "c", "not stored": "–", undefined: "?", unclear: "?"};

/** What a location is called: its number and, in a block of several elements, the place in it. */
function locationText(access, layout, e) {
  if (!access.block) return String(e.index);
  const place = e.within.reduce((sum, w, d) => sum * layout.block[d] + w, 0);
  return `${e.index}:${place}`;
}

/** What becomes of an element, in words. */
function fateOf(access, layout, e) {
  const name = access.block ? "block" : "location", load = access.op === "load";
  return {
    memory: `${name} ${e.index ?? ""}${e.moved ? ", moved into the tensor" : ""}`,
    clipped: load ? "outside the clip: it stays what it was" : "outside the clip: not stored",
    "clamp value": "out of bounds: the clamp value",
    "not stored": "out of bounds: not stored",
    undefined: "undefined",
    unclear: "unclear",
  }[e.status];
}

/** The matrix as a grid. */
function matrixGrid(access, found, chosen) {
  const at = (row, col) => found.elements[row * access.cols + col];
  const names = (count) => [...Array(count).keys()];
  const count = (status) => found.elements.filter((e) => e.status === status).length;
  const said = ["memory", "clipped", "clamp value", "not stored", "undefined", "unclear"].filter(count).map((s) => `${s}: ${count(s)}`).join(", ");
  return {
    key: "matrix", band: 0, rows: names(access.rows), cols: names(access.cols), rowNames: String, colNames: String,
    title: access.op === "load" ? "the matrix: where each element comes from" : "the matrix: where each element goes",
    said: `${access.rows} rows of ${access.cols}; ${said}.`,
    cell: (row, col) => {
      const e = at(row, col), memory = e.status === "memory";
      const focus = chosen && chosen.row === row && chosen.col === col;
      return {
        text: memory ? locationText(access, found.layout, e) : SIGNS[e.status],
        hue: memory ? row : null,
        texture: memory ? (e.moved ? "moved" : null) : TEXTURES[e.status] ?? null,
        mark: focus ? "focus" : e.status === "undefined" || e.status === "unclear" || e.twice ? "wrong" : null,
        title: `(${row}, ${col}): ${fateOf(access, found.layout, e)}`,
        data: {row, col},
      };
    },
  };
}

/** Whether a location is between elements of the tensor; of tensors with too many coordinates to look at none is. */
function paddingOf(layout) {
  const blocks = layout.dimension.map((extent, d) => blocksOf(extent, layout.block[d]));
  if (blocks.reduce((product, n) => product * n, 1) > MOST_COORDINATES) return () => false;
  let own = [0];
  blocks.forEach((n, d) => {
    own = own.flatMap((start) => [...Array(n).keys()].map((b) => add(start, times(b, layout.stride[d]))));
  });
  const held = new Set(own), last = own.reduce((a, b) => Math.max(a, b), -1);
  return (n) => n < last && !held.has(n);
}

/** Memory from the pointer on as a grid of locations, and what is not drawn of it. */
function memoryGrid(access, found, chosen) {
  const {layout} = found, unit = unitOf(access);
  const bytes = memoryOf(access, found.elements) - access.pointer, count = Math.max(1, Math.floor(bytes / unit));
  const users = new Map();
  for (const e of found.elements) {
    if (e.status === "memory" && e.index < count) users.set(e.index, [...(users.get(e.index) ?? []), e]);
  }
  const strides = layout.stride, pitch = strides.at(-2) ?? 0;
  const wide = pitch > 1 && pitch <= LONGEST_ROW ? pitch : USUAL_ROW, cols = Math.min(count, wide);
  const band = pitch === wide && strides.length > 2 && strides.at(-3) % wide === 0 ? strides.at(-3) / wide : 0;
  const told = [...new Set([...users.keys()].map((n) => Math.floor(n / cols)))].sort((a, b) => a - b);
  const all = Math.ceil(count / cols), rows = new Set(told.slice(0, MOST_ROWS));
  for (let r = 0; r < all && rows.size < MOST_ROWS; r += 1) rows.add(r);
  const isPadding = paddingOf(layout);
  const focus = chosen && chosen.status === "memory" ? chosen.index : null;
  const verb = access.op === "load" ? "read by" : "written by";
  return {
    note: all > rows.size ? `${rows.size} of ${all} rows of memory are drawn.` : "",
    key: "memory", band,
    rows: [...rows].sort((a, b) => a - b), cols: [...Array(cols).keys()],
    rowNames: (r) => String(r * cols), colNames: String,
    title: access.block ? `memory: blocks of ${access.block} bytes` : `memory: elements of ${access.component}`,
    said: `${count} locations, of which ${users.size} are ${verb} the matrix.`,
    cell: (row, col) => {
      const n = row * cols + col;
      if (n >= count) return null;
      const of = users.get(n), names = (of ?? []).slice(0, 8).map((e) => `(${e.row}, ${e.col})`).join(", ");
      const more = of && of.length > 8 ? ` and ${of.length - 8} more` : "", between = isPadding(n);
      const where = `${access.block ? "block" : "location"} ${n}, byte ${access.pointer + n * unit}`;
      return {
        text: String(n),
        hue: of ? of[0].row : null,
        texture: between ? "padding" : null,
        mark: n === focus ? "focus" : of && access.op === "store" && of.length > 1 ? "wrong" : null,
        title: `${where}${of ? `: ${verb} ${names}${more}` : between ? ": between elements of the tensor" : ""}`,
        data: of ? {row: of[0].row, col: of[0].col} : {},
      };
    },
  };
}

/** The entries of the legend that the pictures need: names of textures and marks, with their texts. */
function legendOf(explorer, access, found, grids) {
  const used = new Set(found.elements.some((e) => e.status === "memory") ? ["hue"] : []);
  for (const grid of grids) {
    for (const row of grid.rows) {
      for (const col of grid.cols) {
        const cell = grid.cell(row, col);
        if (cell && cell.texture) used.add(cell.texture);
        if (cell && cell.mark) used.add(cell.mark);
      }
    }
  }
  const words = {...explorer.meanings, focus: "the element below, and its location"};
  words.wrong = access.op === "store" ? "undefined, or stored twice" : "undefined";
  return Object.keys(words).filter((name) => used.has(name)).map((name) => [name, words[name]]);
}

/** The sign of an entry of the legend. */
function swatch(explorer, name) {
  const box = `<rect class="g" width="25" height="21"/>`;
  const inner = name === "hue"
    ? [0, 1, 2, 3].map((n) => `<rect class="h${4 * n}" x="${7 * n}" width="6" height="21"/>`).join("")
    : explorer.strokes[26][name] ? `${box}<path class="x" d="${explorer.strokes[26][name]}"/>`
      : `${box}<path class="f f-${name}" d="M1 1h23v19H1z"/>`;
  return `<svg class="picture" width="27" height="22" viewBox="0 0 27 22" aria-hidden="true">${inner}</svg>`;
}

const listed = (numbers) => (numbers.length === 1 ? String(numbers[0]) : `(${numbers.join(", ")})`);
const signedText = (n) => (n >= SIGN ? `${n} (as a signed number ${n | 0})` : String(n));
const product = (a, b) => a.map((x, d) => `${x} · ${b[d]}`).join(" + ");

/** The steps of an element's address: [{fact, text}]. */
function stepsOf(access, found, e) {
  const {layout} = found, steps = [], say = (fact, text) => steps.push({fact, text});
  if (found.view === null) {
    say("TA-031", `row ${e.row}, column ${e.col} of ${access.cols} columns: index ${e.row} · ${access.cols} + ${e.col} = ${e.linear}`);
  } else {
    const [rowOffset, rowSpan, colOffset, colSpan] = found.view.clip;
    const endless = rowSpan === ENDLESS && colSpan === ENDLESS;
    if (e.status === "clipped") {
      const kept = access.op === "load" ? "it stays what the matrix had" : "it is not stored";
      say("TA-032", `row ${e.row}, column ${e.col} is outside the clip of ${rowSpan} rows from ${rowOffset} and ${colSpan} columns from ${colOffset}: ${kept}`);
      return steps;
    }
    const from = endless ? `row ${e.row}, column ${e.col}` : `row ${e.row - rowOffset}, column ${e.col - colOffset} of the clip`;
    say("TA-032", `${from}, in rows of ${e.width}: index ${e.row - rowOffset} · ${e.width} + ${e.col - colOffset} = ${e.linear}`);
    const of = access.view.own ? "the view's dimensions" : "the spans";
    say("TA-033", `${e.linear} in digits of ${of} ${listed(e.bases)}, in the order ${listed(access.view.permutation)} from its end: ${listed(e.viewCoord)}`);
    say("TA-033", `times the strides ${listed(e.strides)}: ${product(e.viewCoord, e.strides)} = ${e.viewed}`);
  }
  const index = found.view === null ? e.linear : e.viewed;
  say("TA-034", `${index} in digits of the spans ${listed(layout.span)}: ${listed(e.spanCoord)}`);
  const reached = e.coord.length + (e.status === "memory" ? 0 : 1);
  for (let d = 0; d < reached; d += 1) {
    const c = e.unclamped[d], extent = layout.dimension[d], offset = layout.offset[d];
    const sum = `dimension ${d}: ${e.spanCoord[d]} + offset ${offset | 0} = ${c | 0}`;
    const inside = c < Math.min(extent, SIGN);
    if (inside) say("TA-035", `${sum}, within ${extent}`);
    else if (d < e.coord.length) say("TA-035", `${sum}, not within ${extent}: ${access.layout.clamp} makes it ${e.coord[d]}`);
    else say("TA-035", `${sum}, not within ${extent}: ${fateOf(access, layout, e)}${e.status === "clamp value" ? ` ${layout.clampValue}` : ""}`);
  }
  if (e.status !== "memory") return steps;
  if (layout.block.some((b) => b !== 1)) {
    say("TA-035", `in blocks of ${listed(layout.block)}: block ${listed(e.block)}, and ${listed(e.within)} within it`);
  }
  const unit = unitOf(access), at = access.pointer ? `${access.pointer} + ` : "";
  say("TA-036", `times the strides ${listed(layout.stride.map(signedText))}: ${product(e.block, layout.stride)} = ${e.index}`);
  say(access.block ? "TA-037" : "TA-036", `byte ${at}${unit} · ${e.index} = ${e.byte}`);
  return steps;
}
