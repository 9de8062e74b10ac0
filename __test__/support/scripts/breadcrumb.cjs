/**
 * Does one thing that must leave this terminal's breadcrumb at a new session file, waits for the
 * breadcrumb, and tells which session is continued. Arguments: action, working directory.
 */

const { existsSync, mkdirSync, readFileSync } = require("node:fs");
const { join } = require("node:path");
const { SessionManager } = require("../../../index.js");
const { assistant, user } = require("./messages.cjs");

const [action, root] = process.argv.slice(2);
const breadcrumb = join(process.env.PI_CODING_AGENT_DIR, "terminal-sessions", "tmux-%7");

async function startSession() {
  const manager = SessionManager.create(root, join(root, "sessions"));
  manager.appendMessage(user("u1"));
  manager.appendMessage(assistant("a1"));
  await manager.flush();
  return manager;
}

const actions = {
  async fork() {
    const manager = await startSession();
    await manager.fork();
    return manager;
  },
  async branch() {
    const manager = await startSession();
    manager.createBranchedSession(manager.getLeafId());
    return manager;
  },
  async openMissing() {
    return SessionManager.open(join(root, "explicit", "new.jsonl"));
  },
  async switchMany() {
    const manager = await startSession();
    for (let n = 0; n < 20; n++) {
      await manager.newSession();
    }
    manager.createBranchedSession(manager.appendMessage(user("x")));
    return manager;
  },
};

async function main() {
  const manager = await actions[action]();
  const expected = `${manager.getCwd()}\n${manager.getSessionFile()}\n`;
  const end = Date.now() + 3000;
  const read = () => (existsSync(breadcrumb) ? readFileSync(breadcrumb, "utf8") : "");
  while (read() !== expected && Date.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const settled = read();
  await new Promise((resolve) => setTimeout(resolve, 50));
  const empty = join(root, "empty");
  mkdirSync(empty);
  const continued = await SessionManager.continueRecent(manager.getCwd(), empty);
  console.log(
    JSON.stringify({
      expected,
      settled,
      file: manager.getSessionFile(),
      continued: continued.getSessionFile(),
    }),
  );
}

main();
