// The address arithmetic of tensor layouts and views, by the facts TA-012 to TA-038, and the rules on it.
//
// An access is {op, rows, cols, component, use, scope, block, pointer, memory, layout, view}: a load or store of a matrix.
// `block` are the bytes of a block that a decode function takes (0: none), `pointer` and `memory` bytes (memory 0: as much
// as the access needs). A layout is {dim, clamp, setters}, a view (or null) {dim, own, permutation, setters}, and a
// setter {op, numbers}. Numbers are 32-bit, of either sign; arithmetic is modulo 2^32 (TA-030).
"use strict";

const SIZES = {
  float16: 2, bfloat16: 2, float32: 4, float8_e4m3fn: 1, float8_e5m2: 1,
  int8: 1, uint8: 1, int16: 2, uint16: 2, int32: 4, uint32: 4,
};

const ENDLESS = 0xffffffff;
const SIGN = 0x80000000;

const add = (a, b) => (a + b) >>> 0;
const times = (a, b) => Math.imul(a, b) >>> 0;
const floorMod = (a, b) => ((a % b) + b) % b;
const blocksOf = (extent, block) => Math.ceil(extent / Math.max(1, block));

/** Row-major strides: the last is 1, each other the next one times the next extent. */
function packed(extents) {
  const strides = extents.map(() => 1);
  for (let d = extents.length - 2; d >= 0; d -= 1) strides[d] = times(strides[d + 1], extents[d + 1]);
  return strides;
}

/** The sum of coordinates times strides. */
const dot = (coord, strides) => coord.reduce((sum, c, d) => add(sum, times(c, strides[d])), 0);

/** The digits of a number in these bases, the base of `order`'s last entry first; all of them are reduced. */
function digits(number, bases, order) {
  const found = bases.map(() => 0);
  for (const d of [...order].reverse()) {
    found[d] = number % bases[d];
    number = Math.floor(number / bases[d]);
  }
  return found;
}

/** The layout after each of its instructions, the fresh one first; rules that setters break go to `broken`. */
function layoutStates(layout, broken) {
  const all = (n) => Array(layout.dim).fill(n);
  const states = [{dimension: all(0), block: all(1), stride: all(0), offset: all(0), span: all(0), clampValue: 0}];
  for (const [n, {op, numbers}] of layout.setters.entries()) {
    const before = states[n], given = numbers.map((x) => x >>> 0);
    const counts = before.dimension.map((extent, d) => blocksOf(extent, before.block[d]));
    if ((op === "SetDimension" || op === "SetStride") && before.block.includes(0)) {
      broken.push({rule: "TA-062", what: `${op} of a layout whose block size has a 0`});
    }
    if (op === "SetStride") {
      for (let d = 0; d < layout.dim - 1; d += 1) {
        const least = BigInt(given[d + 1]) * BigInt(counts[d + 1]);
        if (BigInt(given[d]) < least) {
          broken.push({rule: "TA-064", what: `stride ${d} is ${given[d]}, and must be at least ${least}`});
        }
      }
    }
    states.push({...before, ...{
      SetBlockSize: () => ({block: given}),
      SetDimension: () => ({
        dimension: given, span: given, offset: all(0),
        stride: packed(given.map((extent, d) => blocksOf(extent, before.block[d]))),
      }),
      SetStride: () => ({stride: given}),
      Slice: () => ({
        offset: before.offset.map((o, d) => add(o, given[d])), span: given.slice(layout.dim),
      }),
      SetClampValue: () => ({clampValue: given[0]}),
    }[op]()});
  }
  return states;
}

/** The view after each of its instructions, the fresh one first. */
function viewStates(view) {
  const zeros = Array(view.dim).fill(0);
  const states = [{dimension: zeros, stride: zeros, clip: [0, ENDLESS, 0, ENDLESS]}];
  for (const [n, {op, numbers}] of view.setters.entries()) {
    const given = numbers.map((x) => x >>> 0);
    states.push({...states[n], ...{
      SetDimension: () => ({dimension: given, stride: packed(given)}),
      SetStride: () => ({stride: given}),
      SetClip: () => ({clip: given}),
    }[op]()});
  }
  return states;
}

