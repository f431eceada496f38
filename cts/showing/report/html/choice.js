/** Calls `choose` with what a form's fields hold, now and after each change. The address keeps it, to send to others. */
function keepChoice(form, choose) {
  const fields = [...form.elements].filter((field) => field.name);

  function changed() {
    choose(Object.fromEntries(fields.map((field) => [field.name, field.value])));
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
  form.addEventListener("input", changed);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  changed();
}
