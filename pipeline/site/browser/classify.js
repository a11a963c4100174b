// Classify: the labels of a text, and the words as the model reads them.
import { answering, bars, model } from "./asking.js";
import { enclosing, make } from "./common.js";
import { UNK } from "./tokens.js";

const found = document.getElementById("found");

answering(async ({ text }, current) => {
  const classifier = await model("classifier");
  if (!current()) return;
  const { pieces, ids } = classifier.read(text);
  if (!ids.length) return found.replaceChildren();
  const p = [...classifier.logProbs(ids)].map(Math.exp);
  const order = [...p.keys()].sort((a, b) => p[b] - p[a]);
  const unknown = ids.filter((id) => id === UNK).length;
  const told = unknown ? `${unknown} of its ${ids.length} words are unknown to the model${2 * unknown >= ids.length ? ": do not trust this answer" : ""}.` : "All its words are known to the model.";
  found.replaceChildren(bars(classifier.multiLabel ? "The labels, each by itself: the text has those from 0.5 on" : "The labels, the likeliest first", ["label", "probability"], order.map((label) => [classifier.labels[label], p[label], p[label].toFixed(4)]), (label) => enclosing(label, "labels")),
    make("p", {}, told), make("p", { class: "weighed", ...enclosing(text, "labels") }, ...pieces.flatMap((word, place) => [make("span", { class: ids[place] === UNK ? "uncut" : null }, word), " "])));
});
