import { readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findMostRecentSession, SessionManager } from "../index.js";
import {
  A,
  type AnyEntry,
  contextOf,
  fileOf,
  H,
  idsOf,
  LINEAR4,
  linesOf,
  REOPEN,
  recordsOf,
  startSession,
  treeIds,
  U,
  userMessage,
  useSandbox,
  writeSession,
} from "./support/fixtures.js";

const sandbox = useSandbox();
const path = () => join(sandbox(), "dir", "s.jsonl");

function contentOf(manager: SessionManager, id: string): string {
  const found = manager.getEntry(id) as unknown as { message: { content: string } };
  return found.message.content;
}

describe("half of a surrogate pair", () => {
  const TEXT = "k\ud83d\u2026";
  const lines = () => [H(), U("u1", null), U("half", "u1"), U("u2", "half"), A("a2", "u2")];

  function writeHalf() {
    const text = lines().map((line) => JSON.stringify(line));
    text[2] = (text[2] as string).replace('"content":"half"', '"content":"k\\ud83d\\u2026"');
    writeSession(path(), text);
  }

  it("is read as the code units that are there", async () => {
    writeHalf();
    const manager = await SessionManager.open(path());
    expect(idsOf(manager)).toEqual(["u1", "half", "u2", "a2"]);
    expect(contentOf(manager, "half")).toBe(TEXT);
    expect(contentOf(manager, "half")).toHaveLength(3);
    expect(contextOf(manager)).toBe(`u1 ${TEXT} u2 a2`);
  });

  for (const touch of [false, true]) {
    it(`survives a rewrite ${touch ? "of the entry's object" : "of the untouched line"}`, async () => {
      writeHalf();
      const manager = await SessionManager.open(path());
      if (touch) {
        contentOf(manager, "half");
      }
      await manager.rewriteEntries();
      const bytes = readFileSync(path());
      expect(bytes.toString("utf8")).toContain('"k\\ud83d');
      expect(bytes.includes(Buffer.from("\ufffd"))).toBe(false);
      expect(contentOf(await SessionManager.open(path()), "half")).toBe(TEXT);
    });
  }

  for (const [what, text] of [
    ["a high half", "k\ud83d"],
    ["a low half", "\ude00k"],
    ["halves in the wrong order", "\ude00\ud83d"],
    ["a half before a pair", "\ud83d😀"],
  ] as const) {
    it(`(${what}) is appended as an escape and comes back`, async () => {
      const manager = await startSession(join(sandbox(), "sessions"));
      const id = manager.appendMessage(userMessage(text));
      await manager.setSessionName(`Title ${text}`);
      manager.appendCustomEntry(text, { [text]: text });
      await manager.flush();
      const bytes = readFileSync(fileOf(manager));
      expect(Buffer.from(bytes.toString("utf8")).equals(bytes)).toBe(true);
      expect(bytes.includes(Buffer.from("\ufffd"))).toBe(false);
      const again = await SessionManager.open(fileOf(manager));
      expect(contentOf(again, id)).toBe(text);
      expect(again.getEntries().at(-1)).toMatchObject({ customType: text, data: { [text]: text } });
      expect(again.getSessionName()).toBe(`Title ${text}`);
    });
  }

  it("at the place where a long text is cut does not leave half a pair", async () => {
    const manager = await startSession(join(sandbox(), "sessions"));
    const text = `${"x".repeat(499_952)}😀${"y".repeat(1000)}`;
    const id = manager.appendMessage(userMessage(text));
    await manager.flush();
    const reread = contentOf(await SessionManager.open(fileOf(manager)), id);
    expect(reread).toHaveLength(499_999);
    expect(() => encodeURIComponent(reread)).not.toThrow();
    expect(contentOf(manager, id)).toBe(text);
  });
});

describe("a message that is not one", () => {
  const AGAIN = "new-user new-assistant";
  const shapes: [string, unknown][] = [
    ["a map of characters", { 0: "h", 1: "i", content: [] }],
    ["null", null],
    ["missing", undefined],
    ["an empty object", {}],
    ["a list", []],
    ["a number", 7],
    ["true", true],
  ];

  for (const [what, message] of shapes) {
    it(`(${what}) stays in the file and out of the context`, async () => {
      const bad = { ...U("bad", "a1"), message };
      writeSession(path(), [H(), U("u1", null), A("a1", "u1"), bad, U("u2", "bad"), A("a2", "u2")]);
      const manager = await SessionManager.open(path());
      expect(idsOf(manager)).toEqual(["u1", "a1", "bad", "u2", "a2"]);
      expect(contextOf(manager)).toBe("u1 a1 u2 a2");
      expect(treeIds(manager)).toEqual(["u1", "a1", "bad", "u2", "a2"]);
      await manager.rewriteEntries();
      expect(recordsOf(path())[3]).toEqual(JSON.parse(JSON.stringify(bad)));
      expect(contextOf(await REOPEN(path()))).toBe(`u1 a1 u2 a2 ${AGAIN}`);
    });

    it(`(${what}) on the last line does not stop the conversation`, async () => {
      const bad = { ...U("bad", "a1"), message };
      writeSession(path(), [H(), U("u1", null), A("a1", "u1"), bad]);
      expect(contextOf(await SessionManager.open(path()))).toBe("u1 a1");
      expect(contextOf(await REOPEN(path()))).toBe(`u1 a1 ${AGAIN}`);
    });
  }
});

