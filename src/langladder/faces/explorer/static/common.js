// What every page's script uses: asking the server, showing errors, keeping the form's state in the address.

const asking = new Map(); // path → the request under way
let blamed = null; // the path whose error stands in the page's line: another's success leaves it there

/** Show a message in the page's line for errors; "" hides it. */
export function complain(message) {
  const line = document.getElementById("alert");
  line.textContent = message;
  line.hidden = !message;
}

async function request(path, body) {
  asking.get(path)?.abort();
  const control = new AbortController();
  asking.set(path, control);
  const answer = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: control.signal,
  });
  if (!answer.ok) {
    const told = await answer.json().catch(() => null);
    throw new Error(told?.error?.message ?? `the server answered ${answer.status}`);
  }
  return answer;
}

async function guarded(path, work, tell) {
  try {
    const found = await work();
    if (tell !== complain || blamed === null || blamed === path) {
      tell("");
      if (tell === complain) blamed = null;
    }
    return found;
  } catch (error) {
    if (error.name === "AbortError") return null; // a newer question of the same kind is under way
    if (tell === complain) blamed = path;
    tell(error instanceof TypeError ? "the server cannot be reached; is it still running?" : error.message);
    return null;
  }
}

/** POST JSON, give the answer's JSON (`tell` shows what goes wrong, "" that nothing did); null where it failed (the page says why) or a newer request took its place. */
export function ask(path, body, tell = complain) {
  return guarded(path, async () => (await request(path, body)).json(), tell);
}

/**
 * POST JSON, call onEvent(JSON) for each server-sent event; true when all have come. An event {"error"} without a model
 * is shown as an error; with one it is the page's to show.
 */
export async function stream(path, body, onEvent, tell = complain) {
  return guarded(path, async () => {
    const answer = await request(path, body);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) throw new Error("the answer broke off; ask again");
      text += value;
      for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
        const data = text.slice(0, end).replace(/^data: /, "");
        if (data === "[DONE]") return true;
        const event = JSON.parse(data);
        if (event.error && !event.model) throw new Error(event.error.message);
        onEvent(event);
      }
    }
  }, tell);
}

/** Break off what is being asked of a path: its `ask` or `stream` gives null, and the server stops computing. */
export function halt(path) {
  asking.get(path)?.abort();
}

// The form with `data-state`: every element with a name is in the address's query, so that a link carries the page.
const form = () => document.querySelector("form[data-state]");

/** The form's values: name → text, number or true/false; for several boxes of one name the list of those checked. */
export const state = {
  get() {
    const found = {};
    for (const field of form().elements) {
      if (!field.name) continue;
      if (field.type === "checkbox" && field.hasAttribute("value")) {
        found[field.name] ??= [];
        if (field.checked) found[field.name].push(field.value);
      } else if (field.type === "checkbox") found[field.name] = field.checked;
      else if (field.type === "radio") { if (field.checked) found[field.name] = field.value; }
      else if (field.type === "number" || field.type === "range") found[field.name] = field.value === "" ? null : Number(field.value);
      else found[field.name] = field.value;
    }
    return found;
  },
  /** Set some of them, as if they had been typed. */
  set(values) {
    for (const field of form().elements) {
      if (!(field.name in values)) continue;
      const value = values[field.name];
      if (field.type === "checkbox") field.checked = field.hasAttribute("value") ? [value].flat().includes(field.value) : Boolean(value);
      else if (field.type === "radio") field.checked = field.value === value;
      else field.value = value ?? "";
    }
  },
};

function write(push) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(state.get())) {
    if (Array.isArray(value)) for (const one of value.length ? value : [""]) query.append(name, one);
    else if (value !== null) query.append(name, String(value));
  }
  const address = `${location.pathname}?${query}`;
  if (address !== location.pathname + location.search) history[push ? "pushState" : "replaceState"](null, "", address);
}

function read() {
  const values = {};
  const many = new Set([...form().elements].filter((field) => field.type === "checkbox" && field.hasAttribute("value")).map((field) => field.name));
  const query = new URLSearchParams(location.search);
  for (const [name, value] of query) {
    values[name] = many.has(name) ? query.getAll(name) : value === "true" ? true : value === "false" ? false : value;
  }
  state.set(values);
}

/** Call f(values) now if the address has a state (or `always`), when the form is sent, and when the reader goes back. */
export function onState(f, always = true) {
  read();
  form().addEventListener("submit", (event) => {
    event.preventDefault();
    write(true);
    f(state.get());
  });
  addEventListener("popstate", () => {
    read();
    f(state.get());
  });
  for (const button of document.querySelectorAll("button[data-into]")) {
    button.addEventListener("click", () => {
      state.set({ [button.dataset.into]: button.value });
      send();
    });
  }
  if (always || location.search) f(state.get());
}

