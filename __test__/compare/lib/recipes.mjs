/**
 * Recipes: plain JSON that describes any JavaScript value.
 *
 * A generated sequence must be printable, replayable and shrinkable, and each implementation must get
 * objects of its own (both keep arguments by reference, and callers edit them). So the generator makes
 * recipes, and `build` turns one into a fresh value. Strings, booleans, null, finite numbers and arrays
 * stand for themselves; everything else is an object with the one key `$` naming its kind.
 */

import fc from "fast-check";

/** A class with a prototype getter: serialises as its own enumerable properties only. */
class Point {
  constructor(x, y) {
    this.x = x;
    this.y = y;
  }

  get sum() {
    return this.x + this.y;
  }
}

/** Bytes that depend only on the length, so that both implementations store the same blob. */
function bytesOf(length) {
  const bytes = Buffer.allocUnsafe(length);
  for (let i = 0; i < length; i++) {
    bytes[i] = (i * 31 + (i >> 8) * 7 + length) & 255;
  }
  return bytes;
}

/** Base64 of `length` bytes in one of several spellings; only "std" survives a round trip. */
export function base64Of(length, form) {
  const text = bytesOf(length).toString("base64");
  if (form === "url") {
    return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  }
  if (form === "junk") {
    return `!${text.slice(1)}`;
  }
  return text;
}

/** A long string whose code unit pair `mark` starts at index `at`. */
function longString({ n, at, mark }) {
  if (at === undefined || at + 2 > n) {
    return "x".repeat(n);
  }
  return "x".repeat(at) + mark + "y".repeat(n - at - mark.length);
}

function defineKey(target, key, value) {
  Object.defineProperty(target, key, {
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  });
}

function buildObject(entries) {
  const object = {};
  for (const [key, recipe] of entries) {
    defineKey(object, key, build(recipe));
  }
  return object;
}

/** Keys that are never written. */
export const TRANSIENT = ["partialJson", "jsonlEvents"];

/** A recipe without transient keys: those that a `toJSON` method makes up are not looked for. */
function withoutTransient(recipe) {
  if (Array.isArray(recipe)) {
    return recipe.map(withoutTransient);
  }
  if (recipe === null || typeof recipe !== "object") {
    return recipe;
  }
  const pairs = recipe.e?.filter(([key]) => !TRANSIENT.includes(key));
  return {
    ...recipe,
    ...(pairs === undefined ? {} : { e: pairs.map(([key, v]) => [key, withoutTransient(v)]) }),
    ...("v" in recipe ? { v: withoutTransient(recipe.v) } : {}),
  };
}

const NUMBERS = { "-0": -0, NaN: Number.NaN, Infinity: Infinity, "-Infinity": -Infinity };

/** Makes a fresh value from a recipe. */
export function build(recipe) {
  if (recipe === null || typeof recipe !== "object") {
    return recipe;
  }
  if (Array.isArray(recipe)) {
    return recipe.map(build);
  }
  switch (recipe.$) {
    case "undefined":
      return undefined;
    case "number":
      return NUMBERS[recipe.v];
    case "long":
      return longString(recipe);
    case "base64":
      return base64Of(recipe.n, recipe.form);
    case "dataUrl":
      return `data:image/${recipe.mime};base64,${base64Of(recipe.n, recipe.form)}`;
    case "object":
      return buildObject(recipe.e);
    case "bare":
      return Object.assign(Object.create(null), buildObject(recipe.e));
    case "frozen":
      return Object.freeze(buildObject(recipe.e));
    case "shared": {
      const value = build(recipe.v);
      return [value, value];
    }
    case "holes": {
      const array = new Array(3);
      array[1] = build(recipe.v);
      return array;
    }
    case "date":
      return new Date(recipe.ms === null ? Number.NaN : recipe.ms);
    case "toJSON": {
      const value = build(withoutTransient(recipe.v));
      return { kept: 1, toJSON: () => value };
    }
    case "point":
      return new Point(recipe.x, recipe.y);
    case "buffer":
      return bytesOf(recipe.n);
    case "map":
      return new Map([["k", build(recipe.v)]]);
    case "function":
      return function ignored() {};
    case "symbol":
      return Symbol("ignored");
    case "bigint":
      return 7n;
    case "proxy":
      return new Proxy(buildObject(recipe.e), {});
    default:
      throw new Error(`unknown recipe ${recipe.$}`);
  }
}

