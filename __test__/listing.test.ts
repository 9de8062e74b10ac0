import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { SessionManager, setLogger } from "../index.js";
import { type Loose, loose, unchecked } from "./support/loose.js";
import { createWritten, fileOf } from "./support/managers.js";
import { assistantMessage, toolResultMessage, userMessage } from "./support/messages.js";
import { useSandbox } from "./support/sandbox.js";
import { entryLine, headerLine, messageLine, writeLines } from "./support/session-files.js";
import { runUnprivileged } from "./support/unprivileged.js";

const box = useSandbox();
const CWD = "/work/project";

afterEach(() => setLogger(undefined));

/** Writes a session file below the sandbox, `age` seconds old. */
function put(name: string, lines: readonly (Loose | string)[], age = 0): string {
  fs.mkdirSync(path.dirname(box.path(name)), { recursive: true });
  const file = writeLines(box.path(name), lines);
  fs.utimesSync(file, 1_700_000_000 - age, 1_700_000_000 - age);
  return file;
}

/** What `list` says about a file with these lines, or nothing when it leaves it out. */
async function infoOf(lines: readonly (Loose | string)[]): Promise<Loose | undefined> {
  put("one/s.jsonl", lines);
  const [info] = await SessionManager.list(CWD, box.path("one"));
  return info && loose(info);
}

async function names(dir: string, cwd = CWD): Promise<string[]> {
  return (await SessionManager.list(cwd, dir)).map((info) => path.basename(info.path, ".jsonl"));
}

/** Collects what is logged, without the debug level. */
function collectLog(): unknown[][] {
  const records: unknown[][] = [];
  setLogger((...record) => record[0] !== "debug" && records.push(record));
  return records;
}

