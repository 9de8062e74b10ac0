/**
 * The written list of differences (differences.md) as code. A rule looks at one difference and says
 * "same" (explained, the comparison goes on) or "stop" (explained, but what follows cannot be compared),
 * or nothing. Rules are as narrow as the reason they stand for: they check what this package did instead.
 */

import { HARMFUL } from "./fixtures.mjs";

const isFile = ({ path }) => path[0] === "disk";
const isLines = Array.isArray;
const startsWith = (lines, prefix) => prefix.every((line, i) => line === lines[i]);

/** True when a file that differs for a listed reason is among what the command reads. */
function readsDiffering({ facts, files }) {
  return [...files.differing].some((file) =>
    facts?.reads.some((read) => file === read || file.startsWith(`${read}/`)),
  );
}

/** Names of the harmful kinds of damage among the fixtures. */
function harmfulFixtures(plan) {
  return plan.fixtures
    .map((fixture) => fixture.damage)
    .filter((damage) => HARMFUL.includes(damage));
}

export const RULES = [
  {
    // Once a session's file exists, every entry goes there at once, with or without an answer of the model.
    name: "entries of a session without assistant message are written once its file exists",
    judge({ facts }, { path, left, right }) {
      const unanswered = facts?.after.some((each) => each?.onDisk && !each.hasAssistant);
      if (path.join() === "result,arrived") {
        return unanswered && right === true ? "same" : undefined;
      }
      if (path[0] !== "disk" || !isLines(left) || !isLines(right)) {
        return undefined;
      }
      const slot = facts?.after.find((each) => each?.file === path[1] && !each.hasAssistant);
      const complete = slot !== undefined && right.length === slot.entries.length + 2;
      return complete && startsWith(right, left.slice(0, -1)) ? "same" : undefined;
    },
  },
  {
    // The same seen from the snapshot: nothing is held back, so everything is flushed.
    name: "a session whose file exists has nothing to flush",
    judge({ facts }, { path, left, right }) {
      const flushed = path.at(-1)?.endsWith(":flushed") && left === false && right === true;
      const slot = facts?.after.some((each) => each?.onDisk && !each.hasAssistant);
      return flushed && slot ? "same" : undefined;
    },
  },
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
      const old = facts?.reads.map((file) => before[file]).find((lines) => lines !== null);
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
    name: "reads a file that differs for a listed reason",
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
