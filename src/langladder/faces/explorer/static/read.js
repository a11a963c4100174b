// Read: labels with the words that count and trees, tags word by word, answers to a question.
import { enclosing, graft, make, onState, plain, stream } from "./common.js";
import { noteOn, unknownWords } from "./unknown.js";

const place = (id) => document.getElementById(id);
const titleOf = (name) => document.querySelector(`input[name="models"][value="${CSS.escape(name)}"]`)?.parentElement.textContent.trim() ?? name;
const percent = (p) => `${(100 * p).toFixed(1)} %`;

const SAYS = "A label, a tag or an answer below is a guess from the other words, or from how often each occurs in training: do not take it for an answer to this text.";
let latest = null; // the last question

function columns(id, names) {
  const found = new Map(names.map((name) => [name, make("div", {}, make("p", { class: "small faint" }, "reading …"))]));
  place(id).replaceChildren(...[...found].map(([name, inside]) => make("section", { class: "column" }, make("h3", {}, titleOf(name)), noteOn(name), inside)));
  if (!names.length) place(id).replaceChildren(place(id).dataset.none === undefined ? make("p", { class: "faint" }, "None is chosen.") : "");
  return found;
}

const refused = (event) => make("p", { class: "alert" }, event.error.message);

function bar(share) {
  const found = make("span", { class: "bar-of", "aria-hidden": "true" });
  found.style.setProperty("--share", `${(100 * share).toFixed(1)}%`);
  return found;
}

const marks = (found) =>
  found.flatMap(({ text, weight, kind, after }) => [kind ? make("span", { class: `mark ${kind}`, title: weight }, text) : text, after]);

function labelled(event) {
  const rows = event.labels.map(({ label, probability }) =>
    make("tr", {}, make("th", { scope: "row", ...enclosing(label) }, label), make("td", { class: "number" }, percent(probability)), make("td", {}, bar(probability))),
  );
  const head = make("tr", {}, ...["label", "probability"].map((name) => make("th", { scope: "col" }, name)), make("td", {}));
  const found = [make("table", { class: "compact" }, make("caption", {}, "P(label | text)"), make("thead", {}, head), make("tbody", {}, ...rows))];
  if (event.note) found.push(make("p", { class: "small faint" }, event.note));
  const runs = enclosing(event.words.map((one) => one.text).join(" "), "labels");
  if (event.words.length) found.push(make("p", { class: "weighed", ...runs }, ...marks(event.words)));
  else found.push(make("p", { class: "small faint" }, "It does not tell which words count."));
  if (event.attention.length) found.push(make("p", { class: "small", ...runs }, make("span", { dir: "ltr" }, "attention: "), ...marks(event.attention)));
  return [...found, ...tree(event)];
}

function tree(event) {
  if (!event.nodes.length) return [];
  const rows = event.nodes.map(({ text, label, probability }) =>
    make("tr", {}, make("td", enclosing(text, "labels"), text), make("td", enclosing(label), label), make("td", { class: "number" }, percent(probability))),
  );
  const head = make("tr", {}, ...["part", "label", "probability"].map((name) => make("th", { scope: "col" }, name)));
  const table = make("table", { class: "compact" }, make("caption", {}, "Every node, the whole first"), make("thead", {}, head), make("tbody", {}, ...rows));
  const signs = Object.entries(event.legend).map(([label, sign]) => `${plain(sign)} ${plain(label)}`).join(", ");
  const drawing = event.tree ? graft(event.tree) : null;
  return [
    drawing ? make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "The tree" }, drawing) : make("p", { class: "small faint" }, "The tree is too large to be drawn."),
    make("p", { class: "small faint" }, signs),
    make("details", {}, make("summary", {}, "The nodes in words"), make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "The nodes" }, table)),
  ];
}

