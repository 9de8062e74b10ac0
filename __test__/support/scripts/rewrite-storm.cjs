/**
 * Works on a session that other processes work on too, as long as there is no file `<session>.stop`
 * or until it has appended so many entries; prints the ids of what it appended. Arguments: session
 * file, what to do (`append`, `rewrite`, `rename`), number of entries for `append`.
 */

const { existsSync } = require("node:fs");
const { SessionManager } = require("../../../index.js");
const { assistant, user } = require("./messages.cjs");

const [path, what, count] = [process.argv[2], process.argv[3], Number(process.argv[4])];
const nextTurn = () => new Promise(setImmediate);

/** From 1 to 40 kB, so that some entries are written by other threads. */
const textOf = (n) => "output ".repeat(150 + ((n * 7919) % 5_600));

async function append(manager) {
  const ids = [];
  for (let n = 0; n < count; n++) {
    const text = textOf(n);
    ids.push(manager.appendMessage(n % 3 === 0 ? assistant(text) : user(text)));
    await nextTurn();
    if (n % 20 === 0) {
      await manager.flush();
    }
  }
  return ids;
}

async function repeat(work) {
  let rounds = 0;
  while (!existsSync(`${path}.stop`)) {
    await work(rounds);
    rounds += 1;
    await nextTurn();
  }
  return rounds;
}

async function main() {
  const manager = await SessionManager.open(path);
  let result;
  if (what === "append") {
    result = await append(manager);
  } else if (what === "rewrite") {
    result = await repeat(() => manager.rewriteEntries());
  } else {
    // Longer and longer, so that the header has to grow: up to the limit, then short again.
    result = await repeat((n) =>
      manager.setSessionName(`Name ${"x".repeat((n % 40) * 60)}`, "user"),
    );
  }
  await manager.close();
  console.log(JSON.stringify(result));
}

main();
