import * as fs from "node:fs";
import * as path from "node:path";
import { describe, expect, it } from "vitest";
import { FileSessionStorage, SessionManager } from "../index.js";
import { loose } from "./support/loose.js";
import {
  createIn,
  createWritten,
  fileOf,
  SESSION_FILE_NAME,
  SESSION_ID,
} from "./support/managers.js";
import { assistantMessage, userMessage } from "./support/messages.js";
import { useSandbox } from "./support/sandbox.js";
import {
  entryIds,
  fingerprint,
  readSession,
  smallSession,
  writeLines,
} from "./support/session-files.js";

const box = useSandbox();

describe("setSessionFile", () => {
  it("switches to another session and resolves with undefined", async () => {
    const file = writeLines(box.path("other.jsonl"), smallSession({ title: "Other" }));
    const before = fingerprint(file);
    const manager = await createWritten(box.dir);
    const dir = manager.getSessionDir();
    expect(await manager.setSessionFile(file)).toBeUndefined();
    expect(manager.getSessionFile()).toBe(file);
    expect(manager.getSessionId()).toBe("15e1be0f427b9866");
    expect(manager.getSessionName()).toBe("Other");
    expect(manager.getEntries().map((entry) => entry.id)).toEqual(["aaaaaaa1", "aaaaaaa2"]);
    expect(manager.getCwd()).toBe(box.dir);
    expect(manager.getSessionDir()).toBe(dir);
    await manager.flush();
    expect(fingerprint(file)).toEqual(before);
  });

  it("writes appends that were pending to the old file", async () => {
    const file = writeLines(box.path("other.jsonl"), smallSession());
    const manager = await createWritten(box.dir);
    const old = fileOf(manager);
    const id = manager.appendMessage(userMessage("late"));
    await manager.setSessionFile(file);
    expect(entryIds(old).at(-1)).toBe(id);
    expect(entryIds(file)).toEqual(["aaaaaaa1", "aaaaaaa2"]);
  });

  it("initialises a missing path and persists there at once", async () => {
    const manager = createIn(box.dir);
    const file = box.path("sub", "fresh.jsonl");
    fs.mkdirSync(path.dirname(file));
    await manager.setSessionFile(file);
    expect(manager.getSessionFile()).toBe(file);
    expect(readSession(file)).toEqual([JSON.parse(JSON.stringify(manager.getHeader()))]);
    expect(manager.getHeader()?.cwd).toBe(box.dir);
    const id = manager.appendModelChange("a/b");
    await manager.flush();
    expect(entryIds(file)).toEqual([id]);
  });

  it("leaves the manager as it was when the file cannot be read", async () => {
    const manager = await createWritten(box.dir);
    const file = fileOf(manager);
    const entries = manager.getEntries();
    await expect(manager.setSessionFile(box.makeDir("folder"))).rejects.toMatchObject({
      code: "EISDIR",
    });
    expect(manager.getSessionFile()).toBe(file);
    expect(manager.getEntries()).toEqual(entries);
    const id = manager.appendMessage(userMessage("still here"));
    await manager.flush();
    expect(entryIds(file).at(-1)).toBe(id);
  });

  it("makes a relative path absolute", async () => {
    const file = writeLines(box.path("other.jsonl"), smallSession());
    const manager = createIn(box.dir);
    await manager.setSessionFile(path.relative(process.cwd(), file));
    expect(manager.getSessionFile()).toBe(file);
  });

  it("rejects on an in-memory manager for a path its storage does not have", async () => {
    const file = writeLines(box.path("other.jsonl"), smallSession());
    const manager = SessionManager.inMemory(box.dir);
    await expect(manager.setSessionFile(file)).rejects.toThrow(`File not found: ${file}`);
  });
});

