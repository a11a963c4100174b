// One text: heat maps, the sums of bits, and what was expected in the place of a token.
import { noteOn, unknownWords } from "./unknown.js";
import { ask, clipped, draw, enclosing, make, onState, plain, send, state, stream } from "./common.js";

const FLOOR = 1; // colour of the truth, as in the report
const MOST_ROWS = 400; // of the table of words
const found = document.getElementById("found");
let shown = null; // what is on the page: {texts, titles, answers: model → texts, truth}

const bits = (value) => (value === null || value === undefined ? "∞" : value.toFixed(2));
const titleOf = (name) => document.querySelector(`input[name="models"][value="${CSS.escape(name)}"]`)?.parentElement.textContent.trim() ?? name;

onState(async (values) => {
  const texts = [values.text, values.other].filter((text, place) => place === 0 || text.trim());
  const mine = (shown = { texts, by: values.by, models: values.models, answers: new Map(), truth: null });
  found.classList.add("busy");
  await unknownWords(texts.map((text) => ({ text, models: values.models })), "Their bits are those of the pieces that the model reads instead.");
  if (shown !== mine) return;
  const truth = ask("/api/surprisal/truth", { texts }).then((answer) => {
    if (!answer?.known || shown !== mine) return;
    mine.truth = answer.texts;
    show(mine);
  });
  await stream("/api/surprisal/score", { texts, models: values.models }, (event) => {
    if (shown !== mine) return;
    mine.answers.set(event.model, event);
    show(mine);
  });
  await truth;
  if (shown === mine) found.classList.remove("busy");
});

document.querySelector('select[name="by"]').addEventListener("change", send);

const probe = document.getElementById("probe");
ask("/api/surprisal/probes", {}).then((pairs) => {
  for (const pair of pairs ?? []) probe.append(make("option", { value: JSON.stringify(pair) }, `${pair.clauses} clauses between: ${pair.good}`));
  document.getElementById("probes").hidden = !pairs?.length;
});
probe.addEventListener("change", () => {
  if (!probe.value) return;
  const pair = JSON.parse(probe.value);
  state.set({ text: pair.good, other: pair.bad });
  send();
});

function show(all) {
  const parts = all.texts.map((text, place) => part(all, text, place));
  if (all.texts.length === 2) parts.unshift(compared(all));
  found.replaceChildren(...parts);
}

function answered(all) {
  return all.models.map((name) => all.answers.get(name)).filter((answer) => answer && !answer.error);
}

function part(all, text, place) {
  const heading = make("h2", {}, all.texts.length === 2 ? `“${plain(clipped(text, 80))}”` : "Surprisal");
  const rows = [];
  if (all.truth) rows.push(truthRow(all.truth[place]));
  for (const name of all.models) {
    const answer = all.answers.get(name);
    if (answer) rows.push(answer.error ? broken(name, answer.error.message) : modelRow(all, answer, place));
  }
  const section = make("section", {}, heading, ...rows);
  if (answered(all).length) section.append(curves(all, place), table(all, place));
  return section;
}

function broken(name, message) {
  return make("div", { class: "heat" }, make("h3", {}, titleOf(name)), make("p", { class: "alert" }, message));
}

/** A token or word that can be pressed; its colour says its bits. */
function cell(text, value, pressed, label) {
  const one = make("button", { type: "button", class: value === null ? "heat-cell never" : "heat-cell", title: `${label ?? `${bits(value)} bits`}` }, text);
  one.style.setProperty("--heat", `${Math.min(100, value === null ? 100 : value * 8)}%`);
  one.addEventListener("click", () => pressed(one));
  return one;
}

