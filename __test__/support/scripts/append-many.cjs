/**
 * Appends short and long entries to a session that other processes append to as well; prints their
 * ids. Arguments: session file, number of entries.
 */

const { SessionManager } = require("../../../index.js");
const { assistant, user } = require("./messages.cjs");

const [path, count] = [process.argv[2], Number(process.argv[3])];

async function main() {
  const manager = await SessionManager.open(path);
  const ids = [];
  for (let n = 0; n < count; n++) {
    const long = n % 10 === 0;
    ids.push(manager.appendMessage(long ? assistant("output ".repeat(15_000)) : user(`m${n}`)));
    if (n % 3 === 0) {
      await new Promise(setImmediate);
    }
  }
  await manager.close();
  console.log(JSON.stringify(ids));
}

main();
