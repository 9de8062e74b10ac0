import fs from "node:fs";
import path from "node:path";
import { Worker } from "node:worker_threads";
import { afterEach, describe, expect, it } from "vitest";
import { type SessionInfo, SessionManager, searchSessions, setLogger } from "../index.js";
import { type Loose, loose } from "./support/loose.js";
import { assistantMessage, userMessage } from "./support/messages.js";
import { useSandbox } from "./support/sandbox.js";
import { headerLine, messageLine, smallSession, writeLines } from "./support/session-files.js";

const box = useSandbox();
const CWD = "/work/project";
const SAID = "question answer";

afterEach(() => setLogger(undefined));

function put(lines: readonly (Loose | string)[] = smallSession(), name = "s"): string {
  return writeLines(path.join(box.makeDir("dir"), `${name}.jsonl`), lines);
}

const listed = () => SessionManager.list(CWD, box.path("dir"));

/** The only session there is. */
async function one(): Promise<SessionInfo> {
  const infos = await listed();
  expect(infos).toHaveLength(1);
  return infos[0] as SessionInfo;
}

function collectLog(): unknown[][] {
  const records: unknown[][] = [];
  setLogger((...record) => records.push(record));
  return records;
}

describe("allMessagesText behaves like a property that holds a text", () => {
  const ways: [string, (info: SessionInfo) => Loose][] = [
    ["a spread", (info) => ({ ...info })],
    ["Object.assign", (info) => Object.assign({}, info)],
    ["JSON.stringify", (info) => JSON.parse(JSON.stringify(info))],
    ["structuredClone", (info) => structuredClone(info)],
    ["Object.entries", (info) => Object.fromEntries(Object.entries(info))],
    ["rest properties", ({ path: _, ...rest }) => rest],
    [
      "for in",
      (info) => {
        const copy: Loose = {};
        for (const key in info) copy[key] = loose(info)[key];
        return copy;
      },
    ],
    [
      "an object that inherits",
      (info) => ({ allMessagesText: Object.create(info).allMessagesText }),
    ],
    ["a proxy", (info) => ({ ...new Proxy(info, {}) })],
    [
      "a proxy that refuses changes",
      (info) => ({ ...new Proxy(info, { defineProperty: () => false }) }),
    ],
    [
      "a copy of descriptors",
      (info) => ({ ...Object.defineProperties({}, Object.getOwnPropertyDescriptors(info)) }),
    ],
    ["a frozen object", (info) => ({ ...Object.freeze(info) })],
    ["a sealed object", (info) => ({ ...Object.seal(info) })],
  ];

  it.each(ways)("in %s", async (_, copy) => {
    const file = put();
    const info = await one();
    const copied = copy(info);
    expect(Object.getOwnPropertyDescriptor(copied, "allMessagesText")).toEqual({
      value: SAID,
      writable: true,
      enumerable: true,
      configurable: true,
    });
    // What was read once needs no file any more.
    fs.rmSync(file);
    expect(info.allMessagesText).toBe(SAID);
    expect(copied.allMessagesText).toBe(SAID);
  });

  it("is one after it has been read, and stands in its place", async () => {
    put();
    const info = await one();
    expect(Object.keys(info).at(-1)).toBe("allMessagesText");
    expect(Object.hasOwn(info, "allMessagesText")).toBe(true);
    expect(info.allMessagesText).toBe(SAID);
    expect(Object.keys(info).at(-1)).toBe("allMessagesText");
    expect(Object.getOwnPropertyDescriptor(info, "allMessagesText")).toEqual({
      value: SAID,
      writable: true,
      enumerable: true,
      configurable: true,
    });
  });

  it("can be assigned before it is read, and deleted", async () => {
    put();
    const info = await one();
    info.allMessagesText = "mine";
    expect({ ...info }.allMessagesText).toBe("mine");
    const other = loose(await one());
    delete other.allMessagesText;
    expect("allMessagesText" in other).toBe(false);
  });

  it("is assigned to what inherits, not to what it inherits from", async () => {
    put();
    const info = await one();
    const heir = Object.create(info) as SessionInfo;
    heir.allMessagesText = "heir";
    expect(Object.hasOwn(heir, "allMessagesText")).toBe(true);
    expect([heir.allMessagesText, info.allMessagesText]).toEqual(["heir", SAID]);
    const proxied = await one();
    new Proxy(proxied, {}).allMessagesText = "through";
    expect(proxied.allMessagesText).toBe("through");
  });

  it("can be assigned in sealed objects, not in frozen ones", async () => {
    put();
    const sealed = Object.seal(await one());
    sealed.allMessagesText = "mine";
    expect(sealed.allMessagesText).toBe("mine");
    const frozen = Object.freeze(await one()) as SessionInfo;
    expect(() => {
      frozen.allMessagesText = "mine";
    }).toThrow(TypeError);
    expect(frozen.allMessagesText).toBe(SAID);
  });

  it("is no part of what a search finds", async () => {
    put();
    for (const query of ["question", ""]) {
      const [hit] = await searchSessions(query, { sessionDir: box.path("dir") });
      expect(Object.keys(hit ?? {}).slice(-2)).toEqual(["firstMessage", "score"]);
    }
  });
});

