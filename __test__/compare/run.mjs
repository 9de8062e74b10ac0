/**
 * Compares this package with the original from npm on random sequences of calls.
 *
 *   node __test__/compare/run.mjs --runs 2000 [--seed N]
 *
 * Further options: --path P (with the seed, replays a counterexample that was printed), --plan FILE
 * (replays a sequence saved as JSON), --self (the original against itself: finds what is not
 * deterministic), --max-failures N (default 3), --bun FILE.
 *
 * Ends with "N passed, N failed" and exit code 1 when anything failed.
 */

import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { printFailure, printSummary } from "./lib/report.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const repository = path.resolve(here, "../..");

/** Sequences per process; a fresh process now and then keeps memory flat and a crash small. */
const BATCH = 500;
const BATCH_LIMIT_MS = 10 * 60_000;

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

function install() {
  if (fs.existsSync(path.join(here, "node_modules/@oh-my-pi/pi-coding-agent/package.json"))) {
    return;
  }
  console.log("Installing the original from npm ...");
  const done = spawnSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], {
    cwd: here,
    stdio: "inherit",
  });
  if (done.status !== 0) {
    throw new Error("npm ci failed");
  }
}

function findBun() {
  const candidates = [
    options.bun,
    path.join(repository, "node_modules/@oven/bun-linux-x64/bin/bun"),
  ];
  const found = candidates.find((file) => file !== undefined && fs.existsSync(file));
  if (found === undefined) {
    throw new Error("Bun was not found; run `npm ci` in the repository or pass --bun FILE");
  }
  return found;
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
function batch(bun, base, settings) {
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
  const child = spawn(bun, [path.join(here, "worker.mjs")], { cwd: path.join(base, "cwd"), env });
  let out = "";
  let errors = "";
  child.stdout.on("data", (chunk) => {
    out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    errors = (errors + chunk).slice(-4000);
  });
  const watchdog = setTimeout(() => child.kill("SIGKILL"), BATCH_LIMIT_MS);
  return new Promise((resolve) => {
    child.on("close", (code, signal) => {
      clearTimeout(watchdog);
      const last = out.trim().split("\n").at(-1);
      try {
        resolve(JSON.parse(last));
      } catch {
        const plan = fs.existsSync(env.COMPARE_LOG)
          ? JSON.parse(fs.readFileSync(env.COMPARE_LOG, "utf8"))
          : undefined;
        resolve({ runs: 1, crashed: signal ?? `exit code ${code}`, errors, plan });
      }
    });
  });
}

async function main() {
  install();
  const bun = findBun();
  const base = scratch();
  const total = Number(options.runs);
  const maxFailures = Number(options["max-failures"]);
  let seed = Number(options.seed ?? Math.floor(Math.random() * 0x7fffffff));
  const summary = { passed: 0, failed: 0, seed, used: {}, stopped: {}, escaped: {}, seconds: 0 };
  try {
    while (summary.passed + summary.failed < total && summary.failed < maxFailures) {
      const settings = {
        COMPARE_RUNS: String(Math.min(BATCH, total - summary.passed - summary.failed)),
        COMPARE_SEED: String(seed),
      };
      if (options.path !== undefined) {
        Object.assign(settings, { COMPARE_PATH: options.path, COMPARE_SHRINK: "0" });
      }
      if (options.plan !== undefined) {
        settings.COMPARE_PLAN = path.resolve(options.plan);
      }
      const report = await batch(bun, base, settings);
      addTo(summary, report);
      seed = (seed + 1) & 0x7fffffff;
      if (report.error !== undefined || report.crashed !== undefined) {
        printFailure(report, settings.COMPARE_SEED);
      }
      if (options.path !== undefined || options.plan !== undefined) {
        break;
      }
    }
  } finally {
    fs.rmSync(base, { recursive: true, force: true });
  }
  printSummary(summary);
  process.exitCode = summary.failed > 0 ? 1 : 0;
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
