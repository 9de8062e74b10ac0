import * as fs from "node:fs";
import * as path from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { FileSessionStorage, MemorySessionStorage, SessionManager } from "../index.js";
import { loose } from "./support/loose.js";
import {
  createIn,
  createWritten,
  fileOf,
  SESSION_FILE_NAME,
  SESSION_ID,
  timeOfSessionId,
} from "./support/managers.js";
import { assistantMessage, userMessage } from "./support/messages.js";
import { useSandbox } from "./support/sandbox.js";
import {
  entryIds,
  fingerprint,
  headerLine,
  messageLine,
  readSession,
  smallSession,
  writeLines,
} from "./support/session-files.js";

const box = useSandbox();

afterEach(() => {
  vi.useRealTimers();
});

describe("SessionManager.create", () => {
  it("names a file but does not create it", () => {
    const manager = SessionManager.create(box.dir, box.path("sessions"));
    const file = fileOf(manager);
    expect(path.dirname(file)).toBe(box.path("sessions"));
    expect(path.basename(file)).toMatch(SESSION_FILE_NAME);
    expect(fs.readdirSync(box.path("sessions"))).toEqual([]);
  });

  it("makes a header whose time and id are those of the file name", () => {
    const before = Date.now();
    const manager = createIn(box.dir);
    const header = loose(manager.getHeader());
    expect(Object.keys(header)).toEqual([
      "type",
      "version",
      "id",
      "timestamp",
      "cwd",
      "parentSession",
    ]);
    expect(header).toMatchObject({ type: "session", version: 3, cwd: box.dir });
    expect(header.parentSession).toBeUndefined();
    expect(header.id).toBe(manager.getSessionId());
    expect(header.timestamp).toBe(new Date(header.timestamp).toISOString());
    const created = Date.parse(header.timestamp);
    expect(created).toBeGreaterThanOrEqual(before);
    expect(created).toBeLessThanOrEqual(Date.now());
    expect(path.basename(fileOf(manager))).toBe(
      `${header.timestamp.replace(/[:.]/g, "-")}_${header.id}.jsonl`,
    );
  });

  it("makes ids that carry the time and sort by it", () => {
    const before = Date.now();
    const ids = Array.from({ length: 50 }, () => createIn(box.dir).getSessionId());
    for (const id of ids) {
      expect(id).toMatch(SESSION_ID);
      expect(timeOfSessionId(id)).toBeGreaterThanOrEqual(before);
      expect(timeOfSessionId(id)).toBeLessThanOrEqual(Date.now());
    }
    expect(new Set(ids).size).toBe(50);
    const times = ids.map(timeOfSessionId);
    expect(times).toEqual([...times].sort((a, b) => a - b));
  });

  it("asks the host's clock, which tests may set", () => {
    vi.useFakeTimers({ now: new Date("2031-02-03T04:05:06.789Z") });
    const manager = createIn(box.dir);
    expect(manager.getHeader()?.timestamp).toBe("2031-02-03T04:05:06.789Z");
    expect(timeOfSessionId(manager.getSessionId())).toBe(Date.parse("2031-02-03T04:05:06.789Z"));
    vi.setSystemTime(new Date("2031-02-03T04:05:07.000Z"));
    const entry = manager.getEntry(manager.appendMessage(userMessage()));
    expect(entry?.timestamp).toBe("2031-02-03T04:05:07.000Z");
  });

  it("keeps the working directory exactly as given", () => {
    const manager = SessionManager.create("some/../relative", box.dir);
    expect(manager.getCwd()).toBe("some/../relative");
    expect(manager.getHeader()?.cwd).toBe("some/../relative");
  });

  it("starts empty", () => {
    const manager = createIn(box.dir);
    expect(manager.isPersisted()).toBe(true);
    expect(manager.getEntries()).toEqual([]);
    expect(manager.getTree()).toEqual([]);
    expect(manager.getBranch()).toEqual([]);
    expect(manager.getLeafId()).toBeNull();
    expect(manager.getLeafEntry()).toBeUndefined();
    expect(manager.getSessionName()).toBeUndefined();
    expect(manager.titleSource).toBeUndefined();
    expect(manager.getSessionDir()).toBe(box.dir);
  });

  it("uses the default directory when none is given or undefined is given", () => {
    const cwd = box.makeDir("project");
    const expected = SessionManager.getDefaultSessionDir(cwd);
    expect(SessionManager.create(cwd).getSessionDir()).toBe(expected);
    expect(SessionManager.create(cwd, undefined).getSessionDir()).toBe(expected);
    expect(expected.startsWith(box.path("agent", "sessions"))).toBe(true);
    expect(fs.statSync(expected).isDirectory()).toBe(true);
  });
});

