// Translate: the best of every model, the attention of one translation, the search as a tree.
import { ask, clipped, direction, enclosing, make, onState, plain, send, state, stream } from "./common.js";
import { noteOn, unknownWords } from "./unknown.js";
import { Tree } from "./beam_tree.js";

const at = (id) => document.getElementById(id);
const titleOf = (name) => document.querySelector(`input[name="models"][value="${CSS.escape(name)}"]`)?.parentElement.textContent.trim() ?? name;
const KINDS = { source: "the decoder, the source", encoder: "the encoder, itself", decoder: "the decoder, itself" };
let answers = new Map(); // model → its event
let last = {}; // the form's values at the last question

function tell(section) {
  const alert = at(section).querySelector(".alert");
  return (message) => {
    alert.textContent = message;
    alert.hidden = !message;
  };
}

function table(caption, heads, rows) {
  return make("div", { class: "wide", tabindex: 0, role: "region", "aria-label": caption },
    make("table", { class: "texts" }, make("caption", {}, caption), make("thead", {}, make("tr", {}, ...heads.map((head, place) => make("th", { scope: "col", class: place > 1 ? "number" : null }, head)))),
      make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((value, place) => make(place ? "td" : "th", place === 0 ? { scope: "row" } : place === 1 ? enclosing(value.textContent, "target") : { class: "number" }, value)))))));
}

function look(model, which, text) {
  const button = make("button", { type: "button", class: "word", "aria-label": `What ${titleOf(model)} reads for: ${plain(text)}` }, text || "(nothing)");
  button.addEventListener("click", () => {
    state.set({ shown: `${model}|${which}` });
    send();
    at("attention").scrollIntoView({ block: "nearest" });
  });
  return button;
}

function show() {
  at("found").replaceChildren(...last.models.map((model) => {
    const answer = answers.get(model);
    const heading = make("h2", {}, titleOf(model));
    if (!answer) return make("section", {}, heading, make("p", { class: "faint" }, "…"));
    if (answer.error) return make("section", {}, heading, make("p", { class: "alert" }, answer.error.message));
    const row = (name, one, which) => [name, look(model, which, one.text), one.score.toFixed(4), one.log_prob.toFixed(4), String(one.tokens)];
    const same = answer.greedy.text === answer.beam[0]?.text;
    const rows = [...answer.beam.map((one, place) => row(String(place + 1), one, place)), row("greedy", answer.greedy, "greedy")];
    const gain = answer.beam[0] ? answer.beam[0].log_prob - answer.greedy.log_prob : 0;
    const verdict = same ? "Greedy search finds the same." : gain > 0 ? `The translation of the beam is ${Math.exp(gain).toLocaleString("en", { maximumSignificantDigits: 3 })} times as probable as the greedy one.` : "The translation of greedy search is more probable; that of the beam has the better score.";
    return make("section", {}, heading, noteOn(model), table(`“${plain(clipped(last.text.trim(), 80))}” by ${titleOf(model)}`, ["rank", "translation", "score", "log P", "tokens"], rows), make("p", { class: "small faint" }, verdict));
  }));
}

// Attention.
let read = null;
const options = (select, values) => {
  const before = select.value;
  select.replaceChildren(...values.map(([value, text]) => make("option", { value }, text)));
  if (values.some(([value]) => String(value) === before)) select.value = before;
  select.disabled = values.length < 2;
};

async function attention(model, which) {
  const answer = answers.get(model);
  const one = which === "greedy" ? answer?.greedy : answer?.beam?.[Number(which)];
  at("attention").hidden = !one;
  if (!one) return;
  read = await ask("/api/translate/attention", { model, text: last.text, ids: one.ids }, tell("attention"));
  at("chosen-heads").hidden = !read?.layers.length;
  if (!read) return at("reading").replaceChildren();
  if (!read.layers.length) return at("reading").replaceChildren(make("p", {}, `${titleOf(model)} has no attention: it reads the sentence once, into one vector of the same size for short and long sentences.`));
  options(at("kind"), [...new Set(read.layers.map((layer) => layer.kind))].map((kind) => [kind, KINDS[kind]]));
  choose();
}

function choose() {
  const mine = read.layers.filter((layer) => layer.kind === at("kind").value);
  const before = at("layer").options.length;
  options(at("layer"), mine.map((layer) => [layer.layer, String(layer.layer)]));
  if (!before) at("layer").value = mine.at(-1).layer; // the last is what the search sees
  const layer = mine.find((one) => String(one.layer) === at("layer").value);
  const heads = layer.weights.length;
  options(at("head"), heads === 1 ? [["0", "the only one"]] : [["mean", "mean of all"], ...layer.weights.map((_, place) => [String(place), String(place + 1)])]);
  const head = at("head").value;
  const weights = head === "mean" ? layer.weights[0].map((row, t) => row.map((_, s) => layer.weights.reduce((sum, one) => sum + one[t][s], 0) / heads)) : layer.weights[Number(head)];
  const own = ["<bos>", ...read.target.slice(0, -1)];
  const [rows, columns] = { source: [read.target, read.source], encoder: [read.source, read.source], decoder: [read.target, own] }[layer.kind];
  const side = { source: ["target", "source"], encoder: ["source", "source"], decoder: ["target", "target"] }[layer.kind];
  matrix(rows, columns, weights, side);
}