function tagged(found, names) {
  const said = names.filter((name) => found.get(name)?.tags);
  const parts = names.filter((name) => found.get(name)?.error).map((name) => make("p", { class: "alert" }, `${titleOf(name)}: ${found.get(name).error.message}`));
  if (said.length) {
    const { words } = found.get(said[0]);
    const rows = words.map((word, place) => {
      const cells = said.map((name) => tagCell(found.get(name), place));
      const tags = new Set(said.map((name) => found.get(name).tags[place]));
      return make("tr", { class: tags.size > 1 ? "differs" : null }, make("th", { scope: "row", ...enclosing(word, "tags") }, word), ...cells);
    });
    const head = make("tr", {}, make("th", { scope: "col" }, "word"), ...said.map((name) => make("th", { scope: "col" }, titleOf(name))));
    const caption = "The likeliest tag of each word given the whole sentence, and below it the second best. Marked: words on which the taggers differ.";
    const table = make("table", { class: "tags-of" }, make("caption", {}, caption), make("thead", {}, head), make("tbody", {}, ...rows));
    parts.push(make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Tags of each word" }, table));
  }
  place("tags").replaceChildren(...parts);
}

function tagCell(event, place) {
  const tag = event.tags[place];
  const second = event.second[place];
  const p = event.second_probabilities[place];
  return make(
    "td",
    {},
    make("b", {}, tag), ` ${percent(event.probabilities[place])}`,
    event.names[tag] ? make("span", { class: "small faint" }, ` ${event.names[tag]}`) : null,
    second && p >= 0.0005 ? make("span", { class: "small faint second" }, `${second} ${percent(p)}`) : null,
  );
}

function answered(event) {
  const rows = event.answers.map((one) =>
    make(
      "tr",
      {},
      make("td", enclosing(one.text, "questions"), one.text || "no answer"),
      make("td", { class: "number" }, one.score.toFixed(3)),
      make("td", { class: "number" }, one.probability === null ? "–" : percent(one.probability)),
    ),
  );
  const head = make("tr", {}, ...["answer", "score", "probability"].map((name) => make("th", { scope: "col" }, name)));
  const best = event.answers[0];
  const letters = [...event.context]; // the server counts characters as Python does
  const text = best.start < 0 ? [event.context] : [letters.slice(0, best.start).join(""), make("mark", {}, best.text), letters.slice(best.start + [...best.text].length).join("")];
  return [
    make("p", enclosing(event.context, "questions"), ...text),
    make("table", { class: "compact" }, make("caption", {}, "The best answers"), make("thead", {}, head), make("tbody", {}, ...rows)),
  ];
}

const chosen = (kind, names) => {
  const own = new Set([...document.querySelectorAll(`[data-kind="${kind}"] input`)].map((box) => box.value));
  return names.filter((name) => own.has(name));
};

onState(async (values) => {
  const [classifiers, taggers, readers] = ["classifier", "tagger", "reader"].map((kind) => chosen(kind, values.models ?? []));
  const asked = (latest = {});
  await unknownWords([{ text: values.text, models: [...classifiers, ...taggers] }, { text: `${values.context ?? ""}\n${values.question ?? ""}`, models: readers }], SAYS);
  if (latest !== asked) return; // a newer question
  const labels = columns("labels", classifiers);
  const answers = columns("answers", readers);
  const tags = new Map();
  place("tags").replaceChildren(make("p", { class: "faint" }, taggers.length ? "reading …" : "None is chosen."));
  const show = (found, render) => (event) => found.get(event.model)?.replaceChildren(...(event.error ? [refused(event)] : render(event)));
  if (classifiers.length) await stream("/api/read/labels", { text: values.text, models: classifiers }, show(labels, labelled));
  const gather = (event) => {
    tags.set(event.model, event);
    tagged(tags, taggers);
  };
  if (taggers.length) await stream("/api/read/tags", { text: values.text, words: values.words, models: taggers }, gather);
  if (readers.length) {
    const options = values.options.split("\n").map((line) => line.trim()).filter(Boolean);
    await stream("/api/read/answers", { context: values.context, question: values.question, options, models: readers }, show(answers, answered));
  }
});
