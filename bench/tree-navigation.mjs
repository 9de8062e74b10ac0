/**
 * How long the list of a large tree takes: made, filtered and searched anew, shown.
 *
 *   npm run build && node bench/tree-navigation.mjs [nodes]
 *
 * Times are in milliseconds: median and worst by the clock, and the median of processor time, which
 * counts all threads and not what else the machine does. "from a file": a session that was opened and
 * of which no entry was looked at. "in memory": one whose entries all exist as objects. "comb": a
 * branch at every second entry, as deep as a tree can be.
 */

import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";

const { SessionManager } = createRequire(import.meta.url)("../index.js");

const NODES = Number(process.argv[2] ?? 100_000);
const RUNS = 5;

const TEXT = "Some words about the build, the tests, and why one of them is red. ";

/** A hundred branches from the first ten entries. */
function branches(n) {
  return n % Math.ceil(NODES / 100) === 0 ? Math.max(0, (n / 1000) % 10) : n - 1;
}

const comb = (n) => (n % 2 === 0 ? n - 2 : n - 1);

const idOf = (n) => (0x10000000 + n).toString(16);

function messageOf(n) {
  const call = `call_${n - (n % 4)}`;
  switch (n % 4) {
    case 0:
      return { role: "user", content: `Question ${n}: ${TEXT}`, timestamp: n };
    case 2:
      return {
        role: "toolResult",
        toolCallId: call,
        toolName: "bash",
        content: [{ type: "text", text: `${n}\n${TEXT.repeat(8)}` }],
        isError: false,
        timestamp: n,
      };
    default:
      return {
        role: "assistant",
        content: [
          { type: "text", text: `Answer ${n}: ${TEXT}` },
          { type: "toolCall", id: call, name: "bash", arguments: { command: `make test-${n}` } },
        ],
        api: "api",
        provider: "provider",
        model: "model",
        stopReason: "stop",
        timestamp: n,
      };
  }
}

function writeSession(file, parentOf) {
  const header = { type: "session", version: 3, id: "s", timestamp: new Date(0), cwd: "/w" };
  const lines = [JSON.stringify(header)];
  for (let n = 0; n < NODES; n++) {
    const parentId = n === 0 ? null : idOf(Math.floor(parentOf(n)));
    const base = { type: "message", id: idOf(n), parentId, timestamp: new Date(n) };
    lines.push(JSON.stringify({ ...base, message: messageOf(n) }));
  }
  fs.writeFileSync(file, `${lines.join("\n")}\n`);
}

function report(name, work) {
  const clock = [];
  const processor = [];
  let result;
  for (let run = 0; run < RUNS; run++) {
    const [start, cpu] = [performance.now(), process.cpuUsage()];
    result = work(run);
    const { user, system } = process.cpuUsage(cpu);
    clock.push(performance.now() - start);
    processor.push((user + system) / 1000);
  }
  const column = (times, at) =>
    times
      .sort((left, right) => left - right)
      .at(at)
      .toFixed(1)
      .padStart(9);
  const columns = [column(clock, RUNS >> 1), column(clock, -1), column(processor, RUNS >> 1)];
  console.log(`${name.padEnd(50)}${columns.join("")}`);
  return result;
}

function measure(kind, manager) {
  const tree = report(`${kind}: flatten, first screen`, () => {
    const flat = manager.flattenTree();
    const at = flat.selectedIndex;
    flat.rows(Math.max(0, at - 20), at + 20);
    return flat;
  });
  console.log(`  ${tree.length} of ${tree.total} rows`);
  const filters = ["no-tools", "user-only", "labeled-only", "all", "default"];
  report(`${kind}: another filter`, (run) => tree.refilter({ filter: filters[run % 5] }));
  const letters = "answer 12";
  report(`${kind}: one more letter of a query`, (run) => {
    const flat = tree.refilter({ query: letters.slice(0, run + 1) });
    flat.rows(0, 40);
    return flat;
  });
  report(`${kind}: a query that finds nothing`, () => tree.refilter({ query: "zzz yyy" }));
  return tree;
}

async function withSession(parentOf, work) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "bench-tree-"));
  try {
    const file = path.join(dir, "session.jsonl");
    writeSession(file, parentOf);
    const manager = await SessionManager.open(file);
    work(manager, (fs.statSync(file).size / 2 ** 20).toFixed(0));
    await manager.close();
  } finally {
    fs.rmSync(dir, { recursive: true });
  }
}

const runtime = process.versions.bun ? `Bun ${process.versions.bun}` : `Node ${process.version}`;

await withSession(branches, (manager, size) => {
  console.log(`${runtime}, ${NODES} nodes in ${size} MiB${" ".repeat(22)}median    worst      cpu`);
  const tree = measure("from a file", manager);
  report("all rows as objects", () => tree.rows());
  report("plan a move across branches", () => manager.prepareTreeNavigation(idOf(NODES >> 1)));
  report("prompts of all branches", () => manager.getBranchCandidates());
  manager.getEntries();
  measure("in memory", manager);
});
await withSession(comb, (manager) => measure("comb", manager));
