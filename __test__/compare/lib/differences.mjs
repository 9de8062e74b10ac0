/**
 * The written list of differences (differences.md) as code. A rule looks at one difference and says
 * "alike" (explained, and whoever reads the file reads the same), "same" (explained, the comparison goes on
 * until somebody reads the file), "stop" (explained, but what follows cannot be compared), or nothing. Rules are as narrow as the reason they stand for: they check what this package did instead.
 */

import { GARBAGE_LINE, HARMFUL } from "./fixtures.mjs";
import { ODD_KINDS } from "./odd.mjs";

const isFile = ({ path }) => path[0] === "disk";
const isLines = Array.isArray;
const isPartOf = (some, all) => some.every((line) => all.includes(line));
/** The lines of a file that hold something; the original drops the others when it rewrites it. */
const readable = (lines) => lines.filter((line) => line.trim() !== "" && line !== GARBAGE_LINE);
const startsWith = (lines, prefix) => prefix.every((line, i) => line === lines[i]);

const READS_DIFFERING = "reads a file that differs for a listed reason";

/** True when a file that differs for a listed reason is among what the command reads. */
function readsDiffering({ facts, files }) {
  return [...files.differing].some((file) =>
    facts?.reads.some((read) => file === read || file.startsWith(`${read}/`)),
  );
}

/** Commands that take over what is in the file they read. */
const LOADS = ["open", "reopen", "reload", "setSessionFile", "continueRecent", "forkFrom"];

/** After loading a file that differs, two managers have different sessions. */
export function loadsDiffering(context) {
  return LOADS.includes(context.command.op) && readsDiffering(context)
    ? READS_DIFFERING
    : undefined;
}

/** Names of the harmful kinds of damage among the fixtures. */
function harmfulFixtures(plan) {
  const isHarmful = (damage) =>
    HARMFUL.includes(damage) || (damage === "bom" && plan.storage === "memory");
  return plan.fixtures.map((fixture) => fixture.damage).filter(isHarmful);
}

const valueAt = (value, path) => path.reduce((inner, key) => inner?.[key], value);

/** A shown tree as text in which the order of children plays no part, nor do the nodes' own numbers. */
function unordered(value) {
  if (Array.isArray(value)) {
    return `[${value.map(unordered).sort().join()}]`;
  }
  if (value === null || typeof value !== "object") {
    return JSON.stringify(value);
  }
  const shown = Object.entries(value).filter(([key]) => key !== "$");
  return `{${shown.map(([key, inner]) => `${key}=${unordered(inner)}`).join()}}`;
}

/** True when an odd message of this kind has been appended up to now. */
function hadOdd({ plan, index }, kind) {
  return [plan.first, ...plan.commands]
    .slice(0, index + 1)
    .some(({ op, kind: number }) => op === "odd" && number === ODD_KINDS[kind]);
}

