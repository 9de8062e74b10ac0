/** Sessions that meet a fault, what is done with them meanwhile, and what must hold afterwards. */

import assert from "node:assert/strict";
import crypto from "node:crypto";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

export const { BlobStore, SessionManager } = createRequire(import.meta.url)("../../index.js");

export const user = (text) => ({ role: "user", content: text, timestamp: 1 });

export function assistant(text) {
  const content = [{ type: "text", text }];
  return { role: "assistant", content, api: "a", provider: "p", model: "m", timestamp: 1 };
}

/** A session on disk with an artifact. */
export async function makeSession(dir, cwd = dir) {
  const manager = SessionManager.create(cwd, dir);
  manager.appendMessage(user("question"));
  manager.appendMessage(assistant("answer ".repeat(100)));
  await manager.flush();
  await manager.saveArtifact("output", "bash");
  return manager;
}

const image = () => ({
  type: "image",
  data: crypto.randomBytes(30_000).toString("base64"),
  mimeType: "image/png",
});

/**
 * What can be asked of a session while there is a fault. May reject; what it adds to the session must
 * be on disk in the end.
 */
export const operations = {
  "small appends": async (manager) => {
    for (let n = 0; n < 12; n++) {
      attempt(() => manager.appendMessage(user(`small ${n} ${"s".repeat(900)}`)));
      await manager.flush().catch(() => {});
    }
    await manager.flush();
  },
  "a large append": async (manager) => {
    attempt(() => manager.appendMessage(user("large ".repeat(20_000))));
    attempt(() => manager.appendMessage(user("behind it")));
    await manager.flush();
  },
  "an image": async (manager) => {
    attempt(() => manager.appendMessage({ ...user(""), content: [image()] }));
    await manager.flush();
  },
  "a rewrite": (manager) => {
    manager.getEntries()[0].message.content = "edited question";
    return manager.rewriteEntries();
  },
  "a short title": (manager) => manager.setSessionName("T", "user"),
  "a long title": (manager) => manager.setSessionName("t".repeat(3_000), "user"),
  "a fork": async (manager) => {
    await manager.fork();
    await manager.flush();
  },
  "a branch": async (manager) => {
    attempt(() => manager.createBranchedSession(manager.getLeafId()));
    await manager.flush();
  },
  closing: async (manager) => {
    attempt(() => manager.appendMessage(user("last ".repeat(1_500))));
    await manager.close();
    // Without a descriptor `close` says nothing of errors.
    await manager.flush();
  },
};

/** Appends throw when an earlier error has not been told; the entry is added all the same. */
function attempt(action) {
  try {
    action();
  } catch (error) {
    assert.ok(error.code, `${error.stack}`);
  }
}

function keyOf({ message }) {
  return JSON.stringify(message.content).slice(0, 40);
}

/** Everything that the manager holds is in its file, once, in order; every line is whole. */
export async function checkSession(manager) {
  await manager.flush();
  checkFile(manager.getSessionFile(), manager.getEntries());
  // The session goes on as if nothing had happened.
  manager.appendMessage(user("afterwards"));
  await manager.flush();
  checkFile(manager.getSessionFile(), manager.getEntries());
  const reopened = await SessionManager.open(manager.getSessionFile());
  assert.equal(reopened.getLoadReport().skippedLines, 0);
  const entries = manager.getEntries().map(({ id }) => id);
  assert.deepEqual(
    reopened.getEntries().map(({ id }) => id),
    entries,
  );
  // Images come back from their blobs.
  assert.deepEqual(reopened.getEntries().map(keyOf), manager.getEntries().map(keyOf));
  await reopened.close();
  await manager.close();
}

function checkFile(file, entries) {
  const text = fs.readFileSync(file, "utf8");
  assert.ok(text.endsWith("\n"));
  const [header, ...records] = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.equal(header.type, "session");
  assert.deepEqual(
    records.map(({ id, parentId }) => [id, parentId]),
    entries.map(({ id, parentId }) => [id, parentId]),
  );
}

/** Every session in a directory opens without losses, and no temporary file is left. */
export async function checkDirectory(dir) {
  for (const name of fs.readdirSync(dir)) {
    assert.doesNotMatch(name, /\.tmp$/);
    if (name.endsWith(".jsonl")) {
      const manager = await SessionManager.open(path.join(dir, name));
      assert.equal(manager.getLoadReport().skippedLines, 0);
      assert.ok(manager.getEntries().length >= 2, `${name} is not whole`);
      await manager.close();
    }
  }
}

/** Blobs have the content that their name says, or are not there. */
export function checkBlobs(dir) {
  for (const name of fs.existsSync(dir) ? fs.readdirSync(dir) : []) {
    const content = fs.readFileSync(path.join(dir, name));
    assert.equal(crypto.createHash("sha256").update(content).digest("hex"), name);
  }
}
