/**
 * Event logs written here are read, repaired and continued by the original, and the reverse.
 *
 *   node __test__/interop/run.mjs
 *
 * The original is installed from npm into `.cache` and runs in Bun, because it needs Zstandard in the
 * runtime. Ends with "N passed, N failed" and exit code 1 when anything failed.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { runtimes } from "../../scripts/lib.mjs";
import { home, install } from "./install.mjs";
import { openTurn, SESSIONS } from "./sessions.mjs";

const { JsonlSessionPersistence } = createRequire(import.meta.url)("../../index.js");
const counts = { passed: 0, failed: 0 };

function original(what, store, compression) {
  const args = [path.join(home, "original.mjs"), what, store, compression];
  const output = execFileSync(runtimes.bun.program, args, {
    cwd: home,
    encoding: "utf8",
    maxBuffer: 1 << 28,
  });
  return JSON.parse(output.trimEnd().split("\n").at(-1));
}

async function check(title, body) {
  try {
    await body();
    counts.passed += 1;
    console.log(`  ok      ${title}`);
  } catch (error) {
    counts.failed += 1;
    console.log(`  FAILED  ${title}\n${String(error?.stack ?? error).slice(0, 4000)}`);
  }
}

const text = (value) => JSON.stringify(value);
const eventsOf = ({ batches }) => batches.flat();
const byId = (left, right) => (left.id < right.id ? -1 : 1);
const headers = SESSIONS.map(({ meta }) => ({ delegationDepth: 0, ...meta })).sort(byId);

/** What is stored must be what was written, after that `more` events of each session. */
function assertStored({ listed, read }, more = () => []) {
  assert.deepEqual(listed.sort(byId), headers);
  for (const session of SESSIONS) {
    const { events } = read.find(({ meta }) => meta.id === session.meta.id);
    const written = eventsOf(session);
    assert.equal(text(events), text([...written, ...more(written.length)]));
  }
}

async function readHere(logs) {
  const listed = await logs.list();
  const read = await Promise.all(listed.map(({ id }) => logs.readFrom(id, 0)));
  return { listed, read };
}

async function writeHere(logs) {
  for (const { meta, batches } of SESSIONS) {
    await logs.create(meta);
    for (const batch of batches) {
      await logs.append(meta.id, batch);
    }
  }
}

/** Leaves a torn tail behind every log. */
function tear(logs, compression) {
  const bytes = compression === "zstd" ? Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x24]) : '{"type":';
  for (const { meta } of SESSIONS) {
    fs.appendFileSync(logs.locate(meta).path, bytes);
  }
}

const closed = (first) => {
  const [start, step] = openTurn(first);
  const end = (type, seq, data) => ({ type, seq, time: step.time, data });
  return [
    start,
    step,
    end("step/end", first + 2, { turn: 99, step: 1 }),
    end("turn/end", first + 3, { turn: 99, reason: { kind: "interrupted" } }),
  ];
};

async function compare(compression, base) {
  const open = (store) => new JsonlSessionPersistence({ root: store, compression });
  const [ours, theirs] = ["ours", "theirs"].map((name) => path.join(base, compression, name));
  const title = (what) => `${compression}: ${what}`;
  const logs = open(ours);
  await writeHere(logs);
  original("write", theirs, compression);

  await check(title("the original reads what was written here"), () => {
    assertStored(original("read", ours, compression));
  });
  await check(title("what the original wrote is read here"), async () => {
    assertStored(await readHere(open(theirs)));
  });
  await check(title("the texts of the logs are the same"), async () => {
    for (const { meta } of SESSIONS) {
      const [one, other] = [logs, open(theirs)].map((store) => store.readRaw(meta.id));
      assert.equal((await one).content, (await other).content);
    }
  });
  if (compression === "none") {
    await check(title("the files are the same, byte for byte"), () => {
      for (const { meta } of SESSIONS) {
        const { path: file } = logs.locate(meta);
        const other = path.join(theirs, path.relative(ours, file));
        assert.ok(fs.readFileSync(file).equals(fs.readFileSync(other)));
      }
    });
  }
  await check(title("the original repairs and continues logs of here"), async () => {
    tear(logs, compression);
    original("load", ours, compression);
    assertStored(await readHere(open(ours)), openTurn);
  });
  await check(title("logs of the original are repaired and continued here"), async () => {
    const later = open(theirs);
    tear(later, compression);
    for (const session of SESSIONS) {
      const { events } = await later.load(session.meta.id);
      await later.append(session.meta.id, openTurn(events.length));
    }
    assertStored(original("read", theirs, compression), openTurn);
  });
  await check(title("both close an interrupted turn in the same way"), async () => {
    for (const { meta } of SESSIONS) {
      await open(theirs).load(meta.id);
    }
    assertStored(original("read", theirs, compression), closed);
    const loaded = original("load", ours, compression);
    for (const session of SESSIONS) {
      const { events } = loaded.find(({ id }) => id === session.meta.id);
      const written = eventsOf(session);
      assert.equal(text(events), text([...written, ...closed(written.length)]));
    }
  });
}

install("original.mjs", "sessions.mjs");
const base = fs.mkdtempSync(path.join(os.tmpdir(), "event-logs-"));
try {
  for (const compression of ["zstd", "none"]) {
    await compare(compression, base);
  }
} finally {
  fs.rmSync(base, { recursive: true, force: true });
}
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exit(counts.failed === 0 ? 0 : 1);