describe("what a listing tells about a session", () => {
  it("has all members in order, also those without value", async () => {
    const info = await infoOf([headerLine({ parentSession: "parent", title: "Title" })]);
    expect(Object.entries(info ?? {})).toEqual([
      ["path", box.path("one", "s.jsonl")],
      ["id", "15e1be0f427b9866"],
      ["cwd", CWD],
      ["title", "Title"],
      ["parentSessionPath", "parent"],
      ["created", new Date("2026-01-02T03:04:05.678Z")],
      ["modified", new Date(1_700_000_000_000)],
      ["messageCount", 0],
      ["firstMessage", "(no messages)"],
      ["allMessagesText", ""],
    ]);
    const bare = await infoOf([headerLine()]);
    expect(Object.keys(bare ?? {})).toEqual(Object.keys(info ?? {}));
    expect(bare).toMatchObject({ title: undefined, parentSessionPath: undefined });
  });

  it("counts messages of all roles on all branches, and collects what was said", async () => {
    const info = await infoOf([
      headerLine(),
      messageLine("a", null, assistantMessage("a1")),
      messageLine("b", "a", userMessage("")),
      messageLine("c", "a", userMessage([{ type: "image", data: "x" }])),
      messageLine("d", "a", userMessage([1, { type: "text", text: "u1" }, { type: "thinking" }])),
      messageLine("e", "d", toolResultMessage("not collected")),
      messageLine("f", "a", userMessage("u2\nline")),
      messageLine("f", "a", userMessage("twice")),
      messageLine("g", "f", {
        ...assistantMessage(),
        content: [
          { type: "text", text: "a2" },
          { type: "thinking", thinking: "not collected" },
          { type: "text", text: "a3" },
        ],
      }),
      entryLine("custom_message", "h", "g", { content: "not counted" }),
    ]);
    expect(info).toMatchObject({
      messageCount: 8,
      firstMessage: "u1",
      allMessagesText: "a1 u1 u2\nline twice a2 a3",
    });
  });

  it("takes the title of the header, else the last short summary", async () => {
    const summaries = [
      entryLine("compaction", "a", null, { shortSummary: "first" }),
      entryLine("compaction", "b", "a", { shortSummary: "last" }),
      entryLine("compaction", "c", "b", { shortSummary: 5 }),
      entryLine("branch_summary", "d", "c", { shortSummary: "of a branch" }),
    ];
    expect((await infoOf([headerLine(), ...summaries]))?.title).toBe("last");
    expect((await infoOf([headerLine({ title: null }), ...summaries]))?.title).toBe("last");
    expect((await infoOf([headerLine({ title: "" }), ...summaries]))?.title).toBe("");
    expect((await infoOf([headerLine({ title: "T" }), ...summaries]))?.title).toBe("T");
  });

  it("keeps odd values of the header", async () => {
    const odd = { id: 7, cwd: 5, title: ["t"], parentSession: { a: 1 }, timestamp: "never" };
    const info = await infoOf([headerLine(odd), messageLine("a", null, userMessage())]);
    expect(info).toMatchObject({
      id: 7,
      cwd: "",
      title: ["t"],
      parentSessionPath: { a: 1 },
      firstMessage: "hello",
    });
    expect(info?.created).toBeInstanceOf(Date);
    expect(info?.created.getTime()).toBeNaN();
  });

  it("keeps halves of surrogate pairs and all of a long text", async () => {
    const long = "長".repeat(300_000);
    const info = await infoOf([
      `{"type":"session","id":"x","timestamp":"t","cwd":"/w","title":"\\ud83d"}`,
      `{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"role":"user","content":"\\udc00!"}}`,
      messageLine("b", "a", userMessage(long)),
    ]);
    expect(info?.title).toBe("\ud83d");
    expect(info?.firstMessage).toBe("\udc00!");
    expect(info?.allMessagesText).toBe(`\udc00! ${long}`);
  });

  it.each([4, 5000, 70_000, 2_000_000])(
    "is whole behind a header with %d more bytes",
    async (n) => {
      const info = await infoOf([
        headerLine({ note: "n".repeat(n), title: "behind" }),
        messageLine("a", null, userMessage("hi")),
      ]);
      expect(info).toMatchObject({ title: "behind", cwd: CWD, messageCount: 1 });
    },
  );

  it.each([
    ["a byte order mark", (text: string) => `\ufeff${text}`],
    ["carriage returns", (text: string) => text.replaceAll("\n", "\r\n")],
    ["blank lines", (text: string) => `\n  \n${text.replaceAll("\n", "\n\n")}`],
    ["a torn tail", (text: string) => `${text}{"type":"message","id":"t`],
    ["no line feed at its end", (text: string) => text.trimEnd()],
    ["values that are no objects", (text: string) => `${text}null\n5\n"s"\n[]\n`],
    ["a message that is none", (text: string) => `${text}{"type":"message","message":null}\n`],
    ["a line without fields", (text: string) => `${text}{"type":"compaction"}\n`],
  ])("is the same in a file with %s", async (_, change) => {
    const file = put("one/s.jsonl", [headerLine(), messageLine("a", null, userMessage("hi"))]);
    fs.writeFileSync(file, change(fs.readFileSync(file, "utf8")));
    const [info] = await SessionManager.list(CWD, box.path("one"));
    expect(info).toMatchObject({ id: "15e1be0f427b9866", messageCount: 1, firstMessage: "hi" });
  });

  it("does not hide a session because one message has no content", async () => {
    const info = await infoOf([
      headerLine(),
      messageLine("a", null, { role: "user", content: 5 }),
      messageLine("b", "a", { role: "assistant" }),
      messageLine("c", "b", userMessage("text")),
    ]);
    expect(info).toMatchObject({ messageCount: 3, firstMessage: "text", allMessagesText: "text" });
  });

  it("is read of a session that is being written", async () => {
    const manager = await createWritten(box.path("one"), CWD);
    await manager.setSessionName("Named");
    const [info] = await SessionManager.list(CWD, box.path("one"));
    expect(info).toMatchObject({
      path: fileOf(manager),
      id: manager.getSessionId(),
      title: "Named",
      messageCount: 2,
      firstMessage: "question",
      allMessagesText: "question answer",
    });
    expect(info?.created.toISOString()).toBe(manager.getHeader()?.timestamp);
  });
});

