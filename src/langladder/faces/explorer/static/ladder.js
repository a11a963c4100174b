// Ladder: the tables of the last run (sorted by the report's own script), the family tree, learning curves.
import { ask, graft, make, onState, state } from "./common.js";
import { plot } from "./curves.js";

const found = document.getElementById("found");
const region = (label, ...inside) => make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": label }, ...inside);

function cellOf(column, cell) {
  const kinds = ["number", column.brief ? "" : "more", cell.best ? "best" : ""].filter(Boolean).join(" ");
  return make("td", { class: kinds, "data-value": cell.value }, cell.text);
}

function rowOf(table, approach, row, runs) {
  const year = row.year ? make("span", { class: "faint small" }, ` ${row.year}`) : null;
  const given = row.also_given ? make("div", { class: "faint small" }, `also given: ${row.also_given}`) : null;
  const cells = row.cells.map((cell, place) => cellOf(table.columns[place], cell));
  const run = row.link ? make("a", { href: row.link, rel: "noreferrer", target: "_blank", "aria-label": `The MLflow run of ${row.title}` }, "run") : row.run ? make("code", { class: "small" }, row.run.slice(0, 8)) : "–";
  const last = runs ? [make("td", { class: "more", "data-value": "" }, run)] : [];
  return make("tr", { "data-place": row.place, "data-approach": approach }, make("th", { scope: "row" }, row.title, year, given), ...cells, ...last);
}

function tableOf(table, runs) {
  const heads = table.columns.map((one) => make("th", { scope: "col", class: `number${one.brief ? "" : " more"}`, "data-better": one.better }, one.title));
  if (runs) heads.push(make("th", { scope: "col", class: "more" }, "MLflow run"));
  const bodies = table.approaches.map(({ approach, rows }) => {
    const over = approach ? [make("tr", { class: "approach" }, make("th", { scope: "rowgroup", colspan: heads.length + 1 }, approach))] : [];
    return make("tbody", {}, ...over, ...rows.map((row) => rowOf(table, approach, row, runs)));
  });
  const drawn = make(
    "table",
    { class: "sortable", "data-family": table.family },
    make("caption", {}, `Bold: the best of its column. A dash: not measured. Beside a rung: the year of its method. ${table.note ? `${table.note}. ` : ""}Press a heading to sort.`),
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "rung"), ...heads)),
    ...bodies,
  );
  const units = table.columns.flatMap((one) => [make("dt", {}, one.title), make("dd", {}, one.explanation + (one.better ? `; ${one.better} is better` : ""))]);
  return [
    make("h2", {}, table.title),
    region(table.title, drawn),
    make("details", { class: "units" }, make("summary", {}, "What the columns mean"), make("dl", { class: "units" }, ...units)),
  ];
}

function without(models) {
  const rows = models.map((one) => make("tr", {}, make("th", { scope: "row" }, one.title), make("td", {}, one.kind ?? "–"), make("td", {}, make("code", {}, one.name))));
  const head = make("tr", {}, ...["model", "kind", "name"].map((name) => make("th", { scope: "col" }, name)));
  found.replaceChildren(
    make("p", {}, "There is no report beside these models yet: ", make("code", {}, "make repro"), " (or ", make("code", {}, "dvc repro"), ") measures the rungs and writes one. The other pages work on the models all the same."),
    region("The models of this folder", make("table", {}, make("caption", {}, `The ${models.length} models of this folder`), make("thead", {}, head), make("tbody", {}, ...rows))),
  );
}

function grown(run) {
  if (!run.tree) return [];
  const drawing = graft(run.tree);
  const rows = run.grown.map((one) => make("tr", {}, make("th", { scope: "row" }, one.rung, " ", make("code", { class: "faint small" }, one.name)), make("td", {}, one.base, " ", make("code", { class: "faint small" }, one.base_name))));
  const head = make("tr", {}, make("th", { scope: "col" }, "rung"), make("th", { scope: "col" }, "grew from"));
  return [
    make("h2", {}, "Family tree"),
    make("p", {}, `A rung may start from another one: it begins with what that one has learnt. Each box started from the box to its left.${run.tree.includes("stroke-dasharray") ? " A dashed line comes from another rung that it also learnt from, such as a reward model." : ""}`),
    drawing ? region("The family tree", drawing) : null,
    region("Which rung grew from which", make("table", {}, make("caption", {}, "Which rung grew from which"), make("thead", {}, head), make("tbody", {}, ...rows))),
  ];
}

function about(run) {
  const chosen = Object.entries(run.chosen).map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, String(value))));
  const best = run.headlines.flatMap(([what, which]) => [`${what}: `, make("strong", {}, which), ". "]);
  const runs = !run.runs || run.tracking ? null : make("p", { class: "small faint" }, make("code", {}, "make ui"), " shows every run in MLflow; ", make("code", {}, "langladder explore --mlflow URL"), " with its address links each rung to its own.");
  return [make("p", {}, ...best), make("dl", { class: "chosen" }, ...chosen), runs];
}

