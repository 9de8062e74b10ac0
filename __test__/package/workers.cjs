"use strict";

// Four workers load the addon at the same moment as the main thread and each keeps a session file.

const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { Worker, isMainThread, parentPort, workerData } = require("node:worker_threads");

const WORKERS = 4;
const TURNS = 25;

async function keepSession(dir) {
  const { SessionManager } = require("session-manager-native");
  const manager = SessionManager.create(dir, dir);
  for (let turn = 0; turn < TURNS; turn++) {
    manager.appendMessage({ role: "user", content: `question ${turn}`, timestamp: turn });
    manager.appendMessage({
      role: "assistant",
      content: [{ type: "text", text: `answer ${turn}` }],
      provider: "p",
      model: "m",
      usage: {
        input: 1,
        output: 1,
        cacheRead: 0,
        cacheWrite: 0,
        totalTokens: 2,
        cost: { total: 0 },
      },
      stopReason: "stop",
      timestamp: turn,
    });
  }
  await manager.flush();
  const lines = fs.readFileSync(manager.getSessionFile(), "utf8").trim().split("\n");
  await manager.close();
  return lines.length;
}

function runWorker(dir) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(__filename, { workerData: { dir } });
    worker.on("message", resolve);
    worker.on("error", reject);
    worker.on("exit", (code) => reject(new Error(`a worker ended early with code ${code}`)));
  });
}

async function main() {
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "session-workers-"));
  process.env.PI_CODING_AGENT_DIR = path.join(scratch, "agent");
  const dirs = Array.from({ length: WORKERS + 1 }, (_, index) => path.join(scratch, `${index}`));
  for (const dir of dirs) {
    fs.mkdirSync(dir);
  }
  const [own, ...others] = dirs;
  const lines = await Promise.all([...others.map(runWorker), keepSession(own)]);
  fs.rmSync(scratch, { recursive: true, force: true });
  console.log(JSON.stringify({ lines, expected: 1 + 2 * TURNS }));
}

if (isMainThread) {
  main();
} else {
  keepSession(workerData.dir).then((lines) => parentPort.postMessage(lines));
}
