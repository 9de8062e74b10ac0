/**
 * How time and memory grow with what there is: sessions of 1 to 650 MB, folders of 10 to 10,000 sessions,
 * a chain of 200,000 entries, a line of 64 MB.
 *
 *   npm run build && node bench/growth.mjs [--all]
 *
 * Medians of fresh processes, Node, files in memory: milliseconds, and how far the resident memory rose.
 * Without `--all` the largest of each are left out: they take minutes to make.
 */

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import * as data from "./lib/data.mjs";
import { measure } from "./lib/measure.mjs";

const RUNS = 5;
const MB = 1 << 20;
const all = process.argv.includes("--all");

/** What is measured, by name: each gets the path of its data. */
const work = {
  async context(file, { SessionManager }) {
    const manager = await SessionManager.open(file);
    return manager.buildSessionContext();
  },
  async entries(file, { SessionManager }) {
    const manager = await SessionManager.open(file);
    return manager.getEntries();
  },
  list: (folder, { SessionManager }) => SessionManager.list(data.cwd, folder),
};

function line(id, parentId, text) {
  const message = { role: "user", content: text, timestamp: 1 };
  const timestamp = "2026-01-05T08:00:00.000Z";
  return `${JSON.stringify({ type: "message", id, parentId, timestamp, message })}\n`;
}

/** A session of entries in a row, each with a text of so many characters. */
function chain(name, count, characters) {
  return data.once(name, (file) => {
    const header = { type: "session", version: 3, id: "s", cwd: data.cwd };
    const out = fs.openSync(file, "w");
    fs.writeSync(out, `${JSON.stringify({ ...header, timestamp: "2026-01-05T08:00:00.000Z" })}\n`);
    for (let at = 0; at < count; at++) {
      const parent = at === 0 ? null : String(at - 1).padStart(8, "0");
      fs.writeSync(out, line(String(at).padStart(8, "0"), parent, "x".repeat(characters)));
    }
    fs.closeSync(out);
  });
}

function median(values) {
  return values.sort((left, right) => left - right)[values.length >> 1];
}

function row(title, name, source) {
  data.warm(source);
  const home = fs.mkdtempSync(path.join(os.tmpdir(), "bench-growth-"));
  const args = ["--expose-gc", fileURLToPath(import.meta.url), "--run", name, source];
  const options = { env: { ...process.env, HOME: home }, encoding: "utf8" };
  const runs = Array.from({ length: RUNS }, () =>
    JSON.parse(execFileSync(process.execPath, args, options)),
  );
  fs.rmSync(home, { recursive: true });
  const time = median(runs.map((run) => run.time)).toFixed(1);
  const growth = Math.round(median(runs.map((run) => run.growth)) / MB);
  console.log(`${title.padEnd(44)}${time.padStart(10)} ms${String(growth).padStart(8)} MB`);
}

function report() {
  for (const megabytes of all ? [1, 10, 100, 650] : [1, 10, 100]) {
    row(`open + context, ${megabytes} MB`, "context", data.session(megabytes));
  }
  for (const count of all ? [10, 100, 1_000, 10_000] : [10, 100, 1_000]) {
    row(`list, ${count} sessions of 20 KB`, "list", data.evenFolder(count, 20));
  }
  row("open + context, 200,000 entries in a row", "context", chain("chain.jsonl", 200_000, 40));
  row("open + all entries, one line of 64 MB", "entries", chain("line-64mb.jsonl", 1, 64 * MB));
}

const [, , mode, name, source] = process.argv;
if (mode === "--run") {
  const addon = createRequire(import.meta.url)("../index.js");
  const { figures } = await measure(() => work[name](source, addon));
  fs.writeSync(1, JSON.stringify(figures));
  process.exit(0);
} else {
  report();
}
