/**
 * Takes out of a trace what differs between any two runs: generated ids (numbered in order of
 * appearance), times within the run, and the padding of a header line.
 */

const SESSION_ID = /(?<![0-9a-z])[0-9a-f]{16}(?![0-9a-z])/g;
const ENTRY_ID = /(?<![0-9a-z])[0-9a-f]{8}(?![0-9a-z])/g;
/** Copies of damaged files that one implementation keeps; their names must not use up numbers. */
const SET_ASIDE = /\.(invalid|bak)-[0-9a-f]{16}/g;
const TIME = /\d{4}-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\d[.-]\d{3}Z/g;

/** Parses both spellings of a time, the ISO one and the one in file names. */
function parseTime(text) {
  return Date.parse(text.replace(/T(\d\d)[:-](\d\d)[:-](\d\d)[.-](\d{3})Z/, "T$1:$2:$3.$4Z"));
}

/** Normalises the observations of one run; the window is the run's own start and end. */
export class Normaliser {
  #ids = new Map();
  #from;
  #to;
  #peeking = false;

  constructor({ from, to }) {
    this.#from = from - 5;
    this.#to = to + 5;
  }

  #within(ms) {
    return ms >= this.#from && ms <= this.#to;
  }

  #id(kind, id) {
    let name = this.#ids.get(id);
    if (name === undefined && this.#peeking) {
      return id;
    }
    if (name === undefined) {
      name = `<${kind}${this.#ids.size}>`;
      this.#ids.set(id, name);
    }
    return name;
  }

  text(text) {
    return text
      .replace(SET_ASIDE, ".$1-<snowflake>")
      .replace(TIME, (time) =>
        this.#within(parseTime(time)) ? (time.includes(":") ? "<time>" : "<file-time>") : time,
      )
      .replace(SESSION_ID, (id) => this.#id("session", id))
      .replace(ENTRY_ID, (id) => this.#id("entry", id));
  }

  /** Lines of a session file; the title source is known to one generation only. */
  #lines(text) {
    const lines = text.split("\n");
    lines[0] = lines[0].replace(/\} +$/, "}").replace(/,"titleSource":"(auto|user)"/, "");
    return lines.map((line) => this.text(line));
  }

  /** Normalises without numbering ids that have not appeared yet. */
  peek(value) {
    this.#peeking = true;
    try {
      return this.value(value);
    } finally {
      this.#peeking = false;
    }
  }

  value(value) {
    if (typeof value === "string") {
      return this.text(value);
    }
    if (typeof value === "number") {
      return this.#within(value) ? "<ms>" : value;
    }
    if (value === null || typeof value !== "object") {
      return value;
    }
    return Array.isArray(value) ? value.map((item) => this.value(item)) : this.#object(value);
  }

  #object(value) {
    const out = {};
    for (const [key, item] of Object.entries(value)) {
      if (key === "disk") {
        out.disk = this.#disk(item);
      } else {
        out[key] = this.value(item);
      }
    }
    return out;
  }

  #disk(changes) {
    const out = {};
    for (const [file, content] of Object.entries(changes)) {
      out[this.text(file)] = content?.text === undefined ? content : this.#lines(content.text);
    }
    return out;
  }
}

/** All places where two normalised observations differ, as `{ path, left, right }`. */
export function diff(left, right, path = [], out = []) {
  if (Object.is(left, right) || out.length > 200) {
    return out;
  }
  const objects =
    left !== null && right !== null && typeof left === "object" && typeof right === "object";
  if (!objects || Array.isArray(left) !== Array.isArray(right)) {
    out.push({ path, left, right });
    return out;
  }
  for (const key of new Set([...Object.keys(left), ...Object.keys(right)])) {
    diff(left[key], right[key], [...path, key], out);
  }
  return out;
}
