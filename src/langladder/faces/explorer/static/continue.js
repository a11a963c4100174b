// Continue: a column a model, growing token by token, until all have ended or the reader stops them.
import { noteOn, unknownWords } from "./unknown.js";
import { enclosing, halt, make, onState, plain, stream, turn } from "./common.js";

const found = document.getElementById("found");
const status = document.getElementById("status");
const titleOf = (name) => document.querySelector(`input[name="models"][value="${CSS.escape(name)}"]`)?.parentElement.textContent.trim() ?? name;
const stop = document.getElementById("stop");
const PATH = "/api/continue/text";
let latest = null; // the last question
let now = null; // the columns that are growing
const ENDS = { stop: "the line ended", length: "as long as asked", error: "" };

onState(async (values) => {
  const asked = (latest = {});
  await unknownWords([{ text: values.prompt, models: values.models }]);
  if (latest !== asked) return; // a newer question
  const columns = new Map();
  for (const name of values.models) {
    const text = make("span", { class: "new" });
    const end = make("p", { class: "small faint" });
    columns.set(name, { text, end });
  }
  found.replaceChildren(
    ...[...columns].map(([name, { text, end }]) =>
      make("section", { class: "column" }, make("h2", {}, titleOf(name)), noteOn(name), make("p", { class: "text", ...enclosing(values.prompt, "text") }, make("span", { class: "prompt" }, values.prompt), text), end),
    ),
  );
  status.textContent = "";
  now = columns;
  stop.disabled = !columns.size;
  const whole = await stream(PATH, { ...values, seed: values.seed ?? 0, temperature: values.temperature ?? 1, max_tokens: values.max_tokens ?? 40 }, (event) => {
    if (now !== columns) return; // stopped
    const column = columns.get(event.model);
    if (event.text !== undefined) {
      column.text.textContent = event.text;
      turn(column.text.parentElement, values.prompt + event.text, "text");
    }
    if (event.error) column.end.replaceChildren(make("span", { class: "alert" }, event.error.message));
    else if (event.end) column.end.textContent = `${ENDS[event.end]}${values.temperature === 0 ? "" : `; --seed ${event.seed}`}`;
  });
  if (now !== columns) return; // stopped, or a newer question took its place
  stop.disabled = true;
  if (whole) status.textContent = [...columns].map(([name, { text }]) => `${titleOf(name)}: ${plain(values.prompt + text.textContent)}`).join(" — ");
});

stop.addEventListener("click", () => {
  halt(PATH);
  for (const { end } of now.values()) if (!end.hasChildNodes()) end.textContent = "stopped";
  status.textContent = "Stopped.";
  stop.disabled = true;
  now = null;
});