describe("the text of a session whose file changed since it was listed", () => {
  it("ends where the file ended then", async () => {
    const file = put();
    const info = await one();
    const more = messageLine("aaaaaaa3", "aaaaaaa2", userMessage("later"));
    fs.appendFileSync(file, `${JSON.stringify(more)}\n`);
    expect(info.allMessagesText).toBe(SAID);
    expect((await one()).allMessagesText).toBe(`${SAID} later`);
  });

  it("does not take in a line that was being written", async () => {
    const file = put();
    const [line, rest] = [`{"type":"message","id":"b","parentId":null,`, `"timestamp":"t",`];
    fs.appendFileSync(file, line);
    const info = await one();
    fs.appendFileSync(file, `${rest}"message":{"role":"user","content":"torn"}}\n`);
    expect(info.allMessagesText).toBe(SAID);
    expect(info.messageCount).toBe(2);
    expect(await one()).toMatchObject({ messageCount: 3, allMessagesText: `${SAID} torn` });
  });

  it("is that of the file that took its place, all of it", async () => {
    const file = put();
    const info = await one();
    const longer = [...smallSession({ title: "new" }), messageLine("c", null, userMessage("more"))];
    writeLines(box.path("new"), longer);
    fs.renameSync(box.path("new"), file);
    expect(info.allMessagesText).toBe(`${SAID} more`);
  });

  it("is what is left in a file that was cut", async () => {
    const file = put();
    const info = await one();
    const lines = fs.readFileSync(file, "utf8").split("\n");
    fs.truncateSync(file, Buffer.byteLength(lines.slice(0, 2).join("\n")) + 1);
    expect(info.allMessagesText).toBe("question");
  });

  it("is the first message when the file is gone, and the logger hears of it", async () => {
    const file = put();
    const silent = put([headerLine({ id: "silent" })], "silent");
    const infos = await listed();
    fs.rmSync(file);
    fs.rmSync(silent);
    const log = collectLog();
    const texts = infos.map((info) => [path.basename(info.path), info.allMessagesText]);
    expect(Object.fromEntries(texts)).toEqual({ "s.jsonl": "question", "silent.jsonl": "" });
    const message = "Text of a listed session could not be read.";
    const context = (path: string) => ({ path, err: expect.objectContaining({ code: "ENOENT" }) });
    expect(log).toHaveLength(2);
    expect(log).toContainEqual(["warn", message, context(file)]);
    expect(log).toContainEqual(["warn", message, context(silent)]);
    // Told once: the property holds its value now.
    expect(infos.map((info) => info.allMessagesText).sort()).toEqual(["", "question"]);
    expect(log).toHaveLength(2);
  });
});

describe("a long first message", () => {
  const prompts = [
    "x".repeat(4096),
    "x".repeat(4097),
    `${"x".repeat(4095)}é end`,
    `${"x".repeat(4094)}🎉 end`,
    `${"長".repeat(70_000)}\ud83d`,
  ];

  it.each(prompts)("is whole when it is read", async (prompt) => {
    put([headerLine(), messageLine("a", null, userMessage(prompt))]);
    const info = await one();
    expect(Object.keys(info).slice(-2)).toEqual(["firstMessage", "allMessagesText"]);
    expect(info.firstMessage === prompt).toBe(true);
    expect(info.allMessagesText === prompt).toBe(true);
    expect({ ...(await one()) }.firstMessage === prompt).toBe(true);
    const [hit] = await searchSessions("", { sessionDir: box.path("dir") });
    expect(hit?.firstMessage === prompt).toBe(true);
  });

  it("is cut when the file is gone", async () => {
    const file = put([headerLine(), messageLine("a", null, userMessage(prompts[3]))]);
    const info = await one();
    fs.rmSync(file);
    const log = collectLog();
    expect(info.firstMessage).toBe("x".repeat(4094));
    expect(info.allMessagesText).toBe("x".repeat(4094));
    expect(log).toHaveLength(2);
  });
});

