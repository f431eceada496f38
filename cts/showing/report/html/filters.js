// Shows what is chosen of failures and results.
"use strict";
(() => {
  const told = document.getElementById("shown");
  const rows = [...document.querySelectorAll("[data-row]")];
  const groups = [...document.querySelectorAll("[data-group]")];

  function choose(wanted) {
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
  }

  keepChoice(document.getElementById("filters"), choose);
})();
