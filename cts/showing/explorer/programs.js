// An access as the text of a link, and as a case of the suite.
//
// The text has parts between slashes: the matrix, memory where it is not as the access needs it, the layout and its
// setters, the view and its setters:
//   load,16,16,float16,Accumulator,Subgroup/memory,512/Layout,2,Constant/SetDimension,5,7/View,2,own,1,0/SetClip,0,8,0,8
"use strict";

const CLAMPS = ["Undefined", "Constant", "ClampToEdge", "Repeat", "RepeatMirrored"];
const USES = ["A", "B", "Accumulator"];
const SCOPES = ["Subgroup", "Workgroup"];

/** The most rows or columns of a matrix, and elements of one, that are drawn. */
const MOST_EXTENT = 256, MOST_ELEMENTS = 4096;

/** The setters of layouts and views: what their numbers are called. With `each`, there is one for each dimension. */
const LAYOUT_SETTERS = {
  SetBlockSize: [{name: "block size", each: true, usual: 1}],
  SetDimension: [{name: "dimensions", each: true, usual: 8}],
  SetStride: [{name: "strides", each: true, usual: 1}],
  Slice: [{name: "offsets", each: true, usual: 0}, {name: "spans", each: true, usual: 4}],
  SetClampValue: [{name: "clamp value (bits)", each: false, usual: 0}],
};
const VIEW_SETTERS = {
  SetDimension: [{name: "dimensions", each: true, usual: 4}],
  SetStride: [{name: "strides", each: true, usual: 1}],
  SetClip: [
    {name: "row offset", each: false, usual: 0}, {name: "row span", each: false, usual: 8},
    {name: "column offset", each: false, usual: 0}, {name: "column span", each: false, usual: 8},
  ],
};

/** How many numbers a setter has. */
const countOf = (parts, dim) => parts.reduce((sum, part) => sum + (part.each ? dim : 1), 0);

/** The numbers that a new setter has. */
const usualOf = (parts, dim) => parts.flatMap((part) => Array(part.each ? dim : 1).fill(part.usual));

/** The text of an access in a link. */
function linkOf(access) {
  const {layout, view} = access, own = [];
  if (access.block) own.push(`block,${access.block}`);
  if (access.pointer) own.push(`pointer,${access.pointer}`);
  if (access.memory) own.push(`memory,${access.memory}`);
  const setters = (of) => of.setters.map(({op, numbers}) => [op, ...numbers].join(","));
  return [
    [access.op, access.rows, access.cols, access.component, access.use, access.scope].join(","),
    ...own,
    `Layout,${layout.dim},${layout.clamp}`, ...setters(layout),
    ...(view ? [["View", view.dim, view.own ? "own" : "spans", ...view.permutation].join(","), ...setters(view)] : []),
  ].join("/");
}

/** The access of a link's text. Throws an Error that says what is wrong with it. */
function accessOf(text) {
  const [first, ...parts] = text.split("/").map((part) => part.split(","));
  const access = {block: 0, pointer: 0, memory: 0, layout: null, view: null};
  const wrong = (part, right) => new Error(`“${part.join(",")}” is no part of a layout: ${right}`);
  const number = (part, word, least, most) => {
    const n = /^-?[0-9]+$/.test(word ?? "") ? Number(word) : NaN;
    if (!(n >= least && n <= most)) throw wrong(part, `“${word ?? ""}” is no number from ${least} to ${most}`);
    return n;
  };
  const one = (part, word, names) => {
    if (!names.includes(word)) throw wrong(part, `one of ${names.join(", ")} in place of “${word ?? ""}”`);
    return word;
  };
  const exactly = (part, count) => {
    if (part.length !== count + 1) throw wrong(part, `${count} words after ${part[0]}`);
  };
  exactly(first, 5);
  access.op = one(first, first[0], ["load", "store"]);
  access.rows = number(first, first[1], 1, MOST_EXTENT);
  access.cols = number(first, first[2], 1, MOST_EXTENT);
  if (access.rows * access.cols > MOST_ELEMENTS) throw wrong(first, `at most ${MOST_ELEMENTS} elements`);
  access.component = one(first, first[3], Object.keys(SIZES));
  access.use = one(first, first[4], USES);
  access.scope = one(first, first[5], SCOPES);
  for (const part of parts) {
    const [op, ...words] = part;
    if (op === "block" || op === "pointer" || op === "memory") {
      exactly(part, 1);
      access[op] = number(part, words[0], 0, 2 ** 32);
    } else if (op === "Layout" && access.layout === null) {
      exactly(part, 2);
      access.layout = {
        dim: number(part, words[0], 1, 5), clamp: one(part, words[1], CLAMPS), setters: [],
      };
    } else if (op === "View" && access.layout !== null && access.view === null) {
      const dim = number(part, words[0], 1, 5);
      exactly(part, 2 + dim);
      const permutation = words.slice(2).map((word) => number(part, word, 0, dim - 1));
      if (new Set(permutation).size !== dim) throw wrong(part, "a permutation with every dimension once");
      access.view = {dim, own: one(part, words[1], ["own", "spans"]) === "own", permutation, setters: []};
    } else {
      const of = access.view ?? access.layout;
      if (of === null) throw wrong(part, "Layout first");
      const setters = access.view ? VIEW_SETTERS : LAYOUT_SETTERS;
      exactly(part, countOf(setters[one(part, op, Object.keys(setters))], of.dim));
      of.setters.push({op, numbers: words.map((word) => number(part, word, -(2 ** 31), ENDLESS))});
    }
  }
  if (access.layout === null) throw new Error("the link has no part “Layout”");
  return access;
}

