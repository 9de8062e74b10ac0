import { describe, expect, it } from "vitest";
import { migrateSessionEntries, SessionManager } from "../index.js";
import { type Loose, loose, unchecked } from "./support/loose.js";
import { ENTRY_ID } from "./support/managers.js";
import { assistantMessage, userMessage } from "./support/messages.js";
import { useSandbox } from "./support/sandbox.js";
import {
  entryLine,
  headerLine,
  messageLine,
  rawLines,
  readSession,
  writeLines,
} from "./support/session-files.js";

const box = useSandbox();

function versionOne(...entries: Loose[]): Loose[] {
  const header = headerLine();
  delete header.version;
  return [header, ...entries];
}

function oldMessage(message: Loose): Loose {
  return { type: "message", timestamp: "2026-01-02T03:04:05.678Z", message };
}

function migrated(entries: Loose[]): Loose[] {
  expect(migrateSessionEntries(unchecked(entries))).toBeUndefined();
  return entries;
}

describe("from version 1", () => {
  it("entries become a chain with new ids, in place", () => {
    const entries = versionOne(
      oldMessage(userMessage("a")),
      oldMessage({ role: "assistant", content: [] }),
      { type: "custom", customType: "ct", timestamp: "t" },
    );
    const [header, first, second, third] = entries as [Loose, Loose, Loose, Loose];
    const { message } = first;
    migrated(entries);
    expect(header.version).toBe(3);
    expect(entries[1]).toBe(first);
    expect(first.message).toBe(message);
    expect(first.id).toMatch(ENTRY_ID);
    expect(first.parentId).toBeNull();
    expect(second.parentId).toBe(first.id);
    expect(third.parentId).toBe(second.id);
    expect(new Set([first.id, second.id, third.id]).size).toBe(3);
  });

  it("new keys go to the end, others keep their place", () => {
    const [header, message] = migrated(versionOne(oldMessage(userMessage())));
    expect(Object.keys(loose(header))).toEqual(["type", "id", "timestamp", "cwd", "version"]);
    expect(Object.keys(loose(message))).toEqual(["type", "timestamp", "message", "id", "parentId"]);
    const explicit = [headerLine({ version: 1 }), { id: "old", ...oldMessage(userMessage()) }];
    const [kept, withId] = migrated(explicit);
    expect(Object.keys(loose(kept))).toEqual(Object.keys(headerLine()));
    expect(Object.keys(loose(withId))).toEqual(["id", "type", "timestamp", "message", "parentId"]);
    expect(loose(withId).id).not.toBe("old");
  });

  it("a compaction's index becomes the id of the entry it denotes", () => {
    const entries = migrated(
      versionOne(oldMessage(userMessage("1")), oldMessage(userMessage("2")), {
        type: "compaction",
        timestamp: "t",
        summary: "s",
        firstKeptEntryIndex: 2,
        tokensBefore: 5,
      }),
    );
    expect(entries[3]?.firstKeptEntryId).toBe(entries[2]?.id);
    expect("firstKeptEntryIndex" in loose(entries[3])).toBe(false);
    expect(Object.keys(loose(entries[3])).slice(-1)).toEqual(["firstKeptEntryId"]);
  });

  it("an index that denotes no entry is dropped", () => {
    for (const firstKeptEntryIndex of [0, 99, -1, 1.5]) {
      const entries = migrated(
        versionOne(oldMessage(userMessage()), {
          type: "compaction",
          timestamp: "t",
          summary: "s",
          firstKeptEntryIndex,
          tokensBefore: 5,
        }),
      );
      expect("firstKeptEntryIndex" in loose(entries[2])).toBe(false);
      expect(loose(entries[2]).firstKeptEntryId).toBeUndefined();
    }
  });

  it("hook messages become custom ones as well", () => {
    const entries = migrated(versionOne(oldMessage({ role: "hookMessage", content: "h" })));
    expect(entries[1]?.message.role).toBe("custom");
  });
});

describe("from version 2", () => {
  it("ids and parents stay; hook messages become custom ones", () => {
    const entries = migrated([
      headerLine({ version: 2 }),
      messageLine("keep-1", null, { role: "hookMessage", customType: "h", content: "x" }),
      messageLine("keep-2", "keep-1", { role: "user", content: "hookMessage" }),
      entryLine("custom", "keep-3", "keep-2", { message: { role: "hookMessage" } }),
    ]);
    expect(entries[0]?.version).toBe(3);
    expect(entries.slice(1).map((entry) => entry.id)).toEqual(["keep-1", "keep-2", "keep-3"]);
    expect(Object.keys(entries[1]?.message)).toEqual(["role", "customType", "content"]);
    expect(entries.slice(1).map((entry) => entry.message.role)).toEqual([
      "custom",
      "user",
      "hookMessage",
    ]);
  });
});

