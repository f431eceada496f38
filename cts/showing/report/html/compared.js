// Shows what is chosen of areas, features and cases.
"use strict";
(() => {
  const told = document.getElementById("shown");
  const rows = [...document.querySelectorAll("[data-row]")];
  const tables = [...document.querySelectorAll(".matrix")];

  /** Whether a row has a status on the chosen driver, or on any. */
  function has(row, status, column) {
    const cells = column ? [row.cells[Number(column)]] : [...row.cells].slice(1);
    return cells.some((cell) => cell.matches(`.s-${status}`) || cell.querySelector(`.s-${status}`));
  }

  function choose(wanted) {
    const words = wanted.text.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const shown = {};
    for (const row of rows) {
      const data = row.dataset;
      const text = `${data.name} ${data.text || ""}`.toLowerCase();
      row.hidden =
        (wanted.area && data.area && data.area !== wanted.area) ||
        (wanted.state === "differs" && !("differs" in data)) ||
        (wanted.state && wanted.state !== "differs" && !has(row, wanted.state, wanted.column)) ||
        !words.every((word) => text.includes(word));
      shown[data.row] = (shown[data.row] || 0) + !row.hidden;
    }
    for (const table of tables) {
      for (const line of table.rows) {
        [...line.cells].forEach((cell, n) => {
          cell.classList.toggle("hidden-column", n > 0 && wanted.column !== "" && n !== Number(wanted.column));
        });
      }
    }
    told.textContent = `${shown.cases || 0} cases, ${shown.feature || 0} features shown`;
  }

  keepChoice(document.getElementById("filters"), choose);
})();
