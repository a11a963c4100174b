// Tokenize: the tokens of every tokenizer.
import { unknownWords } from "./unknown.js";
import { ask, enclosing, make, onState, plain } from "./common.js";

const HUES = 6; // colours of page.css, by turns
const at = (id) => document.getElementById(id);
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
  const size = `${number(about.size)} ${about.kind === "vectors" ? "words" : "tokens"}; of ${users(about)}`;
  const lines = cut.lines.map((line) => make("p", { class: "tokens", ...enclosing(line.map(([text]) => text).join(""), "text") }, ...line.map(([text, id], place) => {
    const unknown = id === cut.unknown_id;
    return token(text, unknown ? `“${plain(text)}” is unknown${id === null ? "" : `: id ${id}`}` : `“${plain(text)}”: id ${id}`, place, unknown ? "unknown" : "");
  })));
  return make("section", {}, heading, make("p", { class: "small faint" }, size),
    make("dl", { class: "chosen" }, ...facts.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value === null ? "–" : number(value))))), ...lines);
}

let asked = "";
ask("/api/tokenize/list", {}).then((list) => {
  if (!list) return;
  tokenizers = new Map(list.map((one) => [one.id, one]));
  if (!list.length) at("found").replaceChildren(make("p", {}, "There is no tokenizer in this folder; ", make("code", {}, "dvc repro"), " trains one."));
  onState(async (values) => {
    if (values.text === asked) return;
    const models = [...new Set([...tokenizers.values()].flatMap((one) => one.models).map((name) => name.replace(/ \((source|target)\)$/, "")))];
    await unknownWords([{ text: values.text, models: models.slice(0, 60) }], "A model reads only the pieces of these words.");
    const found = await ask("/api/tokenize/cut", { text: values.text });
    asked = found ? values.text : "";
    at("found").replaceChildren(...(found ?? []).map(shown));
  });
});
