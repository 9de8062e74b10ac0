/**
 * Starts a session, appends without waiting, and ends the process in the way asked for. Prints
 * the session file and the ids of what was appended before it ends. Arguments: way, directory.
 */

const fs = require("node:fs");
const { join } = require("node:path");
const { SessionManager } = require("../../../index.js");
const { assistant, user } = require("./messages.cjs");

const [way, root] = process.argv.slice(2);
const dir = join(root, "sessions");
const manager = SessionManager.create("/w/p", dir);

function report() {
  const ids = manager.getEntries().map((entry) => entry.id);
  fs.writeSync(1, `${JSON.stringify({ file: manager.getSessionFile(), ids })}\n`);
}

function appendMany() {
  for (let n = 0; n < 100; n++) {
    manager.appendMessage(user(`message ${n} `.repeat(1 + (n % 40))));
  }
  report();
}

const endings = {
  exit: () => process.exit(7),
  throw: () => {
    throw new Error("thrown on purpose");
  },
  rejection: () => {
    Promise.reject(new Error("rejected on purpose"));
  },
  handled: () => {
    process.on("uncaughtException", () => process.exit(9));
    setTimeout(() => {
      throw new Error("thrown on purpose");
    }, 0);
  },
  signal: () => {
    process.on("SIGTERM", () => process.exit(11));
    process.kill(process.pid, "SIGTERM");
    setTimeout(() => {}, 10_000);
  },
  hangup: () => {
    process.on("SIGHUP", () => process.exit(12));
    process.kill(process.pid, "SIGHUP");
    setTimeout(() => {}, 10_000);
  },
  natural: () => {},
};

const kill = () => process.kill(process.pid, "SIGKILL");

async function startOnDisk() {
  manager.appendMessage(user("u1"));
  manager.appendMessage(assistant("a1"));
  await manager.flush();
}

const scenarios = {
  /** The whole session and the end in one tick. */
  async fresh(end) {
    manager.appendMessage(user("u1"));
    manager.appendMessage(assistant("a1"));
    appendMany();
    end();
  },
  /** Appends to a session on disk. */
  async running(end) {
    await startOnDisk();
    appendMany();
    end();
  },
  /** Appends behind a rewrite that has not ended. */
  async rewriting(end) {
    await startOnDisk();
    manager.rewriteEntries().catch(() => {});
    await Promise.resolve();
    appendMany();
    end();
  },
  /** Appends after the session was closed once. */
  async closed(end) {
    await startOnDisk();
    await manager.close();
    appendMany();
    end();
  },
  /** Listing, opening and forking are under way. */
  async reading(end) {
    await startOnDisk();
    SessionManager.list("/w/p", dir);
    SessionManager.open(manager.getSessionFile());
    SessionManager.forkFrom(manager.getSessionFile(), "/w/p", join(root, "forks"));
    appendMany();
    end();
  },
  /** No assistant message and no reason to write. */
  async held(end) {
    manager.appendMessage(user("u1"));
    report();
    end();
  },
  async killUnwritten() {
    manager.appendMessage(user("u1"));
    await manager.flush();
    report();
    kill();
  },
  async killEnsured() {
    await manager.ensureOnDisk();
    manager.appendMessage(user("u1"));
    await manager.flush();
    report();
    kill();
  },
  async killFlushed() {
    manager.appendMessage(user("u1"));
    manager.appendMessage(assistant("a1"));
    appendMany();
    await manager.flush();
    kill();
  },
  async killAtOnce() {
    await startOnDisk();
    appendMany();
    kill();
  },
};

const [scenario, ending] = way.split(":");
scenarios[scenario](endings[ending]);
