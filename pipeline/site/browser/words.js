// Words: the neighbours of a word, and an analogy.
import { answering, bars, model } from "./asking.js";
import { enclosing, make, plain } from "./common.js";

const found = document.getElementById("found");
const SHOWN = 10;

answering(async ({ word, a, b, c }, current) => {
  const vectors = await model("vectors");
  if (!current()) return;
  const rows = (words) => words.map((one) => {
    const row = vectors.find(one.trim());
    if (row !== undefined) return row;
    const near = vectors.words.filter((known) => known.startsWith(one.trim().slice(0, 3))).slice(0, 5);
    throw new Error(`“${plain(one)}” is not among the ${vectors.words.length.toLocaleString("en")} words that have a vector${near.length ? `; there are ${near.map(plain).join(", ")}` : ""}`);
  });
  const part = (title, list) => make("section", { class: "column" }, make("h2", {}, title), bars("Cosines, the largest first", ["word", "cosine"], list.map(([text, cosine]) => [text, cosine, cosine.toFixed(4)]), (text) => enclosing(text, "text")));
  const parts = [];
  const asked = word.trim() || vectors.words.find((one) => one.length > 3) || vectors.words[0];
  parts.push(part(`Nearest to “${plain(asked)}”`, vectors.nearest(...rows([asked]), SHOWN)));
  if ([a, b, c].every((one) => one.trim())) parts.push(part(`“${plain(a)}” is to “${plain(b)}” as “${plain(c)}” is to …`, vectors.analogy(...rows([a, b, c]), SHOWN)));
  found.replaceChildren(...parts);
});
