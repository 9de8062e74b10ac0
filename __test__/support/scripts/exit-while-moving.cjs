"use strict";

/** Ends the process some turns after a move has begun. Arguments: directory, turns of the event loop. */

const path = require("node:path");

const { SessionManager } = require("../../../index.js");
const { assistant, user } = require("./messages.cjs");

const [dir, turns] = process.argv.slice(2);

async function main() {
  const manager = SessionManager.create(path.join(dir, "from"));
  manager.appendMessage(user("question"));
  manager.appendMessage(assistant("answer"));
  await manager.flush();
  await manager.saveArtifact("output", "bash");
  manager.moveTo(path.join(dir, "to"));
  for (let turn = 0; turn < Number(turns); turn++) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  manager.appendMessage(user("while moving"));
  const ids = manager.getEntries().map((entry) => entry.id);
  process.stdout.write(JSON.stringify({ id: manager.getSessionId(), ids }), () => process.exit(0));
}

main();
