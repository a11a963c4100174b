// Words: each part asks again when something that it depends on has changed.
import { ask, enclosing, make, onState, plain, send, state, stream } from "./common.js";
import { WordMap } from "./word_map.js";

const API = "/api/words/";
const field = (name) => document.querySelector(`[name="${name}"]`);
const models = [...field("model").options].map((option) => option.value);
const titles = new Map([...field("model").options].map((option) => [option.value, option.textContent]));
const score = (value) => (value === null || value === undefined ? "–" : value.toFixed(3));

/** Where a part shows its answers and what went wrong. */
function part(id) {
  const section = document.getElementById(id);
  const alert = section.querySelector(".alert");
  return {
    show: (...inside) => section.querySelector(".found").replaceChildren(...inside),
    tell: (message) => {
      alert.textContent = message;
      alert.hidden = !message;
      if (message) section.querySelector(".found").replaceChildren();
    },
  };
}

function table(caption, heads, rows, classes = "") {
  const cell = (value, place) =>
    place === 0 ? make("th", { scope: "row", ...enclosing(String(value), "text") }, String(value))
      : typeof value === "number" ? make("td", { class: "number" }, score(value))
      : make("td", typeof value === "string" ? enclosing(value, "text") : {}, value);
  return make("div", { class: "wide", tabindex: 0, role: "region", "aria-label": caption },
    make("table", { class: classes }, make("caption", {}, caption),
      make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
      make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map(cell))))));
}

/** A word as a button: its neighbours are asked for. */
function word(text) {
  const button = make("button", { type: "button", class: "word", ...enclosing(text, "text") }, text);
  button.addEventListener("click", () => {
    state.set({ word: text });
    send();
    document.getElementById("neighbours").scrollIntoView({ block: "nearest" });
  });
  return button;
}

const parts = {
  neighbours: {
    needs: ["model", "word", "count", "measure"],
    async run({ model, word: asked, count, measure }, { show, tell }) {
      const found = await ask(`${API}neighbours`, { model, word: asked, count, measure }, tell);
      if (found) show(table(`Nearest to ${plain(asked.trim())}`, ["rank", "word", measure === "euclidean" ? "distance" : measure === "dot" ? "dot product" : "cosine"],
        found.map((one, place) => [place + 1, word(one.word), one.score])));
    },
  },
  rungs: {
    needs: ["word"],
    async run({ word: asked }, { show, tell }) {
      const rows = [];
      await stream(`${API}rungs`, { models, word: asked }, (event) => {
        const inside = event.error ? make("span", { class: "faint" }, event.error.message) : make("ul", { class: "chips" }, ...event.nearest.map((one) => make("li", {}, word(one.word), make("span", { class: "faint" }, one.score.toFixed(2)))));
        rows.push([titles.get(event.model), inside]);
        show(table(`Nearest to ${plain(asked.trim())} in each`, ["rung", "nearest words, with cosines"], rows));
      }, tell);
    },
  },
  analogy: {
    needs: ["model", "a", "b", "c"],
    async run({ model, a, b, c }, { show, tell }) {
      const found = await ask(`${API}analogy`, { model, a, b, c }, tell);
      if (!found) return;
      const rows = found.add.map((one, place) => [place + 1, word(one.word), one.score, found.mul[place] ? word(found.mul[place].word) : "–", found.mul[place]?.score ?? "–"]);
      show(table(`${plain(a)} is to ${plain(b)} as ${plain(c)} is to`, ["rank", "by 3CosAdd", "cosine", "by 3CosMul", "score"], rows));
    },
  },
  similarity: {
    needs: ["model", "first", "second"],
    async run({ model, first, second }, { show, tell }) {
      const found = await ask(`${API}similarity`, { model, first, second }, tell);
      if (found) show(table(`${plain(first)} and ${plain(second)}`, ["by", "value"], [["cosine", found.cosine], ["dot product", found.dot], ["distance", found.euclidean]]));
    },
  },
  odd: {
    needs: ["model", "words"],
    async run({ model, words }, { show, tell }) {
      const found = await ask(`${API}odd`, { model, words }, tell);
      if (!found) return;
      show(make("p", {}, "Not like the others: ", make("strong", enclosing(found[0].word, "text"), found[0].word)),
        table("The more alike the other words are without it, the less a word belongs", ["without", "mean cosine of the others"], found.map((one) => [one.word, one.compactness])));
    },
  },
  bias: {
    needs: ["model", "pairs", "leaning"],
    async run({ model, pairs, leaning }, { show, tell }) {
      if (!pairs.trim() || !leaning.trim()) return show(make("p", { class: "faint" }, "Write pairs and words."));
      const found = await ask(`${API}bias`, { model, pairs, words: leaning }, tell);
      if (found) show(...biased(found));
    },
  },
  map: {
    needs: ["model", "size", "method"],
    run: drawMap,
  },
};