function modelRow(all, answer, place) {
  const scored = answer.texts[place];
  const line = make("p", { class: "heat-line", ...enclosing(all.texts[place], "text") });
  const panel = make("div", { class: "expected", "aria-live": "polite" });
  if (all.by === "word") {
    let first = 0;
    scored.words.forEach(([text, value], word) => {
      const token = scored.tokens.findIndex((one, at) => at >= first && one[3] === word);
      first = token;
      line.append(cell(text, value, (button) => expected(answer.model, all.texts[place], token, panel, button)), " ");
    });
  } else {
    scored.tokens.forEach(([before, text, value, , known], token) => {
      if (before || text === "<eos>") line.append(" ");
      const one = cell(text || "␣", value, (button) => expected(answer.model, all.texts[place], token, panel, button), known ? null : `${bits(value)} bits; unknown to the tokenizer`);
      if (!known) one.classList.add("unknown");
      line.append(one);
    });
  }
  const words = scored.words.length;
  const told = scored.bits === null ? "ruled out" : `${bits(scored.bits)} bits, ${(2 ** (scored.bits / words)).toFixed(1)} a word as perplexity`;
  return make("div", { class: "heat" }, make("h3", {}, titleOf(answer.model), " ", make("small", { class: "faint" }, told)), all.texts.length === 1 ? noteOn(answer.model) : null, line, panel);
}

function truthRow(words) {
  const line = make("p", { class: "heat-line" });
  const panel = make("div", { class: "expected", "aria-live": "polite" });
  let outside = null;
  for (const word of words) {
    const lost = word.entropy === null;
    if (word.bits === null && outside === null) outside = word.text;
    const label = lost ? "cannot stand here" : `${bits(word.bits)} bits; entropy here ${bits(word.entropy)}`;
    const one = cell(word.text, word.bits, (button) => {
      pressedAlone(button);
      panel.replaceChildren(lost ? make("p", {}, "No text of this corpus begins like this.") : guesses(word.likeliest, `Truth: entropy ${bits(word.entropy)} bits, this word ${bits(word.bits)}`));
    }, label);
    if (lost) one.classList.add("outside");
    line.append(one, " ");
  }
  const sum = words.reduce((total, word) => (total === null || word.bits === null ? null : total + word.bits), 0);
  const told = outside === null ? `${bits(sum)} bits, ${(2 ** (sum / words.length)).toFixed(1)} a word as perplexity` : `“${outside}” cannot stand there`;
  return make("div", { class: "heat" }, make("h3", {}, "Truth ", make("small", { class: "faint" }, told)), line, panel);
}

function pressedAlone(button) {
  for (const other of button.closest(".heat").querySelectorAll("[aria-expanded]")) other.removeAttribute("aria-expanded");
  button.setAttribute("aria-expanded", "true");
}

async function expected(model, text, place, panel, button) {
  pressedAlone(button);
  const guess = await ask("/api/surprisal/next", { model, text, place });
  if (!guess) return;
  panel.replaceChildren(guesses(guess.likeliest, `${titleOf(model)}: entropy ${bits(guess.entropy)} bits; “${plain(button.textContent)}” has ${bits(guess.bits)} bits, rank ${guess.rank}`));
}

function guesses(pairs, caption) {
  const rows = pairs.map(([text, probability]) => {
    const bar = make("span", { class: "bar-of" });
    bar.style.setProperty("--share", `${100 * probability}%`);
    return make("tr", {}, make("th", { scope: "row", ...enclosing(text, "text") }, text.trim() || JSON.stringify(text)), make("td", { class: "number" }, `${(100 * probability).toFixed(1)} %`), make("td", {}, bar));
  });
  const head = make("tr", {}, make("th", { scope: "col" }, "expected"), make("th", { scope: "col", class: "number" }, "probability"), make("td", {}));
  return make("table", {}, make("caption", {}, caption), make("thead", {}, head), make("tbody", {}, ...rows));
}

/** [title, bits of each word, colour] of all that is known of a text. */
function series(all, place) {
  const lines = answered(all).map((answer) => [titleOf(answer.model), answer.texts[place].words.map((word) => word[1]), answer.hue ?? 0]);
  if (all.truth) lines.push(["Truth", all.truth[place].map((word) => word.bits), FLOOR]);
  return lines;
}