describe("SessionManager.list", () => {
  it("sorts by modification time, and by name what has the same", async () => {
    for (const [name, age] of [
      ["b", 5],
      ["a", 9],
      ["d", 5],
      ["c", 5],
      ["e", 7],
    ] as const) {
      put(`dir/${name}.jsonl`, [headerLine()], age);
    }
    expect(await names(box.path("dir"))).toEqual(["d", "c", "b", "e", "a"]);
  });

  it("lists hundreds of sessions in order", async () => {
    const expected: string[] = [];
    for (let n = 0; n < 300; n++) {
      const name = `session-${n}`;
      const text = userMessage(`question ${n} ${"x".repeat(n * 30)}`);
      put(`dir/${name}.jsonl`, [headerLine({ id: name }), messageLine("a", null, text)], n);
      expected.push(name);
    }
    const infos = await SessionManager.list(CWD, box.path("dir"));
    expect(infos.map((info) => info.id)).toEqual(expected);
    expect(infos.every((info, n) => info.firstMessage.startsWith(`question ${n} `))).toBe(true);
  });

  it("leaves out what is no session, and does not look into directories", async () => {
    put("dir/good.jsonl", [headerLine()]);
    put("dir/.hidden.jsonl", [headerLine()]);
    put("dir/other.json", [headerLine()]);
    put("dir/UPPER.JSONL", [headerLine()]);
    put("dir/good/0.jsonl", [headerLine()]);
    put("dir/empty.jsonl", []);
    put("dir/text.jsonl", ["shopping list", "- eggs"]);
    put("dir/no-id.jsonl", [headerLine({ id: "" })]);
    put("dir/zero-id.jsonl", [headerLine({ id: 0 })]);
    put("dir/other-type.jsonl", [headerLine({ type: "other" })]);
    fs.mkdirSync(box.path("dir", "directory.jsonl"));
    fs.symlinkSync(box.path("dir", "good.jsonl"), box.path("dir", "link.jsonl"));
    const log = collectLog();
    expect(await names(box.path("dir"))).toEqual(["good"]);
    expect(log).toEqual([]);
  });

  it("is empty without directory, and with a file in its place", async () => {
    expect(await SessionManager.list(CWD, box.path("missing"))).toEqual([]);
    fs.writeFileSync(box.path("file"), "");
    expect(await SessionManager.list(CWD, box.path("file"))).toEqual([]);
  });

  it("never waits for a pipe", async () => {
    put("dir/good.jsonl", [headerLine()]);
    expect(spawnSync("mkfifo", [box.path("dir", "x.jsonl")]).status).toBe(0);
    expect(await names(box.path("dir"))).toEqual(["good"]);
  });

  it("leaves out files that cannot be read, and tells the logger", () => {
    put("dir/good.jsonl", [headerLine()]);
    const closed = put("dir/closed.jsonl", [headerLine()]);
    fs.chmodSync(closed, 0);
    fs.chmodSync(box.dir, 0o755);
    const body = `
      const log = [];
      exports.setLogger((level, message, context) => log.push([level, context.err]));
      const infos = await exports.SessionManager.list("/w", argument);
      return { paths: infos.map((info) => info.path), log };`;
    const { paths, log } = runUnprivileged<Loose>("index.js", body, box.path("dir"));
    expect(paths).toEqual([box.path("dir", "good.jsonl")]);
    expect(log).toEqual([["warn", expect.stringMatching(/EACCES.*closed\.jsonl/)]]);
  });

  it("rejects for a directory that cannot be read", () => {
    put("dir/good.jsonl", [headerLine()]);
    fs.chmodSync(box.path("dir"), 0);
    fs.chmodSync(box.dir, 0o755);
    const body = `
      const list = exports.SessionManager.list("/w", argument);
      return list.catch(({ code, path, syscall }) => ({ code, path, syscall }));`;
    expect(runUnprivileged("index.js", body, box.path("dir"))).toEqual({
      code: "EACCES",
      path: box.path("dir"),
      syscall: "scandir",
    });
  });

  it("is not disturbed by files that come and go", async () => {
    put("dir/stays.jsonl", [headerLine()]);
    let round = 0;
    const rounds = Array.from({ length: 20 }, async () => {
      const name = `dir/goes-${round++}.jsonl`;
      const file = put(name, [headerLine()], 5);
      const listed = SessionManager.list(CWD, box.path("dir"));
      fs.rmSync(file);
      return (await listed).map((info) => path.basename(info.path));
    });
    for (const found of await Promise.all(rounds)) {
      expect(found).toContain("stays.jsonl");
    }
  });
});

