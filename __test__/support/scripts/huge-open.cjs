/**
 * Works with a session file of any size and tells what it cost. Memory is counted in bytes beyond
 * what the process had when the package was loaded and used; the process cannot allocate more than
 * `limit` bytes beyond that. Arguments: session file, limit (0 for none).
 */

const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const { join } = require("node:path");
const { SessionManager } = require("../../../index.js");
const { assistant, user } = require("./messages.cjs");

const [path, limit] = [process.argv[2], Number(process.argv[3])];

const status = (field) =>
  Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(fs.readFileSync("/proc/self/status"))[1]) *
  1024;
const io = (field) =>
  Number(new RegExp(`^${field}: (\\d+)`, "m").exec(fs.readFileSync("/proc/self/io"))[1]);

const steps = {};
let base;

/** Does something; notes peak memory while and since then, bytes read and written, and time. */
async function step(name, work) {
  const before = { read: io("rchar"), written: io("wchar"), time: performance.now() };
  // The peak is counted anew.
  fs.writeFileSync("/proc/self/clear_refs", "5");
  const result = await work();
  steps[name] = {
    ms: Math.round(performance.now() - before.time),
    peak: status("VmHWM") - base,
    read: io("rchar") - before.read,
    written: io("wchar") - before.written,
  };
  return result;
}

/** Everything that the session needs is loaded and has been used once. */
async function warmUp() {
  const manager = SessionManager.create("/w/p", join(path, "..", "small"));
  manager.appendMessage(user("u1"));
  manager.appendMessage(assistant("a1"));
  await manager.setSessionName("Name");
  await manager.close();
  (await SessionManager.open(manager.getSessionFile())).buildSessionContext();
}

async function main() {
  await warmUp();
  base = status("VmRSS");
  if (limit > 0) {
    const data = status("VmData") + limit;
    execFileSync("prlimit", ["--pid", String(process.pid), `--data=${data}:${data}`]);
  }
  const ids = (entries) => entries.map((entry) => entry.id);
  const manager = await step("open", () => SessionManager.open(path));
  const leaf = await step("leaf", () => manager.getLeafEntry().id);
  const branch = await step("branch", () => ids(manager.getBranch()));
  const context = await step("context", () => manager.buildSessionContext().messages.length);
  const usage = await step("usage", () => manager.getUsageStatistics().output);
  const appended = await step("append", async () => {
    const id = manager.appendMessage(user("appended"));
    await manager.flush();
    return id;
  });
  await step("first name", () => manager.setSessionName("First name"));
  await step("second name", () => manager.setSessionName("Second name"));
  const again = manager.appendMessage(assistant("appended"));
  await step("close", () => manager.close());
  const listed = await step("list", () => SessionManager.list("/w/p", join(path, "..")));
  const reopened = await step("reopen", () => SessionManager.open(path));
  const result = {
    base,
    leaf,
    branch,
    context,
    usage,
    report: manager.getLoadReport(),
    listed: listed.map((session) => [session.path, session.title, session.messageCount]),
    appended: [appended, again],
    reopened: ids(reopened.getBranch()),
    name: reopened.getSessionName(),
    entries: reopened.getLoadReport().entries,
    steps,
  };
  fs.writeSync(1, `${JSON.stringify(result)}\n`);
}

main();
