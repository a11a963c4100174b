// What the published pages share: the rungs of the page, the texts that it proposes, tables with bars.
import { complain, make, onState, send, state } from "./common.js";
import { load } from "./models.js";

export const RUNGS = JSON.parse(document.body.dataset.rungs);
const loading = new Map();

/** A rung's model, loaded once. */
export function model(kind) {
  if (!loading.has(kind)) loading.set(kind, load(RUNGS[kind]));
  return loading.get(kind);
}

/** Call f(values) at the beginning and whenever the form is sent; the page shows errors. */
export function answering(f) {
  let newest = 0;
  for (const button of document.querySelectorAll("[data-text]")) {
    button.addEventListener("click", () => {
      state.set({ text: button.dataset.text });
      send();
    });
  }
  onState(async (values) => {
    const mine = ++newest;
    complain("");
    try {
      await f(values, () => mine === newest);
    } catch (error) {
      complain(error instanceof TypeError ? "a file of this page cannot be loaded; look at the browser's console" : error.message);
      console.warn(error);
    }
  });
}

/** Rows of [text, share from 0 to 1, figure], each with a bar. */
export function bars(caption, heads, rows, attributes = () => ({})) {
  const bar = (share) => {
    const found = make("span", { class: "bar-of", "aria-hidden": "true" });
    found.style.setProperty("--share", `${100 * Math.max(0, share)}%`);
    return found;
  };
  return make("div", { class: "expected wide", tabindex: 0, role: "region", "aria-label": caption }, make("table", { class: "compact" }, make("caption", {}, caption),
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, heads[0]), make("td"), make("th", { scope: "col", class: "number" }, heads[1]))),
    make("tbody", {}, ...rows.map(([text, share, figure]) => make("tr", {}, make("th", { scope: "row", ...attributes(text) }, text), make("td", {}, bar(share)), make("td", { class: "number" }, figure))))));
}

/** Let the browser draw what there is. */
export const drawn = () => new Promise((resume) => setTimeout(resume));
