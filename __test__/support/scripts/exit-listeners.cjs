/**
 * Ends a thread whose session is used once more by a listener of the `exit` event. Prints the
 * sessions and the ids that must be in them. Argument: JSON of `{ thread, place, action, root }`.
 */

const fs = require("node:fs");
const { join } = require("node:path");
const { isMainThread, Worker, workerData } = require("node:worker_threads");

const task = isMainThread ? JSON.parse(process.argv[2]) : workerData;
const isHere = isMainThread === (task.thread === "main");
const sessions = [];

function act() {
  actions[task.action]();
  const report = sessions.map((manager) => ({
    file: manager.getSessionFile(),
    ids: manager.getEntries().map((entry) => entry.id),
    name: manager.getSessionName(),
  }));
  fs.writeSync(1, `${JSON.stringify(report)}\n`);
  if (task.place === "nested") {
    process.exit(7);
  }
}

function listenIf(condition) {
  if (condition && isHere) {
    process.on("exit", act);
  }
}

listenIf(task.place === "early");

const { SessionManager } = require("../../../index.js");
const { assistant, user } = require("./messages.cjs");

listenIf(task.place === "idle");

function create() {
  const manager = SessionManager.create("/w/p", join(task.root, "sessions"));
  sessions.push(manager);
  return manager;
}

function appendAnd(method, ...args) {
  return () => {
    sessions[0].appendMessage(user("at the end"));
    sessions[0][method](...args);
  };
}

const actions = {
  append() {
    sessions[0].appendMessage(user("at the end"));
    sessions[0].appendMessage(user("long ".repeat(50_000)));
    sessions[0].appendMessage(assistant("at the end"));
  },
  create() {
    const manager = create();
    manager.appendMessage(user("u1"));
    manager.appendMessage(assistant("a1"));
    manager.appendMessage(user("u2"));
  },
  reply() {
    sessions[1].appendMessage(assistant("a1"));
  },
  flush: appendAnd("flush"),
  close: appendAnd("close"),
  rewriteEntries: appendAnd("rewriteEntries"),
  ensureOnDisk: () => sessions[1].ensureOnDisk(),
  setSessionName: appendAnd("setSessionName", "A name"),
};

async function run() {
  const manager = create();
  manager.appendMessage(user("u1"));
  manager.appendMessage(assistant("a1"));
  await manager.close();
  // Without a reply this one is not on disk yet.
  if (task.action === "reply" || task.action === "ensureOnDisk") {
    create().appendMessage(user("u1"));
  }
  listenIf(task.place === "late" || task.place === "nested");
  setImmediate(() => process.exit(7));
}

if (isHere) {
  run();
} else {
  const worker = new Worker(__filename, { workerData: task });
  worker.on("exit", (code) => process.exit(code));
}
