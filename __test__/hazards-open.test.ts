import {
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import {
  FileSessionStorage,
  loadEntriesFromFile,
  parseSessionEntries,
  resolveResumableSession,
  SessionManager,
  setLogger,
} from "../index.js";
import {
  A,
  assistantMessage,
  contextOf,
  fileOf,
  H,
  idsOf,
  idsOnDisk,
  jsonl,
  LINEAR4,
  namesIn,
  recordsOf,
  startSession,
  U,
  usage,
  userMessage,
  useSandbox,
  writeSession,
} from "./support/fixtures.js";

const sandbox = useSandbox();

afterEach(() => setLogger(undefined));

/** Names beside `path` that keep the old bytes of a file under `mark`. */
function keptCopies(path: string, mark: "invalid" | "bak"): string[] {
  const base = path.slice(dirname(path).length + 1);
  const pattern = new RegExp(`\\.${mark}-[0-9a-f]{16}$`);
  return namesIn(dirname(path))
    .filter((name) => name.startsWith(base) && pattern.test(name))
    .map((name) => join(dirname(path), name));
}

describe("opening a path that holds no session", () => {
  for (const [what, content] of [
    ["missing", undefined],
    ["empty", ""],
    ["blank", " \n\t\r\n  \n"],
  ] as const) {
    it(`initialises a ${what} file in place and keeps no copy`, async () => {
      const path = join(sandbox(), "dir", "s.jsonl");
      if (content !== undefined) {
        writeSession(path, content);
      }
      const manager = await SessionManager.open(path);
      expect(manager.getSessionFile()).toBe(path);
      expect(manager.getEntries()).toEqual([]);
      const records = recordsOf(path);
      expect(records).toHaveLength(1);
      expect(records[0]).toMatchObject({ type: "session", id: manager.getSessionId() });
      expect(namesIn(dirname(path))).toEqual(["s.jsonl"]);
    });
  }

  for (const [what, name, content] of [
    ["a text file", "notes.txt", "shopping list\n- eggs\n"],
    ["a JSON document", "package.json", '{\n  "name": "x",\n  "version": "1.0.0"\n}\n'],
    ["binary data", "image.jsonl", Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 0xff, 10, 0])],
    ["a text file without a line feed", "one.jsonl", "hello"],
  ] as const) {
    it(`keeps the bytes of ${what} beside the fresh session and warns`, async () => {
      const path = writeSession(join(sandbox(), "dir", name), content);
      const before = readFileSync(path);
      const records: string[] = [];
      setLogger((level) => records.push(level));
      const manager = await SessionManager.open(path);
      expect(manager.getEntries()).toEqual([]);
      expect(recordsOf(path).map((record) => record.type)).toEqual(["session"]);
      const copies = keptCopies(path, "invalid");
      expect(copies).toHaveLength(1);
      expect(readFileSync(copies[0] as string).equals(before)).toBe(true);
      expect(records).toContain("warn");
    });
  }

  it("keeps the bytes of a file that the path leads to through a symbolic link", async () => {
    const target = writeSession(join(sandbox(), "notes.txt"), "shopping list\n");
    const path = join(sandbox(), "dir", "s.jsonl");
    mkdirSync(dirname(path));
    symlinkSync("../notes.txt", path);
    const manager = await SessionManager.open(path);
    expect(recordsOf(target)).toMatchObject([{ type: "session", id: manager.getSessionId() }]);
    const [copy] = keptCopies(path, "invalid");
    expect(readFileSync(String(copy), "utf8")).toBe("shopping list\n");
  });

  it("keeps each of several invalid files", async () => {
    const path = join(sandbox(), "s.jsonl");
    for (const text of ["first", "second"]) {
      writeSession(path, text);
      await (await SessionManager.open(path)).close();
    }
    const kept = keptCopies(path, "invalid").map((copy) => readFileSync(copy, "utf8"));
    expect(kept.sort()).toEqual(["first", "second"]);
  });

  it("keeps the bytes also when a manager switches to the file", async () => {
    const manager = await startSession(join(sandbox(), "sessions"));
    const path = writeSession(join(sandbox(), "notes.txt"), "remember the milk\n");
    await manager.setSessionFile(path);
    const copies = keptCopies(path, "invalid");
    expect(copies.map((copy) => readFileSync(copy, "utf8"))).toEqual(["remember the milk\n"]);
    expect(manager.getEntries()).toEqual([]);
  });

  it("rejects and touches nothing when the storage asks for an error", async () => {
    const path = writeSession(join(sandbox(), "dir", "notes.txt"), "not a session\n");
    const storage = new FileSessionStorage({ onInvalid: "error" });
    await expect(SessionManager.open(path, undefined, storage)).rejects.toMatchObject({
      code: "INVALID_SESSION_FILE",
    });
    expect(readFileSync(path, "utf8")).toBe("not a session\n");
    expect(namesIn(dirname(path))).toEqual(["notes.txt"]);
  });

  it("loads no entries from it through the loading function", async () => {
    const path = writeSession(join(sandbox(), "dir", "notes.txt"), "not a session\n");
    expect(await loadEntriesFromFile(path)).toEqual([]);
    expect(readFileSync(path, "utf8")).toBe("not a session\n");
  });
});