function curves(all, place) {
  const [width, height, left, bottom] = [680, 260, 44, 24];
  const lines = series(all, place).map(([title, values, hue]) => {
    const sums = [0];
    for (const value of values) {
      if (value === null) break;
      sums.push(sums.at(-1) + value);
    }
    return [title, sums, hue];
  });
  const steps = Math.max(1, ...lines.map(([, sums]) => sums.length - 1));
  const most = Math.max(1, ...lines.map(([, sums]) => sums.at(-1)));
  const x = (step) => left + ((width - left - 130) * step) / steps;
  const y = (value) => height - bottom - ((height - bottom - 10) * value) / most;
  const plot = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": "Cumulative bits, word by word" });
  for (let tick = 0; tick <= 4; tick++) {
    const value = (most * tick) / 4;
    plot.append(draw("line", { class: "grid", x1: left, x2: x(steps), y1: y(value), y2: y(value) }), draw("text", { class: "tick", x: left - 6, y: y(value) + 4 }, value.toFixed(0)));
  }
  const ends = [];
  lines.forEach(([title, sums, hue]) => {
    const points = sums.map((value, step) => `${x(step).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
    plot.append(draw("polyline", { class: `line line-${hue}`, points }));
    ends.push({ title, hue, at: y(sums.at(-1)), x: x(sums.length - 1) });
  });
  ends.sort((one, other) => one.at - other.at);
  let last = -Infinity;
  for (const end of ends) {
    last = Math.max(end.at, last + 14);
    plot.append(draw("text", { class: `name line-${end.hue}`, x: end.x + 6, y: last + 4 }, end.title));
  }
  return make("figure", {}, make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Cumulative bits" }, plot), make("figcaption", {}, "Cumulative bits, word by word. A line ends at a word that the model gives probability 0."));
}

function table(all, place) {
  const lines = series(all, place);
  const words = (answered(all)[0].texts[place].words).slice(0, MOST_ROWS);
  const truth = all.truth?.[place];
  const names = [...lines.map(([title]) => title), ...(truth ? ["entropy"] : [])];
  const rows = words.map(([text], word) => {
    const cells = lines.map(([, values]) => make("td", { class: "number" }, bits(values[word])));
    if (truth) cells.push(make("td", { class: "number" }, truth[word]?.entropy === null ? "–" : bits(truth[word]?.entropy)));
    return make("tr", {}, make("th", { scope: "row", ...enclosing(text, "text") }, text), ...cells);
  });
  const head = make("tr", {}, make("th", { scope: "col" }, "word"), ...names.map((name) => make("th", { scope: "col", class: "number" }, name)));
  const caption = make("caption", {}, "Bits of each word. The entropy is that of the true probabilities, before the word is known.");
  return make("div", { class: "wide tall", tabindex: "0", role: "region", "aria-label": "Bits of each word" }, make("table", {}, caption, make("thead", {}, head), make("tbody", {}, ...rows)));
}

function compared(all) {
  const rows = [];
  const row = (title, first, second) => {
    const both = first !== null && second !== null;
    const better = first === second ? 2 : first === null ? 1 : second === null ? 0 : first < second ? 0 : 1;
    const cells = [first, second].map((value, place) => make("td", { class: place === better ? "number best" : "number" }, bits(value)));
    rows.push(make("tr", {}, make("th", { scope: "row" }, title), ...cells, make("td", { class: "number" }, both ? bits(second - first) : "–")));
  };
  for (const answer of answered(all)) row(titleOf(answer.model), answer.texts[0].bits, answer.texts[1].bits);
  if (all.truth) {
    const sum = (words) => words.reduce((total, word) => (total === null || word.bits === null ? null : total + word.bits), 0);
    row("Truth", sum(all.truth[0]), sum(all.truth[1]));
  }
  const head = make("tr", {}, ...["model", "the first", "the second", "difference"].map((name, place) => make("th", { scope: "col", class: place ? "number" : null }, name)));
  const caption = make("caption", {}, "Bits of each text. Coloured: the text that the model finds more likely. ∞: the model gives it probability 0.");
  return make("section", {}, make("h2", {}, "Which is likelier?"), make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Which is likelier" }, make("table", {}, caption, make("thead", {}, head), make("tbody", {}, ...rows))));
}
