// Text to ids and back, as langladder.text.tokenize and langladder.text.words do it.

const SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/u; // Python's str.split
const LINE = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/u; // Python's str.splitlines
export const [PAD, UNK, BOS, EOS] = [0, 1, 2, 3];

/** The lines of a text that are not blank; of a blank text one empty line. */
export function lines(text) {
  const found = text.split(LINE).filter((line) => line.split(SPACE).join(""));
  return found.length ? found : [""];
}

// The rules are written for Oniguruma, whose \s and \S are Unicode's white space.
const pattern = (rule) => new RegExp(rule.replaceAll("\\s", "\\p{White_Space}").replaceAll("\\S", "\\P{White_Space}"), "gu");

/** The `normalizers` of a tokenizer.json as one function. */
export function normaliser(rules) {
  const steps = rules.map(({ type, pattern: of, content }) => {
    const found = of && pattern(of.Regex);
    if (found) return (text) => text.replace(found, () => content);
    return type === "Lowercase" ? (text) => text.toLowerCase() : (text) => text.normalize(type);
  });
  return (text) => steps.reduce((written, step) => step(written), text);
}

// Byte-level BPE writes each byte as one visible character: itself where it is one, else the next free from 256 on.
const visible = (byte) => (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
let hidden = 256;
const CHARACTERS = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(visible(byte) ? byte : hidden++));
const BYTES = new Map(CHARACTERS.map((character, byte) => [character, byte]));
const GPT2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

/** Byte-level BPE of a tokenizer.json. */
export class Tokenizer {
  constructor({ normalizer, pre_tokenizer, model }) {
    this.normalise = normaliser(normalizer?.normalizers ?? []);
    this.cut = pattern(pre_tokenizer.pretokenizers?.[0].pattern.Regex ?? GPT2);
    this.ids = new Map(Object.entries(model.vocab));
    this.tokens = [];
    for (const [token, id] of this.ids) this.tokens[id] = token;
    this.ranks = new Map(model.merges.map((pair, rank) => [pair.join(" "), rank]));
  }

  /** The ids of a line. */
  encode(line) {
    const parts = this.normalise(line).match(this.cut) ?? [];
    return parts.flatMap((part) => this.merge(Array.from(new TextEncoder().encode(part), (byte) => CHARACTERS[byte])));
  }

  merge(pieces) {
    for (;;) {
      let best = Infinity;
      let at = 0;
      for (let i = 0; i + 1 < pieces.length; i++) {
        const rank = this.ranks.get(`${pieces[i]} ${pieces[i + 1]}`);
        if (rank < best) [best, at] = [rank, i];
      }
      if (best === Infinity) return pieces.map((piece) => this.ids.get(piece));
      pieces.splice(at, 2, pieces[at] + pieces[at + 1]);
    }
  }

  bytes(ids) {
    return Uint8Array.from(ids.filter((id) => id > EOS).flatMap((id) => Array.from(this.tokens[id], (character) => BYTES.get(character))));
  }

  /** The text of some ids, without the specials. */
  decode(ids) {
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(this.bytes(ids));
  }

  /** The text of one token; bytes that are no whole character as \xe4. */
  piece(id) {
    if (id <= EOS) return ["<pad>", "<unk>", "<bos>", "<eos>"][id];
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(this.bytes([id]));
    } catch {
      return Array.from(this.bytes([id]), (byte) => (byte < 0x80 ? String.fromCharCode(byte) : `\\x${byte.toString(16)}`)).join("");
    }
  }

  /** Whether a token begins with a space, and with it a word. */
  opens(id) {
    return this.tokens[id][0] === "Ġ";
  }
}

