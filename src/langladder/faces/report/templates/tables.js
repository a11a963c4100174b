// The ladder's tables: sort by a click on a column's title (best first, again to turn it round), filter by rung or approach,
// show every column. Without this script they hold every column, in the order of the ladder, approach by approach.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  const approaches = [...table.tBodies];
  const rows = approaches.flatMap((body) => [...body.querySelectorAll("tr[data-place]")]);
  const home = new Map(rows.map((row) => [row, row.parentNode]));
  const sorted = table.createTBody(); // holds the rows of all approaches, in the order of a column

  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const first = head.dataset.better === "higher" ? "descending" : "ascending";
      const other = first === "ascending" ? "descending" : "ascending";
      const direction = column && head.getAttribute("aria-sort") === first ? other : first;
      heads.forEach((one) => one.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", direction);
      if (column) sorted.append(...[...rows].sort(order(column, direction === "ascending")));
      else rows.forEach((row) => home.get(row).append(row));
      approaches.forEach((body) => (body.hidden = column > 0));
    });
  });

  function order(column, rising) {
    const key = (row) => parseFloat(row.cells[column].dataset.value);
    return (a, b) => {
      const [x, y] = [key(a), key(b)];
      if (isNaN(x) || isNaN(y)) return isNaN(x) - isNaN(y) || a.dataset.place - b.dataset.place; // not measured: last
      return (x === y ? 0 : rising ? x - y : y - x) || a.dataset.place - b.dataset.place;
    };
  }

  const controls = document.createElement("div");
  controls.className = "controls";
  table.closest(".wide").before(controls);
  if (rows.length > 6) {
    const filter = document.createElement("input");
    filter.type = "search";
    filter.placeholder = "filter by rung or approach";
    filter.setAttribute("aria-label", "Filter the table by rung or approach");
    filter.addEventListener("input", () => {
      const wanted = filter.value.trim().toLowerCase();
      const hide = (row) => (row.hidden = !`${row.cells[0].textContent} ${row.dataset.approach}`.toLowerCase().includes(wanted));
      rows.forEach(hide);
      for (const body of approaches) {
        const heading = body.querySelector(".approach");
        if (heading) heading.hidden = rows.every((row) => home.get(row) !== body || row.hidden);
      }
    });
    controls.append(filter);
  }
  const more = heads.filter((head) => head.classList.contains("more")).length;
  if (more) {
    const button = document.createElement("button");
    const toggle = () => {
      const brief = table.classList.toggle("brief");
      button.textContent = brief ? `${more} more column${more > 1 ? "s" : ""}` : "fewer columns";
    };
    button.addEventListener("click", toggle);
    controls.append(button);
    toggle();
  }
}
