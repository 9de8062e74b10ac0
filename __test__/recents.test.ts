import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  FileSessionStorage,
  findMostRecentSession,
  getRecentSessions,
  MemorySessionStorage,
  setLogger,
} from "../index.js";
import { expectInvalidArgument, failureOf } from "./support/errors.js";
import { type Loose, loose, unchecked } from "./support/loose.js";
import { assistantMessage, userMessage } from "./support/messages.js";
import { useSandbox } from "./support/sandbox.js";
import { headerLine, messageLine, smallSession, writeLines } from "./support/session-files.js";
import { runUnprivileged } from "./support/unprivileged.js";

const box = useSandbox();
/** Modification time of files that were not given an age, milliseconds since 1970. */
const NOW = 1_700_000_000_000;

afterEach(() => {
  vi.useRealTimers();
  setLogger(undefined);
});

/** Writes a session file into the sandbox, `age` seconds old. */
function put(name: string, lines: readonly (Loose | string)[], age = 0): string {
  const file = writeLines(box.path(name), lines);
  fs.utimesSync(file, NOW / 1000 - age, NOW / 1000 - age);
  return file;
}

/** The full name of a session with these lines in a file called `name`. */
async function nameOf(lines: readonly (Loose | string)[], name = "file.jsonl"): Promise<string> {
  const file = put(name, lines);
  const [recent] = await getRecentSessions(box.dir, 1);
  expect(recent?.path).toBe(file);
  fs.rmSync(file);
  return recent?.fullName as string;
}