function biased(found) {
  const answers = found.analogies.map((one) => new Map(one?.answers.map((answer) => [answer.word, answer.unchanged ? `${answer.answer} (else itself)` : answer.answer])));
  const [second, first] = found.analogies[0]?.pair ?? [...found.pair].reverse();
  const rows = found.leaning.map(([name, before, after]) => [name, before < 0 ? second : first, lean(before), lean(after), answers[0].get(name) ?? "–", answers[1].get(name) ?? "–"]);
  const notes = [`The direction explains ${(100 * found.explained[0]).toFixed(0)} % of the differences within the pairs.`];
  if (found.missing.length) notes.push(`Without a vector: ${found.missing.map(plain).join(", ")}.`);
  if (found.within.length) notes.push(`Left out, because they are in a pair: ${found.within.map(plain).join(", ")}.`);
  const ask = `${plain(second)} : word :: ${plain(first)} :`;
  return [make("p", {}, notes.join(" ")),
    table(`Mean bias ${score(found.direct[0])}, after hard debiasing ${score(found.direct[1])}`, ["word", "leans to", "cosine before", "after", `${ask} before`, "after"], rows)];
}

/** A cosine with a bar that begins in the middle. */
function lean(value) {
  const bar = make("span", { class: value < 0 ? "lean left" : "lean" });
  bar.style.setProperty("--size", `${Math.min(50, 50 * Math.abs(value))}%`);
  return make("span", { class: "leaning" }, make("span", { class: "scale", "aria-hidden": "true" }, bar), value.toFixed(3));
}

// The map.
const said = document.getElementById("plane-said");
const progress = document.getElementById("plane-progress");
const plane = new WordMap(document.getElementById("plane"), (chosen) => {
  state.set({ at: chosen });
  send();
});
document.getElementById("closer").addEventListener("click", () => plane.zoom(1.5));
document.getElementById("further").addEventListener("click", () => plane.zoom(1 / 1.5));
document.getElementById("whole").addEventListener("click", () => plane.reset());
let drawn = ""; // the model and size of what is on the plane

async function drawMap({ model, size, method }, { tell }) {
  const asked = parts.map.asked;
  const place = (event, how) => {
    plane.show(event.words, event.x, event.y);
    drawn = JSON.stringify([model, size]);
    const share = event.explained === null ? "" : `, which shows ${(100 * event.explained).toFixed(0)} % of the variance`;
    said.textContent = `${event.words.length.toLocaleString("en")} words by ${how}${share}`;
    plane.canvas.setAttribute("aria-label", `Map of ${said.textContent}`);
    choose(state.get(), false);
  };
  const wait = (how) => async (event) => {
    if (parts.map.asked !== asked) return;
    if (event.words) place(event, how);
    else if (event.said) {
      progress.hidden = false;
      event.share ? (progress.value = event.share) : progress.removeAttribute("value");
      said.textContent = `${how}: ${event.said}`;
    }
  };
  if (method === "pca" || drawn !== JSON.stringify([model, size])) await stream(`${API}map?at-once`, { model, count: size, method: "pca" }, wait("PCA"), tell);
  if (method !== "pca" && parts.map.asked === asked) {
    for (let again = true; again && parts.map.asked === asked; ) {
      again = false;
      await stream(`${API}map`, { model, count: size, method }, (event) => {
        again = Boolean(event.again);
        wait(method === "tsne" ? "t-SNE" : "UMAP")(event);
      }, tell);
    }
  }
  if (parts.map.asked === asked) progress.hidden = true;
}

let listed = "";
async function choose({ model, at }, move = true) {
  const chosen = document.getElementById("chosen");
  const key = JSON.stringify([model, at]);
  if (!at.trim()) {
    plane.choose("");
    listed = "";
    return chosen.replaceChildren();
  }
  if (key === listed && move) return;
  const found = await ask(`${API}neighbours?of-the-map`, { model, word: at }, (message) => message && chosen.replaceChildren(make("p", { class: "alert" }, message)));
  if (!found) return;
  listed = key;
  const there = plane.choose(at.trim(), found.map((one) => one.word), move);
  chosen.replaceChildren(make("h3", {}, `Nearest to ${plain(at.trim())}`),
    make("ol", { class: "nearest-list" }, ...found.map((one) => make("li", {}, word(one.word), " ", make("span", { class: "faint" }, one.score.toFixed(3))))));
  if (!there) chosen.append(make("p", { class: "small faint" }, "It is not on this map; draw more words."));
}

let known = null; // the model whose examples stand in empty fields
onState(async (values) => {
  if (!models.length) return;
  if (values.model !== known) {
    known = values.model;
    const about = await ask(`${API}about`, { model: values.model });
    document.getElementById("about").textContent = about ? `${about.words.toLocaleString("en")} words, ${about.dimension.toLocaleString("en")} dimensions${about.sparse ? ", sparse" : ""}` : "";
    if (!about) return;
    for (const option of field("method").options) option.disabled = option.value in about.missing;
    const lines = Object.entries(about.missing).flatMap(([name, line]) => [`${field("method").querySelector(`[value="${name}"]`).textContent}: not installed here, `, make("code", {}, line), " brings it. "]);
    document.getElementById("missing").replaceChildren(...lines);
    document.getElementById("try").replaceChildren(make("span", { class: "small faint" }, "Try a word of these vectors:"), ...about.try.map((text) => make("span", {}, word(text))));
    state.set(Object.fromEntries(Object.entries(about.examples).filter(([name]) => !state.get()[name]?.trim())));
    values = state.get();
  }
  for (const [id, one] of Object.entries(parts)) {
    const asked = JSON.stringify(one.needs.map((name) => values[name]));
    if (asked === one.asked) continue;
    one.asked = asked;
    const { show, tell } = part(id);
    tell("");
    one.run(values, { show, tell });
  }
  choose(values);
});
for (const name of ["model", "method", "measure"]) field(name).addEventListener("change", send);