/** Rules on the layout and view as an access uses them. Those of `noAddress` leave nothing to compute with. */
function stateRules(access, layout, view, broken) {
  const noAddress = (rule, what) => { broken.push({rule, what, noAddress: true}); };
  if (layout.block.includes(0)) noAddress("TA-062", "a block size of 0");
  if (layout.span.includes(0)) noAddress("TA-061", "a span of 0: set dimensions, or slice");
  if (access.op === "store" && (layout.block.some((b) => b > 1) || access.block)) {
    broken.push({rule: "TA-068", what: access.block ? "a store that decodes" : "a store with a block size"});
  }
  if (view !== null) {
    if (access.view.own && view.dimension.includes(0)) noAddress("TA-061", "a dimension of the view is 0: set them");
    if (!access.view.own && access.view.dim > access.layout.dim) {
      noAddress("TA-065", `a view of ${access.view.dim} dimensions without its own, a layout of ${access.layout.dim}`);
    }
  }
  if (access.pointer % 16) broken.push({rule: "TA-070", what: "the pointer is no multiple of 16 bytes"});
  if (access.memory && access.pointer >= access.memory) {
    noAddress("TA-069", `the pointer is ${access.pointer} bytes in, of ${access.memory}`);
  }
}

/** The dimension by which a mode's remainder would divide by 0 (TA-063). */
const DIVIDES_BY_ZERO = {Repeat: 0, RepeatMirrored: 1};

/** The largest dimension that a mode computes with alike in signed and unsigned 32-bit arithmetic (AM-57). */
const LARGEST = {ClampToEdge: 2 ** 31 - 1, Repeat: 2 ** 31 - 1, RepeatMirrored: 2 ** 30};

/** What the clamp mode makes of a coordinate out of bounds: a coordinate, or what becomes of the element (TA-035). */
function clamped(access, coordinate, dimension) {
  const c = coordinate | 0;
  if (access.layout.clamp === "Undefined") return "undefined";
  if (access.op === "store") return "not stored";
  if (access.layout.clamp === "Constant") return "clamp value";
  if (dimension === DIVIDES_BY_ZERO[access.layout.clamp]) return "undefined";
  if (dimension === 0 || dimension > LARGEST[access.layout.clamp]) return "unclear";
  switch (access.layout.clamp) {
    case "ClampToEdge": return c < 0 ? 0 : dimension - 1;
    case "Repeat": return floorMod(c, dimension);
    default: {
      const period = 2 * dimension - 2, within = floorMod(c, period);
      return within < dimension ? within : period - within;
    }
  }
}

/**
 * Element (row, col): `status` is "memory", "clipped", "clamp value", "not stored", "undefined" or "unclear"; with
 * "memory", `index` counts locations from the pointer, `byte` is in memory, `block` and `within` are the block and the place in it; what
 * comes before is there as far as it was computed.
 */
