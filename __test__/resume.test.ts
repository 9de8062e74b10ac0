import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { describe, expect, it, vi } from "vitest";
import { MemorySessionStorage, resolveResumableSession, SessionManager } from "../index.js";
import { expectInvalidArgument, failureOf } from "./support/errors.js";
import { unchecked } from "./support/loose.js";
import { createWritten, fileOf } from "./support/managers.js";
import { useSandbox } from "./support/sandbox.js";
import { headerLine, writeLines } from "./support/session-files.js";

const box = useSandbox();
const CWD = "/srv/project";

/** Writes a session with an id into a directory, `age` seconds old. */
function put(dir: string, name: string, id: unknown, age = 0, cwd = CWD): string {
  fs.mkdirSync(dir, { recursive: true });
  const file = writeLines(path.join(dir, name), [headerLine({ id, cwd })]);
  fs.utimesSync(file, 1_700_000_000 - age, 1_700_000_000 - age);
  return file;
}

/** Base name and scope of what is found, or `none`. */
async function found(argument: string, dir?: string, cwd = CWD): Promise<string> {
  const match = await resolveResumableSession(argument, cwd, dir);
  return match ? `${path.basename(match.session.path, ".jsonl")} ${match.scope}` : "none";
}

describe("resolveResumableSession", () => {
  it("matches the beginning of the id, of the file name and of its last part", async () => {
    const dir = box.path("dir");
    put(dir, "2026-01-02T03-04-05-678Z_15e1abcd.jsonl", "15e1abcd", 1);
    put(dir, "2026-02-02T03-04-05-678Z_other.jsonl", "moved-id", 2);
    put(dir, "named.jsonl", "Mixed-CASE", 3);
    const first = "2026-01-02T03-04-05-678Z_15e1abcd local";
    const second = "2026-02-02T03-04-05-678Z_other local";
    for (const [argument, expected] of [
      ["15e1abcd", first],
      ["15e1", first],
      ["15E1ABC", first],
      ["2026-01", first],
      ["2026", first],
      ["moved", second],
      ["oth", second],
      ["OTHER", second],
      ["2026-02-02T03-04-05-678z", second],
      ["mixed-case", "named local"],
      ["NAMED", "named local"],
      ["named.jsonl", "none"],
      ["abcd", "none"],
      ["5678", "none"],
      ["15e1abcd0", "none"],
      [" ", "none"],
      ["", "none"],
    ] as const) {
      expect(await found(argument, dir), argument).toBe(expected);
    }
  });

  it("prefers the exact id, then the newest", async () => {
    const dir = box.path("dir");
    put(dir, "1.jsonl", "abc-long", 1);
    put(dir, "2.jsonl", "ABC", 9);
    put(dir, "3.jsonl", "abd", 2);
    put(dir, "4.jsonl", "abd", 1.5);
    expect(await found("abc", dir)).toBe("2 local");
    expect(await found("abc-", dir)).toBe("1 local");
    expect(await found("ab", dir)).toBe("1 local");
    expect(await found("abd", dir)).toBe("4 local");
  });

  it("gives the same description as a listing", async () => {
    const manager = await createWritten(box.path("dir"), CWD);
    const [info] = await SessionManager.list(CWD, box.path("dir"));
    const match = await resolveResumableSession(manager.getSessionId(), CWD, box.path("dir"));
    expect(match).toEqual({ session: info, scope: "local" });
    expect(match?.session.path).toBe(fileOf(manager));
  });

  it("looks at the project's own sessions first, then at all", async () => {
    const own = SessionManager.getDefaultSessionDir(CWD);
    const other = SessionManager.getDefaultSessionDir("/srv/other");
    put(other, "theirs.jsonl", "abc-1", 1, "/srv/other");
    put(own, "ours.jsonl", "abc-2", 5);
    expect(await found("abc")).toBe("ours local");
    expect(await found("abc-1")).toBe("theirs global");
    expect(await found("abc-1", undefined, "/srv/other")).toBe("theirs local");
    expect(await found("abc", undefined, "/srv/new")).toBe("theirs global");
    expect(await found("xyz")).toBe("none");
    expect(await resolveResumableSession("xyz", CWD)).toBeUndefined();
  });

  it("asks only the directory that is given", async () => {
    put(SessionManager.getDefaultSessionDir("/srv/other"), "theirs.jsonl", "abc", 1, "/srv/other");
    put(box.path("dir"), "s.jsonl", "xyz", 1);
    expect(await found("abc", box.path("dir"))).toBe("none");
    expect(await found("abc", box.path("missing"))).toBe("none");
    expect(await found("xyz", box.path("dir"))).toBe("s local");
    expect(await found("abc", unchecked(null))).toBe("theirs global");
  });

  it("does not care about the working directory in the header", async () => {
    put(box.path("dir"), "s.jsonl", "abc", 1, "/somewhere/else");
    expect(await found("abc", box.path("dir"))).toBe("s local");
  });

  it("finds another project's session with the same directory name only among all", async () => {
    const dir = SessionManager.getDefaultSessionDir("/srv/a-b/c");
    put(dir, "one.jsonl", "id-1", 1, "/srv/a-b/c");
    put(dir, "two.jsonl", "id-2", 2, "/srv/a/b-c");
    expect(await found("id", undefined, "/srv/a-b/c")).toBe("one local");
    expect(await found("id", undefined, "/srv/a/b-c")).toBe("two local");
    expect(await found("id-1", undefined, "/srv/a/b-c")).toBe("one global");
  });

  it("finds sessions in the XDG directory, and no transcripts of subagents", async () => {
    delete process.env.PI_CODING_AGENT_DIR;
    vi.spyOn((await import("node:os")).default, "homedir").mockReturnValue(box.path("home"));
    process.env.XDG_DATA_HOME = box.makeDir("data");
    box.makeDir("data", "xcsh");
    const dir = SessionManager.getDefaultSessionDir("/srv/other");
    expect(dir.startsWith(box.path("data", "xcsh"))).toBe(true);
    put(dir, "2026_abc.jsonl", "abc");
    put(path.join(dir, "2026_abc"), "Task_def.jsonl", "def");
    expect(await found("abc")).toBe("2026_abc global");
    expect(await found("def")).toBe("none");
  });

  it("is not disturbed by ids that are no strings", async () => {
    const dir = box.path("dir");
    put(dir, "numeric.jsonl", 1234, 1);
    put(dir, "named_77.jsonl", 5, 2);
    put(dir, "text.jsonl", "12ab", 3);
    expect(await found("12", dir)).toBe("text local");
    expect(await found("numer", dir)).toBe("numeric local");
    expect(await found("77", dir)).toBe("named_77 local");
  });

  it("matches characters outside ASCII in any case, and with halves of pairs", async () => {
    const dir = box.path("dir");
    put(dir, "s.jsonl", "ÄÖÜ-漢字🎉");
    expect(await found("äöü-漢", dir)).toBe("s local");
    expect(await found("ÄÖÜ-漢字🎉", dir)).toBe("s local");
  });

  it("never waits for a pipe", async () => {
    const dir = box.path("dir");
    put(dir, "s.jsonl", "abc");
    expect(spawnSync("mkfifo", [path.join(dir, "abc.jsonl")]).status).toBe(0);
    expect(await found("abc", dir)).toBe("s local");
  });

  it("uses the storage for both searches", async () => {
    const storage = new MemorySessionStorage();
    const manager = await createInMemory(storage);
    const id = manager.getSessionId();
    const dir = manager.getSessionDir();
    const match = await resolveResumableSession(id, CWD, dir, storage);
    expect(match).toMatchObject({ scope: "local", session: { id, path: fileOf(manager) } });
    const list = vi.spyOn(SessionManager, "list");
    const listAll = vi.spyOn(SessionManager, "listAll");
    expect(await resolveResumableSession("none", CWD, undefined, storage)).toBeUndefined();
    expect(list.mock.calls).toEqual([[CWD, SessionManager.getDefaultSessionDir(CWD), storage]]);
    expect(listAll.mock.calls).toEqual([[storage]]);
  });

  it("rejects arguments that are no strings", async () => {
    const resolve = unchecked(resolveResumableSession);
    expectInvalidArgument(await failureOf(() => resolve(undefined, CWD)), "sessionArg");
    expectInvalidArgument(await failureOf(() => resolve("x", undefined)), "cwd");
    expectInvalidArgument(await failureOf(() => resolve("x", CWD, 5)), "sessionDir");
  });
});

async function createInMemory(storage: MemorySessionStorage): Promise<SessionManager> {
  const manager = SessionManager.create(CWD, undefined, storage);
  await manager.ensureOnDisk();
  return manager;
}
