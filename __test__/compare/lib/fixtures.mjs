/**
 * Session files that exist before a sequence starts: versions 1 to 3, unknown kinds and fields, odd
 * trees, and several kinds of damage.
 */

import fc from "fast-check";
import { assistant, blocks, message, user } from "./messages.mjs";
import { build, object, TRANSIENT, text, UNDEFINED } from "./recipes.mjs";

/** Working directories that sequences use; none of them exists except `home` and `tmp` themselves. */
export const CWDS = [
  "/nonexistent/a",
  "/nonexistent/b/c",
  "$HOME/proj",
  "$HOME",
  "$TMP/t",
  "rel/dir",
  "/",
];

/** Where a fixture lies: the default directory of a cwd, an explicit directory, or a nested one. */
const PLACES = ["default0", "default1", "extra", "extra", "nested"];

/**
 * Damage after which both implementations read the same entries. "unterminated" has a rule of its own
 * for the first append.
 */
export const HARMLESS = [
  "none",
  "crlf",
  "blank-lines",
  "garbage-line",
  "spaced",
  "bom",
  "unterminated",
];

/** Damage that is handled differently on purpose; see differences.md. */
export const HARMFUL = [
  "torn-tail",
  "glued",
  "torn-middle",
  "null-line",
  "scalar-lines",
  "nul-bytes",
  "header-damaged",
  "header-second",
  "duplicate-line",
  "no-usage",
  "no-message",
  "no-id",
  "no-session",
  "empty",
  "blank",
];

/** A line that is no JSON. */
export const GARBAGE_LINE = "{'no': json,}";

const KINDS = {
  message: fc.oneof(message, assistant, user).map((m) => ({ message: m })),
  thinking_level_change: fc.constantFrom({ thinkingLevel: "high" }, { thinkingLevel: null }),
  model_change: fc.constantFrom({ model: "a/b" }, { model: "c/d", role: "smol" }, { model: "" }),
  service_tier_change: fc.constantFrom({ serviceTier: "flex" }, { serviceTier: null }),
  mode_change: object.map((data) => ({ mode: "plan", data })),
  compaction: fc
    .record({ kept: fc.nat(6), short: fc.boolean(), remote: fc.nat(3) })
    .map(({ kept, short, remote }) => ({
      summary: "sum",
      ...(short ? { shortSummary: "short" } : {}),
      kept,
      tokensBefore: 5,
      ...(remote === 0
        ? {
            preserveData: {
              $: "object",
              e: [
                [
                  "openaiRemoteCompaction",
                  {
                    $: "object",
                    e: [
                      ["provider", "openai"],
                      ["replacementHistory", [1]],
                    ],
                  },
                ],
              ],
            },
          }
        : {}),
    })),
  branch_summary: text.map((summary) => ({ fromId: "root", summary })),
  custom: object.map((data) => ({ customType: "ct", data })),
  custom_message: blocks.map((content) => ({ customType: "ct", content, display: true })),
  label: fc.record({ target: fc.nat(6), label: fc.constantFrom("L", "", UNDEFINED) }),
  ttsr_injection: fc.constantFrom({ injectedRules: ["r1"] }, { injectedRules: ["r1", "r2"] }),
  mcp_tool_selection: fc.constantFrom({ selectedToolNames: [] }, { selectedToolNames: ["t"] }),
  session_init: object.map((outputSchema) => ({
    systemPrompt: "s",
    task: "t",
    tools: [],
    outputSchema,
  })),
  from_the_future: object.map((payload) => ({ payload })),
};

const entry = fc.oneof(
  ...Object.entries(KINDS).map(([type, arbitrary]) => ({
    weight: type === "message" ? 8 : 1,
    arbitrary: fc.record({
      type: fc.constant(type),
      body: arbitrary,
      parent: fc.oneof(
        { weight: 8, arbitrary: fc.constant("previous") },
        { weight: 2, arbitrary: fc.nat(8) },
        { weight: 1, arbitrary: fc.constantFrom("root", "missing") },
      ),
      unknown: fc.boolean(),
      time: fc.constantFrom("steady", "early", "bad"),
    }),
  })),
);