describe("opening a session whose first line is damaged", () => {
  const BROKEN = ['{"type":"sess', ...LINEAR4().slice(1)];

  it("keeps all entries, takes the id from the file name and writes nothing", async () => {
    const name = "2026-01-02T03-04-05-000Z_0123456789abcdef.jsonl";
    const path = writeSession(join(sandbox(), "dir", name), BROKEN);
    const before = readFileSync(path, "utf8");
    const modified = statSync(path).mtimeMs;
    const manager = await SessionManager.open(path);
    expect(contextOf(manager)).toBe("u1 a1 u2 a2");
    expect(manager.getSessionId()).toBe("0123456789abcdef");
    expect(manager.getHeader()).toMatchObject({ type: "session", id: "0123456789abcdef" });
    expect(manager.getLoadReport()).toMatchObject({ entries: 4, headerSalvaged: true });
    await manager.flush();
    await manager.close();
    expect(readFileSync(path, "utf8")).toBe(before);
    expect(statSync(path).mtimeMs).toBe(modified);
    expect(namesIn(dirname(path))).toEqual([name]);
  });

  it("gets a new id when the file name holds none", async () => {
    const path = writeSession(join(sandbox(), "s.jsonl"), BROKEN);
    const manager = await SessionManager.open(path);
    expect(manager.getSessionId()).toMatch(/^[0-9a-f]{16}$/);
    expect(contextOf(manager)).toBe("u1 a1 u2 a2");
  });

  it("keeps the damaged bytes beside the file at the first rewrite, and only then", async () => {
    const path = writeSession(join(sandbox(), "dir", "s.jsonl"), BROKEN);
    const before = readFileSync(path, "utf8");
    const manager = await SessionManager.open(path);
    await manager.rewriteEntries();
    await manager.rewriteEntries();
    expect(keptCopies(path, "bak").map((copy) => readFileSync(copy, "utf8"))).toEqual([before]);
    const [header, ...entries] = recordsOf(path);
    expect(header).toMatchObject({ type: "session", id: manager.getSessionId() });
    expect(entries.map((item) => item.id)).toEqual(["u1", "a1", "u2", "a2"]);
  });

  it("loses nothing when the conversation goes on", async () => {
    const path = writeSession(join(sandbox(), "s.jsonl"), BROKEN);
    const manager = await SessionManager.open(path);
    manager.appendMessage(userMessage("u3"));
    manager.appendMessage(assistantMessage("a3"));
    await manager.flush();
    await manager.close();
    const reopened = await SessionManager.open(path);
    expect(contextOf(reopened)).toBe("u1 a1 u2 a2 u3 a3");
    expect(reopened.getSessionId()).toBe(manager.getSessionId());
  });

  it("still loads no entries through the loading function", async () => {
    const path = writeSession(join(sandbox(), "s.jsonl"), BROKEN);
    expect(await loadEntriesFromFile(path)).toEqual([]);
  });
});