describe("newSession", () => {
  it("resolves with a new path that does not exist yet", async () => {
    const manager = await createWritten(box.dir);
    await manager.setSessionName("Old name", "user");
    const oldId = manager.getSessionId();
    const usageBefore = manager.getUsageStatistics();
    const file = await manager.newSession({ parentSession: "parent-id" });
    expect(file).toBe(manager.getSessionFile());
    expect(path.basename(String(file))).toMatch(SESSION_FILE_NAME);
    expect(fs.existsSync(String(file))).toBe(false);
    expect(manager.getSessionId()).not.toBe(oldId);
    expect(manager.getSessionName()).toBeUndefined();
    expect(manager.titleSource).toBeUndefined();
    expect(manager.getEntries()).toEqual([]);
    expect(manager.getLeafId()).toBeNull();
    expect(manager.getHeader()?.parentSession).toBe("parent-id");
    expect(manager.getUsageStatistics()).not.toBe(usageBefore);
    expect(manager.getUsageStatistics().input).toBe(0);
  });

  it("sets the parentSession key of the header even without options", async () => {
    const manager = createIn(box.dir);
    await manager.newSession();
    const header = loose(manager.getHeader());
    expect(Object.keys(header)).toEqual([
      "type",
      "version",
      "id",
      "timestamp",
      "cwd",
      "parentSession",
    ]);
    expect(header.parentSession).toBeUndefined();
  });

  it("writes appends that were pending to the old file", async () => {
    const manager = await createWritten(box.dir);
    const old = fileOf(manager);
    const id = manager.appendMessage(userMessage("late"));
    await manager.newSession();
    expect(entryIds(old).at(-1)).toBe(id);
  });

  it("returns to lazy persistence", async () => {
    const manager = createIn(box.dir);
    await manager.ensureOnDisk();
    const file = String(await manager.newSession());
    manager.appendMessage(userMessage());
    await manager.flush();
    expect(fs.existsSync(file)).toBe(false);
  });

  it("resolves with undefined in memory", async () => {
    const manager = SessionManager.inMemory(box.dir);
    const id = manager.getSessionId();
    manager.appendMessage(userMessage());
    expect(await manager.newSession()).toBeUndefined();
    expect(manager.getSessionId()).toMatch(SESSION_ID);
    expect(manager.getSessionId()).not.toBe(id);
    expect(manager.getEntries()).toEqual([]);
  });
});

describe("fork", () => {
  it("writes all entries to a new file and leaves the old one alone", async () => {
    const manager = await createWritten(box.dir);
    await manager.setSessionName("Title", "user");
    const old = fileOf(manager);
    const oldId = manager.getSessionId();
    const before = fingerprint(old);
    const entries = manager.getEntries();
    const usageBefore = { ...manager.getUsageStatistics() };
    const result = await manager.fork();
    expect(result).toEqual({ oldSessionFile: old, newSessionFile: fileOf(manager) });
    expect(Object.keys(loose(result))).toEqual(["oldSessionFile", "newSessionFile"]);
    expect(fingerprint(old)).toEqual(before);
    expect(path.dirname(fileOf(manager))).toBe(box.dir);
    expect(Object.keys(loose(manager.getHeader()))).toEqual([
      "type",
      "version",
      "id",
      "title",
      "titleSource",
      "timestamp",
      "cwd",
      "parentSession",
    ]);
    expect(manager.getHeader()).toMatchObject({
      title: "Title",
      titleSource: "user",
      parentSession: oldId,
      cwd: box.dir,
    });
    expect(manager.getEntries().every((entry, index) => entry === entries[index])).toBe(true);
    expect(manager.getUsageStatistics()).toEqual(usageBefore);
    expect(entryIds(fileOf(manager))).toEqual(entries.map((entry) => entry.id));
  });

  it("writes at once, without an answer and without an old file", async () => {
    const manager = createIn(box.dir);
    const id = manager.appendMessage(userMessage("alone"));
    manager.appendLabelChange(id, "mark");
    const result = await manager.fork();
    expect(fs.existsSync(String(result?.oldSessionFile))).toBe(false);
    expect(entryIds(String(result?.newSessionFile))).toHaveLength(2);
    expect(manager.getLabel(id)).toBe("mark");
    const header = loose(manager.getHeader());
    expect("title" in header && "titleSource" in header).toBe(true);
  });

  it("keeps the leaf", async () => {
    const manager = await createWritten(box.dir);
    const first = manager.getEntries()[0]?.id ?? "";
    manager.branch(first);
    await manager.fork();
    expect(manager.getLeafId()).toBe(first);
  });

  it("resolves with undefined in memory and changes nothing", async () => {
    const manager = SessionManager.inMemory(box.dir);
    const id = manager.getSessionId();
    expect(await manager.fork()).toBeUndefined();
    expect(manager.getSessionId()).toBe(id);
  });
});

