/**
 * How long it takes until a long session can go on: opened, context made, everything known.
 *
 *   npm run build && node bench/tail.mjs [megabytes ...]
 *
 * Times are in milliseconds, medians of fresh processes: `open` until its promise resolved, `context`
 * until `buildSessionContext()` returned, and `settings` until one of the settings that the whole
 * session decides was read. The file is in memory.
 */

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { session, warm } from "./lib/data.mjs";

const RUNS = 7;
const COLUMNS = ["open", "context", "settings", "messages"];

async function measure(file) {
  const { SessionManager } = createRequire(import.meta.url)("../index.js");
  const begun = performance.now();
  const manager = await SessionManager.open(file);
  const open = performance.now() - begun;
  const context = manager.buildSessionContext();
  const made = performance.now() - begun;
  const { models } = context;
  const settings = performance.now() - begun;
  if (!models.default) {
    throw new Error("no model");
  }
  const messages = context.messages.length;
  process.stdout.write(JSON.stringify({ open, context: made, settings, messages }));
  await manager.close();
}

function median(runs, column) {
  const sorted = runs.map((run) => run[column]).sort((left, right) => left - right);
  return sorted[sorted.length >> 1];
}

function table(sizes) {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), "bench-tail-"));
  const columns = COLUMNS.map((column) => column.padStart(10)).join("");
  console.log(`${"megabytes".padEnd(10)}${columns}`);
  try {
    for (const megabytes of sizes) {
      const file = session(megabytes);
      warm(file);
      const script = fileURLToPath(import.meta.url);
      const options = { env: { ...process.env, HOME: home }, encoding: "utf8" };
      const runs = Array.from({ length: RUNS }, () =>
        JSON.parse(execFileSync(process.execPath, [script, "--file", file], options)),
      );
      const figures = COLUMNS.map((column) => median(runs, column).toFixed(0).padStart(10));
      console.log(`${String(megabytes).padEnd(10)}${figures.join("")}`);
    }
  } finally {
    fs.rmSync(home, { recursive: true });
  }
}

if (process.argv[2] === "--file") {
  await measure(process.argv[3]);
} else {
  const sizes = process.argv.slice(2).map(Number);
  table(sizes.length > 0 ? sizes : [128, 512, 1_024]);
}
