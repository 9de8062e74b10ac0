/**
 * Starts workers, four at a time, that append to a new session and end by `process.exit()` while
 * the first write is under way. Prints the session file and the ids of each as a line of JSON.
 * Arguments: directory, number of workers.
 */

const fs = require("node:fs");
const { isMainThread, Worker, workerData } = require("node:worker_threads");
const { assistant, user } = require("./messages.cjs");

const AT_ONCE = 4;

function run(dir, n) {
  return new Promise((resolve) => {
    const worker = new Worker(__filename, { workerData: { dir, n } });
    // Bun 1.3 at times makes an error of null out of `process.exit()` in a worker.
    worker.on("error", (error) => error !== null && console.error(error));
    worker.on("exit", resolve);
  });
}

async function main(dir, count) {
  for (let n = 0; n < count; n += AT_ONCE) {
    const numbers = Array.from({ length: AT_ONCE }, (_, at) => n + at);
    await Promise.all(numbers.map((number) => run(dir, number)));
  }
}

const moments = [
  (end) => end(),
  (end) => queueMicrotask(end),
  (end) => process.nextTick(end),
  (end) => setImmediate(end),
];

function work({ dir, n }) {
  const { SessionManager } = require("../../../index.js");
  const manager = SessionManager.create("/w/p", dir);
  manager.appendMessage(user("u1"));
  manager.appendMessage(assistant("some output ".repeat(n * 50)));
  const ids = manager.getEntries().map((entry) => entry.id);
  fs.writeSync(1, `${JSON.stringify({ file: manager.getSessionFile(), ids })}\n`);
  moments[Math.floor(n / AT_ONCE) % moments.length](() => process.exit(0));
}

if (isMainThread) {
  main(process.argv[2], Number(process.argv[3]));
} else {
  work(workerData);
}
