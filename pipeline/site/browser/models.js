// The ladder's models in plain JavaScript: tables and weights of model.safetensors, the equations of langladder.models.
// Sums are taken in 64 bits and kept in 32. Shapes: V vocabulary, D width of an embedding, H width of a state.
import { BOS, EOS, PAD, Tokenizer, UNK, lines, normaliser, words } from "./tokens.js";

// Arithmetic.
/** W x + b. */
function linear(W, x, b) {
  const n = x.length;
  const found = new Float32Array(W.length / n);
  for (let row = 0, at = 0; row < found.length; row++, at += n) {
    let sum = b ? b[row] : 0;
    for (let i = 0; i < n; i++) sum += W[at + i] * x[i];
    found[row] = sum;
  }
  return found;
}
const row = (table, id, width) => table.subarray(id * width, (id + 1) * width);
const plus = (x, y) => x.map((value, i) => value + y[i]);
const sigmoid = (x) => 1 / (1 + Math.exp(-x));
const gelu = (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
const joined = (...parts) => Float32Array.from(parts.flatMap((part) => [...part]));

function softmax(scores) {
  const most = scores.reduce((a, b) => Math.max(a, b), -Infinity);
  const found = Array.from(scores, (score) => Math.exp(score - most));
  const sum = found.reduce((a, b) => a + b, 0);
  return found.map((value) => value / sum);
}

export function logSoftmax(scores) {
  const most = scores.reduce((a, b) => Math.max(a, b), -Infinity);
  const log = most + Math.log(scores.reduce((sum, score) => sum + Math.exp(score - most), 0));
  return scores.map((score) => score - log);
}

/** Σ α_j v_j. */
function mix(weights, vectors) {
  const found = new Float32Array(vectors[0].length);
  weights.forEach((weight, j) => vectors[j].forEach((value, i) => (found[i] += weight * value)));
  return found;
}

function layerNorm(x, weight, bias) {
  const mean = x.reduce((sum, value) => sum + value, 0) / x.length;
  const variance = x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / x.length;
  return x.map((value, i) => ((value - mean) / Math.sqrt(variance + 1e-5)) * weight[i] + (bias ? bias[i] : 0));
}

// Language models: `begin()` gives the state before the first token; `read(state, token)` the log-probabilities of the
// next one, (V,), and the state after it.

/** log P(w | h): the longest seen history decides, and each shorter one with its back-off weight. */
class NGram {
  constructor(config, tensors) {
    Object.assign(this, tensors);
    this.order = this.levels.length - 1;
    this.V = this.levels[1];
  }

  begin() {
    return [];
  }

  read(before, token) {
    const state = [...before, token].slice(1 - this.order || Infinity);
    const found = this.log_probs.slice(0, this.V);
    for (let length = 1; length < Math.min(this.order, state.length + 1); length++) {
      const history = this.number(state.slice(-length));
      if (history >= 0) {
        for (let v = 0; v < found.length; v++) found[v] += this.log_backoffs[history];
        for (let at = this.starts[history]; at < this.starts[history + 1]; at++) found[this.words[at]] = this.log_probs[at];
      }
      if (state.at(-length) === BOS) break;
    }
    return [found, state];
  }

  number(ngram) {
    return ngram.slice(1).reduce((found, word) => {
      if (found < 0) return -1;
      const at = this.words.subarray(this.starts[found], this.starts[found + 1]).indexOf(word);
      return at < 0 ? -1 : this.starts[found] + at;
    }, ngram[0]);
  }
}

/** c' = f c + i g, h' = o tanh(c'). */
class LSTM {
  constructor(config, tensors) {
    [this.config, this.t] = [config, tensors];
  }

  begin() {
    return Array.from({ length: this.config.layers }, () => [new Float32Array(this.config.width), new Float32Array(this.config.width)]);
  }

  read(before, token) {
    const { t, config: { width: H, embedding_dim: D } } = this;
    let x = row(t["embedding.weight"], token, D);
    const state = before.map(([h, c], layer) => {
      const name = (part) => t[`cell.layers.${layer}.rnn.${part}_l0`];
      const gates = plus(linear(name("weight_ih"), x, name("bias_ih")), linear(name("weight_hh"), h, name("bias_hh"))); // i, f, g, o
      const after = c.map((value, i) => sigmoid(gates[H + i]) * value + sigmoid(gates[i]) * Math.tanh(gates[2 * H + i]));
      x = after.map((value, i) => sigmoid(gates[3 * H + i]) * Math.tanh(value));
      return [x, after];
    });
    if (t["bridge.weight"]) x = linear(t["bridge.weight"], x, t["bridge.bias"]);
    return [logSoftmax(linear(t["head.weight"] ?? t["embedding.weight"], x, t["head.bias"])), state];
  }
}

/** Pre-norm Transformer decoder; the state is the cache: the last tokens, and each layer's keys and values of them. */
class GPT {
  constructor(config, tensors) {
    [this.config, this.t] = [config, tensors];
  }

  begin() {
    return { tokens: [], layers: Array.from({ length: this.config.layers }, () => ({ keys: [], values: [] })) };
  }

  read(before, token) {
    const tokens = [...before.tokens, token];
    if (tokens.length <= this.config.context) return this.step(before, token);
    const last = tokens.slice(-this.config.context); // the window moves: what is cached stood at other positions
    return last.reduce(([, state], one) => this.step(state, one), [null, this.begin()]);
  }

  step(before, token) {
    const { t, config: { width: D, heads } } = this;
    const d = D / heads;
    let x = plus(row(t["embedding.weight"], token, D), row(t.position, before.tokens.length, D));
    const layers = before.layers.map((past, layer) => {
      const name = (part) => t[`blocks.${layer}.${part}`];
      const apply = (part, input) => linear(name(`${part}.weight`), input, name(`${part}.bias`));
      const norm = (part) => layerNorm(x, name(`norm_${part}.weight`), name(`norm_${part}.bias`));
      const projected = apply("attention.project", norm("attention"));
      const keys = [...past.keys, projected.subarray(D, 2 * D)];
      const values = [...past.values, projected.subarray(2 * D)];
      const mixed = joined(...Array.from({ length: heads }, (_, head) => {
        const part = (vector) => vector.subarray(head * d, (head + 1) * d);
        const query = part(projected);
        const scores = keys.map((key) => linear(query, part(key))[0] / Math.sqrt(d));
        return mix(softmax(scores), values.map(part));
      }));
      x = plus(x, apply("attention.output", mixed));
      x = plus(x, apply("contract", apply("expand", norm("feed")).map(gelu)));
      return { keys, values };
    });
    x = layerNorm(x, t["norm.weight"], t["norm.bias"]);
    return [logSoftmax(linear(t["head.weight"] ?? t["embedding.weight"], x)), { tokens: [...before.tokens, token], layers }];
  }
}

/** A language model and its tokenizer. */
class Language {
  constructor(model, tokenizer) {
    [this.model, this.tokenizer] = [model, tokenizer];
  }

  /** A text's ids: each line as BOS … EOS; a model that reads whole documents has no BOS within them. */
  ids(text) {
    const joined = this.model.config?.rows === "documents";
    return lines(text).flatMap((line, at) => [...(joined && at ? [] : [BOS]), ...this.tokenizer.encode(line), EOS]);
  }

  /** log P of each id given those before it, 0 for BOS. A bounded context moves by half of it, as the scorer does. */
  score(ids) {
    const { context } = this.model.config ?? {};
    const stride = context ? Math.max(1, Math.floor(context / 2)) : ids.length;
    const found = ids.map(() => 0);
    for (let start = 0; start < Math.max(1, ids.length - 1 - (context ?? 0) + (context ? stride : 0)); start += stride) {
      let state = this.model.begin();
      let next;
      for (let at = start; at < Math.min(ids.length - 1, start + (context ?? Infinity)); at++) {
        [next, state] = this.model.read(state, ids[at]);
        if (ids[at + 1] !== BOS && (start === 0 || at - start >= context - stride)) found[at + 1] = next[ids[at + 1]];
      }
    }
    return found;
  }

  /** What follows ids that begin with BOS: log-probabilities (V,), and the state to read on from. */
  next(ids) {
    return ids.reduce(([, state], id) => this.model.read(state, id), [null, this.model.begin()]);
  }

  /** The likeliest next tokens: [text, probability], likeliest first. */
  likeliest(ids, most) {
    const [next] = this.next(ids);
    const allowed = [...next.keys()].filter((id) => id !== PAD && id !== BOS);
    return allowed.sort((a, b) => next[b] - next[a]).slice(0, most).map((id) => [this.tokenizer.piece(id), Math.exp(next[id])]);
  }

  /** Draw tokens until the line ends; temperature 0 takes the likeliest. */
  *sample(ids, { temperature, most, random }) {
    let [next, state] = this.next(ids);
    for (let drawn = 0; drawn < most; drawn++) {
      next[PAD] = next[BOS] = -Infinity;
      let token = next.indexOf(next.reduce((a, b) => Math.max(a, b)));
      if (temperature > 0) {
        const shares = softmax(next.map((value) => value / temperature));
        let left = random();
        token = shares.findIndex((share) => (left -= share) < 0);
        if (token < 0) token = shares.findLastIndex((share) => share > 0); // rounding
      }
      if (token === EOS) return;
      yield token;
      [next, state] = this.model.read(state, token);
    }
  }
}

/** Attention between a bidirectional GRU and a GRU (Bahdanau et al. 2015). */
class Translator {
  constructor(config, tensors, source, target) {
    [this.config, this.t, this.source, this.target] = [config, tensors, source, target];
  }

  gru(inputs, layer, way) {
    const H = this.config.width;
    const name = (part) => this.t[`encoder.${part}_l${layer}${way}`];
    let h = new Float32Array(H);
    return inputs.map((input) => {
      const [x, u] = [linear(name("weight_ih"), input, name("bias_ih")), linear(name("weight_hh"), h, name("bias_hh"))]; // r, z, n
      h = h.map((value, i) => {
        const z = sigmoid(x[H + i] + u[H + i]);
        return (1 - z) * Math.tanh(x[2 * H + i] + sigmoid(x[i] + u[i]) * u[2 * H + i]) + z * value;
      });
      return h;
    });
  }

  encode(ids) {
    let memory = ids.map((id) => row(this.t["source_embedding.weight"], id, this.config.embedding_dim));
    let last;
    for (let layer = 0; layer < this.config.layers; layer++) {
      const [forth, back] = [this.gru(memory, layer, ""), this.gru(memory.toReversed(), layer, "_reverse")];
      last = joined(forth.at(-1), back.at(-1));
      memory = forth.map((h, j) => joined(h, back.at(-1 - j)));
    }
    const keys = memory.map((h) => linear(this.t["decoder.attention.memory.weight"], h));
    const values = memory.map((h) => linear(this.t["decoder.context.weight"], h));
    return { memory, keys, values, s: linear(this.t["bridge.weight"], last, this.t["bridge.bias"]).map(Math.tanh) };
  }

  step(id, { memory, keys, values, s }) {
    const { t, config: { width: H, embedding_dim: D, readout } } = this;
    const x = row(t["target_embedding.weight"], id, D);
    const query = linear(t["decoder.attention.query.weight"], s);
    const alpha = softmax(keys.map((key) => linear(t["decoder.attention.v"], plus(query, key).map(Math.tanh))[0]));
    const driven = plus(linear(t["decoder.input.weight"], x, t["decoder.input.bias"]), mix(alpha, values)); // z, r, n
    const gates = plus(linear(t["decoder.gates.weight"], s), driven).map(sigmoid);
    const proposed = plus(linear(t["decoder.candidate.weight"], s.map((value, i) => gates[H + i] * value)), driven.subarray(2 * H)).map(Math.tanh);
    const after = s.map((value, i) => value + gates[i] * (proposed[i] - value));
    const units = linear(t["readout.weight"], joined(after, x, mix(alpha, memory)), t["readout.bias"]);
    const o = readout === "maxout" ? units.slice(0, D).map((unit, i) => Math.max(unit, units[D + i])) : units.map(Math.tanh);
    const logits = linear(t["head.weight"] ?? t["target_embedding.weight"], o, t["head.bias"]);
    return [logSoftmax(logits), alpha, { memory, keys, values, s: after }];
  }

  /** The greedy translation: its ids, log P, and how each token was read from the source (a row a token, EOS last). */
  translate(text) {
    const source = [...this.source.encode(text), EOS];
    const limit = Math.min(200, 2 * source.length + 10);
    const [ids, attention] = [[], []];
    let [state, token, logProb] = [this.encode(source), BOS, 0];
    for (;;) {
      const [next, alpha, after] = this.step(token, state);
      attention.push(alpha);
      const score = (id) => (id === PAD || id === BOS || (id === EOS ? !ids.length : ids.length >= limit) ? -Infinity : next[id]);
      token = next.reduce((best, _, id) => (score(id) > score(best) ? id : best), EOS);
      logProb += next[token];
      if (token === EOS) break;
      ids.push(token);
      state = after;
    }
    const pieces = (tokenizer, tokens) => [...tokens.map((id) => tokenizer.piece(id) || "·"), "<eos>"];
    return { text: this.target.decode(ids), ids, logProb, attention, source: pieces(this.source, source.slice(0, -1)), target: pieces(this.target, ids) };
  }
}

/** Filters of several widths over the words, the largest value of each, a linear layer (Kim 2014). */
class TextCNN {
  constructor(config, tensors, reading, normalise) {
    [this.config, this.t, this.labels, this.units, this.normalise] = [config, tensors, reading.labels, reading.units, normalise];
    this.multiLabel = reading.multi_label === true;
    this.index = new Map(reading.units.words.map((word, place) => [word, EOS + 1 + place]));
  }

  /** The words of a text, and their ids. */
  read(text) {
    const pieces = words(this.normalise(text), this.units.mode);
    const how = this.units.lowercase; // false, true, or a language with rules of its own
    const language = how === true ? "und" : how;
    const folded = (word) => (how ? word.replace(/İ|I\u0307/gu, "i").toLocaleLowerCase(language) : word);
    return { pieces, ids: pieces.map((word) => this.index.get(folded(word)) ?? UNK) };
  }

  /** log P of each label; of a multi-label classifier each by itself. */
  logProbs(ids) {
    const { t, config: { widths, embedding_dim: D } } = this;
    const x = joined(...ids.map((id) => row(t["embedding.weight"], id, D)));
    const pooled = widths.map((width, number) => {
      const text = x.length < width * D ? joined(x, new Float32Array(width * D - x.length)) : x;
      const places = Array.from({ length: text.length / D - width + 1 }, (_, i) =>
        linear(t[`convolution.weights.${number}`], text.subarray(i * D, (i + width) * D), t[`convolution.biases.${number}`]));
      return places.reduce((most, values) => most.map((value, f) => Math.max(value, values[f]))).map((value) => Math.max(0, value));
    });
    const scores = linear(t["head.weight"], joined(...pooled), t["head.bias"]);
    return this.multiLabel ? scores.map((score) => -Math.log1p(Math.exp(-score))) : logSoftmax(scores);
  }
}

/** Word vectors, scaled to length 1. */
class Vectors {
  constructor(tensors, described, normalise) {
    [this.words, this.normalise] = [described.words, normalise];
    this.D = tensors.vectors.length / this.words.length;
    this.index = new Map(this.words.map((word, place) => [word, place]));
    this.unit = this.words.map((_, place) => this.scaled(row(tensors.vectors, place, this.D)));
  }

  scaled(vector) {
    const length = Math.hypot(...vector) || 1;
    return vector.map((value) => value / length);
  }

  /** The row of a word, as it stands or as the training text writes it; undefined where it has none. */
  find(word) {
    return this.index.get(word) ?? this.index.get(this.normalise(word));
  }

  closest(vector, without, most) {
    const cosines = this.unit.map((one) => linear(vector, one)[0]);
    const order = [...cosines.keys()].filter((place) => !without.includes(place)).sort((a, b) => cosines[b] - cosines[a]);
    return order.slice(0, most).map((place) => [this.words[place], cosines[place]]);
  }

  /** The words nearest to a row, with their cosines. */
  nearest(place, most) {
    return this.closest(this.unit[place], [place], most);
  }

  /** a is to b as c is to …, by cos(w, b − a + c). */
  analogy(a, b, c, most) {
    const [from, to, other] = [a, b, c].map((place) => this.unit[place]);
    return this.closest(this.scaled(to.map((value, i) => value - from[i] + other[i])), [a, b, c], most);
  }
}

// Files.
const ARRAYS = { F32: Float32Array, I32: Int32Array, I64: BigInt64Array };

/** The arrays of a safetensors file by name; whole numbers of 64 bits become numbers. */
export function tensors(buffer) {
  const size = Number(new DataView(buffer).getBigUint64(0, true));
  const { __metadata__: _, ...header } = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, size)));
  return Object.fromEntries(Object.entries(header).map(([name, { dtype, data_offsets: [from, to] }]) => {
    const found = new ARRAYS[dtype](buffer.slice(8 + size + from, 8 + size + to));
    return [name, dtype === "I64" ? Float64Array.from(found, Number) : found];
  }));
}

