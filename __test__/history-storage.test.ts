import * as fs from "node:fs";
import * as path from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { getHistoryDbPath, HistoryStorage, setLogger } from "../index.js";
import { runForResult } from "./support/child-process.ts";
import { expectInvalidArgument, failureOf } from "./support/errors.ts";
import { foreignSqlite } from "./support/foreign-sqlite.ts";
import { unchecked } from "./support/loose.ts";
import { useSandbox } from "./support/sandbox.ts";
import { modeOf } from "./support/temp-dir.ts";
import { runUnprivileged } from "./support/unprivileged.ts";

const sandbox = useSandbox();

afterEach(() => {
  HistoryStorage.resetInstance();
  setLogger(undefined);
});

const open = () => HistoryStorage.open(sandbox.path("history.db"));

/** Prompts in the order in which they were stored. */
function stored(history: HistoryStorage): string[] {
  return history
    .getRecent(1000)
    .map(({ prompt }) => prompt)
    .reverse();
}

/** What is logged while the test runs. */
function logged(): [string, string, { error: unknown }][] {
  const records: unknown[] = [];
  setLogger((...record) => records.push(record));
  return records as [string, string, { error: unknown }][];
}

describe("opening", () => {
  it("gives one instance, whatever path is named later", async () => {
    const history = open();
    expect(history).toBeInstanceOf(HistoryStorage);
    expect(HistoryStorage.open(sandbox.path("other.db"))).toBe(history);
    expect(HistoryStorage.open()).toBe(history);
    expect(fs.existsSync(sandbox.path("other.db"))).toBe(false);
    HistoryStorage.resetInstance();
    const other = HistoryStorage.open(sandbox.path("other.db"));
    expect(other).not.toBe(history);
    // The first one still works.
    await history.add("first");
    await other.add("second");
    expect([stored(history), stored(other)]).toEqual([["first"], ["second"]]);
  });

  it("creates the database at the default place, readable for its owner only", () => {
    HistoryStorage.open();
    expect(getHistoryDbPath()).toBe(path.join(sandbox.agentDir, "history.db"));
    expect(modeOf(getHistoryDbPath())).toBe(0o600);
    expect(modeOf(sandbox.agentDir)).toBe(0o700);
  });

  it("takes relative paths as of now", async () => {
    const before = process.cwd();
    try {
      process.chdir(sandbox.makeDir("a"));
      const history = HistoryStorage.open("b/history.db");
      process.chdir(sandbox.dir);
      await history.add("prompt");
      expect(fs.existsSync(sandbox.path("a/b/history.db"))).toBe(true);
    } finally {
      process.chdir(before);
    }
  });

  it("keeps a history in memory", async () => {
    const history = HistoryStorage.open(":memory:");
    await history.add("prompt");
    expect(stored(history)).toEqual(["prompt"]);
    expect(fs.existsSync(":memory:")).toBe(false);
  });

  it("has the schema that other programs know", async () => {
    await open().add("prompt");
    const file = sandbox.path("history.db");
    const rows = foreignSqlite(
      file,
      "SELECT type, name FROM sqlite_master WHERE name IN ('history', 'idx_history_created_at', 'history_fts', 'history_ai') ORDER BY name",
    );
    expect(rows).toEqual([
      { type: "table", name: "history" },
      { type: "trigger", name: "history_ai" },
      { type: "table", name: "history_fts" },
      { type: "index", name: "idx_history_created_at" },
    ]);
    expect(foreignSqlite(file, "PRAGMA journal_mode")).toEqual([{ journal_mode: "wal" }]);
    expect(foreignSqlite(file, "PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
    expect(
      foreignSqlite(file, "SELECT rowid FROM history_fts WHERE history_fts MATCH 'prompt'"),
    ).toEqual([{ rowid: 1 }]);
  });

  it("migrates the schema of earlier programs", async () => {
    const file = sandbox.path("history.db");
    foreignSqlite(
      file,
      "CREATE TABLE history (id INTEGER PRIMARY KEY AUTOINCREMENT, prompt TEXT NOT NULL, created_at INTEGER NOT NULL DEFAULT (unixepoch()), cwd TEXT)",
      "INSERT INTO history (id, prompt, created_at, cwd) VALUES (4, 'old one', 10, '/a'), (7, 'old two', 20, NULL)",
      "SELECT 1",
    );
    const history = open();
    await history.add("new one");
    expect(history.getRecent(3)).toMatchObject([
      { id: 8, prompt: "new one" },
      { id: 7, prompt: "old two", created_at: 20, cwd: undefined },
      { id: 4, prompt: "old one", created_at: 10, cwd: "/a" },
    ]);
    expect(history.search("one", 9).map(({ id }) => id)).toEqual([8, 4]);
    const [table] = foreignSqlite(file, "SELECT sql FROM sqlite_master WHERE name = 'history'");
    expect(table?.sql).toContain("strftime('%s','now')");
    expect(table?.sql).not.toContain("unixepoch(");
  });
});

describe("add", () => {
  it("resolves with nothing when the row is in the database", async () => {
    const before = Math.floor(Date.now() / 1000);
    expect(await open().add(" \ufeffa prompt\n", "/cwd")).toBeUndefined();
    const rows = foreignSqlite(sandbox.path("history.db"), "SELECT * FROM history");
    expect(rows).toEqual([
      { id: 1, prompt: "a prompt", created_at: expect.any(Number), cwd: "/cwd" },
    ]);
    expect(rows[0]?.created_at).toBeGreaterThanOrEqual(before);
    expect(rows[0]?.created_at).toBeLessThanOrEqual(Date.now() / 1000);
  });

  it("writes what one tick adds in the order of the calls, with one promise", async () => {
    const history = open();
    const promises = ["c", "a", "b"].map((prompt) => history.add(prompt));
    expect(new Set(promises).size).toBe(1);
    await promises[0];
    expect(stored(history)).toEqual(["c", "a", "b"]);
  });

  it("needs no timers", async () => {
    vi.useFakeTimers();
    try {
      await open().add("prompt");
    } finally {
      vi.useRealTimers();
    }
    expect(stored(open())).toEqual(["prompt"]);
  });

  it("drops empty prompts and repetitions of the last", async () => {
    const history = open();
    const added = history.add("a");
    expect(history.add("  a ")).toBe(added);
    await Promise.all(["", " \n\u3000", "a", "b", "b", "a", "A"].map((text) => history.add(text)));
    await history.add("A");
    expect(stored(history)).toEqual(["a", "b", "a", "A"]);
    HistoryStorage.resetInstance();
    const reopened = open();
    await reopened.add("A");
    await reopened.add("a");
    expect(stored(reopened)).toEqual(["a", "b", "a", "A", "a"]);
  });

  it("keeps prompts that are added while others are being written", async () => {
    const history = open();
    const expected: string[] = [];
    const promises: Promise<void>[] = [];
    for (let at = 0; at < 300; at++) {
      expected.push(`prompt ${at}`);
      promises.push(history.add(`prompt ${at}`));
      if (at % 7 === 0) {
        await new Promise(setImmediate);
      }
      if (at % 50 === 0) {
        await promises.at(-1);
      }
    }
    await Promise.all(promises);
    expect(stored(history)).toEqual(expected);
  });

  it("stores any text", async () => {
    const history = open();
    const texts = [
      "a\0b",
      "'; DROP TABLE history; --",
      "😀\u{10ffff}",
      "x".repeat(300_000),
      "\u0085",
    ];
    for (const text of texts) {
      await history.add(text, text);
    }
    expect(stored(history)).toEqual(texts);
    expect(history.getRecent(9).map(({ cwd }) => cwd)).toEqual(texts.toReversed());
  });

  it("replaces halves of characters", async () => {
    const history = open();
    const first = history.add("k\ud83d");
    // What is stored is compared.
    expect(history.add("k\ud83e")).toBe(first);
    await first;
    await history.add("\ude00 and \ud83d\ude00");
    expect(stored(history)).toEqual(["k\ufffd", "\ufffd and 😀"]);
  });

  it("tells what could not be stored, and stores it when it is added again", async () => {
    const history = open();
    const file = sandbox.path("history.db");
    foreignSqlite(
      file,
      "CREATE TRIGGER refuse BEFORE INSERT ON history WHEN new.prompt = 'bad' BEGIN SELECT RAISE(ABORT, 'refused'); END",
      "SELECT 1",
    );
    const batch = ["good", "bad"].map((prompt) => history.add(prompt));
    const error = await failureOf(() => batch[0]);
    expect(error).toMatchObject({ code: "SQLITE_CONSTRAINT", path: file });
    expect(error.message).toBe(`refused: ${file}`);
    expect(stored(history)).toEqual(["good"]);
    foreignSqlite(file, "DROP TRIGGER refuse", "SELECT 1");
    await history.add("bad");
    expect(stored(history)).toEqual(["good", "bad"]);
  });

  it("throws for arguments of other types", async () => {
    const history = open();
    for (const wrong of [42, null, undefined, {}]) {
      expectInvalidArgument(await failureOf(() => history.add(unchecked(wrong))), "prompt");
      // Not by rejecting, as the original.
      expect(() => history.add(unchecked(wrong))).toThrow(TypeError);
    }
    expectInvalidArgument(await failureOf(() => history.add("a", unchecked(42))), "cwd");
    await history.add("a", unchecked(null));
    expect(history.getRecent(1)[0]?.cwd).toBeUndefined();
  });
});

describe("getRecent", () => {
  it("gives the newest by time, then by id", () => {
    const history = open();
    foreignSqlite(
      sandbox.path("history.db"),
      "INSERT INTO history (prompt, created_at, cwd) VALUES ('a', 20, '/a'), ('b', 30, NULL), ('c', 10, ''), ('d', 20, '/d')",
      "SELECT 1",
    );
    const all = history.getRecent(9);
    expect(all).toStrictEqual([
      { id: 2, prompt: "b", created_at: 30, cwd: undefined },
      { id: 4, prompt: "d", created_at: 20, cwd: "/d" },
      { id: 1, prompt: "a", created_at: 20, cwd: "/a" },
      { id: 3, prompt: "c", created_at: 10, cwd: "" },
    ]);
    expect(Object.keys(all[0] ?? {})).toEqual(["id", "prompt", "created_at", "cwd"]);
    for (let limit = 0; limit < 4; limit++) {
      expect(history.getRecent(limit)).toStrictEqual(all.slice(0, limit));
      expect(history.search("a b c d", limit)).toEqual([]);
    }
  });

  it("rounds the limit down, to at most 1000", async () => {
    const history = open();
    await Promise.all(Array.from({ length: 1100 }, (_, at) => history.add(`same ${at}`)));
    const limits: [number, number][] = [
      [Number.NaN, 0],
      [Number.POSITIVE_INFINITY, 0],
      [-1, 0],
      [0.9, 0],
      [1.9, 1],
      [2000, 1000],
    ];
    for (const [limit, count] of limits) {
      expect(history.getRecent(limit)).toHaveLength(count);
      expect(history.search("same", limit)).toHaveLength(count);
    }
    expect(history.getRecent(1)[0]?.prompt).toBe("same 1099");
  });

  it("throws for arguments of other types", async () => {
    const history = open();
    for (const wrong of ["5", null, undefined]) {
      expectInvalidArgument(await failureOf(() => history.getRecent(unchecked(wrong))), "limit");
      expectInvalidArgument(await failureOf(() => history.search("a", unchecked(wrong))), "limit");
      expectInvalidArgument(await failureOf(() => history.search(unchecked(5), 5)), "query");
    }
    HistoryStorage.resetInstance();
    expectInvalidArgument(await failureOf(() => HistoryStorage.open(unchecked(5))), "dbPath");
  });

  it("logs errors of the database and gives nothing", async () => {
    const history = open();
    await history.add("prompt");
    foreignSqlite(sandbox.path("history.db"), "DROP TABLE history", "SELECT 1");
    const records = logged();
    expect(history.getRecent(5)).toEqual([]);
    expect(history.search("prompt", 5)).toEqual([]);
    const names = records.map(([level, message]) => [level, message]);
    expect(names.slice(0, 2)).toEqual([
      ["error", "HistoryStorage getRecent failed"],
      ["error", "HistoryStorage search failed"],
    ]);
    expect(records[0]?.[2].error).toMatchObject({ code: "SQLITE_ERROR" });
  });
});

describe("a database that cannot be used", () => {
  const places: [string, string, (file: string) => void][] = [
    ["random bytes", "SQLITE_NOTADB", (file) => fs.writeFileSync(file, "xyz".repeat(2000))],
    ["a directory", "SQLITE_CANTOPEN", (file) => fs.mkdirSync(file)],
    [
      "a database of another program",
      "SQLITE_ERROR",
      (file) => void foreignSqlite(file, "CREATE TABLE history (a)", "SELECT 1"),
    ],
  ];

  it.each(places)("%s: opening throws %s and changes nothing", async (_, code, make) => {
    const file = sandbox.path("history.db");
    make(file);
    const isFile = fs.statSync(file).isFile();
    const content = isFile ? fs.readFileSync(file, "hex") : "";
    const error = await failureOf(open);
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ code, path: file });
    expect(isFile ? fs.readFileSync(file, "hex") : "").toBe(content);
    expect(fs.readdirSync(sandbox.dir)).toEqual(["history.db"]);
    // The next attempt finds something better.
    fs.rmSync(file, { recursive: true });
    await open().add("prompt");
    expect(stored(open())).toEqual(["prompt"]);
  });

  it("below a file: opening throws the error of the system", async () => {
    fs.writeFileSync(sandbox.path("file"), "");
    const error = await failureOf(() => HistoryStorage.open(sandbox.path("file/history.db")));
    expect(error).toMatchObject({ code: "ENOTDIR", path: sandbox.path("file/history.db") });
  });

  it("with a NUL in its path: opening throws", async () => {
    expect(await failureOf(() => HistoryStorage.open("/a\0b/history.db"))).toHaveProperty("code");
  });

  const body = `
    const told = (error) => error && { code: error.code, path: error.path };
    let error, history, rows;
    try {
      history = exports.HistoryStorage.open(argument);
      rows = history.getRecent(5).length;
      await history.add("more");
    } catch (caught) {
      error = caught;
    }
    return { isOpen: history !== undefined, rows, ...told(error) };`;

  function withoutRights(file: string) {
    return runUnprivileged<Record<string, unknown>>("index.js", body, file);
  }

  it("in a directory that cannot be written to: throws", () => {
    fs.chmodSync(sandbox.dir, 0o755);
    const file = sandbox.path("closed/history.db");
    fs.mkdirSync(path.dirname(file), { mode: 0o555 });
    expect(withoutRights(file)).toEqual({ isOpen: false, code: "EACCES", path: file });
    expect(fs.readdirSync(path.dirname(file))).toEqual([]);
  });

  it("that may only be read: gives its rows, adding rejects", async () => {
    fs.chmodSync(sandbox.dir, 0o755);
    const file = sandbox.path("history.db");
    // By another process: a connection of this one would keep the journal mode as it is.
    await runForResult("history.cjs", [JSON.stringify({ file, action: "add" })]);
    foreignSqlite(file, "PRAGMA journal_mode = DELETE");
    fs.chmodSync(file, 0o444);
    const content = fs.readFileSync(file, "hex");
    expect(withoutRights(file)).toEqual({
      isOpen: true,
      rows: 1,
      code: "SQLITE_READONLY",
      path: file,
    });
    expect(fs.readFileSync(file, "hex")).toBe(content);
  });

  it("with an index that cannot be built: is told, the rest works", async () => {
    foreignSqlite(sandbox.path("history.db"), "CREATE TABLE history_fts (prompt)", "SELECT 1");
    const records = logged();
    const history = open();
    expect(records.map(([level, message]) => [level, message])).toEqual([
      ["warn", "HistoryStorage FTS rebuild failed"],
    ]);
    await history.add("the prompt");
    expect(history.search("prompt", 5)).toHaveLength(1);
    expect(records.at(-1)?.[1]).toBe("HistoryStorage search failed");
  });
});
