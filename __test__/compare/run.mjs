/**
 * Compares this package with the original from npm on random sequences of calls.
 *
 *   node __test__/compare/run.mjs --runs 2000 [--seed N]
 *
 * The seed is fixed unless given; "random" takes another each time. Further options: --path P (with the
 * seed, replays a counterexample that was printed), --plan FILE (replays a sequence saved as JSON),
 * --self (the original against itself: finds what is not deterministic), --max-failures N (default 3),
 * --bun FILE. The environment variable COMPARE_SHOWN is the length up to which strings are shown whole.
 *
 * A failing sequence is shortened for half a minute at most, printed and saved below .cache/compare.
 * Ends with "N passed, N failed" and exit code 1 when anything failed.
 */

import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { findBun, install } from "./lib/original.mjs";
import { printFailure, printSummary } from "./lib/report.mjs";
import { shorten } from "./lib/shorten.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const repository = path.resolve(here, "../..");

/** Sequences per process; a fresh process now and then keeps memory flat and a crash small. */
const BATCH = 250;
/** Processes at a time. */
const LANES = Math.min(2, os.availableParallelism());
/** A sequence that takes this long (ms) hangs. */
const HANGS_MS = 60_000;
/** Milliseconds for shortening a sequence in which the process dies. */
const SHORTEN_MS = 30_000;
const FIXED_SEED = 20_000;

const { values: options } = parseArgs({
  options: {
    runs: { type: "string", default: "2000" },
    seed: { type: "string" },
    path: { type: "string" },
    plan: { type: "string" },
    self: { type: "boolean", default: false },
    "max-failures": { type: "string", default: "3" },
    bun: { type: "string" },
  },
});

function readJson(file) {
  return fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, "utf8")) : undefined;
}

/** A scratch directory in memory when there is one: thousands of small files are written. */
function scratch() {
  const parent = fs.existsSync("/dev/shm") ? "/dev/shm" : os.tmpdir();
  const base = fs.mkdtempSync(path.join(parent, "session-compare-"));
  for (const name of ["home", "tmp", "cwd", "agent"]) {
    fs.mkdirSync(path.join(base, name));
  }
  return base;
}

/** Runs one batch; resolves with the worker's report or with how it died. */
function batch(bun, base, { hangsMs = HANGS_MS, ...settings }) {
  const env = {
    PATH: process.env.PATH,
    ...(process.env.COMPARE_SHOWN ? { COMPARE_SHOWN: process.env.COMPARE_SHOWN } : {}),
    HOME: path.join(base, "home"),
    TMPDIR: path.join(base, "tmp"),
    PI_CODING_AGENT_DIR: path.join(base, "agent"),
    COMPARE_BASE: base,
    COMPARE_LOG: path.join(base, "plan.json"),
    COMPARE_SELF: options.self ? "1" : "0",
    ...settings,
  };
  fs.rmSync(env.COMPARE_LOG, { force: true });
  const child = spawn(bun, [path.join(here, "worker.mjs")], { cwd: path.join(base, "cwd"), env });
  let out = "";
  let errors = "";
  child.stdout.on("data", (chunk) => {
    out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    errors = (errors + chunk).slice(-4000);
  });
  const started = Date.now();
  let hung = false;
  const watchdog = setInterval(() => {
    // Starting may take long on a busy machine; it is a sequence that hangs.
    const sequence = fs.statSync(env.COMPARE_LOG, { throwIfNoEntry: false })?.mtimeMs;
    if (Date.now() > (sequence === undefined ? started + HANGS_MS : sequence + hangsMs)) {
      hung = true;
      child.kill("SIGKILL");
    }
  }, 500);
  return new Promise((resolve) => {
    child.on("close", (code, signal) => {
      clearInterval(watchdog);
      const last = out.trim().split("\n").at(-1);
      try {
        resolve(JSON.parse(last));
      } catch {
        const crashed = hung ? "it hung" : (signal ?? `exit code ${code}`);
        resolve({ runs: 1, crashed, errors, plan: readJson(env.COMPARE_LOG) });
      }
    });
  });
}

