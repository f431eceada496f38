// Buttons that copy the text of an element. Where the clipboard is closed to the page, the text is selected instead.
"use strict";
(() => {
  const told = document.getElementById("told");
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const source = document.getElementById(button.dataset.copy);
      try {
        await navigator.clipboard.writeText(source.textContent);
        told.textContent = "Copied.";
      } catch {
        for (let e = source.parentElement; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
        getSelection().selectAllChildren(source);
        told.textContent = "Selected: copy it with the keyboard.";
      }
      setTimeout(() => { told.textContent = ""; }, 3000);
    });
  }

  // A link leads to what is folded, too.
  function open() {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    for (let e = target; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
    if (target) target.scrollIntoView();
  }
  addEventListener("hashchange", open);
  if (!location.hash.includes("=")) open();
})();