describe("SessionManager.inMemory", () => {
  it("has an id and a header but neither file nor directory", () => {
    const manager = SessionManager.inMemory(box.dir);
    expect(manager.isPersisted()).toBe(false);
    expect(manager.getSessionDir()).toBe("");
    expect(manager.getSessionFile()).toBeUndefined();
    expect(manager.getArtifactsDir()).toBeNull();
    expect(manager.getSessionId()).toMatch(SESSION_ID);
    expect(manager.getHeader()).toMatchObject({ type: "session", version: 3, cwd: box.dir });
  });

  it("defaults to the process's directory and a memory storage", () => {
    const manager = SessionManager.inMemory();
    expect(manager.getCwd()).toBe(process.cwd());
    expect(loose(manager).storage).toBeInstanceOf(MemorySessionStorage);
  });

  it("writes nothing", async () => {
    const manager = SessionManager.inMemory(box.dir, new FileSessionStorage());
    manager.appendMessage(userMessage());
    manager.appendMessage(assistantMessage());
    await manager.flush();
    await manager.rewriteEntries();
    await manager.ensureOnDisk();
    await manager.close();
    expect(fs.readdirSync(box.dir)).toEqual([]);
  });
});

describe("SessionManager.open", () => {
  it("takes id, name and directories from the file", async () => {
    const file = writeLines(
      box.path("s.jsonl"),
      smallSession({ title: "A title", titleSource: "user", cwd: "/somewhere/else" }),
    );
    const manager = await SessionManager.open(file);
    expect(manager.getSessionFile()).toBe(file);
    expect(manager.getSessionId()).toBe("15e1be0f427b9866");
    expect(manager.getSessionName()).toBe("A title");
    expect(manager.titleSource).toBe("user");
    expect(manager.getCwd()).toBe("/somewhere/else");
    expect(manager.getSessionDir()).toBe(box.dir);
    expect(manager.isPersisted()).toBe(true);
    expect(manager.getEntries().map((entry) => entry.id)).toEqual(["aaaaaaa1", "aaaaaaa2"]);
    expect(manager.getLeafId()).toBe("aaaaaaa2");
  });

  it("falls back to the process's directory without a cwd in the header", async () => {
    const [header, ...entries] = smallSession();
    delete loose(header).cwd;
    const file = writeLines(box.path("s.jsonl"), [loose(header), ...entries]);
    expect((await SessionManager.open(file)).getCwd()).toBe(process.cwd());
  });

  it("makes a relative path absolute", async () => {
    const file = writeLines(box.path("s.jsonl"), smallSession());
    const manager = await SessionManager.open(path.relative(process.cwd(), file));
    expect(manager.getSessionFile()).toBe(file);
    expect(manager.getSessionDir()).toBe(box.dir);
  });

  it("creates and uses an explicit session directory", async () => {
    const file = writeLines(box.path("s.jsonl"), smallSession());
    const manager = await SessionManager.open(file, box.path("deep", "dir"));
    expect(manager.getSessionDir()).toBe(box.path("deep", "dir"));
    expect(fs.statSync(box.path("deep", "dir")).isDirectory()).toBe(true);
    await manager.newSession();
    expect(path.dirname(fileOf(manager))).toBe(box.path("deep", "dir"));
  });

  it("accepts an empty id and any other string", async () => {
    for (const id of ["", "not hex at all"]) {
      const file = writeLines(box.path("s.jsonl"), smallSession({ id }));
      const manager = await SessionManager.open(file);
      expect(manager.getSessionId()).toBe(id);
      expect(manager.getEntries()).toHaveLength(2);
    }
  });

  it.each([
    ["a missing file", undefined],
    ["an empty file", ""],
    ["a blank file", " \n\t\r\n\n"],
  ])("initialises %s at its path", async (_what, content) => {
    const file = box.path("fresh.jsonl");
    if (content !== undefined) {
      fs.writeFileSync(file, content);
    }
    const manager = await SessionManager.open(file);
    expect(manager.getSessionFile()).toBe(file);
    expect(manager.getEntries()).toEqual([]);
    expect(manager.getSessionId()).toMatch(SESSION_ID);
    expect(readSession(file)).toEqual([JSON.parse(JSON.stringify(manager.getHeader()))]);
    const id = manager.appendMessage(userMessage("kept without an answer"));
    await manager.flush();
    expect(entryIds(file)).toEqual([id]);
    expect(fs.readdirSync(box.dir).filter((name) => name !== "agent")).toEqual(["fresh.jsonl"]);
  });

  it("rejects with the system's error for a directory", async () => {
    await expect(SessionManager.open(box.makeDir("folder"))).rejects.toMatchObject({
      code: "EISDIR",
    });
    await expect(SessionManager.open(box.path("folder"))).rejects.toBeInstanceOf(Error);
  });

  it("keeps a session of a future version as it is", async () => {
    const file = writeLines(box.path("s.jsonl"), smallSession({ version: 99, novelty: [1] }));
    const before = fingerprint(file);
    const manager = await SessionManager.open(file);
    expect(manager.getHeader()).toMatchObject({ version: 99, novelty: [1] });
    await manager.flush();
    expect(fingerprint(file)).toEqual(before);
  });
});