/** Builds a list of arguments, dropping nothing: `undefined` recipes stay explicit. */
export function buildAll(recipes) {
  return recipes.map(build);
}

// ---------------------------------------------------------------------------------------------
// Arbitraries

export const UNDEFINED = { $: "undefined" };

const pieces = fc.constantFrom(
  ..."aZ 0-/\\\"'<>&é€ß\t\n\r\b\f\u0000\u001b\u007f\u0085\u00a0\u2028\u2029\ufeff\ufffd".split(""),
  "\ud800",
  "\udc00",
  "😀",
  "漢",
);

/** Short strings rich in everything that JSON escapes or that is no valid UTF-16. */
export const text = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("", "hello", "line one\nline two", "a b", "0", "true") },
  { weight: 3, arbitrary: fc.string({ unit: pieces, maxLength: 12 }) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 8 }) },
);

/** Lengths around the limit of 500,000 units, with and without a surrogate pair at the cut. */
const longLengths = [499_999, 500_000, 500_001, 650_000];
export const longText = fc.oneof(
  fc.record({ $: fc.constant("long"), n: fc.constantFrom(...longLengths) }),
  fc.record({
    $: fc.constant("long"),
    n: fc.constantFrom(...longLengths.slice(2)),
    at: fc.constantFrom(499_951, 499_952, 499_953),
    mark: fc.constantFrom("😀", "\ud800", "é\n"),
  }),
);

const numbers = fc.oneof(
  fc.constantFrom(0, 1, -1, 1.5, 0.1, 1e20, 1e21, 1e-7, 123456789012345680000, 5e-324, 2 ** 53),
  fc.constantFrom(...Object.keys(NUMBERS)).map((v) => ({ $: "number", v })),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((v) => (Object.is(v, -0) ? 0 : v)),
);

const leaf = fc.oneof(
  { weight: 5, arbitrary: text },
  { weight: 3, arbitrary: numbers },
  { weight: 2, arbitrary: fc.constantFrom(null, true, false) },
  { weight: 2, arbitrary: fc.constant(UNDEFINED) },
  {
    weight: 1,
    arbitrary: fc.record({ $: fc.constant("date"), ms: fc.constantFrom(0, 1e12, null) }),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      { $: "point", x: 1, y: 2 },
      { $: "buffer", n: 5 },
      { $: "function" },
      { $: "symbol" },
    ),
  },
);

const KEYS = [
  "a",
  "b",
  "text",
  "content",
  "data",
  "type",
  "role",
  "id",
  "image_url",
  "partialJson",
  "jsonlEvents",
  "thinkingSignature",
  "10",
  "2",
  "",
  "toString",
  "é\ud800",
];
const key = fc.constantFrom(...KEYS);

/** Nested values of every kind that JSON.stringify treats specially. */
export const value = fc.letrec((tie) => {
  const pairs = fc.uniqueArray(fc.tuple(key, tie("value")), {
    maxLength: 4,
    selector: ([name]) => name,
  });
  return {
    value: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      { weight: 5, arbitrary: leaf },
      { weight: 3, arbitrary: pairs.map((e) => ({ $: "object", e })) },
      { weight: 2, arbitrary: fc.array(tie("value"), { maxLength: 3 }) },
      {
        weight: 1,
        arbitrary: fc
          .tuple(fc.constantFrom("bare", "frozen", "proxy"), pairs)
          .map(([$, e]) => ({ $, e })),
      },
      {
        weight: 1,
        arbitrary: fc
          .tuple(fc.constantFrom("shared", "holes", "toJSON", "map"), tie("value"))
          .map(([$, v]) => ({ $, v })),
      },
    ),
  };
}).value;

/** A plain object of nested values. */
export const object = fc
  .uniqueArray(fc.tuple(key, value), { maxLength: 4, selector: ([name]) => name })
  .map((e) => ({ $: "object", e }));

export const maybe = (arbitrary) =>
  fc.oneof({ weight: 3, arbitrary }, { weight: 1, arbitrary: fc.constant(UNDEFINED) });

/** Shorthand for an object recipe with fixed keys; arguments are `[key, recipe]` pairs. */
export const record = (...e) => ({ $: "object", e });
