/**
 * One task of one store, in a process of its own; prints times in milliseconds as JSON.
 *
 *   event-logs-child.mjs original|PATH_OF_THE_PACKAGE load|list|append ROOT
 */

import { createRequire } from "node:module";

const [which, task, root] = process.argv.slice(2);

async function openOriginal() {
  const { Context } = await import("@deepseek-ai/cordis");
  const { SessionStore } = await import("@deepseek-ai/dsh-session");
  const { JsonlSessionPersistence } = await import("@deepseek-ai/dsh-session-persistence-jsonl");
  const context = new Context();
  await context.plugin(SessionStore);
  await context.plugin(JsonlSessionPersistence, { root });
  return context.sessionPersistence;
}

function openOurs() {
  const { JsonlSessionPersistence } = createRequire(import.meta.url)(which);
  return new JsonlSessionPersistence({ root });
}

/** Longest time in which nothing else could run. */
function watchLoop() {
  let longest = 0;
  let last = performance.now();
  let stopped = false;
  const look = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (!stopped) {
      setImmediate(look);
    }
  };
  setImmediate(look);
  return () => {
    stopped = true;
    look();
    return longest;
  };
}

const event = (seq) => ({ type: "todo/write", seq, time: seq, data: { text: "t".repeat(200) } });

const tasks = {
  load: (store) => store.load("big"),
  list: (store) => store.list(),
  async append(store) {
    await store.create({ version: 0, id: `a${process.pid}`, createdAt: 1 });
    for (let seq = 0; seq < 300; seq += 3) {
      await store.append(`a${process.pid}`, [event(seq), event(seq + 1), event(seq + 2)]);
    }
  },
};

const store = which === "original" ? await openOriginal() : openOurs();
// A first turn of the loop belongs to starting.
await new Promise((resolve) => setTimeout(resolve, 50));
const stopWatching = watchLoop();
const begun = performance.now();
await tasks[task](store);
const time = performance.now() - begun;
console.log(`\n${JSON.stringify({ time, gap: stopWatching() })}`);
process.exit(0);