describe("SessionManager.continueRecent", () => {
  it("opens the newest session with the caller's cwd", async () => {
    const sessions = box.makeDir("sessions");
    const older = await createWritten(sessions, box.dir);
    const newer = await createWritten(sessions, box.dir);
    fs.utimesSync(fileOf(older), new Date(1_000_000), new Date(1_000_000));
    const manager = await SessionManager.continueRecent(box.dir, sessions);
    expect(manager.getSessionFile()).toBe(fileOf(newer));
    expect(manager.getEntries()).toHaveLength(2);
    expect(manager.getCwd()).toBe(box.dir);
    expect(manager.getSessionDir()).toBe(sessions);
  });

  it("starts a new lazy session when there is none", async () => {
    const sessions = box.path("sessions");
    const manager = await SessionManager.continueRecent(box.dir, sessions);
    expect(path.dirname(fileOf(manager))).toBe(sessions);
    expect(fs.readdirSync(sessions)).toEqual([]);
  });
});

describe("SessionManager.forkFrom", () => {
  it("copies a session into a new file at once", async () => {
    const source = writeLines(
      box.path("source.jsonl"),
      smallSession({ title: "T", titleSource: "auto", cwd: "/old" }),
    );
    const before = fingerprint(source);
    const sessions = box.path("sessions");
    const manager = await SessionManager.forkFrom(source, box.dir, sessions);
    const file = fileOf(manager);
    expect(path.dirname(file)).toBe(sessions);
    expect(path.basename(file)).toMatch(SESSION_FILE_NAME);
    expect(Object.keys(loose(manager.getHeader()))).toEqual([
      "type",
      "version",
      "id",
      "timestamp",
      "cwd",
      "parentSession",
      "title",
      "titleSource",
    ]);
    expect(manager.getHeader()).toMatchObject({
      cwd: box.dir,
      parentSession: "15e1be0f427b9866",
      title: "T",
      titleSource: "auto",
    });
    expect(manager.getSessionId()).not.toBe("15e1be0f427b9866");
    expect(manager.getSessionName()).toBe("T");
    expect(manager.titleSource).toBe("auto");
    expect(entryIds(file)).toEqual(["aaaaaaa1", "aaaaaaa2"]);
    expect(manager.getLeafId()).toBe("aaaaaaa2");
    expect(fingerprint(source)).toEqual(before);
  });

  it("sets the title keys even when the source has none", async () => {
    const source = writeLines(box.path("source.jsonl"), smallSession());
    const manager = await SessionManager.forkFrom(source, box.dir, box.dir);
    const header = loose(manager.getHeader());
    expect("title" in header && "titleSource" in header).toBe(true);
    expect(header.title).toBeUndefined();
    expect(header.titleSource).toBeUndefined();
  });

  it("migrates what it copies", async () => {
    const source = writeLines(box.path("source.jsonl"), [
      headerLine({ version: 2 }),
      messageLine("old1", null, { role: "hookMessage", content: "hook" }),
      messageLine("old2", "old1", assistantMessage()),
    ]);
    const manager = await SessionManager.forkFrom(source, box.dir, box.path("s"));
    const lines = readSession(fileOf(manager));
    expect(lines[0]?.version).toBe(3);
    expect(lines[1]?.message.role).toBe("custom");
    expect(entryIds(fileOf(manager))).toEqual(["old1", "old2"]);
  });

  it("rejects for a source that does not exist and creates nothing", async () => {
    const sessions = box.makeDir("sessions");
    await expect(
      SessionManager.forkFrom(box.path("missing.jsonl"), box.dir, sessions),
    ).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
    expect(fs.readdirSync(sessions)).toEqual([]);
  });

  it("rejects for a source that is no session and creates nothing", async () => {
    const sessions = box.makeDir("sessions");
    fs.writeFileSync(box.path("notes.txt"), "just some notes\nnothing else\n");
    await expect(
      SessionManager.forkFrom(box.path("notes.txt"), box.dir, sessions),
    ).rejects.toMatchObject({ code: "INVALID_SESSION_FILE" });
    expect(fs.readdirSync(sessions)).toEqual([]);
    expect(fs.readFileSync(box.path("notes.txt"), "utf8")).toContain("just some notes");
  });
});