async function main() {
  install();
  const bun = findBun(options.bun);
  const total = Number(options.runs);
  const seed = firstSeed();
  console.log(`${total} sequences from seed ${seed}`);
  const summary = { passed: 0, failed: 0, seed, used: {}, stopped: {}, escaped: {}, seconds: 0 };
  const isReplay = options.path !== undefined || options.plan !== undefined;
  const jobs = isReplay ? [{ seed, runs: 1 }] : batches(seed, total);
  const lanes = Array.from({ length: isReplay ? 1 : LANES }, () => lane(bun, jobs, summary));
  await Promise.all(lanes);
  printSummary(summary);
  process.exitCode = summary.failed > 0 ? 1 : 0;
}

/** What each process is to run. */
function batches(seed, total) {
  const jobs = [];
  for (let left = total; left > 0; left -= BATCH) {
    jobs.push({ seed: (seed + jobs.length) & 0x7fffffff, runs: Math.min(BATCH, left) });
  }
  return jobs;
}

/** Works on the batches, one after the other, until none is left or enough has failed. */
async function lane(bun, jobs, summary) {
  const base = scratch();
  try {
    while (jobs.length > 0 && summary.failed < Number(options["max-failures"])) {
      await runJob(bun, base, jobs.shift(), summary);
    }
  } finally {
    fs.rmSync(base, { recursive: true, force: true });
  }
}

async function runJob(bun, base, { seed, runs }, summary) {
  const settings = { COMPARE_RUNS: String(runs), COMPARE_SEED: String(seed) };
  if (options.path !== undefined) {
    settings.COMPARE_PATH = options.path;
  }
  if (options.plan !== undefined) {
    settings.COMPARE_PLAN = path.resolve(options.plan);
  }
  const report = await batch(bun, base, settings);
  addTo(summary, report);
  if (report.crashed !== undefined && report.plan !== undefined) {
    report.plan = await shortenCrash(bun, base, report);
  }
  if (report.error !== undefined || report.crashed !== undefined) {
    printFailure(report, seed, save(report.plan, seed));
  }
}

function firstSeed() {
  const { seed } = options;
  return seed === "random" ? Math.floor(Math.random() * 0x7fffffff) : Number(seed ?? FIXED_SEED);
}

/** The shortest sequence found in which the process still dies. */
async function shortenCrash(bun, base, { plan, crashed }) {
  console.log("The process died; looking for a shorter sequence ...");
  const file = path.join(base, "shorter.json");
  const dies = async (shorter) => {
    fs.writeFileSync(file, JSON.stringify(shorter));
    const report = await batch(bun, base, { COMPARE_PLAN: file, hangsMs: SHORTEN_MS / 6 });
    return report.crashed === crashed;
  };
  return shorten(plan, dies, Date.now() + SHORTEN_MS);
}

/** Keeps a failing sequence in a file, so that it can be replayed when the generator has changed. */
function save(plan, seed) {
  const dir = path.join(repository, ".cache/compare");
  const file = path.join(dir, `failure-${seed}.json`);
  fs.mkdirSync(dir, { recursive: true });
  fs.writeFileSync(file, `${JSON.stringify(plan, null, 1)}\n`);
  return path.relative(process.cwd(), file);
}

function addTo(summary, report) {
  const failed = report.error !== undefined || report.crashed !== undefined ? 1 : 0;
  summary.failed += failed;
  summary.passed += report.runs - failed;
  summary.seconds += report.seconds ?? 0;
  for (const kind of ["used", "stopped", "escaped"]) {
    for (const [name, count] of Object.entries(report[kind] ?? {})) {
      summary[kind][name] = (summary[kind][name] ?? 0) + count;
    }
  }
}

await main();
