/** Runs one scenario with one program and prints its rows as JSON. */

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { peers } from "./lib/peers.mjs";
import { scenarios } from "./lib/scenarios.mjs";

const [name, peerName] = process.argv.slice(2);
const { data, run, scratch: needsScratch } = scenarios[name];
const peer = await peers[peerName].load();
const scratch = needsScratch ? fs.mkdtempSync(path.join(os.tmpdir(), "session-bench-")) : undefined;
try {
  const rows = await run(peer, { source: data?.(), scratch });
  fs.writeSync(1, `${JSON.stringify(rows)}\n`);
} finally {
  if (scratch) {
    fs.rmSync(scratch, { recursive: true });
  }
}
process.exit(0);
