// Tables of predictions: choose a rung, right or wrong, or a word of the text. Without this script every row is there.
for (const table of document.querySelectorAll("table.predictions")) {
  const rows = [...table.tBodies[0].rows];
  const controls = document.createElement("div");
  controls.className = "controls chooser";
  const choose = (label, entries) => {
    const select = document.createElement("select");
    select.setAttribute("aria-label", label);
    for (const [value, text] of [["", label], ...entries]) select.add(new Option(text, value));
    if (entries.length > 1) controls.append(select);
    select.addEventListener("change", show);
    return select;
  };
  const rung = choose("every rung", [...new Map(rows.map((row) => [row.dataset.rung, row.cells[0].textContent]))]);
  const kinds = [...new Set(rows.map((row) => row.dataset.right).filter(Boolean))].sort();
  const right = choose("right and wrong", kinds.map((kind) => [kind, kind]));
  const search = document.createElement("input");
  search.type = "search";
  search.placeholder = "filter by text, truth or answer";
  search.setAttribute("aria-label", "Filter the table by text, truth or answer");
  search.addEventListener("input", show);
  controls.append(search);
  table.closest(".wide").before(controls);

  function show() {
    const wanted = search.value.trim().toLowerCase();
    for (const row of rows) {
      const other = (rung.value && row.dataset.rung !== rung.value) || (right.value && row.dataset.right !== right.value);
      row.hidden = Boolean(other) || !row.textContent.toLowerCase().includes(wanted);
    }
  }
}
