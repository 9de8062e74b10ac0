/**
 * Works on a prompt history. The argument is JSON: `file`, `action` and what the action needs. Prints
 * a line of JSON.
 */

const fs = require("node:fs");
const { isMainThread, parentPort, Worker, workerData } = require("node:worker_threads");
const { HistoryStorage, SessionManager } = require("../../../index.js");

const task = isMainThread ? JSON.parse(process.argv[2]) : workerData;
const { file, name = "p", count = 1 } = task;

const print = (value) => fs.writeSync(1, `${JSON.stringify(value)}\n`);

function addMany(history) {
  return Array.from({ length: count }, (_, at) => history.add(`${name} ${at}`, "/cwd"));
}

const endings = {
  exit: () => process.exit(7),
  throw: () => {
    throw new Error("thrown on purpose");
  },
  rejection: () => {
    Promise.reject(new Error("rejected on purpose"));
  },
  natural: () => {},
};

const moments = {
  now: (end) => end(),
  microtask: (end) => queueMicrotask(end),
  tick: (end) => setImmediate(end),
  later: (end) => setTimeout(end, 5),
};

const actions = {
  /** Opens at a moment that all processes agree on, adds one prompt after the other. */
  async add() {
    while (Date.now() < (task.at ?? 0));
    const history = HistoryStorage.open(file);
    for (let at = 0; at < count; at++) {
      await history.add(`${name} ${at}`);
      // A repetition, which is not stored.
      await history.add(` ${name} ${at}\n`);
    }
    print({ rows: history.getRecent(1000).length });
  },
  /** Ends while prompts are being written. */
  end() {
    const history = HistoryStorage.open(file);
    addMany(history);
    moments[task.moment](endings[task.ending]);
  },
  /** Adds from a listener of the end. */
  listener() {
    const add = () => addMany(HistoryStorage.open(file));
    if (task.early) {
      HistoryStorage.open(file);
      process.once("exit", add);
    } else {
      process.once("exit", add);
      HistoryStorage.open(file).add("first");
    }
    process.exit(7);
  },
  /** Adds from several threads at once. */
  async threads() {
    const { threads, ...rest } = task;
    const ended = Array.from({ length: threads }, (_, at) => {
      const workerData = { ...rest, action: "thread", name: `thread ${at}`, leave: at % 2 === 0 };
      const worker = new Worker(__filename, { workerData });
      return new Promise((resolve, reject) => worker.on("error", reject).on("exit", resolve));
    });
    await Promise.all([...addMany(HistoryStorage.open(file)), ...ended]);
    print({ rows: HistoryStorage.open(file).getRecent(1000).length });
  },
  async thread() {
    const added = addMany(HistoryStorage.open(file));
    if (task.leave) {
      process.exit(0);
    }
    await Promise.all(added);
    parentPort.close();
  },
  /** A database that cannot be used, and the rest of the package. */
  async broken() {
    let code;
    try {
      HistoryStorage.open(file);
    } catch (error) {
      code = error.code;
    }
    const manager = SessionManager.create("/w/p", task.sessions);
    await manager.ensureOnDisk();
    print({ code, session: fs.existsSync(manager.getSessionFile()) });
  },
};

actions[task.action]();
