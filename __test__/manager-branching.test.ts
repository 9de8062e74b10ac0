import * as fs from "node:fs";
import * as path from "node:path";
import { describe, expect, it } from "vitest";
import { SessionManager } from "../index.js";
import { unknownEntry } from "./support/errors.js";
import { loose, unchecked } from "./support/loose.js";
import { createWritten, ENTRY_ID, fileOf, SESSION_FILE_NAME } from "./support/managers.js";
import { assistantMessage, userMessage } from "./support/messages.js";
import { useSandbox } from "./support/sandbox.js";
import {
  entryIds,
  fingerprint,
  readEntries,
  readSession,
  smallSession,
  writeLines,
} from "./support/session-files.js";

const box = useSandbox();

describe("branch", () => {
  it("moves the leaf so that the next append becomes a sibling", () => {
    const manager = SessionManager.inMemory(box.dir);
    const first = manager.appendMessage(userMessage());
    manager.appendMessage(assistantMessage());
    expect(manager.branch(first)).toBeUndefined();
    const sibling = manager.appendMessage(assistantMessage("other"));
    expect(manager.getEntry(sibling)?.parentId).toBe(first);
  });

  it("writes nothing", async () => {
    const manager = await createWritten(box.dir);
    const before = fingerprint(fileOf(manager));
    manager.branch(manager.getEntries()[0]?.id ?? "");
    manager.resetLeaf();
    await manager.flush();
    expect(fingerprint(fileOf(manager))).toEqual(before);
  });

  it.each(["unknown", "", undefined, null])("throws for %j and keeps the leaf", (id) => {
    const manager = SessionManager.inMemory(box.dir);
    const leaf = manager.appendMessage(userMessage());
    expect(() => manager.branch(unchecked(id))).toThrow(unknownEntry(id));
    expect(manager.getLeafId()).toBe(leaf);
  });
});

describe("resetLeaf", () => {
  it("makes the next append a root", () => {
    const manager = SessionManager.inMemory(box.dir);
    manager.appendMessage(userMessage());
    expect(manager.resetLeaf()).toBeUndefined();
    const root = manager.appendMessage(userMessage("new root"));
    expect(manager.getEntry(root)?.parentId).toBeNull();
    expect(manager.getTree()).toHaveLength(2);
  });
});

describe("branchWithSummary", () => {
  it("appends a summary under the given entry", () => {
    const manager = SessionManager.inMemory(box.dir);
    const first = manager.appendMessage(userMessage());
    manager.appendMessage(assistantMessage());
    const details = { files: ["x"] };
    const id = manager.branchWithSummary(first, "what happened", details, true);
    const entry = loose(manager.getEntry(id));
    expect(id).toMatch(ENTRY_ID);
    expect(Object.keys(entry)).toEqual([
      "type",
      "id",
      "parentId",
      "timestamp",
      "fromId",
      "summary",
      "details",
      "fromExtension",
    ]);
    expect(entry).toMatchObject({
      type: "branch_summary",
      parentId: first,
      fromId: first,
      summary: "what happened",
      fromExtension: true,
    });
    expect(entry.details).toBe(details);
    expect(manager.getLeafId()).toBe(id);
  });

  it("makes a root for null", () => {
    const manager = SessionManager.inMemory(box.dir);
    manager.appendMessage(userMessage());
    const id = manager.branchWithSummary(null, "from the start");
    expect(loose(manager.getEntry(id))).toMatchObject({ parentId: null, fromId: "root" });
    expect(manager.getBranch().map((entry) => entry.id)).toEqual([id]);
  });

  it.each(["unknown", "", undefined])("throws for %j and changes nothing", (id) => {
    const manager = SessionManager.inMemory(box.dir);
    const leaf = manager.appendMessage(userMessage());
    expect(() => manager.branchWithSummary(unchecked(id), "s")).toThrow(unknownEntry(id));
    expect(manager.getLeafId()).toBe(leaf);
    expect(manager.getEntries()).toHaveLength(1);
  });

  it("is persisted like an append", async () => {
    const manager = await createWritten(box.dir);
    const id = manager.branchWithSummary(null, "s");
    await manager.flush();
    expect(entryIds(fileOf(manager)).at(-1)).toBe(id);
  });
});