// Words, as text/words/segmentation.py finds them in a line.
const UNSPACED = "\\p{Script=Han}〆\\p{Script=Hiragana}\\p{Script=Katakana}〱-〵ーｰﾞﾟ";
const SPACELESS = "Thai Lao Khmer Myanmar Tibetan Balinese Javanese Tai_Le New_Tai_Lue Tai_Tham Tai_Viet".split(" ").map((script) => `\\p{Script=${script}}`).join("");
const DIVIDED = /[፡᛫᛬᛭⁚⁝\u{10100}\u{10101}\u{1039f}\u{103d0}\u{1091f}\u{1123a}\u{11a41}\u{11a44}\u{11a9a}\u{11c43}\u{12470}]+/gu; // marks between words
const LETTER = `[[\\p{L}\\p{M}\\p{N}_\u180e\u200c\u200d]--[${UNSPACED}${SPACELESS}]]`;
const HEBREW = "\\p{Script=Hebrew}";
const INNER = `['’]|(?<=${HEBREW})[׳״"](?=${HEBREW})`;
const GERESH = `(?<=${HEBREW})(?<!\\p{P})(?<!(?<!${HEBREW})['‘’׳][${HEBREW}'’"]+)['’׳]`;
const ABBREVIATED = new RegExp(GERESH, "vy");
const INVISIBLE = "\\p{Default_Ignorable_Code_Point}";
const ONE = new RegExp(`(?!${INVISIBLE})${LETTER}+(?:(?:${INNER})${LETTER}+)*(?:${GERESH})?|[\\p{Script=Tibetan}&&[\\p{L}\\p{M}\\p{N}]]+`, "vy");
const WITHOUT_SPACES = new RegExp(`[${UNSPACED}${SPACELESS}]`, "u");
const WHOLE = /^(?:<[\p{L}\p{M}\p{N}_]+>|[^\p{L}\p{N}]+|['’](?:s|t|m|d|ll|re|ve|em|tis|twas|cause))$/iu;
const ENDS = /^((?:(?![@#&%‰])\p{P})*)(.*?)(\p{P}*)$/su;
const DOTTED = /^(?:(?:[\p{L}\p{M}\p{N}_]+\.)+[\p{L}\p{M}\p{N}_]+|\p{Lu})$/u;
const BEFORE = /^[\u0e40-\u0e44\u0ec0-\u0ec4\u19b5-\u19b7\u19ba\uaab5\uaab6\uaab9\uaabb\uaabc]$/u; // vowels written before their consonant
const BEHIND = /^[ะาๅະາ\p{M}]/u;
const NONE = new RegExp(`^(?:[་༌\u200b]|${INVISIBLE}+)$`, "u");
const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** The words of a line by `whitespace`, `auto` or `apart`. */
export function words(line, mode) {
  const found = line.split(SPACE).filter(Boolean).flatMap((token) => {
    const parts = token.replace(DIVIDED, (marks) => (marks.length === String.fromCodePoint(marks.codePointAt(0)).length ? " " : ` ${marks} `)).split(" ").filter(Boolean);
    return parts.length || mode !== "whitespace" ? parts : [token];
  });
  return found.flatMap((word) => {
    if (mode !== "whitespace" && WITHOUT_SPACES.test(word)) return cut(word);
    if (mode !== "apart" || WHOLE.test(word)) return [word];
    let [, before, inner, after] = word.match(ENDS);
    ABBREVIATED.lastIndex = before.length + inner.length;
    if (ABBREVIATED.test(word)) [inner, after] = [inner + after[0], after.slice(1)];
    if (after.startsWith(".") && DOTTED.test(inner)) [inner, after] = [`${inner}.`, after.slice(1)];
    return [...before, inner, ...after];
  });
}

/** A stretch of a script without spaces: each grapheme a word, runs of other letters one. */
function cut(text) {
  const found = [];
  for (let at = 0; at < text.length; ) {
    ONE.lastIndex = at;
    let word = ONE.exec(text)?.[0];
    if (word === undefined) {
      word = graphemes.segment(text.slice(at))[Symbol.iterator]().next().value.segment;
      for (let rest = text.slice(at + word.length); rest && (BEFORE.test(word) || BEHIND.test(rest)); rest = text.slice(at + word.length)) {
        word += graphemes.segment(rest)[Symbol.iterator]().next().value.segment;
      }
    }
    at += word.length;
    if (!NONE.test(word)) found.push(word);
  }
  return found;
}
