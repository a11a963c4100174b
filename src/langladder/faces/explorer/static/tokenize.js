// Tokenize: the tokens of every tokenizer, and the steps of one.
import { unknownWords } from "./unknown.js";
import { ask, enclosing, make, onState, plain, send, state, turn } from "./common.js";

const HUES = 6; // colours of page.css, by turns
const MOST = 400; // characters that are followed
const at = (id) => document.getElementById(id);
const still = matchMedia("(prefers-reduced-motion: reduce)");
const chooser = document.querySelector('select[name="of"]');
let tokenizers = new Map(); // id → what the list says of it

const number = (value) => value.toLocaleString("en", { maximumFractionDigits: 2 });
const visible = (text) => text.replaceAll(" ", "␣").replaceAll("\t", "⇥").replaceAll("\n", "↵") || "∅";
const users = (one) => (one.models.length > 4 ? `${one.models.slice(0, 4).join(", ")} and ${one.models.length - 4} more` : one.models.join(", "));

function token(text, told, hue, classes = "") {
  const one = make("span", { class: `token hue-${hue % HUES} ${classes}`, tabindex: 0, title: told, ...enclosing(text, "text") }, visible(text));
  const tell = () => (at("token").textContent = told);
  one.addEventListener("pointerenter", tell);
  one.addEventListener("focus", tell);
  return one;
}

function shown(cut) {
  const about = tokenizers.get(cut.id);
  const heading = make("h2", {}, about.title ?? "A tokenizer");
  if (cut.error ?? about.error) return make("section", {}, heading, make("p", { class: "alert" }, (cut.error ?? about.error).message));
  const facts = [["tokens", cut.tokens], ["per word", cut.per_word], ["bytes per token", cut.bytes_per_token], ["unknown", cut.unknown]];
  const size = `${number(about.size)} ${about.kind === "vectors" ? "words" : "tokens"}${about.merges ? `, ${number(about.merges)} merges` : ""}; of ${users(about)}`;
  const lines = cut.lines.map((line) => make("p", { class: "tokens", ...enclosing(line.map(([text]) => text).join(""), "text") }, ...line.map(([text, id], place) => {
    const unknown = id === cut.unknown_id;
    return token(text, unknown ? `“${plain(text)}” is unknown${id === null ? "" : `: id ${id}`}` : `“${plain(text)}”: id ${id}`, place, unknown ? "unknown" : "");
  })));
  return make("section", {}, heading, make("p", { class: "small faint" }, size),
    make("dl", { class: "chosen" }, ...facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value === null ? "–" : number(value))))), ...lines);
}

// Step by step.
let states = []; // what is shown after each step: {said, inside}
let playing = null;

const pieces = {
  merges(found) {
    const symbols = found.symbols.map((text, place) => ({ text, fresh: false, begins: found.begins.includes(place) }));
    const picture = (list) => list.flatMap((one, place) => [...(one.begins && place ? [" "] : []), token(one.text, `“${plain(one.text)}”`, place, one.fresh ? "fresh" : "")]);
    const all = [{ said: `${symbols.length} symbols, before any merge`, inside: picture(symbols) }];
    let list = symbols;
    for (const [place, step] of found.steps.entries()) {
      const left = new Set(step.places);
      const next = [];
      for (let i = 0; i < list.length; i++) {
        if (left.has(i)) next.push({ text: step.made, fresh: true, begins: list[i++].begins });
        else next.push({ ...list[i], fresh: false });
      }
      list = next;
      const times = step.places.length > 1 ? `, ${step.places.length} times` : "";
      all.push({ said: `Step ${place + 1} of ${found.steps.length}: “${plain(visible(step.left))}” + “${plain(visible(step.right))}” → “${plain(visible(step.made))}”${times}; merge ${number(step.rank + 1)} of ${number(found.learnt)}; ${list.length} symbols`, inside: picture(list) });
    }
    const rows = found.steps.map((step, place) => [place + 1, visible(step.left), visible(step.right), visible(step.made), number(step.rank + 1), step.places.length]);
    return { all, table: ["Merges, in the order in which they were learnt", ["step", "left", "right", "made", "merge", "times"], rows], why: "At each step, of all neighbouring pairs the one that was learnt first is merged, until no learnt pair is left." };
  },
  longest(found) {
    const all = [{ said: `${found.words.length} words, not cut yet`, inside: found.words.flatMap((text, place) => [...(place ? [" "] : []), make("span", { class: "uncut", ...enclosing(text, "text") }, text)]) }];
    found.steps.forEach((step, place) => {
      const taken = found.steps.slice(0, place + 1);
      const inside = found.words.flatMap((text, number) => {
        const mine = taken.filter((one) => one.word === number);
        const last = mine.at(-1);
        const unknown = last?.token === found.unknown;
        const rest = !mine.length ? text : unknown ? "" : last.rest.slice(last.token.replace(/^##/, last.rest === text ? "##" : "").length);
        const cut = mine.map((one, i) => token(one.token, `“${plain(one.token)}”`, i, `${one === step ? "fresh" : ""} ${unknown ? "unknown" : ""}`));
        return [...(number ? [" "] : []), ...cut, ...(rest ? [make("span", { class: "uncut", ...enclosing(rest, "text") }, rest)] : [])];
      });
      const others = step.tried ? `; ${step.tried} longer one${step.tried > 1 ? "s are" : " is"} in no vocabulary` : "";
      all.push({ said: `Step ${place + 1} of ${found.steps.length}: of “${plain(step.rest)}” the piece “${plain(step.token)}” is taken${others}`, inside });
    });
    return { all, table: null, why: "From the left, the longest piece in the vocabulary is taken; ## marks a piece inside a word." };
  },
  best(found) {
    const rows = found.pieces.flatMap((piece) => piece.cuts.map((cut, place) => [
      place ? "" : visible(piece.text),
      make("span", enclosing(piece.text, "text"), ...cut.tokens.map((text, i) => token(text, `“${plain(text)}”: log P ${cut.scores[i].toFixed(2)}`, i))),
      cut.scores.map((score) => score.toFixed(2)).join(" + "), cut.total.toFixed(2)]));
    return { all: [], table: ["The most probable ways to cut each piece; the first is taken", ["piece", "tokens", "log P of each", "sum"], rows], why: "Of all ways to cut a piece, the one is taken whose tokens are most probable together." };
  },
  look_up(found) {
    const rows = found.lines.flat().map(([text, id]) => [visible(text), id === found.unknown_id ? "unknown" : String(id)]);
    return { all: [], table: ["Words in the vocabulary", ["word", "id"], rows], why: "Each word is looked up; a word that is not in the vocabulary is unknown." };
  },
};

function table([caption, heads, rows]) {
  return make("div", { class: "wide", tabindex: 0, role: "region", "aria-label": caption },
    make("table", {}, make("caption", {}, caption), make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))),
      make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((value, place) => make(place ? "td" : "th", { scope: place ? null : "row", ...(typeof value === "string" ? enclosing(value, "text") : {}) }, typeof value === "number" ? String(value) : value)))))));
}

