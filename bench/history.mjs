/**
 * Times of the prompt history with many prompts: opening, the newest, searches.
 *
 *   node bench/history.mjs [--prompts 130000] [--runs 20]
 *
 * Of each call the median of its runs, in wall-clock and in processor time (on a busy machine the first
 * says little), and the first run. Of opening the fastest of five processes, and the first.
 *
 * Measures the addon that is beside package.json; `npm run build` makes an optimised one. Times are
 * given once for prompts of which many share a second, as after an import, and once for prompts a
 * minute apart.
 */

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const { values: options } = parseArgs({
  options: {
    prompts: { type: "string", default: "130000" },
    runs: { type: "string", default: "20" },
    // Of the processes that this program starts.
    file: { type: "string" },
    task: { type: "string" },
  },
});
const self = fileURLToPath(import.meta.url);
const root = path.resolve(path.dirname(self), "..");
const bun = path.join(root, "node_modules/@oven/bun-linux-x64/bin/bun");
const count = Number(options.prompts);
const runs = Number(options.runs);

const { HistoryStorage } = createRequire(import.meta.url)("../index.js");

/** The same numbers in every run. */
function randomNumbers(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Twenty thousand words, the first of them frequent. */
function makeWords(random) {
  const letters = "etaoinshrdlcumwfgypbvk";
  return Array.from({ length: 20_000 }, () => {
    const length = 2 + random(9);
    return Array.from({ length }, () => letters[random(letters.length)]).join("");
  });
}

/** Mostly short prompts, some pasted ones; one in fifty is Chinese. */
function* makePrompts() {
  const random = randomNumbers(7);
  const words = makeWords(random);
  const word = () => words[Math.floor((random(20_000) * random(20_000)) / 20_000)];
  for (let at = 0; at < count; at++) {
    if (at % 50 === 0) {
      yield Array.from({ length: 20 }, () => String.fromCharCode(0x4e00 + random(3000))).join("");
      continue;
    }
    const length = random(100) === 0 ? 400 : 5 + random(50);
    yield `${Array.from({ length }, word).join(" ")} #${at}`;
  }
}

async function fill(file) {
  const started = performance.now();
  const history = HistoryStorage.open(file);
  let added;
  let at = 0;
  for (const prompt of makePrompts()) {
    added = history.add(prompt, "/home/user/project");
    at += 1;
    if (at % 1000 === 0) {
      await added;
    }
  }
  await added;
  return performance.now() - started;
}

/** One process: times of opening, and of each call the median of its runs. */
function measure(file) {
  const times = {};
  const once = (work) => {
    const started = performance.now();
    const before = process.cpuUsage();
    const found = work();
    const { user, system } = process.cpuUsage(before);
    return { ms: performance.now() - started, cpu: (user + system) / 1000, found };
  };
  const opened = once(() => HistoryStorage.open(file));
  const history = opened.found;
  times.open = { ms: opened.ms, cpu: opened.cpu };
  const words = makeWords(randomNumbers(7));
  const rare = words[19_000];
  const calls = {
    "getRecent(100)": () => history.getRecent(100),
    "getRecent(1000)": () => history.getRecent(1000),
    "search, a rare word": () => history.search(rare, 100),
    "search, three words": () => history.search(`${words[3]} ${words[40]} ${words[500]}`, 100),
    "search, a frequent word": () => history.search(words[0], 100),
    "search, one letter": () => history.search("e", 100),
    "search, middle of a word": () => history.search(`${rare.slice(1)}`, 100),
    "search, two Chinese characters": () => history.search("\u4e2d\u4e09", 100),
    "search, nothing is found": () => history.search("zzzz\u00e9", 100),
  };
  for (const [name, work] of Object.entries(calls)) {
    const first = once(work);
    const later = Array.from({ length: runs }, () => once(work));
    const median = (of) => later.map(of).sort((a, b) => a - b)[Math.floor(runs / 2)];
    times[name] = {
      first: first.ms,
      ms: median(({ ms }) => ms),
      cpu: median(({ cpu }) => cpu),
      rows: first.found.length,
    };
  }
  console.log(JSON.stringify(times));
}

function child(task, file) {
  const args = [self, "--task", task, "--file", file, "--runs", String(runs)];
  const done = spawnSync(process.execPath, [...args, "--prompts", String(count)], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (done.status !== 0) {
    throw new Error(`${task} failed`);
  }
  return JSON.parse(done.stdout);
}

/** A minute between two prompts. */
function spread(file) {
  const statement = `UPDATE history SET created_at = created_at - (${count} - id) * 60`;
  const script = `new (require("bun:sqlite").Database)(${JSON.stringify(file)}).run(${JSON.stringify(statement)})`;
  if (spawnSync(bun, ["-e", script], { stdio: "inherit" }).status !== 0) {
    throw new Error("changing the times failed");
  }
}

function print(title, file) {
  const opens = Array.from({ length: 5 }, () => child("measure", file));
  const { open, ...calls } = opens[0];
  const fastest = (of) => Math.min(...opens.map((times) => of(times.open)));
  const row = (name, ...values) =>
    console.log(name.padEnd(34) + values.map((value) => value.padStart(10)).join(""));
  const ms = (value) => value.toFixed(1);
  row(`\n${title}`, "ms", "of CPU", "first", "rows");
  row("open", ms(fastest(({ ms }) => ms)), ms(fastest(({ cpu }) => cpu)), ms(open.ms), "");
  for (const [name, times] of Object.entries(calls)) {
    row(name, ms(times.ms), ms(times.cpu), ms(times.first), String(times.rows));
  }
}

function main() {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "history-bench-"));
  const file = path.join(dir, "history.db");
  try {
    const ms = child("fill", file);
    const size = fs.statSync(file).size / 2 ** 20;
    const rate = Math.round(count / (ms / 1000));
    console.log(
      `${count} prompts, ${size.toFixed(0)} MiB, added in ${ms.toFixed(0)} ms (${rate}/s)`,
    );
    console.log(`${process.version}, ${os.cpus()[0]?.model}, load ${os.loadavg()[0]?.toFixed(1)}`);
    print("Many prompts in one second", file);
    spread(file);
    print("A minute between prompts", file);
  } finally {
    fs.rmSync(dir, { recursive: true, force: true });
  }
}

const tasks = {
  fill: async () => console.log(JSON.stringify(await fill(options.file))),
  measure: () => measure(options.file),
};
await (options.task ? tasks[options.task]() : main());