/** Send the form as if its button were pressed. */
export function send() {
  form().requestSubmit();
}

// Texts of a corpus stand in a page that is English: each says its direction and its language, as in the report.
const LETTERS = /\p{L}/gu;
const TO_THE_LEFT = /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFF\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}]/u;
const LANGUAGES = JSON.parse(document.body.dataset.languages ?? "{}");
const SCRIPTS = { ja: /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]/gu, ko: /\p{Script=Hangul}/gu, th: /\p{Script=Thai}/gu };
const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** "rtl" or "ltr": of most letters; where both are equal, of the first (text/words/direction.py). */
export function direction(text) {
  const left = (text.replace(/<[a-z]+>/g, "").match(LETTERS) ?? []).map((letter) => TO_THE_LEFT.test(letter));
  const many = 2 * left.filter(Boolean).length;
  return many > left.length || (many === left.length && left[0]) ? "rtl" : "ltr";
}

function languageOf(text) {
  const letters = text.match(/[\p{L}\p{M}]/gu)?.length ?? 0;
  const hanja = /\p{Script=Han}[)）」』]?\p{Script=Hangul}/u.test(text) && !/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(text);
  if (hanja && 2 * text.match(/[\p{Script=Han}\p{Script=Hangul}]/gu).length > letters) return "ko";
  const found = Object.keys(SCRIPTS).find((name) => 2 * (text.match(SCRIPTS[name])?.length ?? 0) > letters);
  return found === "ja" && !/[\p{Script=Hiragana}\p{Script=Katakana}]/u.test(text) ? undefined : found;
}

/**
 * The attributes of an element that holds a text; `side` names its corpus: text, source, target, labels, tags, …
 * A text without letters (a bracket, a number) runs as what is around it.
 */
export function enclosing(text, side) {
  return { dir: /\p{L}/u.test(text) ? direction(text) : undefined, lang: LANGUAGES[side] ?? languageOf(text) };
}

/** Give them to an element whose text has changed. */
export function turn(element, text, side) {
  for (const [name, value] of Object.entries(enclosing(text, side))) {
    if (value) element.setAttribute(name, value);
    else element.removeAttribute(name);
  }
}

/** A text for a sentence, a title or a drawing: what runs to the left moves nothing beside it (RLI or LRI … PDI). */
export function plain(text) {
  return TO_THE_LEFT.test(text) ? `${direction(text) === "rtl" ? "\u2067" : "\u2066"}${text}\u2069` : text;
}

/** At most so many characters of a text, each with its marks. */
export function clipped(text, most) {
  const found = Array.from(graphemes.segment(text), (one) => one.segment);
  return found.length > most ? `${found.slice(0, most - 1).join("")}…` : text;
}

/** An element: make("td", { class: "number" }, "3.2", otherElement). Texts are texts, never markup. */
export function make(name, attributes = {}, ...inside) {
  const found = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) found.setAttribute(key, value === true ? "" : value);
  }
  found.append(...inside.filter((part) => part !== null && part !== undefined));
  return found;
}

const SVG = "http://www.w3.org/2000/svg";

/** An element of SVG. */
export function draw(name, attributes = {}, ...inside) {
  const found = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value);
  found.append(...inside);
  return found;
}

// What a drawing of the server may consist of: no script, no link.
const ELEMENTS = new Set(["svg", "g", "path", "text", "title"]);
const ATTRIBUTES = new Set(["role", "aria-label", "class", "width", "height", "viewBox", "d", "x", "y", "transform"]);
const STYLES = new Set(["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity", "font", "text-anchor"]);

/** The <svg> of a text; null where it is none. `data-style` becomes the style, which markup may not bear here. */
export function graft(text) {
  const root = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  return root.nodeName === "svg" ? copied(root) : null;
}

function copied(element) {
  const found = draw(element.localName, Object.fromEntries([...element.attributes].filter(({ name }) => ATTRIBUTES.has(name)).map(({ name, value }) => [name, value])));
  for (const rule of (element.getAttribute("data-style") ?? "").split(";")) {
    const [name, value] = rule.split(":").map((part) => part.trim());
    if (STYLES.has(name)) found.style.setProperty(name, value);
  }
  for (const inside of element.childNodes) {
    if (inside.nodeType === Node.TEXT_NODE) found.append(inside.data);
    else if (ELEMENTS.has(inside.localName)) found.append(copied(inside));
  }
  return found;
}
