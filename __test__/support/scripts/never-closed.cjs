/**
 * Opens a session again and again, forgets it each time without closing it, and never asks the engine
 * to collect; prints by how many bytes the process grew at its largest. Arguments: session file, number
 * of times.
 */

const { SessionManager } = require("../../../index.js");

const [path, times] = [process.argv[2], Number(process.argv[3])];

async function main() {
  const { rss } = process.memoryUsage();
  let largest = rss;
  for (let n = 0; n < times; n++) {
    const manager = await SessionManager.open(path);
    if (manager.getLeafId() === null) {
      throw new Error("The session is empty");
    }
    largest = Math.max(largest, process.memoryUsage().rss);
  }
  console.log(JSON.stringify({ growth: largest - rss }));
}

main();
