// Lines over steps that can be zoomed: by the buttons, the mouse (draw a frame, or Ctrl and wheel), the keys + − 0 and arrows.
import { draw, make } from "./common.js";

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, FOOT] = [760, 380, 58, 14, 12, 40];
const DASHES = ["", "7 4", "2 3"];
const SERIES = 6;
const WHOLE = [0, 1, 0, 1];

/** Ticks at round numbers between two values, about `count` of them. */
export function ticks(low, high, count) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? rough;
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high + step * 1e-9; k++) found.push(k * step);
  return found;
}

const hueOf = (line, number) => line.hue ?? number % SERIES; // the report's colour of a rung, if it has one there
const shown = (value) => (Math.abs(value) >= 1000 ? value.toLocaleString("en") : String(Number(value.toPrecision(4))));

/**
 * A plot of lines [{title, hue, points: [[x, y], …]}] with its controls.
 * options: {label, log, hidden: Set of titles, view: [x0, x1, y0, y1] as shares of the whole, changed(view, hidden)}
 */
export function plot(lines, options) {
  const scale = options.log ? (y) => Math.log10(y) : (y) => y;
  const kept = lines.map((line) => ({ ...line, points: line.points.filter(([, y]) => !options.log || y > 0) }));
  const all = kept.flatMap((line) => line.points);
  const range = (values) => [Math.min(...values), Math.max(...values)];
  const [xLow, xHigh] = range(all.map(([x]) => x));
  const [yLow, yHigh] = range(all.map(([, y]) => scale(y)));
  const [width, height] = [xHigh - xLow || 1, yHigh - yLow || 1];
  let view = options.view ?? WHOLE;
  const svg = draw("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "curves", tabindex: "0", role: "img", "aria-label": options.label });

  const inside = () => {
    const [x0, x1, y0, y1] = view;
    return [xLow + x0 * width, xLow + x1 * width, yLow + y0 * height, yLow + y1 * height];
  };

  function render() {
    const [x0, x1, y0, y1] = inside();
    const px = (x) => LEFT + ((x - x0) / (x1 - x0)) * (WIDTH - LEFT - RIGHT);
    const py = (y) => HEIGHT - FOOT - ((y - y0) / (y1 - y0)) * (HEIGHT - TOP - FOOT);
    const text = (x, y, anchor, words) => draw("text", { x, y, "text-anchor": anchor, class: "mark-of" }, words);
    const parts = [];
    for (const y of ticks(y0, y1, 6)) {
      parts.push(draw("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: py(y), y2: py(y), class: "grid" }));
      parts.push(text(LEFT - 6, py(y) + 4, "end", shown(options.log ? 10 ** y : y)));
    }
    for (const x of ticks(x0, x1, 7)) parts.push(text(px(x), HEIGHT - FOOT + 18, "middle", shown(x)));
    parts.push(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, "middle", "training step"));
    const frame = draw("svg", { x: LEFT, y: TOP, width: WIDTH - LEFT - RIGHT, height: HEIGHT - TOP - FOOT, viewBox: `${LEFT} ${TOP} ${WIDTH - LEFT - RIGHT} ${HEIGHT - TOP - FOOT}` });
    kept.forEach((line, number) => {
      if (options.hidden.has(line.title) || !line.points.length) return;
      const d = line.points.map(([x, y], k) => `${k ? "L" : "M"}${px(x).toFixed(1)} ${py(scale(y)).toFixed(1)}`).join("");
      const drawn = draw("path", { d, class: `line line-${hueOf(line, number)}` }, draw("title", {}, line.title));
      if (number >= SERIES) drawn.setAttribute("stroke-dasharray", DASHES[Math.floor(number / SERIES) % DASHES.length]);
      frame.append(drawn);
    });
    svg.replaceChildren(...parts, frame);
  }

  function look(next) {
    const fit = (low, high) => {
      const size = Math.min(1, Math.max(0.002, high - low));
      const start = Math.min(1 - size, Math.max(0, low));
      return [start, start + size];
    };
    view = [...fit(next[0], next[1]), ...fit(next[2], next[3])];
    render();
    options.changed(view.every((share, k) => Math.abs(share - WHOLE[k]) < 1e-6) ? null : view);
  }

  function zoom(factor, [cx, cy] = [0.5, 0.5]) {
    const [x0, x1, y0, y1] = view;
    const [x, y] = [x0 + cx * (x1 - x0), y0 + cy * (y1 - y0)];
    look([x - (x - x0) * factor, x + (x1 - x) * factor, y - (y - y0) * factor, y + (y1 - y) * factor]);
  }

  function move(dx, dy) {
    const [x0, x1, y0, y1] = view;
    const [x, y] = [dx * (x1 - x0), dy * (y1 - y0)];
    look([x0 + x, x1 + x, y0 + y, y1 + y]);
  }

  const KEYS = {
    "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1 / 0.6), 0: () => look(WHOLE),
    ArrowLeft: () => move(-0.15, 0), ArrowRight: () => move(0.15, 0), ArrowUp: () => move(0, 0.15), ArrowDown: () => move(0, -0.15),
  };
  svg.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
    event.preventDefault();
    KEYS[event.key]();
  });

  const share = (event) => {
    const box = svg.getBoundingClientRect();
    const [x, y] = [((event.clientX - box.left) / box.width) * WIDTH, ((event.clientY - box.top) / box.height) * HEIGHT];
    return [(x - LEFT) / (WIDTH - LEFT - RIGHT), (HEIGHT - FOOT - y) / (HEIGHT - TOP - FOOT)].map((one) => Math.min(1, Math.max(0, one)));
  };
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return; // the page scrolls
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, share(event));
  }, { passive: false });
  let begun = null;
  svg.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "touch") return; // fingers scroll; the buttons zoom
    begun = share(event);
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", (event) => {
    svg.querySelector(".chosen-frame")?.remove();
    if (begun) svg.append(framed(begun, share(event)));
  });
  svg.addEventListener("pointerup", (event) => {
    svg.querySelector(".chosen-frame")?.remove();
    if (!begun) return;
    const [[ax, ay], [bx, by]] = [begun, share(event)];
    begun = null;
    if (Math.abs(ax - bx) < 0.02 || Math.abs(ay - by) < 0.02) return;
    const [x0, x1, y0, y1] = view;
    const at = (low, high, one) => low + one * (high - low);
    look([at(x0, x1, Math.min(ax, bx)), at(x0, x1, Math.max(ax, bx)), at(y0, y1, Math.min(ay, by)), at(y0, y1, Math.max(ay, by))]);
  });

  const button = (words, label, act) => {
    const found = make("button", { type: "button", "aria-label": label }, words);
    found.addEventListener("click", act);
    return found;
  };
  const legend = kept.map((line, number) => {
    const found = make("button", { type: "button", class: `legend line-${hueOf(line, number)}`, "aria-pressed": String(!options.hidden.has(line.title)) }, line.title);
    found.addEventListener("click", () => {
      if (!options.hidden.delete(line.title)) options.hidden.add(line.title);
      found.setAttribute("aria-pressed", String(!options.hidden.has(line.title)));
      render();
      options.changed(view.every((one, k) => Math.abs(one - WHOLE[k]) < 1e-6) ? null : view);
    });
    return found;
  });
  render();
  return make(
    "div",
    {},
    make("div", { class: "presets", role: "group", "aria-label": "Lines shown" }, ...legend),
    svg,
    make(
      "div",
      { class: "presets", role: "group", "aria-label": "Zoom" },
      button("+", "closer", () => zoom(0.6)), button("−", "further", () => zoom(1 / 0.6)), button("←", "left", () => move(-0.25, 0)), button("→", "right", () => move(0.25, 0)),
      button("↑", "up", () => move(0, 0.25)), button("↓", "down", () => move(0, -0.25)), button("whole", "the whole", () => look(WHOLE)),
    ),
    make("p", { class: "small faint" }, "Draw a frame with the mouse to look closer; on the plot the keys + − 0 and the arrows do the same."),
  );
}

function framed([ax, ay], [bx, by]) {
  const [w, h] = [WIDTH - LEFT - RIGHT, HEIGHT - TOP - FOOT];
  return draw("rect", {
    class: "chosen-frame", x: LEFT + Math.min(ax, bx) * w, y: TOP + (1 - Math.max(ay, by)) * h, width: Math.abs(ax - bx) * w, height: Math.abs(ay - by) * h,
  });
}