function step(place) {
  const slider = at("step");
  slider.value = Math.max(0, Math.min(states.length - 1, place));
  const now = states[slider.value];
  if (!now) return;
  slider.setAttribute("aria-valuetext", now.said);
  at("now").textContent = now.said;
  at("pieces").replaceChildren(make("p", { class: "tokens" }, ...now.inside.map((one) => (typeof one === "string" ? one : one.cloneNode(true)))));
}

function stop() {
  clearInterval(playing);
  playing = null;
  at("play").textContent = "Play";
}

async function follow({ text, of }) {
  stop();
  const section = at("stepwise");
  const about = tokenizers.get(of);
  section.hidden = !about || Boolean(about.error);
  if (section.hidden) return;
  const alert = section.querySelector(".alert");
  at("how").textContent = `Step by step: ${about.title}`;
  const found = await ask("/api/tokenize/steps", { tokenizer: of, text: text.slice(0, MOST) }, (message) => {
    alert.textContent = message;
    alert.hidden = !message;
  });
  for (const id of ["now", "pieces", "steps"]) at(id).replaceChildren();
  if (!found) return;
  const { all, table: listed, why } = pieces[found.how](found);
  states = all;
  turn(at("pieces"), text, "text");
  at("why").textContent = why;
  at("sliding").hidden = at("now").hidden = all.length < 2;
  at("step").max = Math.max(0, all.length - 1);
  if (all.length) step(all.length - 1);
  if (listed) at("steps").replaceChildren(table(listed));
}

at("step").addEventListener("input", () => step(Number(at("step").value)));
at("back").addEventListener("click", () => step(Number(at("step").value) - 1));
at("on").addEventListener("click", () => step(Number(at("step").value) + 1));
at("play").addEventListener("click", () => {
  if (playing) return stop();
  at("play").textContent = "Stop";
  if (Number(at("step").value) >= states.length - 1) step(0);
  playing = setInterval(() => {
    step(Number(at("step").value) + 1);
    if (Number(at("step").value) >= states.length - 1) stop();
  }, still.matches ? 2000 : 700);
});
chooser.addEventListener("change", send);

let asked = "";
ask("/api/tokenize/list", {}).then((list) => {
  if (!list) return;
  tokenizers = new Map(list.map((one) => [one.id, one]));
  chooser.replaceChildren(...list.filter((one) => !one.error).map((one) => make("option", { value: one.id }, `${one.title}, ${number(one.size)} (${users(one)})`)));
  if (!list.length) at("found").replaceChildren(make("p", {}, "There is no tokenizer in this folder; ", make("code", {}, "dvc repro"), " trains one."));
  onState(async (values) => {
    follow(values);
    if (values.text === asked) return;
    const models = [...new Set([...tokenizers.values()].flatMap((one) => one.models).map((name) => name.replace(/ \((source|target)\)$/, "")))];
    await unknownWords([{ text: values.text, models: models.slice(0, 60) }], "A model reads only the pieces of these words.");
    const found = await ask("/api/tokenize/cut", { text: values.text });
    asked = found ? values.text : "";
    at("found").replaceChildren(...(found ?? []).map(shown));
  });
});
