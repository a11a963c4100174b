// Instruct: two answers growing side by side, each judged when it is whole.
import { noteOn, unknownWords } from "./unknown.js";
import { ask, make, onState, plain, send, state, stream, turn } from "./common.js";

const found = document.getElementById("found");
const status = document.getElementById("status");
const titleOf = (name) => document.querySelector(`select[name="first"] option[value="${CSS.escape(name)}"]`)?.textContent ?? name;
const PARTS = ["true", "grammatical", "form", "length"];

function judged(told) {
  if (!told.known) return make("p", { class: "small faint" }, told.why);
  const rows = PARTS.map((name) => make("tr", {}, make("th", { scope: "row" }, name), make("td", { class: "number" }, told.parts[name].toFixed(2))));
  const foot = make("tr", {}, make("th", { scope: "row" }, "reward"), make("td", { class: `number${told.reward === 1 ? " best" : ""}` }, told.reward.toFixed(2)));
  return make(
    "div",
    {},
    make("table", { class: "compact" }, make("caption", {}, "What the gold judge says, each from 0 to 1"), make("tbody", {}, ...rows, foot)),
    make("p", { class: "small faint" }, "a right answer: ", make("b", {}, told.right)),
  );
}

onState(async (values) => {
  const names = [...new Set([values.first, values.second].filter(Boolean))];
  const columns = new Map(names.map((name) => [name, { text: make("p", { class: "text" }, "…"), below: make("div", {}) }]));
  found.replaceChildren(...[...columns].map(([name, { text, below }]) => make("section", { class: "column" }, make("h2", {}, titleOf(name)), text, below)));
  status.textContent = "";
  if (!names.length) return;
  await unknownWords([{ text: values.instruction, models: names }]);
  for (const [name, { text }] of columns) text.before(noteOn(name) ?? "");
  const told = new Map(); // model → its reward
  const body = {
    instruction: values.instruction,
    models: names,
    temperature: values.temperature ?? 0,
    seed: values.seed ?? 0,
    max_tokens: values.max_tokens ?? 40,
  };
  const whole = await stream("/api/instruct/answer", body, (event) => {
    const { text, below } = columns.get(event.model);
    if (event.error) {
      text.textContent = "";
      below.replaceChildren(make("p", { class: "alert" }, event.error.message));
    } else {
      text.textContent = event.text || (event.end ? "(it says nothing)" : "…");
      turn(text, event.text ?? "", "instructions");
    }
    if (event.judged?.known) told.set(event.model, `reward ${event.judged.reward.toFixed(2)}`);
    if (event.judged) below.replaceChildren(judged(event.judged));
  });
  if (whole) status.textContent = [...columns].map(([name, { text }]) => `${titleOf(name)}: ${plain(text.textContent)} ${told.get(name) ?? ""}`).join(" — ");
});

const examples = document.getElementById("examples");
const drawn = await ask("/api/instruct/examples", {});
const kinds = Map.groupBy?.(drawn ?? [], (one) => one.kind) ?? new Map();
for (const [kind, some] of kinds) {
  const label = `${kind.replaceAll("_", " ")}${some[0].shown === "unseen" ? " (never shown in training)" : ""}`;
  examples.append(make("optgroup", { label }, ...some.map((one) => make("option", { value: one.text }, one.text))));
}
examples.addEventListener("change", () => {
  if (!examples.value) return;
  state.set({ instruction: examples.value });
  examples.selectedIndex = 0;
  send();
});