const header = fc.record({
  idForm: fc.constantFrom("hex", "hex", "hex", "word", "word", "word", "empty"),
  title: fc.constantFrom(
    UNDEFINED,
    UNDEFINED,
    "Title",
    "",
    "Long title that is more than forty units long",
  ),
  titleSource: fc.constantFrom(UNDEFINED, "auto", "user"),
  cwd: fc.nat(CWDS.length - 1),
  parent: fc.constantFrom(UNDEFINED, "p-1", "/x/y.jsonl"),
  unknown: fc.boolean(),
  versionFirst: fc.boolean(),
});

/** A fixture; `harmful` is the weight of damage that the two implementations treat differently. */
export function fixture(harmful) {
  return fc.record({
    place: fc.constantFrom(...PLACES),
    version: fc.constantFrom(1, 2, 3, 3, 3, 3, 4),
    header,
    entries: fc.array(entry, { maxLength: 8 }),
    idForm: fc.constantFrom("word", "hex"),
    damage: fc.oneof(
      { weight: 12, arbitrary: fc.constant("none") },
      { weight: 5, arbitrary: fc.constantFrom(...HARMLESS) },
      ...(harmful > 0 ? [{ weight: harmful, arbitrary: fc.constantFrom(...HARMFUL) }] : []),
    ),
    at: fc.nat(7),
  });
}

// ---------------------------------------------------------------------------------------------
// Text of a fixture

const TIME = Date.UTC(2025, 0, 2, 3, 4, 5, 678);

function timeOf(spec, index) {
  if (spec.time === "bad") {
    return "not a time";
  }
  const ms = spec.time === "early" ? TIME - 1000 * index : TIME + 1000 * index;
  return new Date(ms).toISOString();
}

/** Session id of the fixture at position `n`. */
function headerId(form, n) {
  if (form === "empty") {
    return "";
  }
  return form === "hex" ? `15d0000000000${n}ff` : `Session-${n}`;
}

function headerObject(spec, n, cwds) {
  const h = spec.header;
  const out = { type: "session" };
  const version = spec.version > 1 ? { version: spec.version } : {};
  if (h.versionFirst) {
    Object.assign(out, version);
  }
  Object.assign(out, { id: headerId(h.idForm, n), timestamp: new Date(TIME).toISOString() });
  out.cwd = cwds[h.cwd];
  for (const key of ["title", "titleSource"]) {
    if (h[key] !== UNDEFINED) {
      out[key] = h[key];
    }
  }
  if (h.parent !== UNDEFINED) {
    out.parentSession = h.parent;
  }
  if (h.unknown) {
    out.futureField = { deep: [1, "x"] };
  }
  if (!h.versionFirst) {
    Object.assign(out, version);
  }
  return out;
}

function entryId(spec, n, index) {
  return spec.idForm === "hex" ? `0${n}00${index.toString(16)}0ab` : `e-${n}-${index}`;
}

function parentOf(spec, n, index, parent) {
  if (parent === "root" || index === 0) {
    return null;
  }
  if (parent === "missing") {
    return "nowhere";
  }
  return entryId(spec, n, parent === "previous" ? index - 1 : parent % index);
}

function entryObject(spec, n, index) {
  const e = spec.entries[index];
  const out = { type: e.type };
  if (spec.version > 1) {
    out.id = entryId(spec, n, index);
    out.parentId = parentOf(spec, n, index, e.parent);
  }
  out.timestamp = timeOf(e, index);
  for (const [key, recipe] of Object.entries(e.body)) {
    if (key === "kept") {
      if (spec.version > 1) {
        out.firstKeptEntryId = entryId(spec, n, recipe);
      } else {
        out.firstKeptEntryIndex = recipe;
      }
    } else if (key === "target") {
      out.targetId = entryId(spec, n, recipe);
    } else {
      out[key] = build(recipe);
    }
  }
  if (e.unknown) {
    out.futureField = "kept";
  }
  return out;
}