describe("a switch that fails", () => {
  /** A manager with a pending entry, and everything about it that a failed switch may not change. */
  async function withState() {
    const manager = await startSession(join(sandbox(), "sessions"));
    const before = {
      file: manager.getSessionFile(),
      id: manager.getSessionId(),
      leaf: manager.getLeafId(),
      ids: idsOf(manager),
      header: manager.getHeader(),
    };
    return { manager, before };
  }

  for (const [what, prepare, code] of [
    ["a directory", (path: string) => mkdirSync(path), "EISDIR"],
    ["a path below a file", (path: string) => writeFileSync(dirname(path), "a file"), "ENOTDIR"],
  ] as const) {
    it(`to ${what} leaves the manager as it was`, async () => {
      const { manager, before } = await withState();
      const target = join(sandbox(), "other", "target.jsonl");
      if (code === "EISDIR") {
        mkdirSync(dirname(target));
      }
      prepare(target);
      await expect(manager.setSessionFile(target)).rejects.toMatchObject({ code });
      expect({
        file: manager.getSessionFile(),
        id: manager.getSessionId(),
        leaf: manager.getLeafId(),
        ids: idsOf(manager),
        header: manager.getHeader(),
      }).toEqual(before);
      const id = manager.appendMessage(userMessage("after"));
      await manager.flush();
      expect(idsOnDisk(fileOf(manager))).toEqual([...before.ids, id]);
      expect(manager.getEntry(id)?.parentId).toBe(before.leaf);
    });
  }

  it("to a name that is too long leaves the manager as it was", async () => {
    const { manager, before } = await withState();
    const target = join(sandbox(), `${"n".repeat(300)}.jsonl`);
    await expect(manager.setSessionFile(target)).rejects.toMatchObject({ code: "ENAMETOOLONG" });
    expect(manager.getSessionFile()).toBe(before.file);
    expect(idsOf(manager)).toEqual(before.ids);
  });

  it("to an invalid file that must not be replaced leaves the manager as it was", async () => {
    const storage = new FileSessionStorage({ onInvalid: "error" });
    const manager = SessionManager.create("/w/p", join(sandbox(), "sessions"), storage);
    manager.appendMessage(userMessage("u1"));
    const file = manager.getSessionFile();
    const target = writeSession(join(sandbox(), "notes.txt"), "text\n");
    await expect(manager.setSessionFile(target)).rejects.toMatchObject({
      code: "INVALID_SESSION_FILE",
    });
    expect(manager.getSessionFile()).toBe(file);
    expect(contextOf(manager)).toBe("u1");
  });
});

describe("forking from a source that is no session", () => {
  for (const [what, content, code] of [
    ["a missing file", undefined, "SESSION_NOT_FOUND"],
    ["a text file", "shopping list\n", "INVALID_SESSION_FILE"],
    ["an empty file", "", "INVALID_SESSION_FILE"],
  ] as const) {
    it(`rejects ${what} and creates nothing`, async () => {
      const source = join(sandbox(), "source.jsonl");
      if (content !== undefined) {
        writeSession(source, content);
      }
      const dir = join(sandbox(), "sessions");
      await expect(SessionManager.forkFrom(source, "/w/p", dir)).rejects.toMatchObject({ code });
      expect(namesIn(dir)).toEqual([]);
      expect(existsSync(source)).toBe(content !== undefined);
    });
  }

  it("rejects a directory and creates nothing", async () => {
    const dir = join(sandbox(), "sessions");
    await expect(SessionManager.forkFrom(sandbox(), "/w/p", dir)).rejects.toThrow();
    expect(namesIn(dir)).toEqual([]);
  });
});

describe("entries that do not look as expected", () => {
  const ODD: [string, object][] = [
    ["a message entry without message", { message: undefined }],
    ["a null message", { message: null }],
    ["a text as message", { message: "hello" }],
    ["an assistant message without usage", { message: { role: "assistant", content: [] } }],
    [
      "usage without cost",
      { message: { role: "assistant", content: [], usage: { ...usage(), cost: undefined } } },
    ],
    ["usage that is a text", { message: { role: "assistant", content: [], usage: "much" } }],
    [
      "numbers that are texts",
      { message: { role: "assistant", content: [], usage: { input: "1", cost: { total: "2" } } } },
    ],
    ["a user message without content", { message: { role: "user" } }],
    ["content that is a number", { message: { role: "user", content: 5 } }],
    [
      "a payload-bearing assistant message whose content is a text",
      {
        message: {
          role: "assistant",
          content: "text",
          providerPayload: { type: "openaiResponsesHistory", items: [] },
        },
      },
    ],
    [
      "a task result whose usage is empty",
      { message: { role: "toolResult", toolName: "task", content: [], details: { usage: {} } } },
    ],
  ];

  for (const [what, fields] of ODD) {
    it(`opens, counts, lists and rewrites a session with ${what}`, async () => {
      const dir = join(sandbox(), "sessions");
      const odd = { ...U("odd", "a1"), ...fields };
      const lines = [H(), U("u1", null), A("a1", "u1"), odd, U("u2", "odd"), A("a2", "u2")];
      const path = writeSession(join(dir, "s.jsonl"), lines);
      const manager = await SessionManager.open(path);
      expect(idsOf(manager)).toEqual(["u1", "a1", "odd", "u2", "a2"]);
      expect(manager.getLeafId()).toBe("a2");
      const words = contextOf(manager).split(" ");
      expect(words.filter((word) => /^[ua]\d$/.test(word))).toEqual(["u1", "a1", "u2", "a2"]);
      expect(manager.getUsageStatistics()).toEqual({
        input: 2,
        output: 4,
        cacheRead: 0,
        cacheWrite: 0,
        premiumRequests: 0,
        cost: 1,
        ...countedUsage(what),
      });
      expect((await SessionManager.list("/w/p", dir)).map((info) => info.id)).toEqual(["s1"]);
      await manager.rewriteEntries();
      const expected = JSON.parse(JSON.stringify(lines.slice(1)));
      // Replay data of a closed connection leaves the disk with the next rewrite.
      delete expected[2].message?.providerPayload;
      expect(recordsOf(path).slice(1)).toEqual(expected);
    });
  }

  /** Valid numbers of an incomplete usage object still count. */
  function countedUsage(what: string) {
    return what === "usage without cost" ? { input: 3, output: 6 } : {};
  }

  it("resumes by id although a neighbour has a number as id", async () => {
    const dir = join(sandbox(), "sessions");
    writeSession(join(dir, "a.jsonl"), [H({ id: 17 }), U("u1", null)]);
    const path = writeSession(join(dir, "b.jsonl"), [H({ id: "good-id" }), U("u1", null)]);
    const match = await resolveResumableSession("good", "/w/p", dir);
    expect(match?.session.path).toBe(path);
  });
});