describe("projects that share the name of their directory", () => {
  const [ONE, TWO] = ["/srv/a-b/c", "/srv/a/b-c"];

  it("list and continue only their own sessions", async () => {
    const dir = SessionManager.getDefaultSessionDir(ONE);
    expect(SessionManager.getDefaultSessionDir(TWO)).toBe(dir);
    const one = fileOf(await createWritten(dir, ONE));
    const two = fileOf(await createWritten(dir, TWO));
    for (const [cwd, file] of [
      [ONE, one],
      [TWO, two],
    ] as const) {
      expect((await SessionManager.list(cwd)).map((info) => info.path)).toEqual([file]);
      expect((await SessionManager.list(cwd, dir)).map((info) => info.path)).toEqual([file]);
      const continued = await SessionManager.continueRecent(cwd);
      expect(continued.getSessionFile()).toBe(file);
      expect(continued.getCwd()).toBe(cwd);
      await continued.close();
    }
    expect(await SessionManager.listAll()).toHaveLength(2);
  });

  it("start anew when only the other one has sessions", async () => {
    const dir = SessionManager.getDefaultSessionDir(ONE);
    const theirs = fileOf(await createWritten(dir, ONE));
    const manager = await SessionManager.continueRecent(TWO);
    expect(manager.getSessionFile()).not.toBe(theirs);
    expect(manager.getEntries()).toEqual([]);
    expect(path.dirname(fileOf(manager))).toBe(dir);
  });

  it("both keep sessions of projects that moved here, and of unknown ones", async () => {
    const dir = path.relative(box.dir, SessionManager.getDefaultSessionDir(ONE));
    put(`${dir}/moved.jsonl`, [headerLine({ cwd: "/somewhere/else" })], 1);
    put(`${dir}/unknown.jsonl`, [headerLine({ cwd: undefined })], 2);
    put(`${dir}/relative.jsonl`, [headerLine({ cwd: "a-b/c" })], 3);
    put(`${dir}/spelled.jsonl`, [headerLine({ cwd: "/srv/./a-b/x/../c/" })], 4);
    put(`${dir}/theirs.jsonl`, [headerLine({ cwd: TWO })], 0);
    expect(await names(box.path(dir), ONE)).toEqual(["moved", "unknown", "relative", "spelled"]);
    expect(await names(box.path(dir), TWO)).toEqual(["theirs", "moved", "unknown", "relative"]);
  });

  it("are not told apart in a directory that the user chose", async () => {
    put("chosen/one.jsonl", [headerLine({ cwd: ONE })], 1);
    put("chosen/two.jsonl", [headerLine({ cwd: TWO })], 2);
    expect(await names(box.path("chosen"), ONE)).toEqual(["one", "two"]);
    const manager = await SessionManager.continueRecent(TWO, box.path("chosen"));
    expect(manager.getSessionFile()).toBe(box.path("chosen", "one.jsonl"));
  });

  it("are one project when one path is a link to the other", async () => {
    const real = box.makeDir("a-b", "c");
    fs.mkdirSync(box.path("a"));
    fs.symlinkSync(real, box.path("a", "b-c"));
    const link = box.path("a", "b-c");
    const dir = SessionManager.getDefaultSessionDir(real);
    expect(SessionManager.getDefaultSessionDir(link)).toBe(dir);
    const files = [
      fileOf(await createWritten(dir, real)),
      fileOf(await createWritten(dir, link)),
    ].sort();
    for (const cwd of [real, link]) {
      const infos = await SessionManager.list(cwd);
      expect(infos.map((info) => info.path).sort()).toEqual(files);
    }
  });

  it("find their sessions whatever characters their paths have, and however long they are", async () => {
    const deep = `/srv/${"深い/".repeat(60)}end`;
    const cwds = [
      "/srv/新聞",
      "/srv/暫存",
      "/srv/é",
      "/srv/e\u0301",
      "/srv/🎉 x",
      `${deep}1`,
      `${deep}2`,
    ];
    const files = new Map<string, string>();
    for (const cwd of cwds) {
      const manager = SessionManager.create(cwd);
      manager.appendMessage(userMessage());
      manager.appendMessage(assistantMessage());
      await manager.close();
      files.set(cwd, fileOf(manager));
    }
    expect(new Set([...files.values()].map((file) => path.dirname(file))).size).toBe(cwds.length);
    for (const cwd of cwds) {
      const infos = await SessionManager.list(cwd);
      expect(infos.map((info) => [info.path, info.cwd])).toEqual([[files.get(cwd), cwd]]);
      const continued = await SessionManager.continueRecent(cwd);
      expect(continued.getSessionFile()).toBe(files.get(cwd));
    }
  });
});

