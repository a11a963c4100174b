// Inside: what one model computes on the way to one token: its tables, gates, attention, layers, with their numbers.
import { ask, draw, enclosing, make, onState, plain, send, state } from "./common.js";
import { unknownWords } from "./unknown.js";

const at = (id) => document.getElementById(id);
const chooser = document.querySelector('select[name="model"]');
const titleOf = (name) => [...chooser.options].find((option) => option.value === name)?.textContent ?? name;
const KINDS = { source: "the decoder, the source", encoder: "the encoder, itself", decoder: "the decoder, itself" };
let result = null; // the last answer of the server

/** A probability, or another number, in as many digits as say something. */
const number = (value) => (value === null || value === undefined ? "–" : value === 0 ? "0" : Math.abs(value) >= 100 ? value.toFixed(0) : Math.abs(value) >= 0.001 ? value.toPrecision(3) : value.toExponential(1));
const whole = (value) => value.toLocaleString("en");
const shown = (text) => text.trim() || JSON.stringify(text);

function table(caption, heads, rows, { classes = "compact", about = null } = {}) {
  const found = make("table", { class: classes }, make("caption", {}, caption), make("thead", {}, make("tr", {}, ...heads.map((head) => (head === null ? make("td") : make("th", { scope: "col" }, head))))), make("tbody", {}, ...rows));
  return make("div", { class: "wide", tabindex: 0, role: "region", "aria-label": plain(about ?? caption) }, found);
}

const head = (text, side = "text") => make("th", { scope: "row", ...enclosing(text, side) }, text);
const cell = (value) => make("td", { class: "number" }, typeof value === "number" || value === null ? number(value) : value);

/** A number on a colour that says how large it is, as a share of the largest. */
function heat(value, share, text = number(value)) {
  const one = make("td", { class: "number heat" }, text);
  one.style.setProperty("--heat", `${(100 * Math.max(0, Math.min(1, share || 0))).toFixed(1)}%`);
  return one;
}

function bar(share) {
  const found = make("span", { class: "bar-of", "aria-hidden": "true" });
  found.style.setProperty("--share", `${(100 * share).toFixed(1)}%`);
  return make("td", {}, found);
}

const section = (title, says, ...inside) => make("section", {}, make("h2", {}, title), says ? make("p", { class: "small faint" }, says) : null, ...inside);

/** A select with a label; `render(value)` now and whenever it changes. */
function choice(label, values, first, render) {
  const select = make("select", {}, ...values.map(([value, text]) => make("option", { value }, text)));
  select.value = String(first);
  select.disabled = values.length < 2;
  select.addEventListener("change", render);
  return [make("label", {}, `${label} `, select), () => select.value];
}

// The sentence, whose tokens are buttons, and the model's own answer.
function tokens() {
  const line = make("p", { class: "heat-line", ...enclosing(result.tokens.map(([before, text]) => before + text).join(""), "text") });
  result.tokens.forEach(([before, text], place) => {
    if (before || text === "<eos>") line.append(" ");
    const chosen = place === result.place;
    const one = make("button", { type: "button", class: chosen ? "heat-cell chosen" : "heat-cell", "aria-pressed": String(chosen) }, text || "␣");
    one.addEventListener("click", () => {
      state.set({ place: String(place) });
      send();
    });
    line.append(one);
  });
  return line;
}

function answer(model) {
  const { likeliest, probability, bits, rank } = result.answer;
  const own = result.token === null ? "The gap: what stands there is not known." : `P(“${plain(result.token)}”) = ${number(probability)}, ${number(bits)} bits, rank ${whole(rank)}.`;
  const rows = likeliest.map(([text, p]) => make("tr", {}, head(shown(text)), cell(p), bar(p)));
  return section("The sentence, and the answer", result.kind === "transformer" && result.read[0] === "<cls>" ? "Press a word to hide it: the model fills the gap. Or write <mask> into the sentence." : "Press a token to see how the model comes to it, from those before it.",
    tokens(), make("p", {}, make("b", {}, `${titleOf(model)}: `), own), table("The likeliest in its place", ["token", "probability", null], rows));
}