/** Initial data of a buffer: numbers that tell its elements apart as far as the type can. */
function dataOf(component, count) {
  const [kind, period] = {
    float16: ["iota", 2048], bfloat16: ["iota", 256], float32: ["iota", 2 ** 24], int8: ["iota", 128],
    uint8: ["iota", 256], int16: ["iota", 2 ** 15], uint16: ["iota", 2 ** 16],
    float8_e4m3fn: ["counter", 120], float8_e5m2: ["counter", 120],
  }[component] ?? ["iota", Infinity];
  return `{${kind}: {${count > period ? `modulo: ${period}` : ""}}}`;
}

/** Bytes of memory that an access has, or needs: at least one location. */
function memoryOf(access, elements) {
  const unit = unitOf(access);
  const end = elements.reduce((most, e) => (e.status === "memory" ? Math.max(most, e.byte + unit) : most), 0);
  return access.memory || Math.max(end, access.pointer + unit);
}

/**
 * A case in YAML that makes this access, and what a reader is told of it. Throws an Error where there is no such case.
 *
 * A decode function takes blocks that hold components, and gives the one at the element's place in the block.
 */
function caseOf(access, elements) {
  const {component, layout, view} = access, size = SIZES[component], load = access.op === "load";
  const bytes = memoryOf(access, elements), whole = Math.ceil(bytes / size);
  if (whole * size > 2 ** 28) throw new Error(`memory would have ${bytes} bytes, and a case has at most ${2 ** 28}`);
  if (access.block % size) throw new Error(`blocks of ${access.block} bytes are no whole number of ${component}`);
  if (access.pointer % size) throw new Error(`the pointer is no whole number of ${component} into memory`);
  const lines = [], program = [];
  const type = `{component: ${component}, scope: ${access.scope}, rows: ${access.rows}, cols: ${access.cols}, use: ${access.use}}`;
  const chained = (kind, letter, of, first, fields) => {
    program.push(`{op: ${kind}, id: ${letter}, ${first}}`);
    let last = letter;
    for (const [n, {op, numbers}] of of.setters.entries()) {
      program.push(`{op: ${kind}${op}, id: ${letter}${n + 1}, of: ${last}, ${fields(op, numbers)}}`);
      last = `${letter}${n + 1}`;
    }
    return last;
  };
  const list = (numbers) => `[${numbers.join(", ")}]`;
  if (!load) program.push(`{op: MatrixLoad, id: m, type: ${type}, buffer: src, stride: ${access.cols}}`);
  const clamp = layout.clamp === "Undefined" ? "" : `, clamp: ${layout.clamp}`;
  const t = chained("TensorLayout", "t", layout, `dim: ${layout.dim}${clamp}`, (op, numbers) => ({
    SetBlockSize: () => `block_size: ${list(numbers)}`,
    SetDimension: () => `dims: ${list(numbers)}`,
    SetStride: () => `strides: ${list(numbers)}`,
    Slice: () => `offset: ${list(numbers.slice(0, layout.dim))}, span: ${list(numbers.slice(layout.dim))}`,
    SetClampValue: () => `value: ${numbers[0]}`,
  }[op]()));
  let v = "";
  if (view) {
    const first = `dim: ${view.dim}, has_dimensions: ${view.own}, permutation: ${list(view.permutation)}`;
    v = `, view: ${chained("TensorView", "v", view, first, (op, numbers) => ({
      SetDimension: () => `dims: ${list(numbers)}`,
      SetStride: () => `strides: ${list(numbers)}`,
      SetClip: () => `row_offset: ${numbers[0]}, row_span: ${numbers[1]}, col_offset: ${numbers[2]}, col_span: ${numbers[3]}`,
    }[op]()))}`;
  }
  const offset = access.pointer ? `, offset: ${access.pointer / size}` : "";
  lines.push("schema: 1", "name: explored");
  if (access.block) {
    const count = access.block / size, sizes = addressed(access).layout.block;
    const place = sizes.map((_, d) => {
      const stride = sizes.slice(d + 1).reduce((product, b) => product * b, 1);
      return `coordInBlock[${d}]${stride === 1 ? "" : ` * ${stride}`}`;
    }).join(" + ");
    const all = sizes.reduce((product, b) => product * b, 1);
    const at = all > count ? `(${place}) % ${count}` : place;
    const field = count === 1 ? `{name: e, type: ${component}}` : `{name: e, type: ${component}, count: ${count}}`;
    lines.push("functions:");
    lines.push(`  f: {kind: Decode, returns: ${component}, dim: ${layout.dim}, block: [${field}], body: '${count === 1 ? "block.e" : `block.e[${at}]`}'}`);
  }
  const tensor = `{type: ${component}, shape: [${whole}], data: ${load ? dataOf(component, whole) : "{fill: 64}"}}`;
  const matrix = `{type: ${component}, shape: [${access.rows}, ${access.cols}], data: ${load ? "{fill: 64}" : dataOf(component, access.rows * access.cols)}}`;
  lines.push("buffers:", `  src: ${load ? tensor : matrix}`, `  dst: ${load ? matrix : tensor}`);
  if (load) {
    program.push(`{op: MatrixConstant, id: z, type: ${type}, value: 96}`);
    const decode = access.block ? ", decode: f" : "";
    program.push(`{op: MatrixLoadTensor, id: m, object: z, buffer: src, layout: ${t}${v}${offset}${decode}}`);
    program.push(`{op: MatrixStore, matrix: m, buffer: dst, stride: ${access.cols}}`);
  } else {
    program.push(`{op: MatrixStoreTensor, matrix: m, buffer: dst, layout: ${t}${v}${offset}}`);
  }
  lines.push("program:", ...program.map((line) => `  - ${line}`));
  return `${lines.join("\n")}\n`;
}
