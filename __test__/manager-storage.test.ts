import * as fs from "node:fs";
import * as path from "node:path";
import { describe, expect, it } from "vitest";
import {
  FileSessionStorage,
  findMostRecentSession,
  getRecentSessions,
  loadEntriesFromFile,
  MemorySessionStorage,
  SessionManager,
} from "../index.js";
import { type Loose, loose, unchecked } from "./support/loose.js";
import { fileOf } from "./support/managers.js";
import { assistantMessage, userMessage } from "./support/messages.js";
import { useSandbox } from "./support/sandbox.js";
import { entryIds, smallSession } from "./support/session-files.js";
import { STORAGE_CALLS } from "./support/storage-calls.js";

const box = useSandbox();

interface Recorded {
  calls: string[];
  lines: string[];
  storage: Loose;
  memory: MemorySessionStorage;
}

/** A storage of the caller's own that records the calls made on it. */
function recordingStorage(): Recorded {
  const memory = new MemorySessionStorage();
  const calls: string[] = [];
  const lines: string[] = [];
  const target = loose(memory);
  const storage: Loose = {};
  for (const name of [...STORAGE_CALLS, "exists", "writeText"]) {
    storage[name] = function (this: unknown, ...args: unknown[]) {
      expect(this, `${name} is called as a method`).toBe(storage);
      calls.push(name);
      const result = target[name](...args);
      if (name !== "openWriter") {
        return result;
      }
      expect(loose(args[1]).flags).toMatch(/^[aw]$/);
      return {
        writeLine: (line: string) => {
          calls.push("writeLine");
          lines.push(line);
          return result.writeLine(line);
        },
        flush: () => {
          calls.push("flush");
          return result.flush();
        },
        fsync: () => {
          calls.push("fsync");
          return result.fsync();
        },
        close: () => {
          calls.push("close");
          return result.close();
        },
      };
    };
  }
  return { calls, lines, storage, memory };
}

