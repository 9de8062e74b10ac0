/**
 * Opens a session with a line that no engine can hold, and goes on with it. Prints what was there,
 * and the peak memory of opening beyond what the process had before. Argument: session file.
 */

const fs = require("node:fs");
const { dirname } = require("node:path");
const { loadEntriesFromFile, SessionManager } = require("../../../index.js");
const { assistant, user } = require("./messages.cjs");

const path = process.argv[2];
const memory = (field) =>
  Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(fs.readFileSync("/proc/self/status"))[1]) *
  1024;
const ids = (entries) => entries.map((entry) => entry.id);

async function main() {
  const before = memory("VmRSS");
  const manager = await SessionManager.open(path);
  const peak = memory("VmHWM") - before;
  const opened = {
    report: manager.getLoadReport(),
    entries: ids(manager.getEntries()),
    context: manager.buildSessionContext().messages.length,
    loaded: ids(await loadEntriesFromFile(path)),
    listed: (await SessionManager.list("/w/p", dirname(path))).map((one) => one.messageCount),
  };
  manager.appendMessage(user("more"));
  manager.appendMessage(assistant("more"));
  await manager.flush();
  await manager.rewriteEntries();
  await manager.close();
  const reopened = await SessionManager.open(path);
  fs.writeSync(
    1,
    `${JSON.stringify({
      peak,
      opened,
      kept: ids(manager.getEntries()),
      reopened: ids(reopened.getEntries()),
      report: reopened.getLoadReport(),
    })}\n`,
  );
}

main();