describe("a torn line that leaves a bracket open", () => {
  const TORN = '{"type":"message","id":"torn","parentId":"u1","message":[';

  it("does not swallow the one line that follows", async () => {
    const lines = [H(), U("u1", null), TORN, A("a1", "u1")];
    const path = writeSession(join(sandbox(), "s.jsonl"), lines);
    const manager = await SessionManager.open(path);
    expect(contextOf(manager)).toBe("u1 a1");
    expect(manager.getLoadReport()).toMatchObject({ entries: 2, skippedLines: 1 });
    const parsed = parseSessionEntries(jsonl(lines)) as { id?: string }[];
    expect(parsed.map((item) => item.id)).toEqual(["s1", "u1", "a1"]);
  });

  it("does not swallow later lines either", async () => {
    const lines = [H(), U("u1", null), TORN, A("a1", "u1"), U("u2", "a1"), A("a2", "u2")];
    const manager = await SessionManager.open(writeSession(join(sandbox(), "s.jsonl"), lines));
    expect(contextOf(manager)).toBe("u1 a1 u2 a2");
  });
});

describe("reloading the manager's own session", () => {
  it("keeps a conversation that was never written, and writes it", async () => {
    const manager = SessionManager.create("/w/p", join(sandbox(), "sessions"));
    const file = fileOf(manager);
    const id = manager.getSessionId();
    const entryId = manager.appendMessage(userMessage("only in memory"));
    await manager.setSessionFile(file);
    expect(manager.getSessionFile()).toBe(file);
    expect(manager.getSessionId()).toBe(id);
    expect(contextOf(manager)).toBe("only in memory");
    await manager.flush();
    expect(recordsOf(file)[0]).toMatchObject({ type: "session", id });
    expect(idsOnDisk(file)).toEqual([entryId]);
  });

  it("keeps the conversation when the file was deleted meanwhile", async () => {
    const manager = await startSession(join(sandbox(), "sessions"));
    const ids = idsOf(manager);
    rmSync(fileOf(manager));
    await manager.setSessionFile(fileOf(manager));
    await manager.flush();
    expect(idsOf(manager)).toEqual(ids);
    expect(idsOnDisk(fileOf(manager))).toEqual(ids);
  });
});

describe("what a reload restores", () => {
  it("goes on at the last line of the file, wherever the leaf had been moved", async () => {
    const path = writeSession(join(sandbox(), "s.jsonl"), LINEAR4());
    const before = readFileSync(path, "utf8");
    const manager = await SessionManager.open(path);
    manager.branch("a1");
    await manager.flush();
    await manager.close();
    expect(readFileSync(path, "utf8")).toBe(before);
    expect((await SessionManager.open(path)).getLeafId()).toBe("a2");
    manager.resetLeaf();
    await manager.setSessionFile(path);
    expect(manager.getLeafId()).toBe("a2");
  });

  it("keeps the manager's working directory and session directory in a switch", async () => {
    const dir = join(sandbox(), "sessions");
    const manager = await startSession(dir, "/work/mine");
    const other = writeSession(join(sandbox(), "elsewhere", "s.jsonl"), [
      H({ cwd: "/work/theirs" }),
      U("u1", null),
      A("a1", "u1"),
    ]);
    await manager.setSessionFile(other);
    expect(manager.getCwd()).toBe("/work/mine");
    expect(manager.getSessionDir()).toBe(dir);
    const fork = await manager.fork();
    expect(dirname(fork?.newSessionFile as string)).toBe(dir);
    expect(manager.getHeader()?.cwd).toBe("/work/mine");
    const fresh = await manager.newSession();
    expect(dirname(fresh as string)).toBe(dir);
  });
});
