/**
 * Lets the original do something with a store; copied to where it is installed.
 *
 *   original.mjs write|read|load ROOT COMPRESSION
 *
 * "write" stores all sessions; "read" prints what is listed and stored; "load" opens every session,
 * which repairs it, adds an open turn, and prints what was there before.
 */

import { Context } from "@deepseek-ai/cordis";
import { SessionStore } from "@deepseek-ai/dsh-session";
import { JsonlSessionPersistence } from "@deepseek-ai/dsh-session-persistence-jsonl";
import { openTurn, SESSIONS } from "./sessions.mjs";

const [what, root, compression] = process.argv.slice(2);
const context = new Context();
await context.plugin(SessionStore);
await context.plugin(JsonlSessionPersistence, { root, compression });
const store = context.sessionPersistence;

const actions = {
  async write() {
    for (const { meta, batches } of SESSIONS) {
      await store.create(meta);
      for (const batch of batches) {
        await store.append(meta.id, batch);
      }
    }
  },
  async read() {
    const listed = await store.list();
    const read = [];
    for (const { id } of listed) {
      read.push(await store.readFrom(id, 0));
    }
    return { listed, read };
  },
  async load() {
    const loaded = [];
    for (const { meta } of SESSIONS) {
      const { events } = await store.load(meta.id);
      await store.append(meta.id, openTurn(events.length));
      loaded.push({ id: meta.id, events });
    }
    return loaded;
  },
};

const result = await actions[what]();
await context.fiber.dispose();
console.log(`\n${JSON.stringify(result ?? null)}`);