/**
 * A value as a session file holds it: without transient keys, over-long strings and images that belong
 * into the blob store. Such lines are copied as they are when a file is rewritten.
 */
function stored(value, key, parentKey) {
  if (typeof value === "string") {
    const shortened = value.slice(0, parentKey === "content" && key === "data" ? 1020 : 500_000);
    return key === "image_url" ? shortened.replace("data:", "data-") : shortened;
  }
  if (value === null || typeof value !== "object") {
    return value;
  }
  if (Array.isArray(value)) {
    return value.map((item) => stored(item, key, key));
  }
  const kept = Object.entries(value).filter(([name]) => !TRANSIENT.includes(name));
  return Object.fromEntries(kept.map(([name, item]) => [name, stored(item, name, key)]));
}

/** How each kind of damage changes the list of lines; the result is the text of the file. */
const DAMAGE = {
  none: (lines) => `${lines.join("\n")}\n`,
  unterminated: (lines) => lines.join("\n"),
  crlf: (lines) => `${lines.join("\r\n")}\r\n`,
  "blank-lines": (lines) => `${lines.join("\n\n  \n")}\n\n`,
  "garbage-line": (lines, at) => `${insert(lines, at, GARBAGE_LINE).join("\n")}\n`,
  spaced: (lines) => `${lines.map((l) => `  ${l}  `).join("\n")}\n`,
  bom: (lines) => `\ufeff${lines.join("\n")}\n`,
  "torn-tail": (lines) => {
    const last = lines.at(-1);
    return [...lines.slice(0, -1), last.slice(0, Math.ceil(last.length / 2))].join("\n");
  },
  glued: (lines) => `${lines.slice(0, 1).join("")}\n${lines.slice(1).join("")}\n`,
  "torn-middle": (lines, at) => {
    const i = 1 + (at % Math.max(1, lines.length - 1));
    return `${insert(lines, i, '{"type":"message","id":"t').join("\n")}\n`;
  },
  "null-line": (lines, at) => `${insert(lines, at, "null").join("\n")}\n`,
  "scalar-lines": (lines, at) => `${insert(lines, at, '1\n"s"\n[1]').join("\n")}\n`,
  "nul-bytes": (lines, at) => {
    const i = 1 + (at % Math.max(1, lines.length - 1));
    return `${insert(lines, i, "\0".repeat(20) + (lines[i] ?? "")).join("\n")}\n`;
  },
  "duplicate-line": (lines, at) => `${insert(lines, at, lines.at(-1)).join("\n")}\n`,
  "no-usage": (lines, at) =>
    `${insert(lines, at, '{"type":"message","id":"u","parentId":null,"message":{"role":"assistant"}}').join("\n")}\n`,
  "no-message": (lines, at) =>
    `${insert(lines, at, '{"type":"message","id":"n","parentId":null}').join("\n")}\n`,
  "no-id": (lines, at) => `${insert(lines, at, '{"type":"custom","customType":"x"}').join("\n")}\n`,
  "header-damaged": (lines) => `${[lines[0].slice(3), ...lines.slice(1)].join("\n")}\n`,
  "header-second": (lines) => `${[...lines.slice(1), lines[0]].join("\n")}\n`,
  "no-session": () => "just some notes\nsecond line\n",
  empty: () => "",
  blank: () => " \n\n",
};

function insert(lines, at, line) {
  const i = 1 + (at % lines.length);
  return [...lines.slice(0, i), line, ...lines.slice(i)];
}

/** The text of the fixture at position `n`; `cwds` are the working directories of the sequence. */
export function fixtureText(spec, n, cwds) {
  const lines = [JSON.stringify(headerObject(spec, n, cwds))];
  for (let i = 0; i < spec.entries.length; i++) {
    lines.push(JSON.stringify(stored(JSON.parse(JSON.stringify(entryObject(spec, n, i))))));
  }
  return DAMAGE[spec.damage](lines, spec.at);
}