function matrix(rows, columns, weights, [ofRows, ofColumns]) {
  const runs = direction(columns.join(" ")); // its columns are read that way
  const marks = columns.map((text) => make("span", { class: "token", ...enclosing(text, ofColumns) }, text));
  const light = (t) => {
    marks.forEach((mark, s) => mark.style.setProperty("--heat", `${100 * (weights[t]?.[s] ?? 0)}%`));
    body.querySelectorAll("tr").forEach((row, place) => row.classList.toggle("lit", place === t));
  };
  const cell = (value) => {
    const one = make("td", { class: "number heat" }, value < 0.005 ? "" : value.toFixed(2));
    one.style.setProperty("--heat", `${100 * value}%`);
    return one;
  };
  const body = make("tbody", {}, ...rows.map((text, t) => {
    const button = make("button", { type: "button", class: "word", ...enclosing(text, ofRows) }, text);
    const row = make("tr", {}, make("th", { scope: "row" }, button), ...weights[t].map(cell));
    button.addEventListener("focus", () => light(t));
    button.addEventListener("click", () => light(t));
    row.addEventListener("pointerenter", () => light(t));
    return row;
  }));
  at("reading").replaceChildren(make("p", { class: "tokens reading", "aria-hidden": "true", dir: runs }, ...marks),
    make("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Attention weights", dir: runs },
      make("table", { class: "weights" }, make("caption", { dir: "ltr" }, "Each row is a token that reads, each column a token that is read; a row sums to 1"),
        make("thead", {}, make("tr", {}, make("td"), ...columns.map((text) => make("th", { scope: "col", ...enclosing(text, ofColumns) }, text)))), body)));
  light(0);
}
for (const id of ["kind", "layer", "head"]) at(id).addEventListener("change", choose);

// The tree.
const tree = new Tree(at("tree"), at("weighed"));
const slider = at("step");
let playing = null;
function stop() {
  clearInterval(playing);
  playing = null;
  at("play").textContent = "Play";
}
function step(place) {
  slider.value = place;
  tree.show(Number(slider.value), at("dropped").checked);
  slider.setAttribute("aria-valuetext", `step ${slider.value} of ${slider.max}`);
}
async function unfold(model) {
  stop();
  at("search").hidden = !answers.get(model)?.beam;
  if (at("search").hidden) return;
  const { text, width, n_best, alpha, length_form } = last;
  const found = await ask("/api/translate/tree", { model, text, width, n_best, alpha, length_form }, tell("search"));
  at("tree").parentElement.hidden = !found;
  if (!found) return at("weighed").replaceChildren();
  tree.take(found);
  slider.max = tree.steps;
  step(tree.steps);
}
slider.addEventListener("input", () => step(Number(slider.value)));
at("back").addEventListener("click", () => step(Number(slider.value) - 1));
at("on").addEventListener("click", () => step(Number(slider.value) + 1));
at("dropped").addEventListener("change", () => step(Number(slider.value)));
at("play").addEventListener("click", () => {
  if (playing) return stop();
  at("play").textContent = "Stop";
  if (slider.value === slider.max) step(1);
  playing = setInterval(() => {
    if (slider.value === slider.max) return stop();
    step(Number(slider.value) + 1);
  }, 1000);
});

let searched = "";
onState(async (values) => {
  const { shown, ...asked } = values;
  if (JSON.stringify(asked) !== searched) {
    searched = JSON.stringify(asked);
    [last, answers] = [values, new Map()];
    const mine = answers;
    at("attention").hidden = at("search").hidden = true;
    at("found").replaceChildren();
    if (!values.models?.length) return at("found").replaceChildren(make("p", { class: "faint" }, "Choose a model."));
    await unknownWords([{ text: values.text, models: values.models }], "The translators were not trained on sentences with these words: they read pieces whose combination is not in the training text. Do not rely on their translations.");
    if (mine !== answers) return;
    await stream("/api/translate/search", { ...asked }, (event) => {
      if (mine !== answers) return;
      answers.set(event.model, event);
      show();
    });
    if (mine !== answers || !answers.size) return;
    last.treeOf = null;
  }
  const [model, which] = shown?.includes("|") ? [shown.slice(0, shown.lastIndexOf("|")), shown.slice(shown.lastIndexOf("|") + 1)] : [];
  const found = last.models?.filter((name) => answers.get(name)?.beam?.length) ?? [];
  const first = found.find((name) => answers.get(name).attends) ?? found[0]; // one that has something to show
  const chosen = answers.get(model)?.beam ? model : first;
  if (!chosen) return;
  attention(chosen, chosen === model ? which : "0");
  if (last.treeOf !== chosen) unfold(chosen);
  last.treeOf = chosen;
});
