// Several processes, threads and programs at one database, and their ends.

import * as fs from "node:fs";
import * as path from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { HistoryStorage } from "../index.js";
import { runForResult, runScript } from "./support/child-process.ts";
import { foreignSqlite, lockDatabase, runInBun } from "./support/foreign-sqlite.ts";
import { useSandbox } from "./support/sandbox.ts";

const sandbox = useSandbox();

afterEach(() => HistoryStorage.resetInstance());

const file = () => sandbox.path("agent/history.db");

function run(task: Record<string, unknown>) {
  return runScript("history.cjs", [JSON.stringify({ file: file(), ...task })]);
}

function result<Result>(task: Record<string, unknown>) {
  return runForResult<Result>("history.cjs", [JSON.stringify({ file: file(), ...task })]);
}

/** Prompts as another program reads them, in the order of their ids. */
function onDisk(): string[] {
  const rows = foreignSqlite(file(), "SELECT prompt FROM history ORDER BY id");
  return rows.map(({ prompt }) => String(prompt));
}

function numbered(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, at) => `${name} ${at}`);
}

describe("processes", () => {
  it("that open a fresh path at the same moment all succeed", async () => {
    const names = numbered("process", 20);
    const at = Date.now() + 3000;
    await Promise.all(names.map((name) => result({ action: "add", name, count: 3, at })));
    expect(onDisk().sort()).toEqual(names.flatMap((name) => numbered(name, 3)).sort());
    expect(HistoryStorage.open(file()).search("process", 1000)).toHaveLength(60);
  });

  it("that add at the same time lose and mix up nothing", async () => {
    const at = Date.now() + 1000;
    const tasks = ["left", "right"].map((name) => ({ action: "add", name, count: 300, at }));
    await Promise.all(tasks.map((task) => result(task)));
    const all = onDisk();
    for (const name of ["left", "right"]) {
      expect(all.filter((prompt) => prompt.startsWith(name))).toEqual(numbered(name, 300));
    }
    const recent = HistoryStorage.open(file()).getRecent(1000);
    expect(recent.map(({ prompt }) => prompt)).toEqual(all.toReversed());
  });

  it("see each other's prompts at once", async () => {
    const history = HistoryStorage.open(file());
    await history.add("mine");
    await result({ action: "add", name: "theirs" });
    expect(history.getRecent(5).map(({ prompt }) => prompt)).toEqual(["theirs 0", "mine"]);
    // Repetitions are those of this process.
    await history.add("theirs 0");
    expect(onDisk()).toEqual(["mine", "theirs 0", "theirs 0"]);
  });

  it.each(["DELETE", "WAL"])("wait for a lock on a database with journal mode %s", async (mode) => {
    await result({ action: "add", name: "before" });
    foreignSqlite(file(), `PRAGMA journal_mode = ${mode}`);
    await lockDatabase(file(), 1500, "BEGIN EXCLUSIVE");
    expect(await result({ action: "add", name: "after" })).toEqual({ rows: 2 });
  });

  it("wait for a lock while they create the schema", async () => {
    fs.mkdirSync(path.dirname(file()));
    await lockDatabase(file(), 1500, "CREATE TABLE other (a)", "BEGIN EXCLUSIVE");
    expect(await result({ action: "add" })).toEqual({ rows: 1 });
  });

  it("that cannot use the database can use the rest of the package", async () => {
    fs.mkdirSync(path.dirname(file()));
    fs.writeFileSync(file(), "no database");
    const task = { action: "broken", sessions: sandbox.path("sessions") };
    expect(await result(task)).toEqual({ code: "SQLITE_NOTADB", session: true });
  });
});

describe("the end of a process", () => {
  const endings: [string, number][] = [
    ["exit", 7],
    ["throw", 1],
    ["rejection", 1],
    ["natural", 0],
  ];
  const tasks = endings.flatMap(([ending, code]) =>
    ["now", "microtask", "tick", "later"].map((moment) => ({ ending, moment, code })),
  );

  it.each(tasks)("$ending ($moment): everything is on disk, once", async ({ code, ...how }) => {
    const ended = await run({ action: "end", count: 200, ...how });
    expect([ended.code, ended.signal], ended.stderr).toEqual([code, null]);
    expect(onDisk()).toEqual(numbered("p", 200));
  });

  it.each([true, false])("what its listeners add is on disk (early: %s)", async (early) => {
    const ended = await run({ action: "listener", count: 5, early });
    expect([ended.code, ended.signal], ended.stderr).toEqual([7, null]);
    expect(onDisk()).toEqual([...(early ? [] : ["first"]), ...numbered("p", 5)]);
  });

  it("in a process that lives on: promises still settle", async () => {
    const history = HistoryStorage.open(file());
    const added = history.add("before");
    process.emit("exit", 0);
    expect(onDisk()).toEqual(["before"]);
    await added;
    await history.add("after");
    expect(onDisk()).toEqual(["before", "after"]);
  });
});

describe("threads", () => {
  it("add to one database, and some exit at once", async () => {
    const { rows } = await result<{ rows: number }>({ action: "threads", threads: 4, count: 50 });
    expect(rows).toBe(250);
    const all = onDisk();
    for (const name of ["p", ...numbered("thread", 4)]) {
      expect(all.filter((prompt) => prompt.startsWith(`${name} `))).toEqual(numbered(name, 50));
    }
  });
});

describe("another program's SQLite", () => {
  it("adds what is found here, and reads what is added here", async () => {
    const history = HistoryStorage.open(file());
    await history.add("mine");
    foreignSqlite(
      file(),
      "INSERT INTO history (prompt, cwd) VALUES ('their prompt', '/theirs')",
      "SELECT 1",
    );
    expect(history.search("their", 5)).toMatchObject([{ prompt: "their prompt", cwd: "/theirs" }]);
    await history.add("mine again");
    const found = "SELECT rowid FROM history_fts WHERE history_fts MATCH 'mine'";
    expect(foreignSqlite(file(), found)).toHaveLength(2);
    expect(onDisk()).toEqual(["mine", "their prompt", "mine again"]);
  });

  it("in the same process can open and close the file without harm", () => {
    const index = path.join(import.meta.dirname, "../index.js");
    const script = `
      const { Database } = require("bun:sqlite");
      const { HistoryStorage } = require(${JSON.stringify(index)});
      const file = ${JSON.stringify(file())};
      (async () => {
        const history = HistoryStorage.open(file);
        for (let round = 0; round < 5; round++) {
          await history.add("mine " + round);
          const reader = new Database(file, { readonly: true });
          reader.query("SELECT count(*) FROM history").get();
          const other = new Database(file);
          other.run("INSERT INTO history (prompt) VALUES (?)", ["theirs " + round]);
          await history.add("between " + round);
          // Closing ends all locks of the process and removes the log.
          other.close(true);
          reader.close(true);
        }
        console.log(history.getRecent(100).length);
      })();`;
    expect(runInBun(script).trim()).toBe("15");
    const names = ["mine", "theirs", "between"];
    expect(onDisk()).toEqual(
      [0, 1, 2, 3, 4].flatMap((round) => names.map((name) => `${name} ${round}`)),
    );
    expect(foreignSqlite(file(), "PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
  });
});