describe("rewriteEntries, ensureOnDisk, flush and close", () => {
  it("rewriteEntries writes what is in memory, without an answer too", async () => {
    const manager = createIn(box.dir);
    const id = manager.appendMessage(userMessage("draft"));
    expect(await manager.rewriteEntries()).toBeUndefined();
    expect(entryIds(fileOf(manager))).toEqual([id]);
    const second = manager.appendMessage(userMessage("next"));
    manager.appendMessage(assistantMessage());
    await manager.flush();
    expect(entryIds(fileOf(manager)).slice(0, 2)).toEqual([id, second]);
  });

  it("rewriteEntries leaves no temporary file behind", async () => {
    const manager = await createWritten(box.makeDir("s"), box.dir);
    await manager.rewriteEntries();
    await manager.rewriteEntries();
    expect(fs.readdirSync(box.path("s"))).toEqual([path.basename(fileOf(manager))]);
  });

  it("ensureOnDisk creates the file and makes later entries immediate", async () => {
    const manager = createIn(box.dir);
    expect(await manager.ensureOnDisk()).toBeUndefined();
    expect(readSession(fileOf(manager))).toHaveLength(1);
    const id = manager.appendMessage(userMessage());
    await manager.flush();
    expect(entryIds(fileOf(manager))).toEqual([id]);
  });

  it("ensureOnDisk leaves a file that is already complete alone", async () => {
    const manager = await createWritten(box.dir);
    const before = fingerprint(fileOf(manager));
    await manager.ensureOnDisk();
    expect(fingerprint(fileOf(manager))).toEqual(before);
  });

  it("flush does not write entries that are held back", async () => {
    const manager = createIn(box.dir);
    manager.appendMessage(userMessage());
    expect(await manager.flush()).toBeUndefined();
    expect(fs.existsSync(fileOf(manager))).toBe(false);
  });

  it("close waits for the first write and may be repeated", async () => {
    const manager = createIn(box.dir);
    manager.appendMessage(userMessage());
    manager.appendMessage(assistantMessage());
    expect(await manager.close()).toBeUndefined();
    expect(entryIds(fileOf(manager))).toHaveLength(2);
    await manager.close();
    await Promise.all([manager.close(), manager.close()]);
    expect(entryIds(fileOf(manager))).toHaveLength(2);
  });

  it("close without anything to write creates nothing", async () => {
    const manager = createIn(box.dir);
    await manager.close();
    expect(fs.existsSync(fileOf(manager))).toBe(false);
  });

  it("appends after close open the file again", async () => {
    const manager = await createWritten(box.dir);
    await manager.close();
    const id = manager.appendMessage(userMessage("again"));
    await manager.flush();
    expect(entryIds(fileOf(manager)).at(-1)).toBe(id);
    await manager.close();
  });

  it("appends between a rewrite's call and its end are written exactly once", async () => {
    const manager = await createWritten(box.dir);
    const rewrite = manager.rewriteEntries();
    const ids = [manager.appendMessage(userMessage("during 1"))];
    await Promise.resolve();
    ids.push(manager.appendMessage(userMessage("during 2")));
    await rewrite;
    ids.push(manager.appendMessage(userMessage("after")));
    await manager.flush();
    expect(entryIds(fileOf(manager)).slice(2)).toEqual(ids);
  });
});