describe("SessionManager.listAll", () => {
  async function allNames(): Promise<string[]> {
    const root = path.dirname(box.agentDir);
    return (await SessionManager.listAll()).map((info) => path.relative(root, info.path));
  }

  it("finds the sessions of all projects, at every depth", async () => {
    expect(await SessionManager.listAll()).toEqual([]);
    put("agent/sessions/-p/a.jsonl", [headerLine()], 3);
    put("agent/sessions/-q/b.jsonl", [headerLine()], 1);
    put("agent/sessions/-q/deep/er/c.jsonl", [headerLine()], 2);
    put("agent/sessions/top.jsonl", [headerLine()], 4);
    put("agent/sessions/.hidden/d.jsonl", [headerLine()]);
    put("agent/other/e.jsonl", [headerLine()]);
    fs.symlinkSync(box.path("agent", "sessions", "-p"), box.path("agent", "sessions", "-link"));
    fs.symlinkSync(box.path("agent", "sessions"), box.path("agent", "sessions", "-p", "loop"));
    expect(await allNames()).toEqual([
      "agent/sessions/-q/b.jsonl",
      "agent/sessions/-q/deep/er/c.jsonl",
      "agent/sessions/-p/a.jsonl",
      "agent/sessions/top.jsonl",
    ]);
  });

  it("leaves out transcripts among the artifacts of a session", async () => {
    put("agent/sessions/-p/a.jsonl", [headerLine()]);
    put("agent/sessions/-p/a/Task.jsonl", [headerLine()]);
    put("agent/sessions/-p/a/deep/Task.jsonl", [headerLine()]);
    expect(await allNames()).toEqual(["agent/sessions/-p/a.jsonl"]);
  });

  it("looks where new sessions are created, and below the agent directory", async () => {
    delete process.env.PI_CODING_AGENT_DIR;
    vi.spyOn((await import("node:os")).default, "homedir").mockReturnValue(box.path("home"));
    fs.mkdirSync(box.path("data", "xcsh"), { recursive: true });
    put("home/.xcsh/agent/sessions/-p/old.jsonl", [headerLine()], 9);
    process.env.XDG_DATA_HOME = box.path("data");
    const file = fileOf(
      await createWritten(SessionManager.getDefaultSessionDir("/srv/x"), "/srv/x"),
    );
    expect(file.startsWith(box.path("data", "xcsh", "sessions"))).toBe(true);
    const infos = await SessionManager.listAll();
    expect(infos.map((info) => info.path)).toEqual([
      file,
      box.path("home/.xcsh/agent/sessions/-p/old.jsonl"),
    ]);
  });

  it("finds each session once when both places are the same directory", async () => {
    delete process.env.PI_CODING_AGENT_DIR;
    vi.spyOn((await import("node:os")).default, "homedir").mockReturnValue(box.path("home"));
    put("home/.xcsh/agent/sessions/-p/s.jsonl", [headerLine()]);
    fs.mkdirSync(box.path("data"));
    fs.symlinkSync(box.path("home", ".xcsh", "agent"), box.path("data", "xcsh"));
    process.env.XDG_DATA_HOME = box.path("data");
    expect(await SessionManager.listAll()).toHaveLength(1);
  });

  it("follows the agent directory of the moment", async () => {
    put("other/sessions/-p/s.jsonl", [headerLine()]);
    expect(await SessionManager.listAll()).toEqual([]);
    process.env.PI_CODING_AGENT_DIR = box.path("other");
    expect(await allNames()).toEqual(["other/sessions/-p/s.jsonl"]);
  });

  it("lists hundreds of sessions, and passes by pipes", async () => {
    for (let n = 0; n < 300; n++) {
      put(`agent/sessions/-p${n % 7}/${n}.jsonl`, [headerLine({ id: `s${n}` })], n);
    }
    expect(spawnSync("mkfifo", [box.path("agent/sessions/-p1/x.jsonl")]).status).toBe(0);
    const infos = await SessionManager.listAll();
    expect(infos.map((info) => info.id)).toEqual(Array.from({ length: 300 }, (_, n) => `s${n}`));
  });

  it("goes on behind a directory that cannot be read", () => {
    put("agent/sessions/-p/a.jsonl", [headerLine()]);
    put("agent/sessions/-closed/b.jsonl", [headerLine()]);
    fs.chmodSync(box.path("agent/sessions/-closed"), 0);
    fs.chmodSync(box.dir, 0o755);
    const body = `
      const log = [];
      exports.setLogger((level, message, context) => log.push([level, context.err]));
      const infos = await exports.SessionManager.listAll();
      return { paths: infos.map((info) => info.path), log };`;
    const { paths, log } = runUnprivileged<Loose>("index.js", body, undefined);
    expect(paths).toEqual([box.path("agent/sessions/-p/a.jsonl")]);
    expect(log).toEqual([["warn", expect.stringMatching(/EACCES.*-closed/)]]);
  });
});