describe("SessionManager.list", () => {
  it("describes the sessions of a directory, newest first", async () => {
    const sessions = box.makeDir("sessions");
    const older = await createWritten(sessions, box.dir);
    const newer = await createWritten(sessions, box.dir);
    fs.utimesSync(fileOf(older), new Date(1_000_000), new Date(1_000_000));
    const infos = await SessionManager.list(box.dir, sessions);
    expect(infos.map((info) => info.path)).toEqual([fileOf(newer), fileOf(older)]);
    expect(Object.keys(loose(infos[0]))).toEqual([
      "path",
      "id",
      "cwd",
      "title",
      "parentSessionPath",
      "created",
      "modified",
      "messageCount",
      "firstMessage",
      "allMessagesText",
    ]);
    expect(infos[0]).toMatchObject({
      id: newer.getSessionId(),
      cwd: box.dir,
      title: undefined,
      messageCount: 2,
      firstMessage: "question",
      allMessagesText: "question answer",
    });
    expect(infos[1]?.modified.getTime()).toBe(1_000_000);
    expect(infos[0]?.created.toISOString()).toBe(newer.getHeader()?.timestamp);
  });

  it("is empty for a directory that does not exist", async () => {
    expect(await SessionManager.list(box.dir, box.path("missing"))).toEqual([]);
  });
});
