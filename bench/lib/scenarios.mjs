/**
 * What is measured. A scenario names its data, and runs one program on it in a process of its own. It
 * gives rows: a name and figures (`time` and `gap` in ms, `growth` in bytes).
 */

import crypto from "node:crypto";
import * as data from "./data.mjs";
import { measure } from "./measure.mjs";

/** Median time of a call that is repeated. */
function repeated(work, times = 21) {
  const all = [];
  for (let at = 0; at < times; at++) {
    const begun = performance.now();
    work();
    all.push(performance.now() - begun);
  }
  return { time: all.sort((a, b) => a - b)[times >> 1] };
}

/** Opening and everything that is read from a session afterwards. */
function opening(file) {
  return {
    data: file,
    async run(peer, { source }) {
      const { value: manager, figures } = await measure(async () => {
        const opened = await peer.open(source);
        opened.buildSessionContext();
        return opened;
      });
      const leaf = manager.getLeafId();
      const rows = {
        "open + context": figures,
        "context again": repeated(() => manager.buildSessionContext()),
        "getBranch, first": repeated(() => manager.getBranch(), 1),
        "getBranch again": repeated(() => manager.getBranch()),
        "getEntry again": repeated(() => manager.getEntry(leaf)),
      };
      await peer.close(manager);
      return rows;
    },
  };
}

/** Opening and asking for everything. */
function everything(file) {
  return {
    data: file,
    async run(peer, { source }) {
      const entries = await measure(async () => {
        const opened = await peer.open(source);
        opened.getEntries();
        return opened;
      });
      const tree = await measure(async () => entries.value.getTree());
      await peer.close(entries.value);
      return { "open + getEntries": entries.figures, "getTree after it": tree.figures };
    },
  };
}

function listing(folder) {
  return {
    data: folder,
    async run(peer, { source }) {
      const first = await measure(() => peer.list(data.cwd, source));
      const again = await measure(() => peer.list(data.cwd, source));
      const text = await measure(async () =>
        again.value.reduce((sum, info) => sum + info.allMessagesText.length, 0),
      );
      return {
        list: first.figures,
        "list again": again.figures,
        "its texts": text.figures,
      };
    },
  };
}

const recents = {
  data: () => data.folder(1_000),
  async run(peer, { source }) {
    if (!peer.recents) {
      return {};
    }
    const first = await measure(() => peer.recents(source));
    const again = await measure(() => peer.recents(source));
    return { recents: first.figures, "recents again": again.figures };
  },
};

/** Appends by turns of the event loop, as a program that streams would make them. */
function appends({ count, pause, message }) {
  return {
    scratch: true,
    async run(peer, { scratch }) {
      const manager = peer.create(data.cwd, scratch);
      manager.appendMessage({ role: "user", content: "begin", timestamp: 1 });
      manager.appendMessage(answer("ready"));
      await peer.flush(manager);
      let onThread = 0;
      const { figures } = await measure(async () => {
        for (let at = 0; at < count; at++) {
          const next = message(at);
          const begun = performance.now();
          manager.appendMessage(next);
          await null;
          onThread += performance.now() - begun;
          if (at % pause === pause - 1) {
            await new Promise((resolve) => setImmediate(resolve));
          }
        }
        await peer.flush(manager);
      });
      await peer.close(manager);
      return { "to flushed": figures, "each, on the JS thread": { time: onThread / count } };
    },
  };
}

function answer(text) {
  return {
    role: "assistant",
    content: [{ type: "text", text }],
    api: "anthropic-messages",
    provider: "anthropic",
    model: "claude-sonnet-4-5",
    usage: {
      input: 1,
      output: 1,
      cacheRead: 0,
      cacheWrite: 0,
      totalTokens: 2,
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
    },
    stopReason: "stop",
    timestamp: 2,
  };
}

const renaming = {
  data: () => data.session(100),
  scratch: true,
  async run(peer, { source, scratch }) {
    const manager = await peer.open(data.copyOf(source, scratch));
    const first = await measure(() => peer.rename(manager, "A new name"));
    const again = await measure(() => peer.rename(manager, "Another name"));
    await peer.close(manager);
    return { rename: first.figures, "rename again": again.figures };
  },
};

const branching = {
  data: () => data.session(100),
  scratch: true,
  async run(peer, { source, scratch }) {
    const manager = await peer.open(data.copyOf(source, scratch));
    const rows = {};
    if (peer.fork) {
      rows.fork = (await measure(() => peer.fork(manager))).figures;
    }
    const leaf = manager.getLeafId();
    const branched = await measure(async () => manager.createBranchedSession(leaf));
    rows.createBranchedSession = branched.figures;
    await peer.close(manager);
    return rows;
  },
};

const image = (at) => ({
  role: "user",
  content: [
    { type: "text", text: `screenshot ${at}` },
    {
      type: "image",
      mimeType: "image/png",
      data: crypto
        .createHash("shake256", { outputLength: 768 << 10 })
        .update(`${at}`)
        .digest("base64"),
    },
  ],
  timestamp: at,
});

/** All scenarios by name. */
export const scenarios = {
  "session of 1 MB": opening(() => data.session(1)),
  "session of 10 MB": opening(() => data.session(10)),
  "session of 100 MB": opening(() => data.session(100)),
  "100 MB without a compaction": opening(() => data.uncompacted(100)),
  "all of 100 MB": everything(() => data.session(100)),
  "1,000 sessions": listing(() => data.folder(1_000)),
  "3,000 sessions of 20 KB": listing(() => data.evenFolder(3_000, 20)),
  "122 sessions of 21 MB": listing(() => data.evenFolder(122, 21 * 1024)),
  "recents of 1,000 sessions": recents,
  "20,000 appends of 2 KB": appends({
    count: 20_000,
    pause: 8,
    message: (at) => answer(`${at} `.padEnd(1_800, "lorem ipsum ")),
  }),
  "200 appends of a 1 MB image": appends({ count: 200, pause: 1, message: image }),
  "rename in 100 MB": renaming,
  "fork and branch of 100 MB": branching,
  "session of 1 GB": opening(() => data.session(1024)),
};

/** Scenarios that take long, run only when they are named. */
export const onDemand = new Set(["122 sessions of 21 MB", "session of 1 GB"]);