describe("lines of valid JSON that are no entries", () => {
  const ODD = ["null", "123", "[]", '"str"', "true", "{}", '{"type":"message"}', "[{}]"];

  it("do not stop a session from being opened, listed, continued or forked", async () => {
    const lines = LINEAR4().flatMap((line, n) => [line, ...ODD.slice(n * 2, n * 2 + 2)]);
    writeSession(path(), [...lines, "null", "{}", "5"]);
    const dir = join(sandbox(), "dir");
    const manager = await SessionManager.open(path());
    expect(contextOf(manager)).toBe("u1 a1 u2 a2");
    expect(manager.getLeafId()).toBe("a2");
    expect(manager.getEntries().every((item) => item !== null && typeof item === "object")).toBe(
      true,
    );
    const infos = await SessionManager.list("/w/p", dir);
    expect(infos).toMatchObject([{ id: "s1", firstMessage: "u1" }]);
    expect(await findMostRecentSession(dir)).toBe(path());
    const fork = await SessionManager.forkFrom(path(), "/w/p", join(sandbox(), "forks"));
    expect(contextOf(fork)).toBe("u1 a1 u2 a2");
    expect(contextOf(await REOPEN(path()))).toBe("u1 a1 u2 a2 new-user new-assistant");
  });

  it("stay in the file when it is rewritten", async () => {
    const [header, ...rest] = LINEAR4();
    writeSession(path(), [header as object, ...ODD, ...rest]);
    const manager = await SessionManager.open(path());
    await manager.rewriteEntries();
    expect(linesOf(path())).toEqual(expect.arrayContaining(ODD));
    expect(contextOf(await SessionManager.open(path()))).toBe("u1 a1 u2 a2");
  });

  it("may come before the header without costing an entry", async () => {
    for (const first of ODD) {
      writeSession(path(), [first, ...LINEAR4()]);
      const before = readFileSync(path(), "utf8");
      const manager = await SessionManager.open(path());
      expect(contextOf(manager)).toBe("u1 a1 u2 a2");
      expect(readFileSync(path(), "utf8")).toBe(before);
    }
  });
});

describe("an empty or blank file", () => {
  for (const [what, text] of [
    ["no bytes", ""],
    ["a line feed", "\n"],
    ["spaces", "    "],
    ["CRLF", "\r\n\r\n"],
  ] as const) {
    it(`(${what}) is listed as nothing and continued as nothing`, async () => {
      const dir = join(sandbox(), "dir");
      writeSession(path(), text);
      expect(await SessionManager.list("/w/p", dir)).toEqual([]);
      expect(await findMostRecentSession(dir)).toBeNull();
      const manager = await SessionManager.continueRecent("/w/p", dir);
      expect(manager.getSessionFile()).not.toBe(path());
      expect(readFileSync(path(), "utf8")).toBe(text);
    });

    it(`(${what}) gets a header when it is opened and used`, async () => {
      writeSession(path(), text);
      const reopened = await REOPEN(path());
      expect(contextOf(reopened)).toBe("new-user new-assistant");
      const records = recordsOf(path());
      expect(records[0]).toMatchObject({ type: "session", version: 3 });
      expect(records).toHaveLength(3);
    });
  }

  it("emptied under an open manager is written whole again", async () => {
    const manager = await startSession(join(sandbox(), "sessions"));
    await manager.close();
    truncateSync(fileOf(manager), 0);
    await manager.rewriteEntries();
    expect(contextOf(await SessionManager.open(fileOf(manager)))).toBe("u1 a1");
  });

  it("may be only the line before the header", async () => {
    writeSession(path(), ["", "  ", ...LINEAR4()]);
    expect(contextOf(await SessionManager.open(path()))).toBe("u1 a1 u2 a2");
    const infos = await SessionManager.list("/w/p", join(sandbox(), "dir"));
    expect(infos.map((info) => info.id)).toEqual(["s1"]);
  });
});

describe("whatever text is appended", () => {
  const anyText = fc.oneof(
    fc.string({ unit: "binary", maxLength: 40 }),
    fc.string({ unit: "grapheme", maxLength: 40 }),
    fc
      .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 20 })
      .map((units) => String.fromCharCode(...units)),
    fc.constantFrom("\n", "\r\n", "\u2028", "\u2029", "\0", '"', "\\", "\u0085"),
  );

  it("makes one line for each record and comes back unchanged", async () => {
    const manager = await startSession(join(sandbox(), "sessions"));
    const target = manager.getLeafId() as string;
    const appends: ((text: string) => string)[] = [
      (text) => manager.appendMessage(userMessage(text)),
      (text) => manager.appendThinkingLevelChange(text),
      (text) => manager.appendServiceTierChange(text as never),
      (text) => manager.appendModeChange(text, { [text]: text }),
      (text) => manager.appendModelChange(text, text),
      (text) => manager.appendContextChange(text, text, text),
      (text) => manager.appendCompaction(text, text, target, 1, { [text]: text }),
      (text) => manager.appendCustomEntry(text, { [text]: [text] }),
      (text) => manager.appendCustomMessageEntry(text, text, true, text),
      (text) => manager.appendMCPToolSelection([text]),
      (text) => manager.appendTtsrInjection([text]),
      (text) => manager.appendLabelChange(target, text),
      (text) => manager.branchWithSummary(target, text, { text }),
      (text) =>
        manager.appendSessionInit({ systemPrompt: text, task: text, tools: [text] } as never),
    ];
    await fc.assert(
      fc.asyncProperty(anyText, async (text) => {
        const before = linesOf(fileOf(manager)).length;
        for (const append of appends) {
          append(text);
        }
        await manager.flush();
        expect(linesOf(fileOf(manager))).toHaveLength(before + appends.length);
      }),
      { numRuns: 60 },
    );
    const inMemory = JSON.parse(JSON.stringify(manager.getEntries())) as AnyEntry[];
    expect(recordsOf(fileOf(manager)).slice(1)).toEqual(inMemory);
    const again = await SessionManager.open(fileOf(manager));
    expect(JSON.parse(JSON.stringify(again.getEntries()))).toEqual(inMemory);
  });
});