describe("createBranchedSession on disk", () => {
  it("writes the path to a new file before it returns", async () => {
    const manager = await createWritten(box.dir);
    const [first, second] = manager.getEntries().map((entry) => entry.id) as [string, string];
    manager.branch(first);
    manager.appendMessage(assistantMessage("another branch"));
    await manager.flush();
    const old = fileOf(manager);
    const oldId = manager.getSessionId();
    const before = fingerprint(old);
    const file = manager.createBranchedSession(second);
    expect(file).toBe(manager.getSessionFile());
    expect(path.dirname(String(file))).toBe(box.dir);
    expect(path.basename(String(file))).toMatch(SESSION_FILE_NAME);
    expect(entryIds(String(file))).toEqual([first, second]);
    expect(manager.getEntries().map((entry) => entry.id)).toEqual([first, second]);
    expect(manager.getLeafId()).toBe(second);
    expect(manager.getSessionId()).not.toBe(oldId);
    expect(fingerprint(old)).toEqual(before);
    expect(Object.keys(loose(readSession(String(file))[0]))).toEqual([
      "type",
      "version",
      "id",
      "timestamp",
      "cwd",
      "parentSession",
    ]);
    expect(manager.getHeader()).toMatchObject({ parentSession: old, cwd: box.dir, version: 3 });
    expect(manager.getHeader()?.id).toBe(manager.getSessionId());
  });

  it("counts usage over the copied path only", async () => {
    const manager = await createWritten(box.dir);
    const answer = manager.getLeafId() ?? "";
    const before = manager.getUsageStatistics();
    manager.appendMessage(assistantMessage("more"));
    expect(manager.getUsageStatistics().input).toBe(20);
    manager.createBranchedSession(answer);
    expect(manager.getUsageStatistics().input).toBe(10);
    expect(before.input).toBe(20);
  });

  it("continues in the new file", async () => {
    const manager = await createWritten(box.dir);
    const old = fileOf(manager);
    manager.createBranchedSession(manager.getEntries()[0]?.id ?? "");
    const id = manager.appendMessage(userMessage("goes on"));
    manager.appendMessage(assistantMessage());
    await manager.flush();
    expect(entryIds(fileOf(manager))).toContain(id);
    expect(entryIds(old)).not.toContain(id);
  });

  it("lets a pending append reach the old file", async () => {
    const manager = await createWritten(box.dir);
    const old = fileOf(manager);
    const [first] = manager.getEntries();
    const pending = manager.appendMessage(userMessage("pending"));
    const file = manager.createBranchedSession(first?.id ?? "");
    await manager.flush();
    expect(entryIds(old).at(-1)).toBe(pending);
    expect(entryIds(String(file))).toEqual([first?.id]);
  });

  it("keeps the title", async () => {
    const manager = await createWritten(box.dir);
    await manager.setSessionName("Kept", "user");
    const file = manager.createBranchedSession(manager.getLeafId() ?? "");
    expect(manager.getSessionName()).toBe("Kept");
    const reopened = await SessionManager.open(String(file));
    expect(reopened.getSessionName()).toBe("Kept");
    expect(reopened.titleSource).toBe("user");
  });

  it("keeps the source of a title that is not there", async () => {
    const file = writeLines(box.path("s.jsonl"), smallSession({ titleSource: "user" }));
    const manager = await SessionManager.open(file);
    manager.createBranchedSession(manager.getLeafId() ?? "");
    expect(manager.getSessionName()).toBeUndefined();
    expect(manager.titleSource).toBe("user");
  });

  it("re-creates the labels of the path as a chain at its end", async () => {
    const manager = await createWritten(box.dir);
    const [first, second] = manager.getEntries().map((entry) => entry.id) as [string, string];
    const label1 = manager.appendLabelChange(second, "two");
    manager.appendLabelChange(first, "one");
    const side = manager.appendMessage(userMessage("side"));
    manager.appendLabelChange(side, "not on the path");
    const file = String(manager.createBranchedSession(second));
    const entries = readEntries(file);
    expect(entries.map((entry) => entry.type)).toEqual(["message", "message", "label", "label"]);
    expect(entries[2]).toMatchObject({ targetId: second, label: "two", parentId: second });
    expect(entries[3]).toMatchObject({ targetId: first, label: "one", parentId: entries[2]?.id });
    expect(entries[2]?.id).not.toBe(label1);
    expect(Object.keys(loose(entries[2]))).toEqual([
      "type",
      "id",
      "parentId",
      "timestamp",
      "targetId",
      "label",
    ]);
    expect(manager.getLabel(first)).toBe("one");
    expect(manager.getLabel(second)).toBe("two");
    expect(manager.getLabel(side)).toBeUndefined();
    expect(manager.getLeafId()).toBe(entries[3]?.id);
  });

  it("joins what stood before and after a dropped label", async () => {
    const manager = await createWritten(box.dir);
    const [first, second] = manager.getEntries().map((entry) => entry.id) as [string, string];
    manager.appendLabelChange(first, "one");
    const third = manager.appendMessage(userMessage("third"));
    const original = manager.getEntry(third);
    const file = String(manager.createBranchedSession(third));
    const entries = readEntries(file);
    expect(entries.slice(0, 3).map((entry) => [entry.id, entry.parentId])).toEqual([
      [first, null],
      [second, first],
      [third, second],
    ]);
    expect(manager.buildSessionContext().messages).toHaveLength(3);
    expect(original?.parentId).not.toBe(second);
  });

  it("throws for an unknown entry and changes nothing", async () => {
    const manager = await createWritten(box.makeDir("s"));
    const file = fileOf(manager);
    expect(() => manager.createBranchedSession("unknown")).toThrow(unknownEntry("unknown"));
    expect(manager.getSessionFile()).toBe(file);
    expect(fs.readdirSync(box.path("s"))).toEqual([path.basename(file)]);
  });

  it("takes the leaf when called without an id", async () => {
    const manager = await createWritten(box.dir);
    const leaf = manager.getLeafId();
    manager.createBranchedSession(unchecked(undefined));
    expect(manager.getEntries()).toHaveLength(2);
    expect(manager.getLeafId()).toBe(leaf);
  });
});

describe("createBranchedSession in memory", () => {
  it("replaces the entries and returns undefined", () => {
    const manager = SessionManager.inMemory(box.dir);
    const first = manager.appendMessage(userMessage("a"));
    manager.appendMessage(assistantMessage("b"));
    const oldId = manager.getSessionId();
    expect(manager.createBranchedSession(first)).toBeUndefined();
    expect(manager.getEntries().map((entry) => entry.id)).toEqual([first]);
    expect(manager.getSessionFile()).toBeUndefined();
    expect(manager.getSessionId()).not.toBe(oldId);
    expect(loose(manager.getHeader()).parentSession).toBeUndefined();
    expect(manager.getUsageStatistics().input).toBe(0);
  });

  it("throws for an unknown entry", () => {
    const manager = SessionManager.inMemory(box.dir);
    expect(() => manager.createBranchedSession("unknown")).toThrow("Entry unknown not found");
  });
});
