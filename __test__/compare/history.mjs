/**
 * Compares the prompt history with the original's: two processes work on random sequences of calls,
 * on one database at the same time and each on its own.
 *
 *   node __test__/compare/history.mjs [--runs 200] [--seed N] [--bun FILE]
 *
 * The seed is fixed unless given; "random" takes another each time.
 *
 * Intended differences: what the original's search does not find may be found here, inside words and
 * in writings without spaces; what it finds must be found, in its order.
 *
 * Ends with "N passed, N failed" and exit code 1 when anything failed.
 */

import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual, parseArgs } from "node:util";
import { findBun, install } from "./lib/original.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));

const { values: options } = parseArgs({
  options: {
    runs: { type: "string", default: "200" },
    seed: { type: "string" },
    bun: { type: "string" },
  },
});

install();
// Here, not at the top: it may have to be installed first.
const { default: fc } = await import("fast-check");

/** One of the two processes. Calls are answered in order. */
class Peer {
  #child;
  #answers = [];

  constructor(program, which, base) {
    this.name = which;
    this.#child = spawn(program, [path.join(here, "lib/history-worker.mjs"), which], {
      stdio: ["pipe", "pipe", "inherit"],
      env: { PATH: process.env.PATH, HOME: base, PI_CODING_AGENT_DIR: path.join(base, "agent") },
    });
    this.ended = new Promise((resolve) => this.#child.on("close", resolve));
    createInterface({ input: this.#child.stdout }).on("line", (line) => {
      // The original prints messages of its own.
      if (line.startsWith('{"value"') || line.startsWith('{"error"')) {
        this.#answers.shift()?.resolve(JSON.parse(line));
      }
    });
    this.#child.on("close", (code) => {
      for (const { reject } of this.#answers) {
        reject(new Error(`${which} ended with ${code}`));
      }
    });
  }

  async call(...call) {
    const answer = await new Promise((resolve, reject) => {
      this.#answers.push({ resolve, reject });
      this.#child.stdin.write(`${JSON.stringify(call)}\n`);
    });
    if (answer.error !== undefined) {
      throw new Error(`${this.name}: ${call[0]}: ${answer.error}`);
    }
    return answer.value;
  }

  end() {
    this.#child.stdin.end();
    return this.ended;
  }
}

const words = [
  "fix",
  "the",
  "Line",
  "line",
  "Über",
  "c++",
  "foo.bar",
  "NOT",
  '"',
  "a\0b",
  "修改它",
  "x",
];
const others = [
  "日本語のテスト",
  "é",
  "e\u0301",
  "😀",
  "\ud83d",
  "'",
  "*",
  "prompt:x",
  "(",
  "-",
  "I",
  "İ",
];
const word = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...words, ...others) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 6 }) },
);
const space = fc.constantFrom(" ", "  ", "\n", "\t", "\u00a0", "\u3000", "\ufeff", "\u0085");
const textOf = (maxLength) =>
  fc
    .tuple(space, fc.array(fc.tuple(word, space), { maxLength }))
    .map(([first, parts]) => first + parts.flat().join(""));
const cwd = fc.constantFrom(undefined, "/a", "", "/日本");
const limit = fc.oneof(fc.integer({ min: -2, max: 30 }), fc.constantFrom(1.9, 0.5, 1e9));
const call = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ add: fc.array(fc.tuple(textOf(6), cwd), { maxLength: 4 }) }),
  },
  { weight: 2, arbitrary: fc.record({ recent: limit }) },
  { weight: 3, arbitrary: fc.record({ search: textOf(2), limit }) },
);
const steps = fc.array(fc.record({ call, by: fc.constantFrom("ours", "original") }), {
  minLength: 10,
  maxLength: 40,
});

/** Scripts without spaces are found anywhere here. */
const unspaced = /[\u0e00-\u0eff\u1000-\u11ff\u1780-\u17ff\u3040-\u31ff\u3400-\u9fff\uac00-\ud7ff]/;

/** Whether ours is what the original's answer asks for. */
function fits(query, original, ours) {
  if (original.length > 0 && !unspaced.test(query)) {
    return isDeepStrictEqual(original, ours);
  }
  const ids = new Set(ours.map(({ id }) => id));
  return original.every(({ id }) => ids.has(id));
}

const base = fs.mkdtempSync(path.join(os.tmpdir(), "history-compare-"));
const ours = new Peer(process.execPath, "ours", base);
const original = new Peer(findBun(options.bun), "original", base);
const peers = { ours, original };
let number = 0;
let found = 0;

function check(condition, what, ...details) {
  if (!condition) {
    throw new Error(`${what}\n${details.map((detail) => JSON.stringify(detail)).join("\n")}`);
  }
}

/** Asks both. `strip` removes what may differ. */
async function compare(step, strip) {
  const { call } = step;
  if (call.recent !== undefined) {
    const [left, right] = await both((peer) => peer.call("recent", call.recent));
    check(isDeepStrictEqual(left.map(strip), right.map(strip)), "getRecent", left, right);
  } else {
    const [left, right] = await both((peer) => peer.call("search", call.search, call.limit));
    found += left.length;
    const ok = fits(call.search, left.map(strip), right.map(strip));
    check(ok, `search ${JSON.stringify(call.search)}`, left, right);
  }
}

const both = (work) => Promise.all([work(original), work(ours)]);

async function openBoth(files) {
  // One after the other: the original does not wait for the lock that creation needs.
  await original.call("open", files[0]);
  await ours.call("open", files[1]);
}

/** One database: whoever adds, both see the same. */
async function together(sequence) {
  const file = path.join(base, `${number++}.db`);
  await openBoth([file, file]);
  for (const step of [...sequence, { call: { recent: 1000 } }]) {
    if (step.call.add) {
      await peers[step.by].call("add", step.call.add);
    } else {
      await compare(step, (entry) => entry);
    }
  }
}

/** A database each: the same calls leave the same rows. */
async function apart(sequence) {
  await openBoth([path.join(base, `${number++}.db`), path.join(base, `${number++}.db`)]);
  const strip = ({ id, prompt, cwd }) => ({ id, prompt, cwd });
  for (const step of [...sequence, { call: { recent: 1000 } }]) {
    if (step.call.add) {
      await both((peer) => peer.call("add", step.call.add));
    } else {
      await compare(step, strip);
    }
  }
}

const seed =
  options.seed === "random" ? Math.floor(Math.random() * 0x7fffffff) : Number(options.seed ?? 1);
const numRuns = Math.ceil(Number(options.runs) / 2);
let passed = 0;
let failed = 0;
console.log(`seed ${seed}`);
for (const run of [together, apart]) {
  const outcome = await fc.check(fc.asyncProperty(steps, run), { seed, numRuns });
  passed += outcome.numRuns - (outcome.failed ? 1 : 0);
  failed += outcome.failed ? 1 : 0;
  if (outcome.failed) {
    console.log(`${run.name}: ${outcome.errorInstance?.message ?? outcome.error}`);
    console.log(JSON.stringify(outcome.counterexample));
  }
}
await Promise.all([ours.end(), original.end()]);
fs.rmSync(base, { recursive: true, force: true });
console.log(`rows found by the original's searches: ${found}`);
console.log(`\n${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || found === 0 ? 1 : 0;
