/**
 * Takes timers, immediates and the clock away from the process, before or after the package is
 * loaded, and works with a session. Prints what is on disk. Arguments: moment, directory.
 */

const fs = require("node:fs");
const timers = require("node:timers");

const [moment, dir] = process.argv.slice(2);
const NAMES = ["setTimeout", "setInterval", "setImmediate"];

/** From now on nothing that is scheduled ever happens, and time stands still. */
function stopTime() {
  const never = () => {
    throw new Error("A timer was asked for");
  };
  for (const name of NAMES) {
    globalThis[name] = never;
    timers[name] = never;
  }
  const RealDate = Date;
  globalThis.Date = class extends RealDate {
    constructor(...args) {
      super(...(args.length === 0 ? [0] : args));
    }
    static now() {
      return 0;
    }
  };
  performance.now = () => 0;
}

if (moment === "before") {
  stopTime();
}
const { BlobStore, getBlobsDir, getRecentSessions, SessionManager } = require("../../../index.js");
const { assistant, user } = require("./messages.cjs");
if (moment === "after") {
  stopTime();
}

async function main() {
  const manager = SessionManager.create("/w/p", dir);
  manager.appendMessage(user("u1"));
  manager.appendMessage(assistant("a1"));
  await manager.flush();
  manager.appendMessage(user("long ".repeat(50_000)));
  await manager.setSessionName("Name");
  await manager.rewriteEntries();
  manager.appendMessage(user("u2"));
  const { hash } = await new BlobStore(getBlobsDir()).put(Buffer.from("blob"));
  await manager.close();
  const file = manager.getSessionFile();
  const listed = await SessionManager.list("/w/p", dir);
  const recent = await getRecentSessions(dir);
  const opened = await SessionManager.open(file);
  const report = {
    file,
    hash,
    ids: manager.getEntries().map((entry) => entry.id),
    opened: opened.getEntries().map((entry) => entry.id),
    listed: listed.map((session) => [session.path, session.title]),
    recent: recent.map((session) => session.path),
  };
  fs.writeSync(1, `${JSON.stringify(report)}\n`);
}

main();
