/**
 * Runs a session in each of four worker threads and in the main thread at the same time; the
 * workers end in four ways. Prints what was appended where. Argument: directory.
 */

const { join } = require("node:path");
const { isMainThread, parentPort, Worker, workerData } = require("node:worker_threads");
const { SessionManager } = require("../../../index.js");
const { assistant, user } = require("./messages.cjs");

const root = isMainThread ? process.argv[2] : workerData.root;

async function converse() {
  const manager = SessionManager.create("/w/p", join(root, "sessions"));
  manager.appendMessage(user("u1"));
  manager.appendMessage(assistant("a1"));
  await manager.flush();
  for (let n = 0; n < 50; n++) {
    manager.appendMessage(user(`m${n}`));
  }
  const ids = manager.getEntries().map((entry) => entry.id);
  return { manager, ids, file: manager.getSessionFile() };
}

async function work(how) {
  const { manager, ids, file } = await converse();
  parentPort.postMessage({ ids, file, how });
  if (how === "flush" || how === "close") {
    await manager[how]();
  } else if (how === "exit") {
    process.exit(0);
  }
}

async function main() {
  const ways = ["flush", "close", "exit", "natural"];
  const workers = ways.map((how) => {
    const worker = new Worker(__filename, { workerData: { root, how } });
    return new Promise((resolve, reject) => {
      let session;
      worker.on("message", (message) => {
        session = message;
      });
      worker.on("error", reject);
      worker.on("exit", () => resolve(session));
    });
  });
  const { manager, ids, file } = await converse();
  const sessions = await Promise.all(workers);
  await manager.flush();
  console.log(JSON.stringify({ sessions, mainIds: ids, mainFile: file }));
}

if (isMainThread) {
  main();
} else {
  work(workerData.how);
}