/** The report's script sorts and filters the tables that are there when it runs. */
function sortable() {
  const script = make("script", { src: "/static/tables.js" });
  return new Promise((done) => {
    script.addEventListener("load", done);
    script.addEventListener("error", done);
    document.head.append(script);
  });
}

function sorted() {
  const part = (table) => {
    const place = [...table.tHead.rows[0].cells].findIndex((head) => head.hasAttribute("aria-sort"));
    return place > 0 ? `${table.dataset.family}.${place}.${table.tHead.rows[0].cells[place].getAttribute("aria-sort")}` : null;
  };
  return [...document.querySelectorAll("table.sortable")].map(part).filter(Boolean).join("~");
}

function sort(wanted) {
  const asked = new Map(wanted.split("~").map((part) => part.split(".")).map(([family, place, way]) => [family, [Number(place), way]]));
  for (const table of document.querySelectorAll("table.sortable")) {
    const [place, way] = asked.get(table.dataset.family) ?? [0, "ascending"];
    const head = table.tHead.rows[0].cells[place];
    for (let k = 0; k < 2 && head && (place || table.querySelector("[aria-sort]")) && head.getAttribute("aria-sort") !== way; k++) head.querySelector("button")?.click();
  }
}

function remember(values) {
  state.set(values);
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(state.get())) query.set(name, String(value ?? ""));
  history.replaceState(null, "", `${location.pathname}?${query}`);
}

const [run, curves] = await Promise.all([ask("/api/ladder/run", {}), ask("/api/ladder/curves", {})]);
found.removeAttribute("aria-busy");
if (run && !run.found) without(run.models);
if (run?.found) {
  found.replaceChildren(...[...about(run), ...run.tables.flatMap((table) => tableOf(table, run.runs)), ...grown(run)].filter(Boolean));
  await sortable();
}
const [family, measure] = ["family", "measure"].map((name) => document.querySelector(`select[name="${name}"]`));
family.append(...(curves ?? []).map((one) => make("option", { value: one.family }, one.title)));
document.getElementById("curves").hidden = !curves?.length;

function measures() {
  const own = (curves ?? []).find((one) => one.family === family.value)?.measures ?? {};
  const before = measure.value || new URLSearchParams(location.search).get("measure");
  measure.replaceChildren(...Object.entries(own).map(([name, words]) => make("option", { value: name }, words)));
  if (before in own) measure.value = before;
}
const asked = new URLSearchParams(location.search).get("family");
if ((curves ?? []).some((one) => one.family === asked)) family.value = asked;
measures();
if (found.querySelector("table.sortable")) {
  found.addEventListener("click", (event) => {
    if (event.isTrusted && event.target.closest("th button")) remember({ sort: sorted() });
  });
}
for (const field of document.querySelectorAll("form[data-state] :is(select, input)")) {
  field.addEventListener("change", () => {
    measures();
    state.set({ zoom: "" });
    field.form.requestSubmit();
  });
}

function drawn(values) {
  const own = (curves ?? []).find((one) => one.family === values.family);
  const lines = (own?.rungs ?? []).filter((rung) => rung.lines[values.measure]).map((rung) => ({ title: rung.title, hue: rung.hue, points: rung.lines[values.measure] }));
  const hidden = new Set(values.hide ? values.hide.split("~") : []);
  const shares = (values.zoom ?? "").split(",").map(Number);
  const view = shares.length === 4 && shares.every((share) => share >= 0 && share <= 1) && shares[0] < shares[1] && shares[2] < shares[3] ? shares : null;
  const changed = (next) => remember({ zoom: next ? next.map((share) => share.toFixed(4)).join(",") : "", hide: [...hidden].join("~") });
  const label = own ? `${own.title}: ${own.measures[values.measure]}` : "";
  document.getElementById("plot").replaceChildren(...(lines.length ? [plot(lines, { label, log: values.log, hidden, view, changed }), ends(lines, label)] : []));
}

function ends(lines, label) {
  const best = (points) => points.reduce((one, other) => (other[1] < one[1] ? other : one));
  const rows = lines.map(({ title, points }) => {
    const [[step, value], [at, low]] = [points.at(-1), best(points)];
    return make("tr", {}, make("th", { scope: "row" }, title), make("td", { class: "number" }, String(step)), make("td", { class: "number" }, value.toPrecision(4)), make("td", { class: "number" }, `${low.toPrecision(4)} (${at})`));
  });
  const head = make("tr", {}, ...["rung", "last step", "there", "lowest (step)"].map((name) => make("th", { scope: "col" }, name)));
  return make("details", {}, make("summary", {}, "The same in figures"), region("The curves in figures", make("table", {}, make("caption", {}, label), make("thead", {}, head), make("tbody", {}, ...rows))));
}

onState((values) => {
  if (found.querySelector("table.sortable")) sort(values.sort ?? "");
  measures();
  if (curves?.length) drawn(state.get());
});
