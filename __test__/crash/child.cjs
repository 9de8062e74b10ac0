"use strict";

/**
 * Works until it is killed. Arguments: kind of work, directory, seed.
 *
 * Tells on descriptor 3, one JSON array a line, what it is about to do, what it did in memory and what
 * was acknowledged. What was written to the pipe is read by the parent after the kill too.
 */

const fs = require("node:fs");
const path = require("node:path");

const { BlobStore, FileSessionStorage, HistoryStorage, SessionManager } = require("../../index.js");

const [kind, dir, seed] = process.argv.slice(2);
const sessions = path.join(dir, "sessions");

let state = Number(seed) >>> 0;

/** A number from 0 to `below` - 1 (mulberry32: small, and the same in every runtime). */
function random(below) {
  state = (state + 0x6d2b79f5) >>> 0;
  let mixed = Math.imul(state ^ (state >>> 15), state | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
}

function tell(...report) {
  fs.writeSync(3, `${JSON.stringify(report)}\n`);
}

let made = 0;

/** A message whose text begins with a key of its own. */
function message(role, tail = "") {
  made += 1;
  const text = `new${made} ${tail}`;
  return role === "user"
    ? { role, content: text, timestamp: 1 }
    : {
        role,
        content: [{ type: "text", text }],
        api: "a",
        provider: "p",
        model: "m",
        stopReason: "stop",
        timestamp: 1,
      };
}

/** Mostly small texts; some larger than what is written at once, so that batches are queued. */
function tail() {
  const size = [0, 10, 300, 5_000, 30_000, 90_000][random(6)];
  return "x".repeat(size);
}

/** Appends a few messages and tells their keys before anything of them can be written. */
function append(manager, count, makeTail = tail) {
  const keys = [];
  for (let n = 0; n < count; n++) {
    const role = random(2) === 0 ? "user" : "assistant";
    manager.appendMessage(message(role, makeTail()));
    keys.push(`new${made}`);
  }
  tell("added", path.basename(manager.getSessionFile()), keys);
  return keys;
}

async function acknowledge(manager, keys) {
  await manager.flush();
  tell("flushed", path.basename(manager.getSessionFile()), keys);
}

async function appendAndFlush(manager, count, makeTail) {
  await acknowledge(manager, append(manager, count, makeTail));
}

const openPrepared = () => SessionManager.open(path.join(sessions, "prepared.jsonl"));

/** One round of each kind of work; `start` makes what all rounds share. */
const work = {
  append: {
    start: openPrepared,
    async round(manager) {
      if (random(3) === 0) {
        // Flushes that overlap with appends.
        const first = acknowledge(manager, append(manager, 1 + random(20)));
        const second = acknowledge(manager, append(manager, 1 + random(5)));
        await Promise.all([first, second]);
      } else {
        await appendAndFlush(manager, 1 + random(8));
      }
    },
  },

  "first flush": {
    start() {},
    async round() {
      const manager = SessionManager.create(dir, sessions);
      const keys = [];
      for (let n = 0; n < 3; n++) {
        keys.push(...append(manager, 1 + random(4)));
      }
      manager.appendMessage(message("assistant", tail()));
      keys.push(`new${made}`);
      tell("added", path.basename(manager.getSessionFile()), [`new${made}`]);
      await acknowledge(manager, keys);
      await appendAndFlush(manager, 2);
    },
  },

  rewrite: {
    start: openPrepared,
    async round(manager, round) {
      for (const { message: edited } of manager.getEntries()) {
        edited.generation = round;
      }
      tell("rewriting", round);
      await manager.rewriteEntries();
      tell("rewritten", round);
      if (random(2) === 0) {
        manager.appendMessage({ ...message("user"), generation: round });
        tell("added", path.basename(manager.getSessionFile()), [`new${made}`]);
        await acknowledge(manager, [`new${made}`]);
      }
    },
  },

  rename: {
    start: openPrepared,
    async round(manager, round) {
      // Some fit into the padding of the header, some do not, some fill several pages.
      const title = `${round} ${"t".repeat([5, 60, 200, 700, 6_000, 20_000][random(6)])}`;
      tell("renaming", title);
      await manager.setSessionName(title, "user");
      await manager.flush();
      tell("renamed", title);
      await appendAndFlush(manager, 1);
    },
  },

  fork: {
    start: openPrepared,
    async round(manager) {
      const source = path.join(sessions, "source.jsonl");
      const fork = await SessionManager.forkFrom(source, dir, sessions);
      tell("copied", path.basename(fork.getSessionFile()), "source.jsonl");
      append(manager, 1, () => "");
      await manager.fork();
      await manager.flush();
      tell("forked", path.basename(manager.getSessionFile()));
      await appendAndFlush(fork, 2);
      await fork.close();
    },
  },

  branch: {
    start: openPrepared,
    async round(manager) {
      const entries = manager.getBranch();
      const at = 1 + random(entries.length - 1);
      const keys = entries.slice(0, at + 1).map((entry) => keyOf(entry.message));
      tell("branching", keys);
      const file = manager.createBranchedSession(entries[at].id);
      tell("branched", path.basename(file), keys);
      await appendAndFlush(manager, 2, () => "");
      if (random(3) === 0) {
        await manager.setSessionFile(path.join(sessions, "prepared.jsonl"));
      }
    },
  },

  move: {
    async start() {
      return SessionManager.open(
        path.join(SessionManager.getDefaultSessionDir(home(0)), "m.jsonl"),
      );
    },
    async round(manager, round) {
      const moving = manager.moveTo(home(round % 2));
      const meanwhile = append(manager, random(4));
      await moving;
      tell("moved", round % 2);
      await acknowledge(manager, meanwhile);
      await appendAndFlush(manager, 1);
    },
  },

  blob: {
    start: openPrepared,
    async round(manager) {
      const store = new BlobStore(path.join(process.env.PI_CODING_AGENT_DIR, "blobs"));
      const puts = [1, 60_000, 400_000].map(async (size) => {
        const { hash } = await store.put(bytes(size + random(1_000)));
        tell("stored", hash);
      });
      const data = bytes(2_000 + random(200_000)).toString("base64");
      const image = { type: "image", data, mimeType: "image/png" };
      made += 1;
      const content = [{ type: "text", text: `new${made} ` }, image];
      manager.appendMessage({ role: "user", content, timestamp: 1 });
      tell("added", path.basename(manager.getSessionFile()), [`new${made}`]);
      await acknowledge(manager, [`new${made}`]);
      await Promise.all(puts);
    },
  },

  migration: {
    start() {},
    async round(_, round) {
      const file = path.join(sessions, `old${round}.jsonl`);
      if (!fs.existsSync(file)) {
        return;
      }
      const onOpen = random(2) === 0;
      const storage = new FileSessionStorage({ migrateOnOpen: onOpen });
      const manager = await SessionManager.open(file, undefined, storage);
      if (!onOpen) {
        await manager.rewriteEntries();
      }
      tell("migrated", path.basename(file));
      await appendAndFlush(manager, 1);
    },
  },

  folders: {
    start() {},
    round() {
      tell("migrating folders");
      SessionManager.getDefaultSessionDir(home(0));
      tell("migrated folders");
    },
  },

  history: {
    start: () => HistoryStorage.open(path.join(dir, "history.db")),
    async round(history, round) {
      const adds = [];
      for (let n = 0; n <= random(6); n++) {
        const prompt = `prompt ${round}.${n} ${"p".repeat(random(3_000))}`;
        adds.push(history.add(prompt, dir).then(() => tell("remembered", prompt)));
      }
      await Promise.all(adds);
    },
  },
};

function home(n) {
  return path.join(dir, `project${n}`);
}

function keyOf({ content }) {
  const text = typeof content === "string" ? content : content[0].text;
  return text.slice(0, text.indexOf(" "));
}

function bytes(size) {
  const made = Buffer.alloc(size);
  for (let at = 0; at < size; at += 997) {
    made[at] = random(256);
  }
  return made;
}

async function main() {
  const { start, round } = work[kind];
  const shared = await start();
  tell("ready");
  const until = Date.now() + 5_000;
  for (let n = 1; Date.now() < until; n++) {
    await round(shared, n);
  }
}

main().catch((error) => {
  tell("failed", String(error?.stack));
  process.exitCode = 1;
});