async function linesOf(storage: MemorySessionStorage, file: string): Promise<Loose[]> {
  const text = await storage.readText(file);
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

describe("a persisting manager on a memory storage", () => {
  it("keeps its session there and touches no disk", async () => {
    const storage = new MemorySessionStorage();
    const dir = box.path("virtual");
    const manager = SessionManager.create(box.dir, dir, storage);
    const file = fileOf(manager);
    const first = manager.appendMessage(userMessage());
    await manager.flush();
    expect(storage.existsSync(file)).toBe(false);
    const second = manager.appendMessage(assistantMessage());
    const third = manager.appendModelChange("a/b");
    await manager.flush();
    expect((await linesOf(storage, file)).map((line) => line.id)).toEqual([
      manager.getSessionId(),
      first,
      second,
      third,
    ]);
    await manager.close();
    expect(fs.existsSync(dir)).toBe(false);
    expect(fs.readdirSync(box.dir)).toEqual([]);
  });

  it("copies lines that nobody asked for when it rewrites a file", async () => {
    const storage = new MemorySessionStorage();
    const file = box.path("virtual", "copied.jsonl");
    const lines = [
      '{"type":"custom","customType":"c","data":{"partialJson":"{","n":1.50},"id":"a","parentId":null,"timestamp":"2026-01-02T03:04:05.678Z"}',
      `{"type":"custom","customType":"c","data":"${"x".repeat(500_001)}","id":"b","parentId":"a","timestamp":"2026-01-02T03:04:05.678Z"}`,
    ];
    const header = { type: "session", version: 3, id: "s", timestamp: "t", cwd: box.dir };
    storage.writeTextSync(file, `${[JSON.stringify(header), ...lines].join("\n")}\n`);
    const manager = await SessionManager.open(file, box.path("virtual"), storage);
    await manager.setSessionName("Copied");
    const written = (await storage.readText(file)).trimEnd().split("\n");
    expect(JSON.parse(written[0] ?? "")).toMatchObject({ title: "Copied" });
    expect(written.slice(1)).toEqual(lines);
    await manager.close();
  });

  it.each([
    ["an unterminated entry", (text: string) => text.slice(0, -1), 2],
    ["a torn entry", (text: string) => text.slice(0, -9), 1],
    ["an unterminated header", (text: string) => text.slice(0, text.indexOf("\n")), 0],
  ])("gets later entries on lines of their own behind %s", async (_, cut, whole) => {
    const storage = new MemorySessionStorage();
    const file = "/virtual/torn.jsonl";
    const before = cut(
      smallSession()
        .map((line) => `${JSON.stringify(line)}\n`)
        .join(""),
    );
    storage.writeTextSync(file, before);
    const manager = await SessionManager.open(file, undefined, storage);
    expect(manager.getEntries()).toHaveLength(whole);
    const ids = [manager.appendModelChange("a/1"), manager.appendMessage(assistantMessage())];
    await manager.flush();
    const text = await storage.readText(file);
    expect(text.startsWith(`${before}\n{`)).toBe(true);
    const added = text
      .slice(before.length + 1)
      .trimEnd()
      .split("\n");
    expect(added.map((line) => JSON.parse(line).id)).toEqual(ids);
    await manager.close();
  });

  it("can be opened, renamed, forked, branched and listed again", async () => {
    const storage = new MemorySessionStorage();
    const dir = "/virtual/sessions";
    const manager = SessionManager.create("/virtual", dir, storage);
    manager.appendMessage(userMessage("q"));
    const answer = manager.appendMessage(assistantMessage("a"));
    await manager.close();
    const again = await SessionManager.open(fileOf(manager), dir, storage);
    expect(again.getEntries()).toHaveLength(2);
    expect(await again.setSessionName("Named", "user")).toBe(true);
    expect((await linesOf(storage, fileOf(manager)))[0]?.title).toBe("Named");
    const fork = await again.fork();
    expect(storage.existsSync(String(fork?.newSessionFile))).toBe(true);
    const branched = again.createBranchedSession(answer);
    expect(storage.existsSync(String(branched))).toBe(true);
    const infos = await SessionManager.list("/virtual", dir, storage);
    expect(infos.map((info) => info.path).sort()).toEqual(
      [fileOf(manager), fork?.newSessionFile, branched].sort(),
    );
    expect(infos.every((info) => info.messageCount === 2)).toBe(true);
    expect(await findMostRecentSession(dir, storage)).toBe(infos[0]?.path);
    expect(await getRecentSessions(dir, 2, storage)).toHaveLength(2);
    const copy = await SessionManager.forkFrom(fileOf(manager), "/virtual", dir, storage);
    expect(copy.getEntries()).toHaveLength(2);
  });

  it("rejects for a path it does not have", async () => {
    const storage = new MemorySessionStorage();
    await expect(SessionManager.open("/virtual/none.jsonl", "/v", storage)).rejects.toThrow(
      "File not found: /virtual/none.jsonl",
    );
    await expect(loadEntriesFromFile("/virtual/none.jsonl", storage)).rejects.toThrow(
      "File not found: /virtual/none.jsonl",
    );
  });

  it("loads what was put there as text", async () => {
    const storage = new MemorySessionStorage();
    const text = smallSession().map((line) => `${JSON.stringify(line)}\n`);
    storage.writeTextSync("/v/s.jsonl", text.join(""));
    expect(await loadEntriesFromFile("/v/s.jsonl", storage)).toEqual(smallSession());
    const manager = await SessionManager.open("/v/s.jsonl", undefined, storage);
    expect(manager.getSessionDir()).toBe("/v");
    expect(manager.getLeafId()).toBe("aaaaaaa2");
  });
});

describe("a storage of the caller's own", () => {
  it("is called as a method, with the documented members only", async () => {
    const { calls, lines, storage } = recordingStorage();
    const manager = SessionManager.create("/virtual", "/virtual/s", unchecked(storage));
    manager.appendMessage(userMessage());
    manager.appendMessage(assistantMessage());
    await manager.flush();
    manager.appendModelChange("a/b");
    await manager.flush();
    await manager.setSessionName("Name");
    await manager.rewriteEntries();
    await manager.fork();
    manager.createBranchedSession(manager.getLeafId() ?? "");
    await manager.close();
    await SessionManager.open(fileOf(manager), undefined, unchecked(storage));
    await SessionManager.list("/virtual", "/virtual/s", unchecked(storage));
    await getRecentSessions("/virtual/s", 3, unchecked(storage));
    expect(new Set(calls)).not.toContain("exists");
    expect(new Set(calls)).not.toContain("writeText");
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) {
      expect(line.endsWith("\n")).toBe(true);
      expect(() => JSON.parse(line)).not.toThrow();
    }
  });

  it("sees nothing before the first answer", async () => {
    const { calls, storage } = recordingStorage();
    const manager = SessionManager.create("/virtual", "/virtual/s", unchecked(storage));
    manager.appendMessage(userMessage());
    await manager.flush();
    expect(new Set(calls)).toEqual(new Set(["ensureDirSync"]));
  });

  it("gets the first write as a temporary file that is renamed", async () => {
    const { calls, memory, storage } = recordingStorage();
    const renamed: string[][] = [];
    const rename = storage.rename;
    storage.rename = function (this: unknown, from: string, to: string) {
      renamed.push([from, to]);
      return rename.call(this, from, to);
    };
    const manager = SessionManager.create("/virtual", "/virtual/s", unchecked(storage));
    const file = fileOf(manager);
    manager.appendMessage(userMessage());
    manager.appendMessage(assistantMessage());
    await manager.flush();
    expect(renamed).toHaveLength(1);
    expect(renamed[0]?.[1]).toBe(file);
    const temporary = String(renamed[0]?.[0]);
    expect(path.dirname(temporary)).toBe("/virtual/s");
    expect(path.basename(temporary)).toMatch(
      new RegExp(`^\\.${path.basename(file).replaceAll(".", "\\.")}\\.[0-9a-f]{16}\\.tmp$`),
    );
    expect(calls.lastIndexOf("fsync")).toBeLessThan(calls.lastIndexOf("rename"));
    expect(memory.existsSync(temporary)).toBe(false);
    expect(memory.existsSync(file)).toBe(true);
  });

  it("gets later entries through one appending writer", async () => {
    const { calls, storage } = recordingStorage();
    const manager = SessionManager.create("/virtual", "/virtual/s", unchecked(storage));
    manager.appendMessage(userMessage());
    manager.appendMessage(assistantMessage());
    await manager.flush();
    calls.length = 0;
    manager.appendModelChange("a/1");
    manager.appendModelChange("a/2");
    await manager.flush();
    manager.appendModelChange("a/3");
    await manager.flush();
    expect(calls.filter((name) => name === "openWriter").length).toBeLessThanOrEqual(1);
    expect(calls.filter((name) => name === "rename")).toEqual([]);
    expect(calls.at(-1)).toBe("fsync");
  });

  it("gets an entry in the turn in which it is appended", async () => {
    const { lines, storage } = recordingStorage();
    const manager = SessionManager.create("/virtual", "/virtual/s", unchecked(storage));
    manager.appendMessage(assistantMessage());
    await manager.flush();
    const id = manager.appendMessage(userMessage());
    await new Promise((resolve) => setImmediate(resolve));
    expect(JSON.parse(lines.at(-1) ?? "{}").id).toBe(id);
  });

  it("may be a subclass of the file storage", async () => {
    const written: string[] = [];
    class Watching extends FileSessionStorage {
      override openWriter(...args: Parameters<FileSessionStorage["openWriter"]>) {
        written.push(args[0]);
        return super.openWriter(...args);
      }
    }
    const manager = SessionManager.create(box.dir, box.dir, new Watching());
    manager.appendMessage(userMessage());
    manager.appendMessage(assistantMessage());
    await manager.flush();
    expect(written.length).toBeGreaterThan(0);
    expect(fs.existsSync(fileOf(manager))).toBe(true);
  });

  it("has everything at the end of the process, even if a rename ends after that", async () => {
    const pending: (() => void)[] = [];
    class SlowRenames extends FileSessionStorage {
      override rename(from: string, to: string): Promise<void> {
        return new Promise((resolve) => {
          pending.push(() => {
            fs.renameSync(from, to);
            resolve();
          });
        });
      }
    }
    const manager = SessionManager.create(box.dir, box.makeDir("s"), new SlowRenames());
    manager.appendMessage(userMessage());
    const writing = manager.ensureOnDisk();
    while (pending.length === 0) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    manager.appendMessage(assistantMessage());
    process.emit("exit", 0);
    const ids = manager.getEntries().map((entry) => entry.id);
    expect(entryIds(fileOf(manager))).toEqual(ids);
    pending[0]?.();
    expect(entryIds(fileOf(manager))).toEqual(ids);
    await writing;
    await manager.close();
    expect(entryIds(fileOf(manager))).toEqual(ids);
    expect(fs.readdirSync(box.path("s"))).toHaveLength(1);
  });

  it("gets a line of its own for an entry whose first write was cut short", async () => {
    const { memory, storage } = recordingStorage();
    const openWriter = storage.openWriter;
    let short = false;
    storage.openWriter = function (this: unknown, ...args: unknown[]) {
      const writer = openWriter.apply(this, args);
      return {
        ...writer,
        writeLine: async (line: string) => {
          if (short) {
            short = false;
            await writer.writeLine(line.slice(0, 20));
            throw new Error("the disk is full");
          }
          await writer.writeLine(line);
        },
      };
    };
    const manager = SessionManager.create("/virtual", "/virtual/s", unchecked(storage));
    manager.appendMessage(assistantMessage());
    await manager.flush();
    short = true;
    const id = manager.appendMessage(userMessage());
    await manager.flush().catch(() => undefined);
    await manager.flush();
    const lines = (await memory.readText(fileOf(manager))).trimEnd().split("\n");
    expect(lines).toHaveLength(4);
    expect(JSON.parse(lines[3] ?? "").id).toBe(id);
  });

  for (const call of ["appendMessage", "rewriteEntries", "setSessionName"] as const) {
    it(`has each entry once when the process ends while ${call} is under way`, async () => {
      for (let turns = 0; turns < 40; turns++) {
        class OwnStorage extends FileSessionStorage {
          override openWriter(...args: Parameters<FileSessionStorage["openWriter"]>) {
            return super.openWriter(...args);
          }
        }
        const dir = box.makeDir(`s${turns}`);
        const manager = SessionManager.create(box.dir, dir, new OwnStorage());
        manager.appendMessage(userMessage());
        manager.appendMessage(assistantMessage());
        await manager.flush();
        const message = userMessage("under way");
        const done =
          call === "appendMessage"
            ? manager.appendMessage(message)
            : call === "rewriteEntries"
              ? manager.rewriteEntries()
              : manager.setSessionName("Title");
        for (let turn = 0; turn < turns; turn++) {
          await (turn < 25 ? null : new Promise((resolve) => setImmediate(resolve)));
        }
        manager.appendMessage(userMessage("last"));
        process.emit("exit", 0);
        const ids = manager.getEntries().map((entry) => entry.id);
        expect(entryIds(fileOf(manager)), `${turns} turns`).toEqual(ids);
        await done;
        await manager.close();
        expect(entryIds(fileOf(manager)), `${turns} turns, then closed`).toEqual(ids);
      }
    });
  }

  it("fails appends and flush with its own error, and recovers", async () => {
    const { memory, storage } = recordingStorage();
    const failure = new Error("the disk is full");
    const openWriter = storage.openWriter;
    let broken = false;
    storage.openWriter = function (this: unknown, ...args: unknown[]) {
      if (broken) {
        throw failure;
      }
      return openWriter.apply(this, args);
    };
    const manager = SessionManager.create("/virtual", "/virtual/s", unchecked(storage));
    broken = true;
    const ids = [manager.appendMessage(userMessage()), manager.appendMessage(assistantMessage())];
    await expect(manager.flush()).rejects.toBe(failure);
    broken = false;
    await manager.flush().catch(() => undefined);
    await manager.flush();
    ids.push(manager.appendModelChange("a/b"));
    await manager.flush();
    const lines = await linesOf(memory, fileOf(manager));
    expect(lines.slice(1).map((line) => line.id)).toEqual(ids);
  });
});