function elementOf(access, layout, view, row, col) {
  const found = {row, col, status: "memory", moved: false};
  found.linear = add(times(row, access.cols), col);
  if (view !== null) {
    const [rowOffset, rowSpan, colOffset, colSpan] = view.clip;
    if (row < rowOffset || row >= add(rowOffset, rowSpan) || col < colOffset || col >= add(colOffset, colSpan)) {
      return {...found, status: "clipped"};
    }
    found.width = Math.min(access.cols, colSpan);
    found.linear = add(times(row - rowOffset, found.width), col - colOffset);
    found.bases = access.view.own ? view.dimension : layout.span;
    found.strides = access.view.own ? view.stride : packed(layout.span.slice(0, access.view.dim));
    found.viewCoord = digits(found.linear, found.bases, access.view.permutation);
    found.viewed = dot(found.viewCoord, found.strides);
  }
  const index = view === null ? found.linear : found.viewed;
  found.spanCoord = digits(index, layout.span, layout.span.map((_, d) => d));
  found.unclamped = found.spanCoord.map((s, d) => add(s, layout.offset[d]));
  found.coord = [];
  for (const [d, c] of found.unclamped.entries()) {
    const inside = c < Math.min(layout.dimension[d], SIGN);
    const moved = inside ? c : clamped(access, c, layout.dimension[d]);
    if (moved === "unclear") found.status = moved;
    else if (typeof moved === "string") return {...found, status: moved};
    found.moved ||= !inside;
    found.coord.push(moved);
  }
  if (found.status === "unclear") return found;
  found.block = found.coord.map((c, d) => Math.floor(c / layout.block[d]));
  found.within = found.coord.map((c, d) => c - found.block[d] * layout.block[d]);
  found.index = dot(found.block, layout.stride);
  found.byte = access.pointer + found.index * unitOf(access);
  return found;
}

/** Bytes that strides count: those of a block that is decoded, else of a component (TA-036, TA-037). */
const unitOf = (access) => access.block || SIZES[access.component];

/** Rules on the locations of all elements. */
function locationRules(access, elements, broken) {
  const unit = unitOf(access), at = (status) => elements.find((e) => e.status === status);
  const place = (e) => `element (${e.row}, ${e.col})`;
  const clamp = access.layout.clamp, undefinedAt = at("undefined"), unclearAt = at("unclear");
  if (unclearAt) {
    const what = `${place(unclearAt)} is out of bounds in a dimension of 0, or above ${LARGEST[clamp]}, with ${clamp}`;
    broken.push({rule: "AM-57", what: `${what}: unclear`});
  }
  if (undefinedAt) {
    const divides = clamp in DIVIDES_BY_ZERO;
    const why = divides ? `with ${clamp} in a dimension of ${DIVIDES_BY_ZERO[clamp]}` : "with clamp mode Undefined";
    broken.push({rule: divides ? "TA-063" : "TA-060", what: `${place(undefinedAt)} is out of bounds ${why}`});
  }
  const reached = elements.filter((e) => e.status === "memory");
  if (access.memory) {
    const outside = reached.filter((e) => e.byte + unit > access.memory);
    const far = outside.find((e) => e.byte - access.pointer >= 2 ** 32);
    if (far) broken.push({rule: "TA-042", what: `${place(far)} is ${far.byte - access.pointer} bytes from the pointer`});
    else if (outside.length) {
      broken.push({rule: "TA-069", what: `${place(outside[0])} is at byte ${outside[0].byte} of ${access.memory}`});
    }
  }
  if (access.op === "store") {
    const writers = new Map();
    for (const e of reached) {
      e.twice = writers.has(e.index);
      if (e.twice && !broken.some((b) => b.rule === "TA-067")) {
        broken.push({rule: "TA-067", what: `${place(e)} is stored where ${place(writers.get(e.index))} is`});
      }
      if (!e.twice) writers.set(e.index, e);
    }
  }
}

/** Everything about an access: the states of its layout and view, the rules that it breaks, and its elements, or none. */
function addressed(access) {
  const broken = [];
  const layouts = layoutStates(access.layout, broken);
  const views = access.view === null ? null : viewStates(access.view);
  const layout = layouts.at(-1), view = views === null ? null : views.at(-1);
  stateRules(access, layout, view, broken);
  const elements = [];
  if (!broken.some((b) => b.noAddress)) {
    for (let row = 0; row < access.rows; row += 1) {
      for (let col = 0; col < access.cols; col += 1) elements.push(elementOf(access, layout, view, row, col));
    }
    locationRules(access, elements, broken);
  }
  return {layouts, views, layout, view, broken, elements};
}