describe("what is current, or newer, or damaged", () => {
  it("stays untouched from version 3 on", () => {
    for (const version of [3, 4, 99]) {
      const entries = [
        headerLine({ version }),
        messageLine("m", null, { role: "hookMessage", content: "x" }),
        { type: "message", message: {} },
      ];
      const copy = structuredClone(entries);
      expect(migrated(entries)).toEqual(copy);
    }
  });

  it("compares versions as JavaScript does: a text counts as its number", () => {
    const entries = migrated([headerLine({ version: "2" }), messageLine("keep", null, {})]);
    expect(entries[1]?.id).toBe("keep");
    expect(entries[0]?.version).toBe(3);
    const old = migrated([headerLine({ version: "1" }), messageLine("gone", null, {})]);
    expect(old[1]?.id).not.toBe("gone");
  });

  it("does not look at usage and never throws over malformed entries", () => {
    const entries = versionOne(
      oldMessage({ role: "assistant", content: "text", usage: 5 }),
      { type: "message" },
      { type: "message", message: null },
      unchecked(null),
      unchecked(5),
      unchecked("text"),
      { type: "compaction", firstKeptEntryIndex: 4 },
    );
    expect(() => migrated(entries)).not.toThrow();
    expect(entries[1]?.id).toMatch(ENTRY_ID);
    expect(migrated([])).toEqual([]);
  });
});

describe("a migrated file", () => {
  it.each(["looked at first", "untouched"])(
    "is written with the migrated lines, %s",
    async (how) => {
      const lines = versionOne(
        oldMessage({ ...userMessage("a"), vendor: 1.5 }),
        {
          type: "compaction",
          timestamp: "t",
          summary: "s",
          firstKeptEntryIndex: 1,
          tokensBefore: 5,
          x: 1,
        },
        oldMessage(assistantMessage("b")),
        { type: "from_the_past", timestamp: "t", payload: [1] },
      );
      const file = writeLines(box.path("s.jsonl"), lines);
      const manager = await SessionManager.open(file);
      if (how === "looked at first") {
        expect(manager.getEntries()).toHaveLength(4);
      }
      await manager.rewriteEntries();
      const found = readSession(file);
      const ids = found.slice(1).map((line) => line.id);
      expect(new Set(ids).size).toBe(4);
      for (const id of ids) {
        expect(id).toMatch(ENTRY_ID);
      }
      const expected = [
        { ...lines[0], version: 3 },
        { ...lines[1], id: ids[0], parentId: null },
        {
          type: "compaction",
          timestamp: "t",
          summary: "s",
          tokensBefore: 5,
          x: 1,
          id: ids[1],
          parentId: ids[0],
          firstKeptEntryId: ids[0],
        },
        { ...lines[3], id: ids[2], parentId: ids[1] },
        { ...lines[4], id: ids[3], parentId: ids[2] },
      ];
      expect(rawLines(file).map((line) => line.trimEnd())).toEqual(
        expected.map((line) => JSON.stringify(line)),
      );
      expect(manager.getEntries().map((entry) => entry.id)).toEqual(ids);
      const again = await SessionManager.open(file);
      expect(again.getEntries()).toEqual(manager.getEntries());
    },
  );

  it("shows its migrated entries and context before it is written", async () => {
    const file = writeLines(box.path("s.jsonl"), [
      headerLine({ version: 2 }),
      messageLine("m1", null, { role: "hookMessage", customType: "h", content: "x", timestamp: 1 }),
      messageLine("m2", "m1", assistantMessage()),
    ]);
    const manager = await SessionManager.open(file);
    expect(manager.getHeader()?.version).toBe(3);
    expect(loose(manager.getEntry("m1")).message.role).toBe("custom");
    expect(manager.buildSessionContext().messages.map((message) => message.role)).toEqual([
      "custom",
      "assistant",
    ]);
    expect(readSession(file)[0]?.version).toBe(2);
    await manager.rewriteEntries();
    expect(readSession(file)[1]?.message.role).toBe("custom");
  });

  it("keeps its ids when it is read twice without being written", async () => {
    const file = writeLines(box.path("s.jsonl"), versionOne(oldMessage(userMessage())));
    const manager = await SessionManager.open(file);
    const [entry] = manager.getEntries();
    expect(manager.getEntries()[0]).toBe(entry);
    expect(manager.getEntry(String(entry?.id))).toBe(entry);
    expect(manager.getLeafId()).toBe(entry?.id);
  });
});