// n-gram models: from single words to the longest history.
function ngram() {
  const counted = result.steps.some((step) => step.counts);
  const rows = result.steps.map((step) => {
    const { counts } = step;
    const how = !step.known ? "history not in the tables: as before"
      : step.below === null ? "single words"
      : !step.seen ? `back-off: ${number(step.backoff)} × ${number(step.below)}`
      : result.interpolated ? `${number(step.share)} + ${number(step.backoff)} × ${number(step.below)}` : "in the tables";
    const discount = step.discount === null ? "–" : number(Math.abs(step.discount) < 1e-3 ? 0 : step.discount);
    return make("tr", {}, head(`${step.history.join(" ")} ▸ ${result.token}`), heat(step.probability, step.probability), bar(step.probability), cell(how),
      ...(counted ? [cell(counts ? whole(counts.history) : "–"), cell(counts ? whole(counts.ngram) : "–"), cell(counts ? `${whole(counts.used)}${counts.before ? " *" : ""}` : "–"), cell(counts ? `${whole(counts.total)}${counts.before ? " *" : ""}` : "–")] : []),
      ...(result.interpolated ? [...(counted ? [cell(discount)] : []), cell(step.share)] : []), cell(step.backoff), cell(step.below));
  });
  const heads = ["history ▸ token", "P now", null, "how", ...(counted ? ["c(h)", "c(h w)", "a", "Σ a"] : []), ...(result.interpolated ? [...(counted ? ["D"] : []), "own share (a − D) / Σ a"] : []), "back-off b", "P before"];
  const says = result.interpolated
    ? `From single words to ${result.order - 1} words of history. “P now” is (a − D) / Σ a + b × “P before” if the model's table has these words, and b × “P before” if it does not. The last line is the model's answer.`
    : `From single words to ${result.order - 1} words of history. “P now” is the number in the model's table if it has these words, and b × “P before” if it does not. The last line is the model's answer.`;
  const notes = [counted ? "c(h) and c(h w): how often the training text has the history, and with the token. a: what this model counts. Counts are made from the training tokens; the discount D follows from them." : "No counts: the training tokens (data/tokens/text) are not beside the models, are too many to search, or are cut by another tokenizer."];
  if (result.steps.some((step) => step.counts?.before)) notes.push("* Kneser–Ney counts how many different words come before h w, not how often it occurs.");
  return [section("From single words to the longest history", says, table("Each line takes one word of history more", heads, rows), make("p", { class: "small faint" }, notes.join(" ")))];
}

// GPT and BERT.
function transformer() {
  const names = result.read;
  const layers = [["before the first layer", result.embedded, result.first], ...result.layers.map((layer, place) => [`layer ${place + 1}`, layer.stream, layer.guess])];
  const guesses = layers.map(([name, , guess]) => make("tr", {}, head(name), ...guess.likeliest.map(([text, p]) => heat(p, p, `${shown(text)} ${number(p)}`)),
    ...(result.token === null ? [] : [cell(guess.probability), cell(whole(guess.rank))])));
  const lens = section("What each layer would answer", "The model's last norm and output layer, applied to the state after each layer at this token (the logit lens). The last line is the model's answer.",
    table("The five likeliest behind each layer", ["state", "1", "2", "3", "4", "5", ...(result.token === null ? [] : [`P(${plain(result.token)})`, "its rank"])], guesses));
  const most = Math.max(...layers.map(([, lengths]) => Math.max(...lengths)));
  const stream = layers.map(([name, lengths]) => make("tr", {}, head(name), ...lengths.map((length) => heat(length, length / most))));
  const added = result.layers.flatMap((layer, place) => [[`layer ${place + 1}: attention`, layer.attention], [`layer ${place + 1}: feed-forward`, layer.feed_forward]]).map(([name, lengths]) => make("tr", {}, head(name), ...lengths.map((length) => heat(length, length / most))));
  const residual = section("The residual stream", "The length of each token's vector after each layer, and the length of the vectors that attention and the feed-forward network compute there.",
    table("Lengths of the states", [null, ...names], stream, { classes: "weights" }), table("Lengths of what is added", [null, ...names], added, { classes: "weights" }));
  return [lens, attention(names), residual];
}

