/** A disk without free space, and with so little that an operation runs out of it half-way. */

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";

import {
  BlobStore,
  checkBlobs,
  checkDirectory,
  checkSession,
  makeSession,
  operations,
  SessionManager,
} from "./sessions.mjs";

const PAGE = 4096;
/** Pages that are free when the operation begins. */
const FREE_PAGES = [0, 1, 2, 3, 5, 8, 12, 20, 33];

/** Fills the disk up to some pages. */
function fill(disk, freePages) {
  const file = path.join(disk, "ballast");
  const out = fs.openSync(file, "w");
  const page = Buffer.alloc(PAGE, "b");
  try {
    for (;;) {
      fs.writeSync(out, page);
    }
  } catch (error) {
    assert.equal(error.code, "ENOSPC");
  }
  fs.ftruncateSync(out, Math.max(0, fs.fstatSync(out).size - freePages * PAGE));
  fs.closeSync(out);
}

const empty = (disk) => fs.rmSync(path.join(disk, "ballast"), { force: true });

function clear(disk) {
  for (const name of fs.readdirSync(disk)) {
    fs.rmSync(path.join(disk, name), { recursive: true, force: true });
  }
}

/** The error of a promise, or undefined. */
const errorOf = (promise) =>
  promise.then(
    () => undefined,
    (error) => error,
  );

export function onFullDisk(disk, elsewhere) {
  const cases = [];
  const failures = new Map();
  for (const [name, operation] of Object.entries(operations)) {
    for (const pages of FREE_PAGES) {
      cases.push([
        `${name} with ${pages} free pages`,
        async () => {
          clear(disk);
          const dir = path.join(disk, "sessions");
          const manager = await makeSession(dir);
          fill(disk, pages);
          const error = await errorOf(Promise.resolve(operation(manager)));
          if (error) {
            assert.equal(error.code, "ENOSPC");
            failures.set(name, (failures.get(name) ?? 0) + 1);
          }
          await manager.flush().catch((again) => assert.equal(again.code, "ENOSPC"));
          empty(disk);
          await checkSession(manager);
          await checkDirectory(dir);
          checkBlobs(path.join(disk, "agent", "blobs"));
        },
      ]);
    }
  }
  for (const pages of FREE_PAGES) {
    cases.push([`blobs with ${pages} free pages`, () => blobs(disk, pages)]);
    cases.push([`artifacts with ${pages} free pages`, () => artifacts(disk, pages)]);
    cases.push([`the first flush with ${pages} free pages`, () => firstFlush(disk, pages)]);
    cases.push([`moving there with ${pages} free pages`, () => moving(disk, elsewhere, pages)]);
  }
  cases.push([
    "every operation that needs space met the full disk",
    () => {
      // Writing over a header takes no space; a branch fails at once, before anything is queued.
      const needSpace = Object.keys(operations).filter(
        (name) => name !== "a short title" && name !== "a branch",
      );
      for (const name of needSpace) {
        assert.ok(failures.get(name) > 0, `${name} never failed`);
      }
    },
  ]);
  return cases;
}

async function blobs(disk, pages) {
  clear(disk);
  const dir = path.join(disk, "blobs");
  const store = new BlobStore(dir);
  const data = Buffer.alloc(9 * PAGE, "x");
  fill(disk, pages);
  const error = await errorOf(store.put(data));
  assert.equal(error?.code, pages >= 12 ? undefined : "ENOSPC");
  empty(disk);
  checkBlobs(dir);
  const { hash } = await store.put(data);
  assert.deepEqual(await store.get(hash), data);
  checkBlobs(dir);
}

async function artifacts(disk, pages) {
  clear(disk);
  const manager = await makeSession(path.join(disk, "sessions"));
  fill(disk, pages);
  const content = "x".repeat(9 * PAGE);
  const saving = manager.saveArtifact(content, "bash");
  const error = await errorOf(saving);
  empty(disk);
  const dir = manager.getArtifactsDir();
  // A part of an output must not pass for the whole.
  const sizes = fs.readdirSync(dir).map((name) => fs.statSync(path.join(dir, name)).size);
  assert.deepEqual(sizes.sort(), error ? [6] : [6, content.length].sort());
  assert.equal(error?.code, pages >= 12 ? undefined : "ENOSPC");
  await manager.close();
}

async function firstFlush(disk, pages) {
  clear(disk);
  const dir = path.join(disk, "sessions");
  const manager = SessionManager.create(disk, dir);
  fill(disk, pages);
  manager.appendMessage({ role: "user", content: "q".repeat(5 * PAGE), timestamp: 1 });
  const error = await errorOf(manager.ensureOnDisk());
  assert.equal(error?.code, pages >= 8 ? undefined : "ENOSPC");
  // No file, or a whole one.
  if (error) {
    assert.deepEqual(fs.readdirSync(dir), []);
  }
  empty(disk);
  await checkSession(manager);
}

async function moving(disk, elsewhere, pages) {
  clear(disk);
  const from = path.join(elsewhere, "from");
  fs.rmSync(from, { recursive: true, force: true });
  fs.mkdirSync(path.join(disk, "project"), { recursive: true });
  const target = SessionManager.getDefaultSessionDir(path.join(disk, "project"));
  const manager = await makeSession(from);
  await manager.saveArtifact("y".repeat(6 * PAGE), "bash");
  fill(disk, pages);
  const error = await errorOf(manager.moveTo(path.join(disk, "project")));
  const [here, there] = [fs.readdirSync(from), fs.readdirSync(target)];
  // Both or none, and nothing else.
  const [gone, arrived] = error ? [there, here] : [here, there];
  assert.deepEqual(gone, [], String(error));
  assert.equal(arrived.length, 2);
  if (error) {
    assert.equal(error.code, "ENOSPC");
  }
  assert.ok(pages > 2 || error);
  empty(disk);
  assert.ok(fs.existsSync(await manager.getArtifactPath("1")));
  await checkSession(manager);
}
