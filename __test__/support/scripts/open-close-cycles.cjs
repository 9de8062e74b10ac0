/**
 * Opens, reads and closes a session again and again; prints by how many bytes the process grew
 * after the first quarter of the cycles. Arguments: session file, number of cycles.
 */

const { statSync } = require("node:fs");
const v8 = require("node:v8");
const vm = require("node:vm");
const { SessionManager } = require("../../../index.js");

const [path, cycles] = [process.argv[2], Number(process.argv[3])];

function collector() {
  if (globalThis.Bun) {
    return () => globalThis.Bun.gc(true);
  }
  v8.setFlagsFromString("--expose-gc");
  return vm.runInNewContext("gc");
}

async function main() {
  const collect = collector();
  let first = 0;
  for (let n = 1; n <= cycles; n++) {
    const manager = await SessionManager.open(path);
    if (manager.buildSessionContext().messages.length !== manager.getEntries().length) {
      throw new Error("The context is not complete");
    }
    await manager.close();
    collect();
    await new Promise((resolve) => setImmediate(resolve));
    if (n === Math.floor(cycles / 4)) {
      first = process.memoryUsage().rss;
    }
  }
  const growth = process.memoryUsage().rss - first;
  console.log(JSON.stringify({ growth, size: statSync(path).size }));
}

main();
