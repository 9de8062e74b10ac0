/**
 * Measures this package beside the session stores that agents have from npm.
 *
 *   node bench/run.mjs [--only TEXT] [--rounds N] [--peers a,b] [--all] [--json FILE]
 *
 * Every figure comes from a fresh process; the programs take turns, so that what else the machine does
 * meets all of them. Printed are medians. The last column says how many times faster we are in the
 * runtime where we are slower than the better of the others.
 */

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { warm } from "./lib/data.mjs";
import { peers } from "./lib/peers.mjs";
import { onDemand, scenarios } from "./lib/scenarios.mjs";
import { printTable } from "./lib/table.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const LIMIT_MS = 10 * 60_000;

const { values: options } = parseArgs({
  options: {
    only: { type: "string" },
    rounds: { type: "string", default: "5" },
    peers: { type: "string", default: Object.keys(peers).join(",") },
    all: { type: "boolean", default: false },
    json: { type: "string" },
  },
});

function install() {
  if (!fs.existsSync(path.join(here, "node_modules/@mariozechner/pi-coding-agent/package.json"))) {
    process.stderr.write("installing the other stores from npm ...\n");
    const args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
    const { status } = spawnSync("npm", args, { cwd: here, stdio: "inherit" });
    if (status !== 0) {
      throw new Error("npm ci failed");
    }
  }
}

/** An environment in which no program finds anything of the user. */
function environment(home) {
  return {
    PATH: process.env.PATH,
    HOME: home,
    TMPDIR: home,
    PI_CODING_AGENT_DIR: path.join(home, "agent"),
  };
}

/** Rows of one process, or how it failed. */
function runOnce(scenario, peer) {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), "session-bench-home-"));
  const [program, ...flags] = peers[peer].program;
  const child = spawnSync(program, [...flags, path.join(here, "child.mjs"), scenario, peer], {
    cwd: home,
    env: environment(home),
    encoding: "utf8",
    timeout: LIMIT_MS,
    maxBuffer: 1 << 26,
  });
  fs.rmSync(home, { recursive: true, force: true });
  try {
    return JSON.parse(child.stdout.trim().split("\n").at(-1));
  } catch {
    const reason = child.signal ?? `exit code ${child.status}`;
    process.stderr.write(`${peer}: ${reason}\n${child.stderr.slice(-2_000)}\n`);
    return {};
  }
}

function median(values) {
  const sorted = values.filter((value) => value !== undefined).sort((a, b) => a - b);
  return sorted.length > 0 ? sorted[sorted.length >> 1] : undefined;
}

/** Medians by row, program and figure. */
function summarise(samples) {
  const rows = {};
  for (const { peer, result } of samples) {
    for (const [row, figures] of Object.entries(result)) {
      rows[row] ??= {};
      rows[row][peer] ??= { time: [], gap: [], growth: [] };
      for (const [figure, value] of Object.entries(figures)) {
        rows[row][peer][figure].push(value);
      }
    }
  }
  for (const row of Object.values(rows)) {
    for (const [peer, figures] of Object.entries(row)) {
      const medians = Object.entries(figures).map(([figure, values]) => [figure, median(values)]);
      row[peer] = Object.fromEntries(medians);
    }
  }
  return rows;
}

install();
const names = Object.keys(scenarios).filter((name) =>
  options.only === undefined ? options.all || !onDemand.has(name) : name.includes(options.only),
);
const chosen = options.peers.split(",");
const report = {};
for (const name of names) {
  const source = scenarios[name].data?.();
  if (source) {
    warm(source);
  }
  const samples = [];
  for (let round = 0; round < Number(options.rounds); round++) {
    for (const peer of chosen) {
      samples.push({ peer, result: runOnce(name, peer) });
    }
  }
  report[name] = summarise(samples);
  printTable(name, report[name], chosen);
}
if (options.json) {
  fs.writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`);
}
