/**
 * Whether memory comes back: opens a session of 50 MB, builds its context, reads all entries and closes
 * it, 200 times in one process, in each runtime.
 *
 *   npm run build && node bench/leak.mjs [cycles]
 *
 * Prints the resident memory after some cycles, each time behind a collection, and the last beside that of
 * the tenth.
 */

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { runtimes } from "../scripts/lib.mjs";
import { session } from "./lib/data.mjs";

const MEGABYTES = 50;
const SHOWN = [1, 10, 50, 100, 150, 200];

async function cycle(file, cycles) {
  const { SessionManager } = createRequire(import.meta.url)("../index.js");
  const collect = () => (globalThis.gc ?? globalThis.Bun.gc)(true);
  const resident = {};
  for (let at = 1; at <= cycles; at++) {
    const manager = await SessionManager.open(file);
    manager.buildSessionContext();
    manager.getEntries();
    await manager.close();
    if (SHOWN.includes(at) || at === cycles) {
      // Finalizers run in turns of the event loop.
      for (let turn = 0; turn < 5; turn++) {
        collect();
        await new Promise((resolve) => setImmediate(resolve));
      }
      resident[at] = process.memoryUsage().rss;
    }
  }
  process.stdout.write(JSON.stringify(resident));
}

function report(cycles) {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), "bench-leak-"));
  const file = session(MEGABYTES);
  const script = fileURLToPath(import.meta.url);
  try {
    for (const [name, { program }] of Object.entries(runtimes)) {
      const flags = name === "node" ? ["--expose-gc"] : [];
      const args = [...flags, script, "--file", file, String(cycles)];
      const env = { ...process.env, HOME: home };
      const resident = JSON.parse(execFileSync(program, args, { env, encoding: "utf8" }));
      const shown = Object.entries(resident).map(([at, bytes]) => `${at}: ${bytes >> 20} MB`);
      const change = ((resident[cycles] / resident[10] - 1) * 100).toFixed(1);
      console.log(`${name.padEnd(10)} ${shown.join("   ")}   ${change} % beside the tenth`);
    }
  } finally {
    fs.rmSync(home, { recursive: true });
  }
}

if (process.argv[2] === "--file") {
  await cycle(process.argv[3], Number(process.argv[4]));
} else {
  report(Number(process.argv[2] ?? 200));
}
