/**
 * Kills processes while they write, and looks at what they leave.
 *
 *   node __test__/crash/run.mjs [--kills 50] [--seed N] [--runtime node|bun|bun-agent] [--kind NAME]
 *
 * Every kill is one process that does one kind of work, see `kinds.mjs`, until SIGKILL ends it at a
 * random point. Then everything that it was told to be on disk must be there, once and in order; no file
 * may hold a mixture of old and new content; the package must open the files and be able to go on with
 * them; and what else lies around must be temporary files by their names. The seed decides what is done
 * and when to kill, not what the operating system makes of it. Ends with "N passed, N failed".
 */

import { spawn } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { runtimes } from "../../scripts/lib.mjs";
import { checkOrder, checkParents, keyOf, Lost, must, readSession } from "./files.mjs";
import { kinds } from "./kinds.mjs";

const { HistoryStorage, SessionManager } = createRequire(import.meta.url)("../../index.js");

/** Processes at a time. */
const LANES = Math.min(2, os.availableParallelism());
/** A child that lives this long (ms) was not killed: it ends by itself. */
const LONGEST_LIFE_MS = 20_000;
/** Longest time (ms) from the first work of a child to its kill. */
const LONGEST_WORK_MS = 60;

const { values: options } = parseArgs({
  options: {
    kills: { type: "string", default: "50" },
    seed: { type: "string", default: "1" },
    runtime: { type: "string", default: "node" },
    kind: { type: "string", multiple: true },
  },
});

const childScript = fileURLToPath(new URL("./child.cjs", import.meta.url));

/** Numbers from 0 to 1, the same for the same seed. */
function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
}

function environmentOf(dir) {
  const inherited = {
    PATH: process.env.PATH,
    HOME: path.join(dir, "home"),
    TMPDIR: path.dirname(dir),
  };
  return { ...inherited, PI_CODING_AGENT_DIR: path.join(dir, "agent") };
}

/**
 * Starts a child and kills it. Half of the kills come some time after the work began, the others with
 * the arrival of a report, when an acknowledgement has just been given.
 *
 * @returns the reports, and whether the kill ended the child
 */
function killOne(kind, dir, seed) {
  const random = randomNumbers(seed);
  const byReport = random() < 0.5;
  // Most points are close to the beginning, where everything happens for the first time.
  const delay = LONGEST_WORK_MS * random() ** 3;
  const reportsToWaitFor = 1 + Math.floor(30 * random() ** 2);
  const { program } = runtimes[options.runtime];
  const child = spawn(program, [childScript, kind, dir, String(seed)], {
    cwd: dir,
    env: environmentOf(dir),
    stdio: ["ignore", "inherit", "inherit", "pipe"],
    timeout: LONGEST_LIFE_MS,
  });
  return new Promise((resolve, reject) => {
    let text = "";
    let scheduled = false;
    child.stdio[3].setEncoding("utf8").on("data", (piece) => {
      text += piece;
      if (!byReport && !scheduled && text.includes('["ready"]')) {
        scheduled = true;
        setTimeout(() => child.kill("SIGKILL"), delay);
      } else if (byReport && text.split("\n").length > reportsToWaitFor + 1) {
        child.kill("SIGKILL");
      }
    });
    child.on("error", reject);
    child.on("close", (code, signal) => {
      const reports = text
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line));
      resolve({ reports, code, signal });
    });
  });
}

/** The checks change the environment of this process, so only one runs at a time. */
let checking = Promise.resolve();

function exclusively(work) {
  const turn = checking.then(work);
  checking = turn.catch(() => {});
  return turn;
}

function openHistory(file) {
  HistoryStorage.resetInstance();
  const prompts = HistoryStorage.open(file)
    .getRecent(1_000_000)
    .map(({ prompt }) => prompt);
  HistoryStorage.resetInstance();
  return prompts;
}

/** The package must find every record and be able to go on with the file. */
async function goOn({ file, keys }) {
  const manager = await SessionManager.open(file);
  const { skippedLines, tornTail, headerSalvaged } = manager.getLoadReport();
  must(skippedLines === (tornTail ? 1 : 0) && !headerSalvaged, `${file} was opened with losses`);
  const opened = manager.getEntries().map(keyOf);
  // A last line without its line feed may be whole.
  const unended = opened.length - keys.length;
  must(unended === 0 || unended === 1, `${file} was opened with ${opened.length} entries`);
  checkOrder(keys, opened, keys, file);
  manager.appendMessage({ role: "user", content: "afterwards ", timestamp: 1 });
  manager.appendMessage({ role: "assistant", content: [{ type: "text", text: "answer " }] });
  await manager.flush();
  await manager.close();
  const again = await SessionManager.open(file);
  const expected = [...opened, "afterwards", "answer"];
  checkOrder(again.getEntries().map(keyOf), expected, expected, file);
  checkParents({ entries: again.getEntries() }, file);
  await again.close();
}