describe("findMostRecentSession", () => {
  it("finds the session that was modified last", async () => {
    expect(await findMostRecentSession(box.dir)).toBeNull();
    put("a.jsonl", [headerLine()], 3);
    const newest = put("b.jsonl", [headerLine()], 1);
    put("c.jsonl", [headerLine()], 2);
    expect(await findMostRecentSession(box.dir)).toBe(newest);
    fs.utimesSync(box.path("a.jsonl"), NOW / 1000, NOW / 1000);
    expect(await findMostRecentSession(box.dir)).toBe(box.path("a.jsonl"));
  });

  it("takes the greater name when both were modified at the same time", async () => {
    for (const name of ["b", "d", "a", "c"]) {
      put(`${name}.jsonl`, [headerLine()]);
    }
    expect(await findMostRecentSession(box.dir)).toBe(box.path("d.jsonl"));
  });

  it("sees differences of less than a millisecond", async () => {
    for (const [name, nanos] of [
      ["a", 500],
      ["b", 900],
      ["c", 100],
    ] as const) {
      put(`${name}.jsonl`, [headerLine()]);
      const time = `@1700000000.000000${nanos}`;
      expect(spawnSync("touch", ["-d", time, box.path(`${name}.jsonl`)]).status).toBe(0);
    }
    expect(await findMostRecentSession(box.dir)).toBe(box.path("b.jsonl"));
  });

  it("passes by other extensions and files that are no sessions", async () => {
    const session = put("session.jsonl", [headerLine()], 5);
    put("other.json", [headerLine()]);
    put("other.jsonl.bak-1", [headerLine()]);
    put(".hidden.jsonl", [headerLine()]);
    put("text.jsonl", ["not a session"]);
    put("empty.jsonl", []);
    put("other-type.jsonl", [headerLine({ type: "other" })]);
    put("numeric-id.jsonl", [headerLine({ id: 5 })]);
    put("no-id.jsonl", [{ type: "session" }]);
    fs.mkdirSync(box.path("dir.jsonl"));
    fs.symlinkSync(box.path("gone"), box.path("link.jsonl"));
    expect(await findMostRecentSession(box.dir)).toBe(session);
    expect((await getRecentSessions(box.dir, 99)).map((recent) => recent.path)).toEqual([session]);
  });

  it("never waits for a pipe", async () => {
    const session = put("session.jsonl", [headerLine()]);
    expect(spawnSync("mkfifo", [box.path("x.jsonl")]).status).toBe(0);
    expect(await findMostRecentSession(box.dir)).toBe(session);
    expect(await getRecentSessions(box.dir)).toHaveLength(1);
  });

  it("accepts an empty id", async () => {
    const session = put("session.jsonl", [headerLine({ id: "" })]);
    expect(await findMostRecentSession(box.dir)).toBe(session);
  });

  it("finds a session with a damaged header whose entries can be read", async () => {
    const session = put("session.jsonl", ['{"type":"sess', ...smallSession().slice(1)]);
    expect(await findMostRecentSession(box.dir)).toBe(session);
  });

  it.each([4000, 4096, 10_000, 70_000, 2_000_000])(
    "finds a session whose header is %d bytes longer",
    async (length) => {
      put("old.jsonl", [headerLine()], 9);
      const session = put("new.jsonl", [headerLine({ note: "長".repeat(length / 2), title: "T" })]);
      expect(await findMostRecentSession(box.dir)).toBe(session);
      expect((await getRecentSessions(box.dir))[0]?.fullName).toBe("T");
      const storage = proxied(new FileSessionStorage());
      expect(await findMostRecentSession(box.dir, storage)).toBe(session);
      expect((await getRecentSessions(box.dir, 1, storage))[0]?.fullName).toBe("T");
    },
  );

  it("is not kept from the others by files that cannot be read", () => {
    const session = put("session.jsonl", [headerLine()], 5);
    fs.chmodSync(put("closed.jsonl", [headerLine()]), 0);
    fs.chmodSync(box.dir, 0o755);
    const body = `
      const recent = await exports.getRecentSessions(argument);
      return [await exports.findMostRecentSession(argument), recent.map(({ path }) => path)];`;
    expect(runUnprivileged("index.js", body, box.dir)).toEqual([session, [session]]);
  });

  it("finds nothing in a directory that cannot be read, and tells the logger", () => {
    put("session.jsonl", [headerLine()]);
    fs.chmodSync(box.dir, 0);
    const body = `
      const log = [];
      exports.setLogger((level, message, { err }) => log.push([level, err.code]));
      const result = [
        await exports.findMostRecentSession(argument),
        await exports.getRecentSessions(argument),
      ];
      return [...result, log];`;
    expect(runUnprivileged("index.js", body, box.dir)).toEqual([
      null,
      [],
      [
        ["warn", "EACCES"],
        ["warn", "EACCES"],
      ],
    ]);
  });

  it("finds nothing without directory, and keeps silent about that", async () => {
    const logger = vi.fn();
    setLogger(logger);
    expect(await findMostRecentSession(box.path("missing"))).toBeNull();
    expect(await getRecentSessions(box.path("missing"))).toEqual([]);
    expect(logger).not.toHaveBeenCalled();
  });
});

/** A storage that does everything a file storage does, but is none. */
function proxied(storage: FileSessionStorage) {
  return unchecked({
    listFilesSync: vi.fn((dir: string, pattern: string) => storage.listFilesSync(dir, pattern)),
    readTextPrefix: vi.fn((file: string, count: number) => storage.readTextPrefix(file, count)),
    statSync: vi.fn((file: string) => storage.statSync(file)),
  });
}