function attention(names) {
  const place = make("div", {});
  const mean = (all) => all[0].map((row, t) => row.map((_, s) => all.reduce((sum, one) => sum + one[t][s], 0) / all.length));
  const render = () => {
    const layer = result.layers[Number(layerOf())];
    const weights = headOf() === "mean" ? mean(layer.weights) : layer.weights[Number(headOf())];
    const own = weights[result.at];
    const parts = [table(`Layer ${Number(layerOf()) + 1}, ${headOf() === "mean" ? "mean of its heads" : `head ${Number(headOf()) + 1}`}: a row a token that reads, a column a token that is read; each row sums to 1`, [null, ...names],
      names.map((name, t) => make("tr", { class: t === result.at ? "lit" : null }, head(name), ...weights[t].map((value) => heat(value, value, value < 0.005 ? "" : value.toFixed(2))))), { classes: "weights", about: "Attention" })];
    if (headOf() !== "mean") {
      const h = Number(headOf());
      const [scores, keys, lengths] = [layer.scores[h], layer.keys[h], layer.values[h]];
      parts.push(table(`What “${plain(names[result.at])}” reads with this head, in numbers`, [null, ...names], [
        make("tr", {}, head("length of the key k"), ...keys.map((one) => cell(one))),
        make("tr", {}, head("score q · k / √d"), ...scores.map((one) => cell(one))),
        make("tr", {}, head("weight: softmax of the scores"), ...own.map((one) => heat(one, one))),
        make("tr", {}, head("length of the value v"), ...lengths.map((one) => cell(one))),
        make("tr", {}, head("weight × length of v"), ...lengths.map((one, s) => heat(own[s] * one, (own[s] * one) / Math.max(...lengths)))),
      ], { classes: "weights" }), make("p", { class: "small faint" }, `The query q of “${plain(names[result.at])}” has length ${number(layer.queries[h])}.`));
    }
    const heads = result.layers.flatMap((one, number) => one.weights.map((weight, h) => make("tr", {}, head(`layer ${number + 1}, head ${h + 1}`), ...weight[result.at].map((value) => heat(value, value, value < 0.005 ? "" : value.toFixed(2))))));
    parts.push(table(`What every head reads at “${plain(names[result.at])}”`, [null, ...names], heads, { classes: "weights" }));
    place.replaceChildren(...parts);
  };
  const [layers, layerOf] = choice("Layer", result.layers.map((_, n) => [n, n + 1]), result.layers.length - 1, render);
  const [heads, headOf] = choice("Head", [["mean", "mean of all"], ...result.layers[0].weights.map((_, n) => [n, n + 1])], "0", render);
  render();
  return section("Attention", "The state of the highlighted row gives the answer. The row shows which tokens it reads in this layer, with this head.", make("div", { class: "asked" }, layers, heads), place);
}

// LSTM, GRU and other recurrent networks.
function recurrent() {
  return result.layers.map((layer, place) => {
    const columns = [...Object.entries(layer.gates), ["length of h", layer.state], ...(layer.cell ? [["length of c", layer.cell]] : [])];
    const rows = result.read.map((name, t) => make("tr", {}, head(name), ...columns.map(([title, values]) => heat(values[t], title in layer.gates ? values[t] : values[t] / Math.max(...values)))));
    const picture = make("div", {});
    const render = () => picture.replaceChildren(units(layer, valueOf()));
    const [values, valueOf] = choice("Shown", Object.keys(layer.values).map((name) => [name, name === "memory" ? (layer.cell ? "the cell c" : "the state h") : `the ${name} gate`]), "memory", render);
    render();
    const about = Object.keys(layer.gates).length ? "Gates are means over all units: 0 is closed, 1 is open." : "Of this cell only the states are shown, no gates.";
    return section(result.layers.length > 1 ? `Layer ${place + 1}` : "Gates and memory, token by token", `${about} The model reads from top to bottom; its answer follows from the last line.`,
      table("After each token", ["token read", ...columns.map(([title]) => (title in layer.gates ? `${title} gate` : title))], rows), make("div", { class: "asked" }, values), picture);
  });
}