async function check(kind, dir, { reports, code, signal }) {
  const failure = reports.find(([name]) => name === "failed");
  must(!failure, `the work failed by itself: ${failure?.[1]}`);
  must(signal === "SIGKILL" || code === 0, `the child ended with ${code ?? signal}`);
  process.env.PI_CODING_AGENT_DIR = path.join(dir, "agent");
  const defaultDir = (cwd) => SessionManager.getDefaultSessionDir(cwd);
  const found = kinds[kind].check(dir, reports, defaultDir, openHistory);
  for (const file of found.files) {
    await goOn(file);
  }
  return { wasKilled: signal === "SIGKILL", leftovers: found.leftovers, reports: reports.length };
}

/** The checks themselves: each of these states must be refused. */
function checkTheChecks(base) {
  const dir = path.join(base, "checks");
  const { prepare, check: checkAppend } = kinds.append;
  const file = path.join(dir, "sessions", "prepared.jsonl");
  const added = ["added", "prepared.jsonl", ["new1"]];
  const flushed = ["flushed", "prepared.jsonl", ["new1"]];
  const spoilt = {
    "a lost record": [(text) => text, [added, flushed]],
    "a doubled record": [(text) => text + text.trimEnd().split("\n").at(-1), []],
    "a record in the wrong place": [(text) => text.replace(/(.*\n)(.*\n)$/, "$2$1"), []],
    "a glued line": [(text) => text.replace(/\n(.*\n)$/, "$1"), []],
    "a lost header": [(text) => text.slice(text.indexOf("\n") + 1), []],
  };
  for (const [what, [spoil, reports]] of Object.entries(spoilt)) {
    prepare(dir);
    const text = fs.readFileSync(file, "utf8");
    fs.writeFileSync(file, `${spoil(text).trimEnd()}\n`);
    let refused = false;
    try {
      checkAppend(dir, reports);
    } catch (error) {
      refused = error instanceof Lost;
    }
    if (!refused) {
      throw new Error(`The checks do not see ${what}.`);
    }
  }
  prepare(dir);
  must(readSession(file).keys.length > 0, "the prepared session has no entries");
}

async function main() {
  const base = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "session-crash-")));
  checkTheChecks(base);
  const names = options.kind ?? Object.keys(kinds);
  const totals = Object.fromEntries(
    names.map((name) => [name, { kills: 0, failed: 0, leftovers: 0, reports: 0 }]),
  );
  const kills = Number(options.kills);
  const begun = Date.now();
  let next = 0;
  async function lane() {
    while (next < kills) {
      const number = next;
      next += 1;
      const kind = names[number % names.length];
      const seed = (Number(options.seed) * 1_000_003 + number) >>> 0;
      const dir = path.join(base, String(number));
      fs.mkdirSync(path.join(dir, "sessions"), { recursive: true });
      fs.mkdirSync(path.join(dir, "home"));
      const total = totals[kind];
      try {
        await exclusively(() => {
          process.env.PI_CODING_AGENT_DIR = path.join(dir, "agent");
          kinds[kind].prepare(dir, (cwd) => SessionManager.getDefaultSessionDir(cwd));
        });
        const end = await killOne(kind, dir, seed);
        const found = await exclusively(() => check(kind, dir, end));
        total.kills += found.wasKilled ? 1 : 0;
        total.leftovers += found.leftovers;
        total.reports += found.reports;
        fs.rmSync(dir, { recursive: true, force: true });
      } catch (error) {
        total.failed += 1;
        console.log(`FAILED ${kind}, kill ${number}, kept in ${dir}: ${error.stack}`);
      }
    }
  }
  process.env.TMPDIR = base;
  process.env.HOME = path.join(base, "home");
  await Promise.all(Array.from({ length: LANES }, lane));
  report(totals, kills, Date.now() - begun);
  if (Object.values(totals).every(({ failed }) => failed === 0)) {
    fs.rmSync(base, { recursive: true, force: true });
  }
}

function report(totals, kills, elapsed) {
  const failed = Object.values(totals).reduce((sum, total) => sum + total.failed, 0);
  console.log(`\n${"kind".padEnd(12)} killed  reports  leftover temporary files  failed`);
  for (const [name, total] of Object.entries(totals)) {
    const columns = [
      String(total.kills).padStart(6),
      String(total.reports).padStart(8),
      String(total.leftovers).padStart(25),
      String(total.failed).padStart(7),
    ];
    console.log(`${name.padEnd(12)} ${columns.join(" ")}`);
  }
  console.log(`${kills} processes in ${(elapsed / 1_000).toFixed(1)} s, seed ${options.seed}\n`);
  console.log(`${kills - failed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

await main();
