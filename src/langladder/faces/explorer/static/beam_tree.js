// A beam search as a tree: a column a step, kept hypotheses above, then finished ones, dropped ones below.
import { clipped, draw, enclosing, make, plain } from "./common.js";

const [COLUMN, ROW, BOX] = [122, 40, 104]; // pixels
const FATES = { kept: "kept", left: "could not win any more", finished: "finished", dropped: "dropped" };
const ORDER = ["kept", "left", "finished", "dropped"];

export class Tree {
  constructor(place, weighed) {
    [this.place, this.weighed] = [place, weighed];
  }

  /** What the server found: nodes, the ends of the best, their texts. */
  take({ nodes, ends, texts }) {
    [this.nodes, this.ends, this.texts] = [nodes, ends, texts];
    this.steps = Math.max(1, ...nodes.map((node) => node.step));
    this.spaced = nodes.some((node) => node.token.startsWith(" ")); // tokens bring their own spaces
    this.best = new Set();
    for (let i = ends[0] ?? null; i !== null; i = nodes[i].parent) this.best.add(i);
  }

  hypothesis(i) {
    const tokens = [];
    for (; i !== null; i = this.nodes[i].parent) tokens.unshift(this.nodes[i].token === "<eos>" && this.spaced ? " <eos>" : this.nodes[i].token);
    return tokens.join(this.spaced ? "" : " ").trim();
  }

  show(step, dropped) {
    const places = new Map();
    let most = 1;
    for (let now = 1; now <= step; now++) {
      const here = this.nodes.flatMap((node, i) => (node.step === now && (dropped || node.fate !== "dropped") ? [i] : []));
      here.sort((i, j) => ORDER.indexOf(this.nodes[i].fate) - ORDER.indexOf(this.nodes[j].fate) || this.nodes[j].total - this.nodes[i].total);
      here.forEach((i, row) => places.set(i, { x: now * COLUMN, y: row * ROW + 24 }));
      most = Math.max(most, here.length);
    }
    const [width, height] = [(step + 1) * COLUMN, most * ROW + 24];
    const root = { x: 0, y: 24 };
    const [edges, boxes] = [[], []];
    for (const [i, { x, y }] of places) {
      const node = this.nodes[i];
      const from = node.parent === null ? root : places.get(node.parent);
      const classes = `${node.fate} ${this.best.has(i) ? "best" : ""}`;
      const [startX, startY, middle] = [from.x + (node.parent === null ? 50 : BOX), from.y, x - 9];
      edges.push(draw("path", { class: `edge ${classes}`, d: `M${startX} ${startY}C${middle} ${startY} ${startX + 9} ${y} ${x} ${y}` }));
      boxes.push(this.box(i, x, y, classes));
    }
    boxes.push(draw("text", { x: 4, y: 28 }, "<bos>"));
    const svg = draw("svg", { class: "search-tree", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${step} of ${this.steps} steps of the search; the table below says the last of them in words` }, ...edges, ...boxes);
    this.place.replaceChildren(svg);
    const scroller = this.place.parentElement;
    scroller.scrollLeft = scroller.scrollWidth;
    this.weighed.replaceChildren(this.table(step, dropped));
  }

  box(i, x, y, classes) {
    const node = this.nodes[i];
    const rank = this.ends.indexOf(i);
    const token = plain(clipped(node.token, 11));
    const under = node.score === null ? node.total.toFixed(2) : `${node.total.toFixed(2)} → ${node.score.toFixed(2)}`;
    const group = draw("g", { class: `node ${classes}` }, draw("rect", { x, y: y - 17, width: BOX, height: 34, rx: 4 }),
      draw("text", { x: x + 6, y: y - 3 }, rank >= 0 ? `${token}  #${rank + 1}` : token), draw("text", { x: x + 6, y: y + 12, class: "sum" }, under));
    group.prepend(draw("title", {}, `${plain(this.hypothesis(i))}: log P(token) ${node.log_prob}, sum ${node.total}, ${FATES[node.fate]}${node.score === null ? "" : `, score ${node.score}`}`));
    return group;
  }

  table(step, dropped) {
    const here = this.nodes.flatMap((node, i) => (node.step === step && (dropped || node.fate !== "dropped") ? [i] : []));
    here.sort((i, j) => this.nodes[j].total - this.nodes[i].total);
    const heads = ["hypothesis", "log P of the token", "sum", "what became of it", "score"];
    const rows = here.map((i) => {
      const node = this.nodes[i];
      const rank = this.ends.indexOf(i);
      return make("tr", { class: node.fate }, make("th", { scope: "row", ...enclosing(this.hypothesis(i), "target") }, this.hypothesis(i)), make("td", { class: "number" }, node.log_prob.toFixed(3)),
        make("td", { class: "number" }, node.total.toFixed(3)), make("td", {}, rank >= 0 ? `finished; ${rank === 0 ? "the best" : `number ${rank + 1}`} of all` : FATES[node.fate]), make("td", { class: "number" }, node.score === null ? "–" : node.score.toFixed(4)));
    });
    const over = step === this.steps ? ` The search is over; the best: ${plain(this.texts[0] ?? "none")}` : "";
    return make("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "The hypotheses of this step" },
      make("table", { class: "texts" }, make("caption", {}, `Step ${step} of ${this.steps}, the most probable first.${over}`), make("thead", {}, make("tr", {}, ...heads.map((head, place) => make("th", { scope: "col", class: [1, 2, 4].includes(place) ? "number" : null }, head)))), make("tbody", {}, ...rows)));
  }
}
