import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { SessionManager } from "../index.js";
import {
  A,
  assistantMessage,
  contextOf,
  fileOf,
  H,
  idsOf,
  jsonl,
  LINEAR4,
  linesOf,
  namesIn,
  recordsOf,
  toolResult,
  U,
  userMessage,
  useSandbox,
  writeSession,
} from "./support/fixtures.js";

const sandbox = useSandbox();
const dir = () => join(sandbox(), "dir");
const path = () => join(dir(), "s.jsonl");

/** Contents of all files in the session's directory. */
function contents(): string[] {
  return namesIn(dir()).map((name) => readFileSync(join(dir(), name), "utf8"));
}

describe("a damaged first line", () => {
  const header = JSON.stringify(H());
  const damages: [string, string][] = [
    ["cut short", '{"type":"sess'],
    ["three bytes short", header.slice(0, -3)],
    ["without its first byte", header.slice(1)],
    ["of NULs", "\0".repeat(header.length)],
    ["of another type", JSON.stringify({ ...H(), type: "sessio" })],
    ["without id", JSON.stringify({ ...H(), id: undefined })],
    ["with a number as id", JSON.stringify(H({ id: 5 }))],
    ["with null as id", JSON.stringify(H({ id: null }))],
    ["that is null", "null"],
    ["with text before it", `garbage ${header}`],
  ];

  for (const [what, line] of damages) {
    it(`${what} wipes nothing when the session is opened, continued or switched to`, async () => {
      const text = jsonl([line, ...LINEAR4().slice(1)]);
      for (const open of [
        () => SessionManager.open(path()),
        async () => {
          const manager = SessionManager.create("/w/p", join(sandbox(), "sessions"));
          await manager.setSessionFile(path());
          return manager;
        },
      ]) {
        writeSession(path(), text);
        const manager = await open();
        expect(contextOf(manager)).toBe("u1 a1 u2 a2");
        expect(idsOf(manager)).toEqual(["u1", "a1", "u2", "a2"]);
        expect(typeof manager.getSessionId()).toBe("string");
        expect(readFileSync(path(), "utf8")).toBe(text);
        await manager.close();
        expect(contents()).toEqual([text]);
      }
    });

    it(`${what} loses no old byte by later rewrites`, async () => {
      const text = jsonl([line, ...LINEAR4().slice(1)]);
      writeSession(path(), text);
      const manager = await SessionManager.open(path());
      await manager.setSessionName("Name");
      await manager.rewriteEntries();
      expect(contents()).toContain(text);
      const again = await SessionManager.open(path());
      expect(contextOf(again)).toBe("u1 a1 u2 a2");
      expect(again.getSessionName()).toBe("Name");
      expect(again.getSessionId()).toBe(manager.getSessionId());
    });
  }
});

describe("an empty file that is opened", () => {
  it("has its header on line 1 after later appends", async () => {
    writeSession(path(), "");
    const manager = await SessionManager.open(path());
    manager.appendMessage(userMessage("u1"));
    manager.appendMessage(assistantMessage("a1"));
    await manager.close();
    const records = recordsOf(path());
    expect(records.map((record) => record.type)).toEqual(["session", "message", "message"]);
    expect(records[0]?.id).toBe(manager.getSessionId());
  });
});

