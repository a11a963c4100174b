// How models read a text: below the form of every page with one, that it was normalised, and, also in each model's column, the words that a model has never met.
import { ask, enclosing, make, plain } from "./common.js";

const BY = {
  training: "do not occur in the training text",
  list: "are not in the list of words of these models",
  tokenizer: "have no token of their own",
};
let found = []; // the server's answer for the last text: an object for each group of models with equal results

const titleOf = (name) => document.querySelector(`input[value="${CSS.escape(name)}"]`)?.parentElement.textContent.trim() ?? document.querySelector(`option[value="${CSS.escape(name)}"]`)?.textContent.trim() ?? name;
const counted = (one) => `${one.count} of ${one.words} ${one.words === 1 ? "word is" : "words are"} unknown`;

/**
 * Ask how the models read the texts: which words they have never met, and whether they were normalised; say so below the form. `asked`: [{ text, models }].
 * Resolves before an answer is shown, so that `noteOn` can stand beside each.
 */
export async function unknownWords(asked, says = "What the models answer is a guess from the rest of the text, or from pieces of words.") {
  found = (await ask("/api/typed/unknown", { asked: asked.filter((one) => one.models?.length) }, () => {})) ?? [];
  const wrong = found.filter((one) => one.count);
  const steps = [...new Set(found.flatMap((one) => one.normalised))];
  const changed = steps.length ? [make("p", {}, `The text was normalised as the training text was (${steps.join(", ")}).`)] : [];
  place().replaceChildren(...(wrong.length ? notice(wrong, says) : []), ...changed);
  place().hidden = !wrong.length && !changed.length;
}

/** One line for the column of a model: which words of the text it does not know; null where it knows all. */
export function noteOn(model) {
  const one = found.find(({ count, models }) => count && models.includes(model));
  return one ? make("p", { class: "small unknown-words" }, `${counted(one)}: `, ...apart(one.unknown.map(outlined))) : null;
}

function place() {
  const known = document.getElementById("unknown");
  if (known) return known;
  const made = make("div", { id: "unknown", class: "alert", role: "status", hidden: true });
  document.querySelector("form[data-state]").after(made);
  return made;
}

function notice(wrong, says) {
  const words = new Map(wrong.flatMap((one) => one.unknown).map((word) => [word.text, word]));
  const corrected = [...words.values()].filter((word) => word.written);
  const most = wrong.reduce((best, one) => (one.count > best.count ? one : best));
  const to = most.models.length < found.reduce((sum, one) => sum + one.models.length, 0) ? ` to ${most.models.map(titleOf).join(", ")}` : "";
  const rows = wrong.map((one) => make("tr", {}, make("th", { scope: "row" }, one.models.map(titleOf).join(", ")), make("td", {}, `${one.count} of ${one.words}`),
    make("td", {}, ...apart(one.unknown.map((word) => make("span", enclosing(word.text, "text"), outlined(word), " → ", word.pieces.join(" · "))))), make("td", {}, BY[one.by])));
  const head = make("tr", {}, ...["models", "unknown", "word → what is read instead", "these words"].map((name) => make("th", { scope: "col" }, name)));
  return [
    make("p", {}, make("b", {}, `${counted(most)}${to}: `), ...apart([...words.values()].map(outlined)), ". ", says,
      corrected.length ? ` The training text writes ${corrected.map((word) => `“${plain(word.written)}”`).join(", ")} in small letters.` : null),
    make("details", {}, make("summary", {}, "How each model reads them"), make("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Unknown words" },
      make("table", { class: "compact" }, make("thead", {}, head), make("tbody", {}, ...rows)))),
  ];
}

const outlined = (word) => make("span", { class: "token unknown", ...enclosing(word.text, "text") }, word.text);
const apart = (some) => some.flatMap((one, place) => (place ? [", ", one] : [one]));