function units(layer, name) {
  const rows = layer.values[name];
  const [size, left, top] = [18, 64, 78];
  const most = Math.max(...rows.flat().map(Math.abs), 1e-9);
  const [width, height] = [left + size * rows[0].length + 20, top + 10 * rows.length + 8];
  const plot = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", class: "units", "aria-label": `${name} of ${rows.length} units at each token; from −${number(most)} to ${number(most)}` });
  result.read.forEach((text, t) => {
    const x = left + size * t + 12;
    plot.append(draw("text", { class: "token-of", x, y: top - 6, transform: `rotate(-60 ${x} ${top - 6})` }, text));
  });
  rows.forEach((values, row) => {
    const y = top + 10 * row;
    if (row % 4 === 0) plot.append(draw("text", { class: "tick", x: left - 6, y: y + 9 }, `unit ${layer.units[row]}`));
    values.forEach((value, t) => {
      const one = draw("rect", { class: value < 0 ? "below" : "above", x: left + size * t, y, width: size - 1, height: 9, "fill-opacity": Math.min(1, Math.abs(value) / most).toFixed(3) });
      one.append(draw("title", {}, `unit ${layer.units[row]} after “${plain(result.read[t])}”: ${number(value)}`));
      plot.append(one);
    });
  });
  const caption = `The ${rows.length} units whose memory changes most. Blue is above 0, orange below; the strongest colour is ${number(most)}. Point at a field to see its number.`;
  return make("figure", {}, make("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Units" }, plot), make("figcaption", {}, caption));
}

// Translators.
function translator(model) {
  const rows = result.steps.map((step, t) => make("tr", {}, head(`${t + 1}`), make("td", enclosing(step.token, "target"), step.token), heat(step.probability, step.probability), cell(step.log_prob),
    make("td", {}, step.likeliest.slice(1).map(([text, p]) => `${shown(text)} ${number(p)}`).join(", "))));
  const parts = [section("The translation, step by step", "At each step the likeliest token is taken (greedy search). The sum of their logarithms is the log-probability of the translation.",
    make("p", {}, make("b", {}, `${titleOf(model)}: `), make("span", enclosing(result.translation, "target"), result.translation || "(nothing)"), `, log P = ${number(result.log_prob)}`),
    table("Each step", ["step", "token", "P", "log P", "what else was likely"], rows))];
  if (!result.layers.length) return [...parts, section("Attention", `${titleOf(model)} has none: it reads the sentence once, into the state that it begins with. That state has the same size for short and long sentences.`)];
  const place = make("div", {});
  const target = result.steps.map((step) => step.token);
  const own = ["<bos>", ...target.slice(0, -1)];
  const names = { source: [target, result.source], encoder: [result.source, result.source], decoder: [target, own] };
  const title = (layer) => `${KINDS[layer.kind]}${result.layers.length > 1 ? `, layer ${layer.layer}` : ""}`;
  const render = () => {
    const layer = result.layers[Number(layerOf())];
    const head_ = Math.min(Number(headOf()), layer.weights.length - 1);
    const [read, columns] = names[layer.kind];
    place.replaceChildren(table("Each row is a token that reads, each column a token that is read; a row sums to 1", [null, ...columns],
      read.map((name, t) => make("tr", {}, head(name, layer.kind === "encoder" ? "source" : "target"), ...(layer.weights[head_][t] ?? []).map((value) => heat(value, value, value < 0.005 ? "" : value.toFixed(2))))), { classes: "weights", about: "Attention" }));
  };
  const first = Math.max(0, result.layers.findLastIndex((layer) => layer.kind === "source"));
  const [layers, layerOf] = choice("Who reads", result.layers.map((layer, n) => [n, title(layer)]), first, render);
  const [heads, headOf] = choice("Head", result.layers[first].weights.map((_, n) => [n, n + 1]), "0", render);
  render();
  return [...parts, section("What it reads at each step", null, make("div", { class: "asked" }, layers, heads), place)];
}

const RENDER = { ngram, transformer, recurrent, translator };
let last = "";

ask("/api/inside/models", {}).then((groups) => {
  at("none").hidden = Boolean(groups?.length);
  for (const { group, models } of groups ?? []) chooser.append(make("optgroup", { label: group }, ...models.map(({ name, title }) => make("option", { value: name }, title))));
  if (!groups?.length) return;
  document.querySelector("textarea").addEventListener("input", () => state.set({ place: "" }));
  onState(async ({ model, text, place }) => {
    const asked = (last = JSON.stringify([model, text, place]));
    await unknownWords([{ text, models: [model] }], "The model reads only the pieces of these words.");
    if (last !== asked) return;
    const found = await ask("/api/inside/look", { model, text, place: place === "" ? null : Number(place) });
    if (last !== asked) return;
    result = found;
    at("found").replaceChildren(...(found ? [...(found.kind === "translator" ? [] : [answer(model)]), ...RENDER[found.kind](model)] : []));
  });
  chooser.addEventListener("change", () => {
    state.set({ place: "" });
    send();
  });
});
