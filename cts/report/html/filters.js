// Shows what is chosen of failures and results. The choice is kept in the address, so that it can be sent to others.
"use strict";
(() => {
  const form = document.getElementById("filters");
  const told = document.getElementById("shown");
  const rows = [...document.querySelectorAll("[data-row]")];
  const groups = [...document.querySelectorAll("[data-group]")];
  const fields = [...form.elements].filter((field) => field.name);

  function choose() {
    const wanted = Object.fromEntries(fields.map((field) => [field.name, field.value]));
    const text = wanted.text.trim().toLowerCase();
    const shown = {};
    for (const row of rows) {
      const data = row.dataset;
      row.hidden =
        (wanted.driver && data.driver !== wanted.driver) ||
        (wanted.verdict && data.verdict !== wanted.verdict) ||
        (wanted.status && data.status !== wanted.status) ||
        (text && !data.name.toLowerCase().includes(text));
      if (data.row) shown[data.row] = (shown[data.row] || 0) + !row.hidden;
    }
    for (const group of groups) {
      const left = [...group.querySelectorAll("[data-row]")].filter((row) => !row.hidden);
      group.hidden = !left.length;
      const others = group.querySelector(".others");
      // Where the clearest failure is filtered out, the others are what was looked for.
      if (others && left.length) others.open = others.contains(left[0]);
    }
    told.textContent = Object.entries(shown).map(([kind, count]) => `${count} ${kind}`).join(", ") + " shown";
    const used = fields.filter((field) => field.value).map((field) => [field.name, field.value]);
    if (used.length || location.hash.includes("=")) {
      history.replaceState(null, "", used.length ? "#" + new URLSearchParams(used) : location.pathname);
    }
  }

  if (location.hash.includes("=")) {
    for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
      const field = form.elements.namedItem(name);
      if (field) field.value = value;
    }
  }
  form.addEventListener("input", choose);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  choose();
})();
