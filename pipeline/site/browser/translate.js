// Translate: the greedy translation, and what was read for each of its tokens.
import { answering, model } from "./asking.js";
import { direction, enclosing, make } from "./common.js";

const found = document.getElementById("found");
const MOST_TOKENS = 120;

function table({ source, target, attention }) {
  const cell = (value) => {
    const one = make("td", { class: "number heat" }, value < 0.005 ? "" : value.toFixed(2));
    one.style.setProperty("--heat", `${100 * value}%`);
    return one;
  };
  return make("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Attention weights", dir: direction(source.join(" ")) },
    make("table", { class: "weights" }, make("thead", {}, make("tr", {}, make("td"), ...source.map((text) => make("th", { scope: "col", class: "number", ...enclosing(text, "source") }, text)))),
      make("tbody", {}, ...target.map((text, t) => make("tr", {}, make("th", { scope: "row", ...enclosing(text, "target") }, text), ...attention[t].map(cell))))));
}

answering(async ({ text }, current) => {
  const sentence = text.split(/\s+/u).filter(Boolean).join(" ");
  if (!sentence) return found.replaceChildren();
  const translator = await model("translator");
  if (!current()) return;
  const tokens = translator.source.encode(sentence).length;
  if (tokens > MOST_TOKENS) throw new Error(`the sentence has ${tokens} tokens; at most ${MOST_TOKENS} are translated here: cut it`);
  const answer = translator.translate(sentence);
  found.replaceChildren(make("p", { class: "translation", ...enclosing(answer.text, "target") }, make("strong", {}, answer.text || "(nothing)")),
    make("p", { class: "small faint" }, `log P = ${answer.logProb.toFixed(4)}, ${answer.ids.length + 1} tokens with the end`), make("h2", {}, "Attention"),
    make("p", { class: "small faint" }, "One row per token of the translation, one column per token of the sentence; each row sums to 1."), table(answer));
});