describe("a file from a newer version", () => {
  const future = {
    zeta: { nested: [1, { two: 2 }] },
    type: "hologram",
    id: "h1",
    parentId: "a1",
    timestamp: "2030-01-01T00:00:00.000Z",
    alpha: null,
  };
  const lines = () => [
    H({ version: 4, vault: "blue" }),
    U("u1", null),
    { ...A("a1", "u1"), mood: "good" },
    future,
    U("u2", "h1"),
    A("a2", "u2"),
  ];

  it("keeps its version, unknown entries and unknown fields through append and rewrite", async () => {
    writeSession(path(), lines());
    const before = linesOf(path());
    const manager = await SessionManager.open(path());
    expect(contextOf(manager)).toBe("u1 a1 u2 a2");
    manager.appendMessage(userMessage("u3"));
    await manager.flush();
    expect(linesOf(path()).slice(0, 6)).toEqual(before);
    await manager.rewriteEntries();
    const trimmed = () => linesOf(path()).map((line) => line.trimEnd());
    expect(trimmed().slice(0, 6)).toEqual(before);
    expect(manager.getEntry("h1")).toEqual(future);
    await manager.rewriteEntries();
    expect(trimmed().slice(0, 6)).toEqual(before);
    expect(manager.getHeader()?.version).toBe(4);
    expect(contextOf(await SessionManager.open(path()))).toBe("u1 a1 u2 a2 u3");
  });

  it("keeps unknown header fields when it is renamed", async () => {
    writeSession(path(), lines());
    const manager = await SessionManager.open(path());
    await manager.setSessionName("Name");
    expect(recordsOf(path())[0]).toEqual({
      ...lines()[0],
      title: "Name",
      titleSource: "auto",
    });
  });
});

describe("a file that starts with another program's title line", () => {
  it("is never overwritten", async () => {
    const title = JSON.stringify({ type: "title", v: 1, title: "T", pad: " ".repeat(200) });
    const text = jsonl([title, ...LINEAR4()]);
    writeSession(path(), text);
    const manager = await SessionManager.open(path());
    await manager.close();
    expect(contents()).toContain(text);
    await manager.rewriteEntries();
    expect(contextOf(await SessionManager.open(path()))).toContain("u1 a1 u2 a2");
  });
});

describe("further header lines in a file", () => {
  it("are no entries, no error, and are kept", async () => {
    const second = JSON.stringify(H({ id: "other", title: "Other" }));
    const [header, u1, a1, u2, a2] = LINEAR4();
    writeSession(path(), [header, u1, a1, second, u2, a2] as object[]);
    const manager = await SessionManager.open(path());
    expect(manager.getSessionId()).toBe("s1");
    expect(manager.getSessionName()).toBeUndefined();
    expect(idsOf(manager)).toEqual(["u1", "a1", "u2", "a2"]);
    expect(contextOf(manager)).toBe("u1 a1 u2 a2");
    await manager.rewriteEntries();
    expect(linesOf(path())[3]).toBe(second);
  });
});

describe("a reader during rewrites", () => {
  it("sees the old or the new content, never a mixture", async () => {
    const lines = [H(), U("u1", null)];
    for (let n = 0; n < 300; n++) {
      const message = toolResult("output ".repeat(1500));
      lines.push({ ...U(`t${n}`, n === 0 ? "u1" : `t${n - 1}`), message } as never);
    }
    writeSession(path(), lines);
    const manager = await SessionManager.open(path());
    const seen = new Set<string>([readFileSync(path(), "utf8")]);
    let done = false;
    const writing = (async () => {
      await manager.rewriteEntries();
      for (const item of manager.getBranch().slice(1)) {
        const { message } = item as unknown as { message: { content: unknown } };
        message.content = [{ type: "text", text: "pruned" }];
      }
      await manager.rewriteEntries();
      await manager.rewriteEntries();
      await manager.setSessionName("Name");
      done = true;
    })();
    while (!done) {
      seen.add(readFileSync(path(), "utf8"));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await writing;
    seen.add(readFileSync(path(), "utf8"));
    const original = JSON.parse(JSON.stringify(lines.slice(1)));
    const pruned = recordsOf(path()).slice(1);
    for (const text of seen) {
      const [header, ...entries] = text.trimEnd().split("\n");
      expect(JSON.parse(header as string)).toMatchObject({ type: "session", id: "s1" });
      const records = entries.map((line) => JSON.parse(line));
      expect([JSON.stringify(original), JSON.stringify(pruned)]).toContain(JSON.stringify(records));
      expect(text.endsWith("\n")).toBe(true);
    }
    // As written by hand, with our padded header, pruned, renamed.
    expect(seen.size).toBeLessThanOrEqual(4);
    expect(fileOf(manager)).toBe(path());
    expect(readFileSync(path(), "utf8").length).toBeLessThan(100_000);
  });
});