const files = new Map(); // path → what it holds, so that a tokenizer of three rungs is fetched once
function fetched(path) {
  if (!files.has(path)) {
    files.set(path, fetch(path).then((answer) => {
      if (!answer.ok) throw new Error(`${path}: the server answered ${answer.status}`);
      return path.endsWith(".json") ? answer.json() : answer.arrayBuffer();
    }));
  }
  return files.get(path);
}

const KINDS = {
  ngram: (config, t, [tokens]) => new Language(new NGram(config, t), new Tokenizer(tokens)),
  lstm: (config, t, [tokens]) => new Language(new LSTM(config, t), new Tokenizer(tokens)),
  gpt: (config, t, [tokens]) => new Language(new GPT(config, t), new Tokenizer(tokens)),
  translator: (config, t, [source, target]) => new Translator(config, t, new Tokenizer(source), new Tokenizer(target)),
  classifier: (config, t, [reading], steps) => new TextCNN(config, t, reading, normaliser(steps)),
  vectors: (config, t, [described], steps) => new Vectors(t, described, normaliser(steps)),
};

/** Load a rung that rungs.json lists: its weights and what it reads. */
export async function load({ kind, config, files: [weights, ...others], steps }) {
  const [buffer, ...read] = await Promise.all([weights, ...others].map(fetched));
  return KINDS[kind](config, tensors(buffer), read, steps);
}
