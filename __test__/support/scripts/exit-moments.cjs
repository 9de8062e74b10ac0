/**
 * Appends to a session, edits what was appended in the same tick, and ends the thread it runs in
 * some time later. Prints the session file and the ids that must be in it. Argument: JSON of
 * `{ thread, state, moment, ending, root }`.
 */

const fs = require("node:fs");
const { join } = require("node:path");
const { isMainThread, Worker, workerData } = require("node:worker_threads");
const { FileSessionStorage, SessionManager } = require("../../../index.js");
const { assistant, user } = require("./messages.cjs");

const task = isMainThread ? JSON.parse(process.argv[2]) : workerData;

/** A storage of the caller's own: the manager has to call it. */
class OwnStorage extends FileSessionStorage {
  openWriter(...args) {
    return super.openWriter(...args);
  }
}

const storage = task.state.startsWith("own") ? new OwnStorage() : undefined;
const manager = SessionManager.create("/w/p", join(task.root, "sessions"), storage);

/** Appends a message that gets its real text only after the call. */
function append(make, text) {
  const message = make("before");
  manager.appendMessage(message);
  if (typeof message.content === "string") {
    message.content = text;
  } else {
    message.content[0].text = text;
  }
}

async function startOnDisk(messages, text) {
  append(user, "after");
  append(assistant, "after");
  for (let n = 0; n < messages; n++) {
    append(n % 2 === 0 ? user : assistant, text);
  }
  await manager.flush();
}

/** Enough for a write that takes a few milliseconds. */
const LONG = "after".repeat(4000);

const states = {
  /** Nothing is on disk; the first write is a long one. */
  async first() {
    append(user, "after");
    append(assistant, "after");
    for (let n = 0; n < 200; n++) {
      append(user, LONG);
    }
  },
  /** One short entry for a session on disk. */
  async small() {
    await startOnDisk(0);
    append(user, "after");
  },
  /** One entry for each of several appends that are too long to be written at once. */
  async big() {
    await startOnDisk(0);
    append(user, "after".repeat(60_000));
    await Promise.resolve();
    append(assistant, "after".repeat(60_000));
    append(user, "after");
  },
  /** An entry whose image is stored beside the session. */
  async image() {
    await startOnDisk(0);
    const data = Buffer.alloc(60_000, task.moment).toString("base64");
    append(
      () =>
        user([
          { type: "text", text: "before" },
          { type: "image", data, mimeType: "image/png" },
        ]),
      "after",
    );
    append(user, "after");
  },
  /** Entries appended in front of and behind the start of a rewrite. */
  async rewrite() {
    await startOnDisk(200, LONG);
    append(user, "after");
    manager.rewriteEntries().catch(() => {});
    append(user, "after");
    await Promise.resolve();
    append(assistant, "after");
  },
  /** A new name is on its way into the header. */
  async rename() {
    await startOnDisk(20, LONG);
    manager.setSessionName("A name").catch(() => {});
    append(user, "after");
  },
  /** The first write goes through a storage of the caller's own. */
  async ownFirst() {
    append(user, "after");
    append(assistant, "after");
    await Promise.resolve();
    append(user, LONG);
  },
  /** Appends go through a storage of the caller's own. */
  async ownAppends() {
    await startOnDisk(0);
    append(user, LONG);
    await Promise.resolve();
    append(assistant, LONG);
    await new Promise(setImmediate);
    append(user, "after");
  },
  /** The session is being closed. */
  async close() {
    await startOnDisk(0);
    append(user, "after".repeat(60_000));
    manager.close();
    append(user, "after");
  },
};

const moments = {
  now: (end) => end(),
  microtask: (end) => queueMicrotask(end),
  tick: (end) => setImmediate(end),
  later: (end) => setTimeout(end, 20),
};

const endings = {
  exit: () => process.exit(7),
  throw: () => {
    throw new Error("thrown on purpose");
  },
  rejection: () => {
    Promise.reject(new Error("rejected on purpose"));
  },
  signal: () => process.kill(process.pid, "SIGTERM"),
};

async function run() {
  if (task.ending === "signal") {
    process.on("SIGTERM", () => process.exit(11));
    setTimeout(() => {}, 10_000);
  }
  await states[task.state]();
  const ids = manager.getEntries().map((entry) => entry.id);
  fs.writeSync(1, `${JSON.stringify({ file: manager.getSessionFile(), ids })}\n`);
  moments[task.moment](endings[task.ending]);
}

if (isMainThread && task.thread === "worker") {
  const worker = new Worker(__filename, { workerData: task });
  worker.on("error", () => {});
  worker.on("exit", (code) => fs.writeSync(1, `${JSON.stringify({ workerCode: code })}\n`));
} else {
  run();
}
