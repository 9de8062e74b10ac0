/**
 * Makes the disk fail under an open session, goes on, mends the disk, and tells what happened at
 * each step. Arguments: fault, phase in which it strikes, the operation that comes first after
 * the mending, directory.
 */

const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const { join } = require("node:path");
const { SessionManager } = require("../../../index.js");
const { assistant, user } = require("./messages.cjs");

const [fault, phase, firstAfter, root] = process.argv.slice(2);
const dir = join(root, "disk", "sessions");
const unhandled = [];
process.on("unhandledRejection", (reason) => unhandled.push(String(reason)));

const filler = join(root, "disk", "filler");
const aside = join(root, "disk", "aside");
const limitFileSize = (limit) =>
  execFileSync("prlimit", ["--pid", String(process.pid), `--fsize=${limit}:unlimited`]);

/** Fills the disk up to less than a page. */
function fillDisk() {
  const fd = fs.openSync(filler, "w");
  for (let size = 1 << 16; size >= 1; size >>= 1) {
    try {
      while (fs.writeSync(fd, Buffer.alloc(size)) === size) {}
    } catch (error) {
      if (error.code !== "ENOSPC") {
        throw error;
      }
    }
  }
  fs.closeSync(fd);
}

const faults = {
  full: {
    prepare() {
      fs.mkdirSync(join(root, "disk"));
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=256k", "tmpfs", join(root, "disk")]);
    },
    strike: fillDisk,
    mend: () => fs.rmSync(filler),
  },
  readOnly: {
    prepare: () => faults.full.prepare(),
    strike: () => execFileSync("mount", ["-o", "remount,ro", join(root, "disk")]),
    mend: () => execFileSync("mount", ["-o", "remount,rw", join(root, "disk")]),
  },
  sizeLimit: {
    prepare() {},
    strike: (file) =>
      limitFileSize(
        phase === "rewrite" || !fs.existsSync(file) ? 300 : fs.statSync(file).size + 2000,
      ),
    mend: () => limitFileSize("unlimited"),
  },
  directoryIsFile: {
    prepare() {},
    strike() {
      fs.renameSync(dir, aside);
      fs.writeFileSync(dir, "in the way");
    },
    mend() {
      fs.rmSync(dir);
      fs.renameSync(aside, dir);
    },
  },
};

/** `{ value }` or `{ error }` of a promise, `{ hung: true }` when it does not settle. */
async function outcome(promise) {
  let timer;
  const limit = new Promise((resolve) => {
    timer = setTimeout(() => resolve({ hung: true }), 5000);
  });
  const settled = promise.then(
    (value) => ({ value }),
    (error) => ({ error: error.code ?? String(error), isError: error instanceof Error }),
  );
  const result = await Promise.race([settled, limit]);
  clearTimeout(timer);
  return result;
}

function attempt(call) {
  try {
    return { value: call() };
  } catch (error) {
    return { error: error.code ?? String(error), isError: error instanceof Error };
  }
}

/** True when the file is a sequence of whole records; a missing file counts as one. */
function holdsWholeRecords(file) {
  const text = fs.existsSync(file) ? fs.readFileSync(file, "utf8") : "";
  const lines = text.split("\n");
  return lines.pop() === "" && lines.every((line) => !attempt(() => JSON.parse(line)).error);
}

function idsOnDisk(file) {
  const lines = fs.readFileSync(file, "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line)).map((record) => record.id);
}

async function start() {
  const manager = SessionManager.create("/w/p", dir);
  manager.appendMessage(user("u1"));
  if (phase !== "firstWrite") {
    manager.appendMessage(assistant("a1"));
    await manager.flush();
  }
  if (phase === "appendAfterClose") {
    await manager.close();
  }
  return manager;
}

async function strikeAt(manager, steps) {
  if (phase === "firstWrite") {
    manager.appendMessage(assistant("a1".repeat(1000)));
  } else if (phase === "rewrite") {
    steps.rewrite = await outcome(manager.rewriteEntries());
  }
  for (let n = 0; n < 5; n++) {
    // From the second of these on the failure may be known already.
    attempt(() => manager.appendMessage(user(`${n} `.repeat(2000))));
    await new Promise((resolve) => setImmediate(resolve));
  }
  steps.flush = await outcome(manager.flush());
}

async function main() {
  const { prepare, strike, mend } = faults[fault];
  prepare();
  const manager = await start();
  const file = manager.getSessionFile();
  const steps = {};
  strike(file);
  await strikeAt(manager, steps);

  const before = manager.getEntries().length;
  steps.append = attempt(() => manager.appendMessage(user("while broken")));
  steps.keptInMemory = manager.getEntries().length === before + 1;
  steps.isLeaf = manager.getLeafEntry().message.content === "while broken";
  steps.close = await outcome(manager.close());
  steps.closeAgain = await outcome(manager.close());

  mend();
  steps.wholeRecords = holdsWholeRecords(file);
  if (firstAfter === "append") {
    attempt(() => manager.appendMessage(user("first after")));
    const ids = () => [manager.getSessionId(), ...manager.getEntries().map((entry) => entry.id)];
    const done = () => attempt(() => String(idsOnDisk(file)) === String(ids())).value;
    for (let n = 0; n < 400 && !done(); n++) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    // On disk a little before the operation has been answered: the directory is synced last.
    await new Promise((resolve) => setTimeout(resolve, 100));
    steps.afterMending = { value: done() };
    // The disk shows the success before the manager hears of it.
    await new Promise((resolve) => setTimeout(resolve, 100));
  } else {
    steps.afterMending = await outcome(manager[firstAfter]());
  }
  steps.afterMendingOnDisk = attempt(() => idsOnDisk(file));
  steps.inMemory = [manager.getSessionId(), ...manager.getEntries().map((entry) => entry.id)];

  steps.laterAppend = attempt(() => manager.appendMessage(user("later")));
  steps.laterFlush = await outcome(manager.flush());
  steps.lastClose = await outcome(manager.close());
  steps.finalOnDisk = idsOnDisk(file);
  steps.finalInMemory = [manager.getSessionId(), ...manager.getEntries().map((entry) => entry.id)];
  steps.names = fs.readdirSync(dir);
  const again = await SessionManager.open(file);
  steps.contextLength = again.buildSessionContext().messages.length;
  await new Promise((resolve) => setTimeout(resolve, 20));
  console.log(JSON.stringify({ ...steps, unhandled }));
}

main();
