/**
 * Rounds in which the main thread and four fresh workers load the addon and work with sessions at
 * the same time; one worker is terminated in the middle of its work. Prints a line of JSON for
 * each session: who wrote it, its file, the ids that must be in it. Arguments: directory, rounds.
 */

const { join } = require("node:path");
const { isMainThread, parentPort, Worker, workerData } = require("node:worker_threads");
const { assistant, user } = require("./messages.cjs");

const SURVIVORS = ["flush", "close", "exit"];
const CWD = "/w/p";

/** Long enough to be written by a thread of the pool. */
const LONG = "some output ".repeat(8000);

const idsOf = (manager) => manager.getEntries().map((entry) => entry.id);

/** The package, loaded by the thread that calls this. */
const load = () => require("../../../index.js");

function start(dir, who) {
  const manager = load().SessionManager.create(CWD, dir);
  manager.appendMessage(user(`question of ${who}`));
  manager.appendMessage(assistant(`answer to ${who}`));
  return manager;
}

/** Short and long entries and an image; other threads store the same image. */
function appendSome(manager, turn) {
  const data = Buffer.alloc(3000, turn % 5).toString("base64");
  manager.appendMessage(user(`short ${turn}`));
  manager.appendMessage(assistant(LONG));
  manager.appendMessage(user([{ type: "image", data, mimeType: "image/png" }]));
}

async function storeBlob(turn) {
  const { BlobStore, getBlobsDir } = load();
  const store = new BlobStore(getBlobsDir());
  const bytes = Buffer.alloc(5000, turn % 3);
  const { hash } = await store.put(bytes);
  if (!bytes.equals(await store.get(hash))) {
    throw new Error(`The blob ${hash} is not what was stored`);
  }
}

async function listOwn(manager, dir) {
  const sessions = await load().SessionManager.list(CWD, dir);
  if (!sessions.some((session) => session.path === manager.getSessionFile())) {
    throw new Error(`${manager.getSessionFile()} is not listed`);
  }
}

/** Everything that a session can go through, and what must be on disk afterwards. */
async function converse(dir, who, ending) {
  const manager = start(dir, who);
  const results = [];
  const report = () =>
    results.push({
      who,
      file: manager.getSessionFile(),
      ids: idsOf(manager),
      name: manager.getSessionName(),
    });
  for (let turn = 0; turn < 3; turn++) {
    appendSome(manager, turn);
    manager.setSessionName(`Turn ${turn} of ${who}`);
    manager.branch(idsOf(manager)[turn]);
    manager.appendMessage(user(`other way ${turn}`));
    await Promise.all([manager.flush(), storeBlob(turn)]);
    await Promise.all([listOwn(manager, dir), turn === 1 && manager.rewriteEntries()]);
  }
  report();
  manager.createBranchedSession(manager.getLeafId());
  appendSome(manager, 3);
  report();
  if (ending !== "exit") {
    await manager[ending]();
  }
  return results;
}

/** Works until the thread is terminated; tells after each flush what must not be lost any more. */
async function converseForEver(dir, who, tell) {
  const manager = start(dir, who);
  for (let turn = 0; ; turn++) {
    appendSome(manager, turn);
    const ids = idsOf(manager);
    await manager.flush();
    tell([{ who, file: manager.getSessionFile(), ids }]);
    manager.setSessionName(`Turn ${turn} of ${who}`);
    manager.rewriteEntries();
    await Promise.all([storeBlob(turn), listOwn(manager, dir)]);
  }
}

/** Starts a worker; gives the last thing that it told when it has ended. */
function run(dir, who) {
  const worker = new Worker(__filename, { workerData: { dir, who } });
  const ended = new Promise((resolve, reject) => {
    let told = [];
    worker.on("message", (results) => {
      told = results;
    });
    worker.on("error", (error) => {
      // Bun 1.3 at times makes an error of null out of `process.exit()` in a worker.
      if (error !== null) {
        reject(error);
      }
    });
    worker.on("exit", () => resolve(told));
  });
  return { worker, ended };
}

/** A worker that is terminated while it loads (0), or when it has told something so many times. */
function runVictim(dir, flushes) {
  const { worker, ended } = run(dir, "victim");
  let left = flushes;
  worker.on(flushes === 0 ? "online" : "message", () => {
    left -= 1;
    if (left <= 0) {
      worker.terminate();
    }
  });
  return ended;
}

async function main(root, rounds) {
  for (let round = 0; round < rounds; round++) {
    const dir = join(root, `round-${round}`);
    const workers = SURVIVORS.map((who) => run(dir, who).ended);
    const victim = runVictim(dir, round % 5);
    const results = await Promise.all([...workers, victim, converse(dir, "main", "flush")]);
    console.log(
      results
        .flat()
        .map((result) => JSON.stringify(result))
        .join("\n"),
    );
  }
}

async function work({ dir, who }) {
  const tell = (results) => parentPort.postMessage(results);
  if (who === "victim") {
    await converseForEver(dir, who, tell);
  }
  tell(await converse(dir, who, who));
  if (who === "exit") {
    process.exit(0);
  }
}

if (isMainThread) {
  main(process.argv[2], Number(process.argv[3]));
} else {
  work(workerData);
}
