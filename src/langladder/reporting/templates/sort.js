// Click a column's title to sort by it, again to turn it round. Without this script the tables are in ladder order.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const rising = head.getAttribute("aria-sort") !== "ascending";
      const key = (row) => parseFloat(row.cells[column].dataset.value);
      const order = (a, b) => {
        const [x, y] = column ? [key(a), key(b)] : [+a.dataset.rung, +b.dataset.rung];
        if (isNaN(x) || isNaN(y)) return isNaN(x) - isNaN(y); // what was not measured stands last
        return rising ? x - y : y - x;
      };
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", rising ? "ascending" : "descending");
      body.append(...[...body.rows].sort(order));
    });
  });
}