describe("getRecentSessions", () => {
  it("gives the newest three, or as many as asked for", async () => {
    for (let n = 0; n < 6; n++) {
      put(`${n}.jsonl`, [headerLine({ id: `id ${n}` })], n);
    }
    const ids = async (...limit: [number?]) =>
      (await getRecentSessions(box.dir, ...limit)).map((recent) => recent.fullName);
    const all = ["id 0", "id 1", "id 2", "id 3", "id 4", "id 5"];
    expect(await ids()).toEqual(all.slice(0, 3));
    expect(await ids(undefined)).toEqual(all.slice(0, 3));
    for (const limit of [0, 1, 5, 6, 100, -1, -2, -9, 2.9, Number.NaN, Infinity, -Infinity]) {
      expect(await ids(limit), `${limit}`).toEqual(all.slice(0, limit));
    }
  });

  it("is the same through a storage that is not ours", async () => {
    put("a.jsonl", [headerLine({ title: "A" })], 2);
    put("b.jsonl", [headerLine(), messageLine("m", null, userMessage("prompt"))], 1);
    put("c.jsonl", ["no session"]);
    const storage = proxied(new FileSessionStorage());
    const direct = await getRecentSessions(box.dir);
    const through = await getRecentSessions(box.dir, 3, storage);
    const view = (recents: typeof direct) =>
      recents.map(({ path, mtime, fullName }) => ({ path, mtime, fullName }));
    expect(view(through)).toEqual(view(direct));
    expect(view(direct)).toEqual([
      { path: box.path("b.jsonl"), mtime: NOW - 1000, fullName: "prompt" },
      { path: box.path("a.jsonl"), mtime: NOW - 2000, fullName: "A" },
    ]);
    expect(storage.listFilesSync.mock.calls).toEqual([[box.dir, "*.jsonl"]]);
    expect(storage.readTextPrefix.mock.calls).toEqual(
      expect.arrayContaining([[box.path("a.jsonl"), 4096]]),
    );
  });

  it("passes by what a storage cannot read, and is empty when it cannot list", async () => {
    const memory = new MemorySessionStorage();
    memory.writeTextSync("/v/a.jsonl", `${JSON.stringify(headerLine({ title: "A" }))}\n`);
    memory.writeTextSync("/v/b.jsonl", `${JSON.stringify(headerLine({ title: "B" }))}\n`);
    const storage = unchecked({
      listFilesSync: () => ["/v/a.jsonl", "/v/b.jsonl", "/v/gone.jsonl"],
      readTextPrefix: (file: string, count: number) => memory.readTextPrefix(file, count),
      statSync(file: string) {
        if (file === "/v/b.jsonl") {
          throw new Error("no times");
        }
        return memory.statSync(file);
      },
    });
    expect((await getRecentSessions("/v", 3, storage)).map((it) => it.fullName)).toEqual(["A"]);
    storage.listFilesSync = () => {
      throw new Error("cannot list");
    };
    const logger = vi.fn();
    setLogger(logger);
    expect(await getRecentSessions("/v", 3, storage)).toEqual([]);
    expect(await findMostRecentSession("/v", storage)).toBeNull();
    expect(logger).toHaveBeenCalledTimes(2);
  });

  it("rejects arguments of other types", async () => {
    const get = unchecked(getRecentSessions);
    expectInvalidArgument(await failureOf(() => get(undefined)), "sessionDir");
    expectInvalidArgument(await failureOf(() => get(box.dir, "3")), "limit");
    expectInvalidArgument(await failureOf(() => findMostRecentSession(unchecked(5))), "sessionDir");
  });
});

