// A map of words on a canvas: pan, zoom, labels where there is room, the most frequent words first.
import { direction } from "./common.js";

const REACH = 14; // pixels from a point at which it is meant
const MOST_LABELS = 260;
const CELL = 8; // pixels; labels must not share one
const still = matchMedia("(prefers-reduced-motion: reduce)");

export class WordMap {
  /** onChoose(word) is called when a word is chosen by pointer or key. */
  constructor(canvas, onChoose) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d", { alpha: false });
    this.onChoose = onChoose;
    this.words = [];
    this.places = new Map(); // word → its number
    this.x = this.y = this.widths = new Float32Array(0);
    this.near = new Set(); // numbers of the chosen word's neighbours
    this.chosen = this.hovered = -1;
    this.pointers = new Map();
    this.reset();
    new ResizeObserver(() => this.resize()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.colours());
    this.colours();
    this.listen();
  }

  colours() {
    const style = getComputedStyle(document.documentElement);
    const value = (name) => style.getPropertyValue(name).trim();
    this.colour = { page: value("--panel"), ink: value("--ink"), point: value("--series-0"), chosen: value("--series-1"), near: value("--series-2") };
    this.font = `13px ${getComputedStyle(document.body).fontFamily}`;
    this.dirty();
  }

  /** Show these words at these places (−1 to 1); words that were there before glide to theirs. */
  show(words, x, y) {
    const old = { places: this.places, x: this.x, y: this.y };
    const known = words.map((word) => old.places.get(word));
    this.words = words;
    this.places = new Map(words.map((word, number) => [word, number]));
    this.pen.font = this.font;
    this.widths = Float32Array.from(words, (word) => this.pen.measureText(word).width);
    this.x = Float32Array.from(x);
    this.y = Float32Array.from(y);
    const moves = !still.matches && known.some((number) => number !== undefined);
    this.from = moves ? { x: Float32Array.from(x, (v, i) => (known[i] === undefined ? v : old.x[known[i]])), y: Float32Array.from(y, (v, i) => (known[i] === undefined ? v : old.y[known[i]])) } : null;
    this.to = { x: this.x, y: this.y };
    this.began = performance.now();
    this.near = new Set();
    this.chosen = this.hovered = -1;
    this.dirty();
  }

  /** Mark a word and its neighbours; where `move`, bring it into sight. False where the map does not have it. */
  choose(word, neighbours = [], move = true) {
    this.chosen = this.places.get(word) ?? -1;
    this.near = new Set(neighbours.map((other) => this.places.get(other)).filter((number) => number !== undefined));
    if (this.chosen >= 0 && move) {
      this.view.x = this.to.x[this.chosen];
      this.view.y = this.to.y[this.chosen];
      this.view.zoom = Math.max(this.view.zoom, 2.5);
    }
    this.dirty();
    return this.chosen >= 0;
  }

  reset() {
    this.view = { x: 0, y: 0, zoom: 1 };
    this.dirty();
  }

  /** Zoom by a factor around a place of the canvas (its middle, if none is said). */
  zoom(factor, px = this.width / 2, py = this.height / 2) {
    const before = this.place(px, py);
    this.view.zoom = Math.min(200, Math.max(0.5, this.view.zoom * factor));
    const after = this.place(px, py);
    this.pan(before.x - after.x, before.y - after.y);
  }

  pan(dx, dy) {
    this.view.x = Math.min(1.2, Math.max(-1.2, this.view.x + dx));
    this.view.y = Math.min(1.2, Math.max(-1.2, this.view.y + dy));
    this.dirty();
  }

  get unit() {
    return 0.46 * Math.min(this.width, this.height) * this.view.zoom; // pixels a unit of the map
  }

  place(px, py) {
    return { x: this.view.x + (px - this.width / 2) / this.unit, y: this.view.y - (py - this.height / 2) / this.unit };
  }

  resize() {
    const ratio = devicePixelRatio || 1;
    [this.width, this.height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    [this.canvas.width, this.canvas.height] = [this.width * ratio, this.height * ratio];
    this.dirty();
  }

  dirty() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }

  glide() {
    if (!this.from) return;
    const t = Math.min(1, (performance.now() - this.began) / 700);
    const eased = t * t * (3 - 2 * t);
    if (t === 1) {
      this.from = null;
      [this.x, this.y] = [this.to.x, this.to.y];
      return;
    }
    const mix = (side) => this.to[side].map((end, i) => this.from[side][i] + eased * (end - this.from[side][i]));
    [this.x, this.y] = [mix("x"), mix("y")];
    this.dirty();
  }

  draw() {
    this.glide();
    const { pen, width, height, colour, unit } = this;
    if (!width) return;
    pen.setTransform(this.canvas.width / width, 0, 0, this.canvas.height / height, 0, 0);
    pen.fillStyle = colour.page;
    pen.fillRect(0, 0, width, height);
    const [left, top] = [width / 2 - this.view.x * unit, height / 2 + this.view.y * unit];
    const size = Math.min(6, 2 + Math.log2(1 + this.view.zoom));
    pen.fillStyle = colour.point;
    pen.globalAlpha = this.chosen >= 0 ? 0.45 : 0.75;
    const inside = [];
    for (let i = 0; i < this.words.length; i++) {
      const [px, py] = [left + this.x[i] * unit, top - this.y[i] * unit];
      if (px < -80 || px > width || py < 0 || py > height) continue;
      inside.push(i);
      pen.fillRect(px - size / 2, py - size / 2, size, size);
    }
    pen.globalAlpha = 1;
    this.marks(left, top, size);
    this.labels(inside, left, top);
  }

  marks(left, top, size) {
    const { pen, unit, colour } = this;
    const dot = (i, hue) => {
      pen.fillStyle = hue;
      pen.beginPath();
      pen.arc(left + this.x[i] * unit, top - this.y[i] * unit, size, 0, 7);
      pen.fill();
    };
    if (this.chosen >= 0) {
      pen.strokeStyle = colour.near;
      pen.beginPath();
      for (const i of this.near) {
        pen.moveTo(left + this.x[this.chosen] * unit, top - this.y[this.chosen] * unit);
        pen.lineTo(left + this.x[i] * unit, top - this.y[i] * unit);
      }
      pen.stroke();
    }
    for (const i of this.near) dot(i, colour.near);
    if (this.chosen >= 0) dot(this.chosen, colour.chosen);
  }

  labels(inside, left, top) {
    const { pen, unit, colour, width } = this;
    const columns = Math.ceil(width / CELL) + 2;
    const taken = new Set();
    pen.font = this.font;
    pen.textBaseline = "middle";
    pen.textAlign = "left";
    let count = 0;
    const label = (i, always) => {
      const [px, py] = [left + this.x[i] * unit + 6, top - this.y[i] * unit];
      const [first, last] = [Math.floor(px / CELL), Math.floor((px + this.widths[i]) / CELL)];
      const row = Math.floor((py - 8) / CELL);
      for (let r = row; !always && r <= row + 2; r++) for (let c = first; c <= last; c++) if (taken.has(r * columns + c)) return;
      for (let r = row; r <= row + 2; r++) for (let c = first; c <= last; c++) taken.add(r * columns + c);
      if (always) {
        pen.fillStyle = colour.page;
        pen.fillRect(px - 2, py - 9, this.widths[i] + 4, 18);
      }
      pen.fillStyle = colour.ink;
      pen.direction = direction(this.words[i]);
      pen.fillText(this.words[i], px, py);
      count++;
    };
    for (const i of [this.chosen, this.hovered]) if (i >= 0) label(i, true);
    for (const i of this.near) label(i, false);
    for (const i of inside) {
      if (count >= MOST_LABELS) break;
      if (i !== this.chosen && i !== this.hovered && !this.near.has(i)) label(i, false);
    }
  }

  /** The word nearest to a place of the canvas, or −1. */
  nearest(px, py, reach = REACH) {
    const at = this.place(px, py);
    let [best, found] = [(reach / this.unit) ** 2, -1];
    for (let i = 0; i < this.words.length; i++) {
      const distance = (this.x[i] - at.x) ** 2 + (this.y[i] - at.y) ** 2;
      if (distance < best) [best, found] = [distance, i];
    }
    return found;
  }

  pick(px, py, reach) {
    const found = this.nearest(px, py, reach);
    if (found >= 0) this.onChoose(this.words[found]);
  }

  listen() {
    const { canvas, pointers } = this;
    const at = (event) => [event.offsetX, event.offsetY];
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 400), ...at(event));
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, at(event));
      this.moved = pointers.size > 1 ? Infinity : 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      const old = pointers.get(event.pointerId);
      const [px, py] = at(event);
      if (!old) {
        const found = this.nearest(px, py);
        if (found !== this.hovered) {
          this.hovered = found;
          canvas.classList.toggle("over", found >= 0);
          this.dirty();
        }
        return;
      }
      if (pointers.size === 2) {
        const [, other] = [...pointers].find(([id]) => id !== event.pointerId);
        const apart = (point) => Math.hypot(point[0] - other[0], point[1] - other[1]) || 1;
        this.zoom(apart([px, py]) / apart(old), (px + other[0]) / 2, (py + other[1]) / 2);
      } else {
        this.moved += Math.hypot(px - old[0], py - old[1]);
        this.pan((old[0] - px) / this.unit, (py - old[1]) / this.unit);
      }
      pointers.set(event.pointerId, [px, py]);
    });
    const up = (event) => {
      if (!pointers.delete(event.pointerId)) return;
      if (event.type === "pointerup" && this.moved < 5) this.pick(...at(event));
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("pointerleave", () => {
      this.hovered = -1;
      this.dirty();
    });
    canvas.addEventListener("keydown", (event) => {
      const step = 40 / this.unit;
      const keys = {
        ArrowLeft: () => this.pan(-step, 0),
        ArrowRight: () => this.pan(step, 0),
        ArrowUp: () => this.pan(0, step),
        ArrowDown: () => this.pan(0, -step),
        "+": () => this.zoom(1.25),
        "=": () => this.zoom(1.25),
        "-": () => this.zoom(0.8),
        0: () => this.reset(),
        Enter: () => this.pick(this.width / 2, this.height / 2, Infinity),
      };
      if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      keys[event.key]();
    });
  }
}
