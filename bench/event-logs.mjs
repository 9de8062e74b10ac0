/**
 * Times of the store of event logs beside the original: loading a long log, listing many sessions,
 * appending; and the longest time for which the event loop was held up meanwhile.
 *
 *   node bench/event-logs.mjs [--megabytes 50] [--sessions 1000] [--runs 3]
 *
 * Medians of fresh processes. The original runs in Bun, because it needs Zstandard in the runtime; this
 * package in Bun and in Node. Measures the addon that is beside package.json.
 */

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { home, install } from "../__test__/interop/install.mjs";
import { root, runtimes } from "../scripts/lib.mjs";

const { values: options } = parseArgs({
  options: {
    megabytes: { type: "string", default: "50" },
    sessions: { type: "string", default: "1000" },
    runs: { type: "string", default: "3" },
  },
});
const ours = path.join(root, "index.js");
const { JsonlSessionPersistence } = createRequire(import.meta.url)(ours);
const child = path.join(root, "bench/lib/event-logs-child.mjs");

/** A log of this many bytes of text: streamed chunks, and events of some kilobytes. */
async function writeBig(store, bytes) {
  const logs = new JsonlSessionPersistence({ root: store });
  await logs.create({ version: 0, id: "big", createdAt: 1, cwd: "/w" });
  let seq = 0;
  let written = 0;
  for (let turn = 1; written < bytes; turn += 1) {
    const events = [];
    const add = (type, data) => {
      events.push({ type, seq, time: 1_760_000_000_000 + seq, data });
      seq += 1;
    };
    add("turn/start", { turn });
    add("step/start", { turn, step: 1 });
    for (let at = 0; at < 120; at += 1) {
      const text = ` word${(at * 7919) % 1000}`;
      add("assistant/chunk", { turn, step: 1, chunk: { type: "text-delta", index: 0, text } });
    }
    for (let at = 0; at < 8; at += 1) {
      const lines = Array.from(
        { length: 60 },
        (_, line) => `line ${line} of ${turn * at} "quoted" é`,
      );
      add("todo/write", {
        text: lines.join("\n"),
        list: lines.map((line) => ({ line, done: true })),
      });
    }
    add("step/end", { turn, step: 1 });
    add("turn/end", { turn, reason: { kind: "completed" } });
    await logs.append("big", events);
    written += JSON.stringify(events).length - 120 * 120;
  }
  return { events: seq, text: (await logs.readRaw("big")).content.length };
}

async function writeMany(store, count) {
  const logs = new JsonlSessionPersistence({ root: store });
  for (let at = 0; at < count; at += 1) {
    const meta = { version: 0, id: `s${at}`, createdAt: at, cwd: `/w${at % 20}` };
    await logs.appendBatch(meta, [{ type: "x/y", seq: 0, time: 1, data: null }], false);
  }
}

function measure(program, script, cwd, which, task, store) {
  const results = [];
  for (let run = 0; run < Number(options.runs); run += 1) {
    const output = execFileSync(program, [script, which, task, store], { cwd, encoding: "utf8" });
    results.push(JSON.parse(output.trimEnd().split("\n").at(-1)));
  }
  const median = (key) => results.map((it) => it[key]).sort((a, b) => a - b)[results.length >> 1];
  return { time: median("time"), gap: median("gap") };
}

install(child);
const base = fs.mkdtempSync(path.join(os.tmpdir(), "bench-event-logs-"));
try {
  const big = path.join(base, "big");
  const { events, text } = await writeBig(big, Number(options.megabytes) * 1e6);
  const many = path.join(base, "many");
  await writeMany(many, Number(options.sessions));
  console.log(`one log of ${events} events, ${(text / 1e6).toFixed(1)} MB of text`);
  console.log(`${options.sessions} sessions; 100 appends of 3 events\n`);
  for (const [task, store] of [
    ["load", big],
    ["list", many],
    ["append", path.join(base, "append")],
  ]) {
    const copy = path.join(home, path.basename(child));
    const theirs = measure(runtimes.bun.program, copy, home, "original", task, store);
    const rows = [["original, Bun", theirs]];
    for (const name of ["bun", "node"]) {
      const { program, title } = runtimes[name];
      rows.push([`this, ${title}`, measure(program, child, root, ours, task, store)]);
    }
    for (const [title, { time, gap }] of rows) {
      const ratio = (theirs.time / time).toFixed(1);
      console.log(
        `${task.padEnd(7)} ${title.padEnd(14)} ${time.toFixed(1).padStart(9)} ms ${ratio.padStart(6)}×   loop held up ${gap.toFixed(1)} ms`,
      );
    }
  }
} finally {
  fs.rmSync(base, { recursive: true, force: true });
}