describe("a listing through a storage of the caller's own", () => {
  interface File {
    text?: string;
    mtime?: number;
  }

  function storageWith(files: Record<string, File>, listError?: unknown) {
    return {
      ensureDirSync: vi.fn(),
      listFilesSync: vi.fn((dir: string, pattern: string) => {
        if (listError) {
          throw listError;
        }
        expect(pattern).toBe("*.jsonl");
        return Object.keys(files).filter((file) => path.dirname(file) === dir);
      }),
      readText: vi.fn(async (file: string) => {
        const text = files[file]?.text;
        if (text === undefined) {
          throw new Error(`cannot read ${file}`);
        }
        return text;
      }),
      statSync: vi.fn((file: string) => ({ mtime: new Date(files[file]?.mtime ?? 0) })),
    };
  }

  function text(...lines: Loose[]): string {
    return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  }

  it("asks it for names, texts and times, and sorts what it says", async () => {
    const storage = storageWith({
      "/v/a.jsonl": { text: text(headerLine({ id: "a" })), mtime: 1 },
      "/v/b.jsonl": {
        text: text(headerLine({ id: "b" }), messageLine("m", null, userMessage("hi"))),
        mtime: 2,
      },
      "/v/c.jsonl": { text: text(headerLine({ id: "c" })), mtime: 2 },
      "/v/none.jsonl": { text: "no session", mtime: 3 },
      "/v/broken.jsonl": {},
    });
    const log = collectLog();
    const infos = await SessionManager.list(CWD, "/v", unchecked(storage));
    expect(infos.map((info) => info.id)).toEqual(["c", "b", "a"]);
    expect(infos[1]).toMatchObject({
      path: "/v/b.jsonl",
      modified: new Date(2),
      messageCount: 1,
      firstMessage: "hi",
    });
    expect(log).toEqual([["warn", expect.any(String), { err: expect.any(Error) }]]);
  });

  it("tells projects apart that share the name of their directory", async () => {
    const dir = SessionManager.getDefaultSessionDir("/srv/a-b/c");
    const storage = storageWith({
      [path.join(dir, "a.jsonl")]: { text: text(headerLine({ id: "a", cwd: "/srv/a-b/c" })) },
      [path.join(dir, "b.jsonl")]: { text: text(headerLine({ id: "b", cwd: "/srv/a/b-c" })) },
    });
    const ids = async (cwd: string) =>
      (await SessionManager.list(cwd, undefined, unchecked(storage))).map((info) => info.id);
    expect(await ids("/srv/a-b/c")).toEqual(["a"]);
    expect(await ids("/srv/a/b-c")).toEqual(["b"]);
    expect(storage.ensureDirSync).toHaveBeenCalledWith(dir);
  });

  it("is empty for a directory it does not have, and rejects with its other errors", async () => {
    const missing = storageWith({}, Object.assign(new Error("none"), { code: "ENOENT" }));
    expect(await SessionManager.list(CWD, "/v", unchecked(missing))).toEqual([]);
    const broken = storageWith({}, new Error("broken"));
    await expect(SessionManager.list(CWD, "/v", unchecked(broken))).rejects.toThrow("broken");
  });

  it("searches all sessions on disk, but reads them through the storage", async () => {
    const file = put("agent/sessions/-p/s.jsonl", [headerLine({ id: "on disk" })]);
    const storage = storageWith({ [file]: { text: text(headerLine({ id: "in storage" })) } });
    const infos = await SessionManager.listAll(unchecked(storage));
    expect(infos.map((info) => info.id)).toEqual(["in storage"]);
    expect(storage.readText.mock.calls).toEqual([[file]]);
    expect(storage.listFilesSync).not.toHaveBeenCalled();
  });
});