describe("captureState and restoreState", () => {
  it("capture has the documented keys first and the live entries, header first", async () => {
    const manager = await createWritten(box.dir);
    await manager.setSessionName("Name", "user");
    const state = loose(manager.captureState());
    expect(Object.keys(state).slice(0, 7)).toEqual([
      "sessionId",
      "sessionName",
      "titleSource",
      "sessionFile",
      "flushed",
      "needsFullRewriteOnNextPersist",
      "fileEntries",
    ]);
    expect(state).toMatchObject({
      sessionId: manager.getSessionId(),
      sessionName: "Name",
      titleSource: "user",
      sessionFile: manager.getSessionFile(),
      flushed: true,
      needsFullRewriteOnNextPersist: false,
    });
    const entries = manager.getEntries();
    expect(state.fileEntries[0]).toBe(manager.getHeader());
    expect(state.fileEntries.slice(1)).toHaveLength(entries.length);
    entries.forEach((entry, index) => {
      expect(state.fileEntries[index + 1]).toBe(entry);
    });
    state.fileEntries.length = 0;
    expect(manager.getEntries()).toHaveLength(2);
  });

  it("reports what still has to be written", async () => {
    const fresh = loose(createIn(box.dir).captureState());
    expect(fresh.flushed).toBe(false);
    expect(fresh.sessionName).toBeUndefined();
    const file = writeLines(box.path("old.jsonl"), smallSession({ version: 2 }));
    const migrated = loose((await SessionManager.open(file)).captureState());
    expect(migrated).toMatchObject({ flushed: true, needsFullRewriteOnNextPersist: true });
  });

  it("reports a session that is only read as written", async () => {
    const file = writeLines(box.path("read.jsonl"), smallSession());
    const manager = SessionManager.inMemory(box.dir, new FileSessionStorage());
    expect(loose(manager.captureState()).flushed).toBe(false);
    await manager.setSessionFile(file);
    manager.appendMessage(userMessage());
    expect(loose(manager.captureState()).flushed).toBe(true);
    await manager.newSession();
    expect(loose(manager.captureState()).flushed).toBe(false);
  });

  it("restore brings back the session after a switch", async () => {
    const file = writeLines(box.path("other.jsonl"), smallSession({ title: "Other" }));
    const manager = await createWritten(box.dir);
    const own = fileOf(manager);
    const header = manager.getHeader();
    const entries = manager.getEntries();
    const state = manager.captureState();
    await manager.setSessionFile(file);
    expect(manager.restoreState(state)).toBeUndefined();
    expect(manager.getSessionFile()).toBe(own);
    expect(manager.getHeader()).toBe(header);
    expect(manager.getSessionName()).toBeUndefined();
    expect(manager.getEntries().every((entry, index) => entry === entries[index])).toBe(true);
    expect(manager.getEntries()).toHaveLength(2);
    expect(manager.getUsageStatistics().input).toBe(10);
    expect(manager.getLeafId()).toBe(entries[1]?.id);
    const id = manager.appendMessage(userMessage("back"));
    await manager.flush();
    expect(entryIds(own).at(-1)).toBe(id);
    expect(entryIds(file)).toEqual(["aaaaaaa1", "aaaaaaa2"]);
  });

  it("restore takes its own copy of the array", async () => {
    const manager = await createWritten(box.dir);
    const state = manager.captureState();
    manager.restoreState(state);
    manager.appendMessage(userMessage());
    expect(loose(state).fileEntries).toHaveLength(3);
    manager.restoreState(state);
    expect(manager.getEntries()).toHaveLength(2);
  });
});
