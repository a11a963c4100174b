// Continue: one column per model, with the surprisal of the text, the likeliest next tokens and a sampled text.
import { RUNGS, answering, bars, drawn, model } from "./asking.js";
import { enclosing, make, turn } from "./common.js";
import { BOS, EOS } from "./tokens.js";

const found = document.getElementById("found");
const MOST_TOKENS = 500;

/** Numbers from 0 to 1 of a seed (mulberry32), others for each model. */
function random(seed, stream) {
  let a = (seed * 0x9e3779b1 + stream * 0x85ebca6b) | 0;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The words of a text, each with the sum of its tokens' bits. */
function surprisal({ tokenizer }, ids, logs) {
  const words = [];
  ids.forEach((id, at) => {
    if (logs[at] === 0) return;
    if (!words.length || id === EOS || tokenizer.opens(id) || words.at(-1).end) words.push({ ids: [], bits: 0, end: id === EOS });
    words.at(-1).ids.push(id);
    words.at(-1).bits -= logs[at] / Math.LN2;
  });
  return words.map(({ ids: own, bits, end }) => [end ? "<eos>" : tokenizer.decode(own).trim() || "␣", bits]);
}

function heat(words) {
  return words.flatMap(([word, bits]) => {
    const cell = make("span", { class: "heat-cell", title: `${bits.toFixed(2)} bits` }, word);
    cell.style.setProperty("--heat", `${Math.min(100, bits * 8)}%`);
    return [cell, " "];
  });
}

answering(async ({ text, models, temperature, seed, most }, current) => {
  const columns = models.map((kind) => make("section", { class: "column" }, make("h2", {}, RUNGS[kind].title), make("p", { class: "faint" }, "loading …")));
  found.replaceChildren(...columns);
  await Promise.all(models.map(async (kind, place) => {
    const language = await model(kind);
    await drawn();
    if (!current()) return;
    const ids = language.ids(text);
    if (ids.length > MOST_TOKENS) throw new Error(`the text has ${ids.length} tokens; at most ${MOST_TOKENS} are read here: cut it`);
    const prefix = ids.slice(0, -1); // the last line goes on
    const words = surprisal(language, ids, language.score(ids)).slice(0, -1);
    const sum = words.reduce((total, [, bits]) => total + bits, 0);
    const next = language.likeliest(prefix, 6);
    const line = make("p", { class: "text", ...enclosing(text, "text") }, text);
    columns[place].replaceChildren(make("h2", {}, RUNGS[kind].title),
      make("h3", {}, "Surprisal ", make("small", { class: "faint" }, `${sum.toFixed(2)} bits`)), make("p", { class: "heat-line", ...enclosing(text, "text") }, ...heat(words)),
      make("h3", {}, "Next token"), bars("The likeliest tokens", ["token", "probability"], next.map(([piece, p]) => [piece.trim() || "␣", p, p.toFixed(4)]), (piece) => enclosing(piece, "text")),
      make("h3", {}, "Sampled text"), line);
    const drawing = [];
    for (const token of language.sample(prefix, { temperature: temperature ?? 1, most: most ?? 30, random: random(seed ?? 0, Object.keys(RUNGS).indexOf(kind)) })) {
      drawing.push(token);
      const whole = language.tokenizer.decode([...prefix, ...drawing].slice(Math.max(prefix.lastIndexOf(BOS), prefix.lastIndexOf(EOS))));
      line.replaceChildren(make("span", { class: "prompt" }, text), make("span", { class: "new" }, language.tokenizer.decode(drawing)));
      turn(line, whole, "text");
      await drawn();
      if (!current()) return;
    }
  }));
});