describe("listing the same sessions again", () => {
  it("sees every change, also one that leaves length and time as they are", async () => {
    const file = put();
    const old = new Date(1_600_000_000_000);
    fs.utimesSync(file, old, old);
    expect(await one()).toMatchObject({ firstMessage: "question", modified: old });
    const text = fs.readFileSync(file, "utf8");
    // In the same file.
    fs.writeFileSync(file, text.replace("question", "QUESTION"));
    fs.utimesSync(file, old, old);
    expect(await one()).toMatchObject({ firstMessage: "QUESTION", modified: old });
    // In another file at its place.
    fs.writeFileSync(box.path("new"), text.replace("question", "qUESTION"));
    fs.utimesSync(box.path("new"), old, old);
    fs.renameSync(box.path("new"), file);
    expect(await one()).toMatchObject({ firstMessage: "qUESTION", modified: old });
    // What is no session any more is not listed, nor is what is gone.
    fs.writeFileSync(file, text.replaceAll('"', "'"));
    fs.utimesSync(file, old, old);
    expect(await listed()).toEqual([]);
    fs.writeFileSync(file, text);
    fs.utimesSync(file, old, old);
    expect(await one()).toMatchObject({ firstMessage: "question" });
    fs.rmSync(file);
    expect(await listed()).toEqual([]);
  });

  it("sees what is written between two listings, however fast they follow", async () => {
    const file = put();
    for (let round = 3; round < 40; round++) {
      const message = messageLine(`m${round}`, null, assistantMessage(`a${round}`));
      fs.appendFileSync(file, `${JSON.stringify(message)}\n`);
      expect((await one()).messageCount).toBe(round);
    }
    const text = fs.readFileSync(file, "utf8");
    for (let round = 0; round < 40; round++) {
      const title = `title ${String(round).padStart(3)}`;
      const header = JSON.stringify(headerLine({ title }));
      fs.writeFileSync(file, [header, ...text.split("\n").slice(1)].join("\n"));
      expect((await one()).title).toBe(title);
    }
  });

  it("gives objects of their own each time", async () => {
    put();
    const first = await one();
    first.created.setTime(0);
    first.title = "changed";
    const second = await one();
    expect(second).not.toBe(first);
    expect(second.created.toISOString()).toBe("2026-01-02T03:04:05.678Z");
    expect(second.title).toBeUndefined();
  });

  it("gives all of very many", async () => {
    const count = 2_345;
    for (let n = 0; n < count; n++) {
      put([headerLine({ id: `id${n}` }), messageLine("a", null, userMessage(`text ${n}`))], `${n}`);
    }
    const infos = await listed();
    expect(new Set(infos.map((info) => info.id)).size).toBe(count);
    const sample = infos.filter((_, at) => at % 97 === 0 || at === count - 1);
    for (const info of sample) {
      const number = info.id.slice(2);
      expect(path.basename(info.path)).toBe(`${number}.jsonl`);
      expect(info.allMessagesText).toBe(`text ${number}`);
    }
  });

  it("gives the same in threads that list at once", async () => {
    for (let n = 0; n < 50; n++) {
      put(smallSession({ id: `id${n}` }), `${n}`);
    }
    const script = `
      const { parentPort, workerData } = require("node:worker_threads");
      const { SessionManager } = require(workerData.index);
      (async () => {
        const texts = [];
        for (let round = 0; round < 5; round++) {
          texts.push(JSON.stringify(await SessionManager.list("/work/project", workerData.dir)));
        }
        parentPort.postMessage(texts);
      })();`;
    const index = path.resolve(import.meta.dirname, "../index.js");
    const workerData = { index, dir: box.path("dir") };
    const workers = Array.from({ length: 3 }, async () => {
      const worker = new Worker(script, { eval: true, workerData });
      const texts = await new Promise<string[]>((resolve, reject) => {
        worker.once("message", resolve);
        worker.once("error", reject);
      });
      await worker.terminate();
      return texts;
    });
    const ours = JSON.stringify(await listed());
    const theirs = (await Promise.all(workers)).flat();
    expect(theirs).toHaveLength(15);
    expect(new Set([ours, ...theirs]).size).toBe(1);
  });
});