describe("a recent session", () => {
  it("has its path and time as its only own members", async () => {
    const file = put("s.jsonl", [headerLine({ title: "T" })], 60);
    const [recent] = await getRecentSessions(box.dir);
    expect({ ...recent }).toEqual({ path: file, mtime: NOW - 60_000 });
    expect(Object.keys(loose(recent))).toEqual(["path", "mtime"]);
    const prototype = Object.getPrototypeOf(recent);
    expect(prototype).not.toBe(Object.prototype);
    for (const name of ["fullName", "name", "timeAgo"]) {
      expect(typeof Object.getOwnPropertyDescriptor(prototype, name)?.get).toBe("function");
    }
  });

  it("is named after its title, else its prompt, else its id, else its file", async () => {
    const prompt = messageLine("m", null, userMessage("prompt"));
    const cases: [string, Loose, (Loose | string)[]][] = [
      ["title", { title: "title" }, [prompt]],
      ["t1 t2", { title: " \t t1 \u0000t2\u007f \n more" }, [prompt]],
      ["t1", { title: "t1\r\nt2" }, [prompt]],
      ["prompt", { title: "" }, [prompt]],
      ["prompt", { title: undefined }, [prompt]],
      ["prompt", { title: null }, [prompt]],
      // Blank, but a title all the same, so that the prompt is not looked for.
      ["15e1be0f427b9866", { title: " \n x" }, [prompt]],
      ["15e1be0f427b9866", { title: 5 }, [prompt]],
      ["15e1be0f427b9866", {}, []],
      ["file", { id: "" }, []],
      ["file", { id: "\u0001" }, []],
      ["漢字 🎉", { title: "漢字 🎉" }, []],
    ];
    for (const [expected, header, lines] of cases) {
      expect(await nameOf([headerLine(header), ...lines]), JSON.stringify(header)).toBe(expected);
    }
    expect(await nameOf([headerLine({ id: "" })], "a.jsonl.jsonl")).toBe("a.jsonl");
  });

  it("is named after the first message of the user that has a text", async () => {
    const user = (content: unknown) => messageLine("m", null, userMessage(content));
    const cases: [string, unknown[]][] = [
      ["first", ["first", "second"]],
      ["block", [[{ type: "image" }, { type: "text", text: "block" }], "second"]],
      ["any type", [[{ type: "other", text: "any type" }]]],
      ["second", [5, null, [], [{ type: "image" }], [{ text: 5 }], "second"]],
      // An empty text ends the search.
      ["15e1be0f427b9866", ["", "second"]],
      ["line", ["line\nother"]],
    ];
    for (const [expected, contents] of cases) {
      const lines = [headerLine(), messageLine("a", null, assistantMessage("answer"))];
      expect(await nameOf([...lines, ...contents.map(user)]), expected).toBe(expected);
    }
  });

  it("is named in spite of a torn end of what was read", async () => {
    const prompt = messageLine("m", null, userMessage("prompt"));
    const filler = messageLine("f", "m", assistantMessage("x".repeat(9000)));
    expect(await nameOf([headerLine(), prompt, filler])).toBe("prompt");
    expect(await nameOf([headerLine(), filler, prompt])).toBe("15e1be0f427b9866");
  });

  it("cuts names to 40 units", async () => {
    for (const [title, expected] of [
      ["x".repeat(40), "x".repeat(40)],
      ["x".repeat(41), `${"x".repeat(39)}…`],
      [`${"x".repeat(38)}🎉🎉`, `${"x".repeat(38)}\ud83c…`],
    ] as const) {
      put("s.jsonl", [headerLine({ title })]);
      const [recent] = await getRecentSessions(box.dir);
      expect(recent?.fullName).toBe(title);
      expect(recent?.name).toBe(expected);
    }
  });

  it("tells its age, and stays with what it told first", async () => {
    const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];
    put("s.jsonl", [headerLine()]);
    vi.useFakeTimers({ toFake: ["Date"] });
    for (const [age, expected] of [
      [-5 * DAY, "just now"],
      [0, "just now"],
      [MINUTE - 1, "just now"],
      [MINUTE, "1m ago"],
      [HOUR - 1, "59m ago"],
      [HOUR, "1h ago"],
      [DAY - 1, "23h ago"],
      [DAY, "1d ago"],
      [7 * DAY - 1, "6d ago"],
      [7 * DAY, new Date(NOW).toLocaleDateString()],
    ] as const) {
      vi.setSystemTime(NOW + age);
      const [recent] = await getRecentSessions(box.dir);
      expect(recent?.timeAgo, `${age}`).toBe(expected);
      vi.setSystemTime(NOW + 3 * HOUR);
      expect(recent?.timeAgo, `${age}`).toBe(expected);
    }
  });

  it("has the name of a title that was changed in place", async () => {
    const { SessionManager } = await import("../index.js");
    const manager = SessionManager.create(box.dir, box.dir);
    manager.appendMessage(userMessage("prompt"));
    manager.appendMessage(assistantMessage());
    await manager.flush();
    const name = async () => (await getRecentSessions(box.dir))[0]?.fullName;
    expect(await name()).toBe("prompt");
    await manager.setSessionName("Renamed");
    expect(await name()).toBe("Renamed");
    await manager.close();
    expect(path.dirname(String(await findMostRecentSession(box.dir)))).toBe(box.dir);
  });
});
