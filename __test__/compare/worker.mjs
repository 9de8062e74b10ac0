/**
 * Runs inside Bun: generates sequences, runs them on both implementations, shrinks the first that differs
 * and reports as JSON lines on standard output.
 *
 * Environment: COMPARE_RUNS, COMPARE_SEED, COMPARE_SELF, COMPARE_BASE (scratch directory),
 * COMPARE_PATH (replays one shrunk counterexample), COMPARE_PLAN (replays a saved sequence),
 * COMPARE_LOG (every sequence is written there before it runs, so that a crash can be told).
 */

import fs from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { loadPair } from "./lib/adapters.mjs";
import { sequence } from "./lib/commands.mjs";
import { compareTraces, trace } from "./lib/compare.mjs";
import { RULES } from "./lib/differences.mjs";
import { shorten } from "./lib/shorten.mjs";

const env = process.env;
const runs = Number(env.COMPARE_RUNS ?? 100);
const seed = Number(env.COMPARE_SEED ?? 1);
const root = path.join(env.COMPARE_BASE, "root");

const list = fs
  .readFileSync(new URL("differences.md", import.meta.url), "utf8")
  .replace(/\n +/g, " ");
const listed = [...list.matchAll(/^- \*\*(.+?)\*\*/gm)].map(([, name]) => name);
if (JSON.stringify(listed.sort()) !== JSON.stringify(RULES.map(({ name }) => name).sort())) {
  throw new Error("differences.md and the rules do not list the same differences");
}

const pair = await loadPair(env.COMPARE_SELF === "1");

// The original's utilities end the process when a rejection escapes, and the original lets some escape.
// They are counted instead; ours must have none.
const escaped = { original: 0, ours: 0 };
let current = "original";
process.removeAllListeners("unhandledRejection");
process.on("unhandledRejection", () => {
  escaped[current]++;
});

/** Milliseconds for making a failing sequence short. */
const SHORTEN_MS = 30_000;

const used = new Map();
const stopped = new Map();
let executed = 0;

/** Both runs of a plan, compared. */
async function compare(plan) {
  if (env.COMPARE_LOG) {
    fs.writeFileSync(env.COMPARE_LOG, JSON.stringify(plan));
  }
  executed++;
  current = "original";
  const left = await trace(pair[0], root, plan);
  await Bun.sleep(0);
  current = "ours";
  const before = escaped.ours;
  const right = await trace(pair[1], root, plan);
  await Bun.sleep(0);
  const outcome = compareTraces(plan, left, right, used);
  if (escaped.ours > before && outcome?.differences === undefined) {
    const differences = [{ path: ["unhandled rejections"], left: 0, right: escaped.ours - before }];
    return { step: right.steps.length - 1, command: { op: "end" }, differences };
  }
  return outcome;
}

const property = fc.asyncProperty(sequence, async (plan) => {
  const outcome = await compare(plan);
  if (outcome?.stopped !== undefined) {
    stopped.set(outcome.stopped, (stopped.get(outcome.stopped) ?? 0) + 1);
  } else if (outcome !== undefined) {
    throw new Error(JSON.stringify(outcome));
  }
});

const started = Date.now();

if (env.COMPARE_PLAN) {
  const plan = JSON.parse(fs.readFileSync(env.COMPARE_PLAN, "utf8"));
  const outcome = await compare(plan);
  const failed = outcome !== undefined && outcome.stopped === undefined;
  finish({
    runs: 1,
    ...(failed ? { plan, error: JSON.stringify(outcome), path: "", seed: "" } : {}),
  });
}

const result = await fc.check(property, {
  numRuns: runs,
  seed,
  path: env.COMPARE_PATH,
  // Leaving out commands first is much faster than the library's own shrinking.
  endOnFailure: true,
  interruptAfterTimeLimit: Number(env.COMPARE_LIMIT ?? 600_000),
  markInterruptAsFailure: false,
});

finish({ runs: result.numRuns, ...(result.failed ? await failure(result) : {}) });

/** The failing sequence, and the shortest that still fails. */
async function failure({ counterexample, counterexamplePath, errorInstance }) {
  const [plan] = counterexample ?? [];
  let outcome = errorInstance?.message ?? String(errorInstance);
  const kind = ({ command, differences }) => `${command.op} ${differences[0].path[0]}`;
  const wanted = outcome.startsWith("{") ? kind(JSON.parse(outcome)) : undefined;
  const fails = async (shorter) => {
    const found = await compare(shorter).catch(() => undefined);
    // A sequence that fails in another way says nothing about this failure.
    const isSame = found?.differences !== undefined && kind(found) === wanted;
    outcome = isSame ? JSON.stringify(found) : outcome;
    return isSame;
  };
  const shortest = await shorten(plan, fails, Date.now() + SHORTEN_MS);
  return { seed, path: counterexamplePath, plan: shortest, error: outcome };
}

function finish(report) {
  const totals = {
    executed,
    seconds: (Date.now() - started) / 1000,
    used: Object.fromEntries(used),
    stopped: Object.fromEntries(stopped),
    escaped,
  };
  process.stdout.write(`${JSON.stringify({ ...report, ...totals })}\n`);
  process.exit(0);
}
