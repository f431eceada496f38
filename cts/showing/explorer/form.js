// The page: a form for the access, its pictures, the steps of one element, the link, and the case.
"use strict";
(() => {
  const explorer = JSON.parse(document.getElementById("data").textContent);
  const find = (id) => document.getElementById(id);
  let access = null, found = null, chosen = {row: 0, col: 0};

  /** An element with attributes and children; functions are listeners. */
  function el(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === "function") made.addEventListener(name, value);
      else if (value === true) made.setAttribute(name, "");
      else if (value !== false && value !== null) made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  }

  const field = (text, control) => el("label", {}, el("span", {}, text), control);

  function choice(id, options, value, change) {
    const made = el("select", {id, change: () => change(made.value)}, ...options.map((o) => el("option", {}, o)));
    made.value = value;
    return made;
  }

  function tick(id, text, value, change) {
    const box = el("input", {id, type: "checkbox", change: () => change(box.checked)});
    box.checked = value;
    return el("label", {class: "tick"}, box, el("span", {}, text));
  }

  /** A number, decimal or hexadecimal; what is none of `least` to `most` is marked, and changes nothing. */
  function number(id, label, value, least, most, change) {
    const made = el("input", {
      id, type: "text", inputmode: "numeric", autocomplete: "off", spellcheck: "false", value, "aria-label": label,
      title: `${label}: ${least} to ${most}`,
      input: () => {
        const text = made.value.trim();
        const given = /^(-?[0-9]+|0x[0-9a-fA-F]+)$/.test(text) ? Number(text) : NaN;
        const right = given >= least && given <= most;
        made.setAttribute("aria-invalid", String(!right));
        find("wrong").textContent = right ? "" : `${label}: a number from ${least} to ${most}`;
        if (right) change(given);
      },
    });
    return made;
  }

  const int32 = (id, label, value, change) => number(id, label, value, -(2 ** 31), ENDLESS, change);

  /** Change the access so that the form has other fields. */
  function rebuilt(change) {
    return (value) => {
      change(value);
      build();
      update();
    };
  }

  /** Change the access so that only numbers are others. */
  function updated(change) {
    return (value) => {
      change(value);
      update();
    };
  }

  /** Numbers for another number of dimensions: what there is of each operand, and what is usual. */
  function resized(setters, kinds, before, after) {
    return setters.map(({op, numbers}) => {
      let at = 0;
      return {op, numbers: kinds[op].flatMap((part) => {
        const count = part.each ? before : 1, own = numbers.slice(at, at + count);
        at += count;
        return part.each ? [...own, ...Array(5).fill(part.usual)].slice(0, after) : own;
      })};
    });
  }

  /** The setters of a layout or view, each with its numbers and buttons to move and remove it; and one to add. */
  function setters(of, kinds, name) {
    const list = el("ol", {class: "setters"});
    of.setters.forEach(({op, numbers}, n) => {
      const item = el("li", {}), button = (id, sign, what, disabled, act) => el("button", {
        id: `${name}-${n}-${id}`, type: "button", disabled, "aria-label": `${what} ${op}, instruction ${n + 1} of the ${name}`, title: what,
        click: rebuilt(act),
      }, sign);
      const swap = (m) => { [of.setters[n], of.setters[m]] = [of.setters[m], of.setters[n]]; };
      item.append(el("div", {class: "setter"},
        el("strong", {}, op),
        el("span", {class: "moves"},
          button("up", "↑", "Move up", n === 0, () => swap(n - 1)),
          button("down", "↓", "Move down", n === of.setters.length - 1, () => swap(n + 1)),
          button("remove", "✕", "Remove", false, () => of.setters.splice(n, 1)))));
      let at = 0;
      for (const part of kinds[op]) {
        const inputs = [...Array(part.each ? of.dim : 1).keys()].map((d) => {
          const place = at + d;
          const label = `${op} ${n + 1}, ${part.name}${part.each ? `, dimension ${d}` : ""}`;
          return int32(`${name}-${n}-${place}`, label, numbers[place], updated((x) => { numbers[place] = x; }));
        });
        at += inputs.length;
        item.append(el("div", {class: "numbers"}, el("span", {}, part.name), el("span", {class: "inputs"}, ...inputs)));
      }
      list.append(item);
    });
    const chosenOp = choice(`${name}-add`, Object.keys(kinds), Object.keys(kinds)[0], () => {});
    const add = el("button", {
      id: `${name}-adder`, type: "button",
      click: rebuilt(() => of.setters.push({op: chosenOp.value, numbers: usualOf(kinds[chosenOp.value], of.dim)})),
    }, "Add");
    return [list, el("div", {class: "adder"}, field("Another instruction", chosenOp), add)];
  }

  const group = (title, ...children) => el("fieldset", {}, el("legend", {}, title), ...children);
  const row = (...children) => el("div", {class: "row"}, ...children);

  /** The form as the access is; the element that has the focus keeps it. */
  function build() {
    const focused = document.activeElement?.id, {layout, view} = access;
    const extent = (id, label, key) => field(label, number(id, label, access[key], 1, MOST_EXTENT, updated((x) => {
      const other = key === "rows" ? access.cols : access.rows;
      if (x * other > MOST_ELEMENTS) find("wrong").textContent = `at most ${MOST_ELEMENTS} elements`;
      else access[key] = x;
    })));
    const dims = ["1", "2", "3", "4", "5"];
    const parts = [
      group("Matrix",
        row(
          field("Instruction", choice("op", ["load", "store"], access.op, rebuilt((x) => { access.op = x; if (x === "store") access.block = 0; }))),
          extent("rows", "Rows", "rows"), extent("cols", "Columns", "cols"),
          field("Component", choice("component", Object.keys(SIZES), access.component, updated((x) => { access.component = x; }))),
          field("Use", choice("use", USES, access.use, updated((x) => { access.use = x; }))),
          field("Scope", choice("scope", SCOPES, access.scope, updated((x) => { access.scope = x; }))))),
      group("Memory",
        row(
          field("Bytes (0: as needed)", number("memory", "Bytes of memory", access.memory, 0, 2 ** 32, updated((x) => { access.memory = x; }))),
          field("Pointer, bytes in", number("pointer", "Pointer", access.pointer, 0, 2 ** 32, updated((x) => { access.pointer = x; }))),
          ...(access.op === "load" ? [
            field("Decoded blocks, bytes (0: none)", number("block", "Bytes of a block", access.block, 0, 65536, updated((x) => { access.block = x; }))),
          ] : []))),
      group("Layout",
        row(
          field("Dimensions", choice("dim", dims, String(layout.dim), rebuilt((x) => {
            layout.setters = resized(layout.setters, LAYOUT_SETTERS, layout.dim, Number(x));
            layout.dim = Number(x);
          }))),
          field("Clamp mode", choice("clamp", CLAMPS, layout.clamp, updated((x) => { layout.clamp = x; })))),
        ...setters(layout, LAYOUT_SETTERS, "layout")),
    ];
    const other = tick("view", "The instruction has a view", view !== null, rebuilt((x) => {
      access.view = x ? {dim: layout.dim, own: false, permutation: [...Array(layout.dim).keys()], setters: []} : null;
    }));
    const inView = view === null ? [] : [
      row(
        field("Dimensions", choice("view-dim", dims, String(view.dim), rebuilt((x) => {
          view.setters = resized(view.setters, VIEW_SETTERS, view.dim, Number(x));
          view.dim = Number(x);
          view.permutation = [...Array(view.dim).keys()];
        }))),
        tick("view-own", "has dimensions of its own", view.own, updated((x) => { view.own = x; }))),
      el("div", {class: "numbers"}, el("span", {}, "permutation"), el("span", {class: "inputs"}, ...view.permutation.map((p, d) => {
        const made = choice(`permutation-${d}`, view.permutation.map((_, n) => String(n)), String(p), rebuilt((x) => {
          view.permutation[view.permutation.indexOf(Number(x))] = view.permutation[d];
          view.permutation[d] = Number(x);
        }));
        made.setAttribute("aria-label", `Permutation, place ${d}`);
        return made;
      }))),
      ...setters(view, VIEW_SETTERS, "view"),
    ];
    parts.push(group("View", other, ...inView));
    find("form").replaceChildren(...parts);
    if (focused) find(focused)?.focus();
  }

  /** Pictures, rules, steps, link and case as the access is. */
  function update() {
    found = addressed(access);
    chosen = {row: Math.min(chosen.row, access.rows - 1), col: Math.min(chosen.col, access.cols - 1)};
    const rules = new Map();
    for (const {rule, what} of found.broken) if (!rules.has(rule)) rules.set(rule, what);
    find("rules").replaceChildren(...[...rules].map(([rule, what]) => el("li", {},
      el("strong", {}, rule), ` ${what}.`, el("br"), el("span", {class: "quiet"}, explorer.facts[rule]))));
    find("verdict").textContent = rules.size ? "The suite would refuse this: it breaks" : "Every element is defined.";
    find("verdict").className = rules.size ? "v-fail" : "v-pass";
    draw();
    state();
    const text = linkOf(access);
    try {
      history.replaceState(null, "", `#${text}`);
    } catch { /* a frame without an address of its own: the link is shown all the same */ }
    find("link").textContent = `${location.href.split("#")[0]}#${text}`;
    find("presets").value = [...find("presets").options].some((o) => o.value === text) ? text : "";
    try {
      find("case").textContent = caseOf(access, found.elements);
      find("no-case").textContent = "";
      find("download").href = `data:text/yaml;charset=utf-8,${encodeURIComponent(find("case").textContent)}`;
    } catch (e) {
      find("case").textContent = "";
      find("no-case").textContent = `There is no such case: ${e.message}.`;
    }
    for (const id of ["download", "case-box"]) find(id).hidden = !find("case").textContent;
  }

  function draw() {
    const e = found.elements[chosen.row * access.cols + chosen.col] ?? null;
    find("element").hidden = e === null;
    if (e === null) {
      find("panels").replaceChildren(el("p", {}, "There is nothing to draw: no addresses can be computed."));
      find("legend").replaceChildren();
      find("note").textContent = "";
      return;
    }
    const grids = [memoryGrid(access, found, e), matrixGrid(access, found, e)];
    const places = [...find("panels").children].map((p) => p.scrollLeft);
    find("panels").innerHTML = grids.map((g) => `<div class="scroll" tabindex="0" role="region" aria-label="${g.title}">${drawn(g, explorer)}</div>`).join("");
    [...find("panels").children].forEach((p, n) => { p.scrollLeft = places[n] ?? 0; });
    find("legend").innerHTML = legendOf(explorer, access, found, grids).map(([name, text]) => `<li>${swatch(explorer, name)} ${text}</li>`).join("");
    find("note").textContent = grids[0].note;
    steps(e);
  }

  function steps(e) {
    find("row").value = e.row;
    find("col").value = e.col;
    find("fate").textContent = fateOf(access, found.layout, e);
    find("steps").replaceChildren(...stepsOf(access, found, e).map(({fact, text}) => el("li", {},
      text, " ", el("abbr", {title: explorer.facts[fact], tabindex: "0"}, fact))));
    const cited = [...new Set(stepsOf(access, found, e).map((s) => s.fact))];
    find("facts").replaceChildren(...cited.flatMap((fact) => [el("dt", {}, fact), el("dd", {}, explorer.facts[fact])]));
  }

  /** What layout and view are when they are used. */
  function state() {
    const {layout, view} = found;
    const line = (name, numbers) => el("tr", {}, el("th", {scope: "row"}, name), el("td", {class: "mono"}, numbers.map(signedText).join(", ")));
    const lines = [
      line("dimensions", layout.dimension), line("block size", layout.block), line("strides", layout.stride),
      line("offsets", layout.offset.map((o) => o | 0)), line("spans", layout.span),
    ];
    if (access.layout.clamp === "Constant") lines.push(line("clamp value", [layout.clampValue]));
    if (view !== null) {
      if (access.view.own) lines.push(line("view: dimensions", view.dimension), line("view: strides", view.stride));
      lines.push(line("view: clip rows, offset and span", view.clip.slice(0, 2)), line("view: clip columns, offset and span", view.clip.slice(2)));
    }
    find("state").replaceChildren(...lines);
  }

  function choose(r, c) {
    chosen = {row: Math.max(0, Math.min(access.rows - 1, r)), col: Math.max(0, Math.min(access.cols - 1, c))};
    draw();
  }

  /** A link's text, which some programs write with percent signs. */
  function decoded(text) {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  }

  /** Show an access by the text of its link; what is wrong with it is told, and changes nothing. */
  function show(text) {
    let given = null;
    try {
      given = accessOf(decoded(text));
    } catch (e) {
      find("wrong").textContent = e.message;
      return false;
    }
    find("wrong").textContent = "";
    access = given;
    chosen = {row: 0, col: 0};
    build();
    update();
    return true;
  }

  find("presets").addEventListener("change", () => { if (find("presets").value) show(find("presets").value); });
  find("panels").addEventListener("click", (event) => {
    const cell = event.target.closest("g[data-row]");
    if (cell) choose(Number(cell.dataset.row), Number(cell.dataset.col));
  });
  find("panels").addEventListener("keydown", (event) => {
    const step = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[event.key];
    if (!step) return;
    event.preventDefault();
    const place = [...find("panels").children].indexOf(event.target.closest(".scroll"));
    choose(chosen.row + step[0], chosen.col + step[1]);
    find("panels").children[place]?.focus();
  });
  for (const id of ["row", "col"]) {
    find(id).addEventListener("input", () => choose(Number(find("row").value) || 0, Number(find("col").value) || 0));
  }
  addEventListener("hashchange", () => {
    if (decoded(location.hash.slice(1)) !== linkOf(access)) show(location.hash.slice(1));
  });
  const asked = location.hash.slice(1);
  if (!asked || !show(asked)) {
    const told = find("wrong").textContent;
    show(explorer.start);
    find("wrong").textContent = told;
  }
})();