export const RULES = [
  {
    name: "a file without final line feed gets one before the next entry",
    judge(_, difference) {
      const { left, right } = difference;
      if (
        !isFile(difference) ||
        !isLines(left) ||
        !isLines(right) ||
        right.length !== left.length + 1
      ) {
        return undefined;
      }
      const at = left.findIndex((line, i) => line !== right[i]);
      const glued = left[at] === `${right[at]}${right[at + 1]}`;
      return glued && startsWith(right.slice(at + 2), left.slice(at + 1)) ? "same" : undefined;
    },
  },
  {
    name: "a file that is no session is kept beside the new one",
    judge({ before, facts }, difference) {
      if (!isFile(difference) || !/\.invalid-<snowflake>$/.test(difference.path[1])) {
        return undefined;
      }
      const base = difference.path[1].replace(/\.invalid-<snowflake>$/, "");
      const old = facts?.reads.map((file) => before[file][0]).find((lines) => lines !== null);
      return difference.left === null &&
        JSON.stringify(old) === JSON.stringify(difference.right) &&
        base
        ? "same"
        : undefined;
    },
  },
  {
    name: "forkFrom rejects when the source is missing or no session",
    judge({ command, a, b }) {
      const codes = ["SESSION_NOT_FOUND", "INVALID_SESSION_FILE"];
      if (command.op !== "forkFrom" || !codes.includes(b.result?.code)) {
        return undefined;
      }
      return a.result.resolves !== undefined || a.result.rejects !== undefined ? "stop" : undefined;
    },
  },
  {
    name: "reloading a session that was never written keeps its entries",
    judge({ command, facts }) {
      const own = facts?.before?.persisted && facts.reads.includes(facts.before.file);
      return ["reload", "setSessionFile"].includes(command.op) && own && !facts.before.onDisk
        ? "stop"
        : undefined;
    },
  },
  {
    name: "an exact id wins over newer sessions whose id starts with it",
    judge({ command, b }, { path }) {
      return command.op === "resume" &&
        path[0] === "result" &&
        b.result?.resolves !== undefined &&
        b.exact
        ? "stop"
        : undefined;
    },
  },
  {
    name: "lines that cannot be read stay in the file",
    judge(_, difference) {
      const { left, right } = difference;
      if (!isFile(difference) || !isLines(left) || !isLines(right)) {
        return undefined;
      }
      const readable = right.filter((line) => line !== GARBAGE_LINE);
      return JSON.stringify(readable) === JSON.stringify(left) ? "alike" : undefined;
    },
  },
  {
    name: "a new title or directory changes the header line only",
    judge({ plan, index, command, facts, before }, difference) {
      const { left, right } = difference;
      if (!["setSessionName", "moveTo"].includes(command.op) || !isLines(left) || !isLines(right)) {
        return undefined;
      }
      const old = before[facts.before?.file]?.[1];
      const kept = old && JSON.stringify(old.slice(1)) === JSON.stringify(right.slice(1));
      // A restored session may have fewer entries than its file.
      const restored = plan.commands.slice(0, index).some(({ op }) => op === "restoreState");
      const alike = readable(left).length === readable(right).length;
      const fits = alike || (restored && isPartOf(left, right));
      return isFile(difference) && kept && left[0] === right[0] && fits ? "same" : undefined;
    },
  },
  {
    name: "sessions whose header has an empty id are listed by the id in their name",
    judge({ plan, command }, { path }) {
      const nameless = plan.fixtures.some(({ header }) => header.idForm === "empty");
      const lists = ["list", "listAll", "resume"].includes(command.op);
      return nameless && lists && path[0] === "result" ? "stop" : undefined;
    },
  },
  {
    name: "entries without a readable time keep their place among sorted children",
    judge({ plan, a, b }, { path }) {
      const timeless = plan.fixtures.some(({ entries }) => entries.some((e) => e.time === "bad"));
      const at = path.indexOf("8:tree");
      if (!timeless || at < 0) {
        return undefined;
      }
      const [left, right] = [a, b].map((step) => unordered(valueAt(step, path.slice(0, at + 1))));
      return left === right ? "alike" : undefined;
    },
  },
  {
    name: "parsing text passes over a byte-order mark",
    judge({ plan, command }, { path }) {
      const fixture = plan.fixtures[command.file % plan.fixtures.length];
      const isParse = command.op === "parse" && path[0] === "result";
      return isParse && fixture?.damage === "bom" ? "stop" : undefined;
    },
  },
  {
    name: "a message that is refused leaves the session as it was",
    judge({ command, facts, b }, { path, right }) {
      const isLeaf = path[0] === "state" && /^(6:)?leaf$/.test(path.at(-1));
      const refused = command.op === "odd" && b.result?.throws === "TypeError";
      return isLeaf && refused && right === facts.before.leaf ? "stop" : undefined;
    },
  },
  {
    name: "one breadcrumb is left, for the file that the manager works on",
    judge({ facts }, difference) {
      const { path, right } = difference;
      if (!isFile(difference) || !path[1].includes("/terminal-sessions/") || !isLines(right)) {
        return undefined;
      }
      return facts?.after.some((each) => each?.file === right[1]) ? "same" : undefined;
    },
  },
  {
    name: "messages without whole usage are appended",
    judge({ command, a, b }) {
      const isEntry = /^<entry\d+>$/.test(b.result?.returns);
      return command.op === "odd" && a.result.throws === "TypeError" && isEntry
        ? "stop"
        : undefined;
    },
  },
  {
    name: "usage numbers that are missing count as 0",
    judge(context, { path, left, right }) {
      const isUsage = path.some((key) => /^\d+:usage$/.test(key));
      const counted = left?.$number === "NaN" && Number.isFinite(right);
      return isUsage && counted && hadOdd(context, "noCounts") ? "alike" : undefined;
    },
  },
  {
    name: "a message that contains itself is refused with the engine's own error",
    judge(context, { path, left, right }) {
      const isError = ["throws", "rejects"].includes(path.at(-1));
      const errors = left === "RangeError" && right === "TypeError";
      return isError && errors && hadOdd(context, "cycle") ? "alike" : undefined;
    },
  },
  {
    name: "after an entry that has no JSON text, the file still needs to be rewritten",
    judge(context, { path, left, right }) {
      const isFlag = /:needsFullRewriteOnNextPersist$/.test(path.at(-1));
      const odd = hadOdd(context, "bigint") || hadOdd(context, "cycle");
      return isFlag && left === false && right === true && odd ? "alike" : undefined;
    },
  },
  {
    name: "errors about unknown entries have a code",
    judge(_, { path, left, right }) {
      return path.at(-1) === "code" && left === undefined && right === "ENTRY_NOT_FOUND"
        ? "alike"
        : undefined;
    },
  },
  {
    name: "restoring a snapshot leaves the file as it is",
    judge({ command, facts, written }, difference) {
      const [, file] = difference.path;
      const isItsFile = isFile(difference) && facts.after.some((each) => each?.file === file);
      const restores = command.op === "restoreState";
      return restores && isItsFile && !written.includes(file) ? "same" : undefined;
    },
  },
  {
    name: "a restored session that had no file is held back, although it got one since",
    judge({ facts }, { path }) {
      const slots = [facts.before, ...facts.after].filter((each) => each?.isLater);
      const isFlag = /:(flushed|needsFullRewriteOnNextPersist)$/.test(path.at(-1));
      const isItsFile = path[0] === "disk" && slots.some(({ file }) => file === path[1]);
      return isItsFile || (isFlag && slots.length > 0) ? "stop" : undefined;
    },
  },
  {
    name: "a manager that persists nothing leaves no breadcrumb",
    judge({ facts }, difference) {
      const isCrumb = isFile(difference) && difference.path[1].includes("/terminal-sessions/");
      return isCrumb && facts?.before?.persisted === false ? "same" : undefined;
    },
  },
  {
    name: "entries behind one that has no JSON text count although appending them throws",
    judge(context, { path, left, right }) {
      const isUsage = path.some((key) => /^\d+:usage$/.test(key));
      const odd = hadOdd(context, "bigint") || hadOdd(context, "cycle");
      return isUsage && right > left && odd ? "stop" : undefined;
    },
  },
  {
    name: "a new title or directory is written although there is such an entry",
    judge(context) {
      const { command, a, b } = context;
      const changes = ["setSessionName", "moveTo"].includes(command.op);
      const odd = hadOdd(context, "bigint") || hadOdd(context, "cycle");
      const written = a.result?.rejects !== undefined && b.result?.resolves !== undefined;
      return changes && odd && written ? "stop" : undefined;
    },
  },
  {
    name: "images behind such an entry are not stored before their lines can be written",
    judge(context, difference) {
      const isBlob = isFile(difference) && difference.path[1].includes("/agent/blobs/");
      const odd = hadOdd(context, "bigint") || hadOdd(context, "cycle");
      return isBlob && odd && difference.right === null ? "alike" : undefined;
    },
  },
  {
    name: "leaving a session with such an entry fails once and changes nothing",
    judge(context) {
      const { command, b } = context;
      const leaves = ["fork", "newSession", "moveTo", "setSessionFile", "reload"];
      const odd = hadOdd(context, "bigint") || hadOdd(context, "cycle");
      const failed = b.result?.rejects === "TypeError";
      return leaves.includes(command.op) && failed && odd ? "stop" : undefined;
    },
  },
  {
    name: READS_DIFFERING,
    judge: (context) => (readsDiffering(context) ? "stop" : undefined),
  },
  {
    name: "damaged files are repaired",
    judge({ plan }) {
      return harmfulFixtures(plan).length > 0 ? "stop" : undefined;
    },
  },
];

/** Explains a difference, or returns undefined. */
export function explain(context, difference) {
  for (const rule of RULES) {
    const verdict = rule.judge(context, difference);
    if (verdict !== undefined) {
      return { rule: rule.name, verdict };
    }
  }
  return undefined;
}
