import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  utimesSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  FileSessionStorage,
  findMostRecentSession,
  getRecentSessions,
  SessionManager,
} from "../index.js";
import { runForResult } from "./support/child-process.js";
import {
  A,
  contextOf,
  fileOf,
  H,
  idsOf,
  idsOnDisk,
  LINEAR4,
  namesIn,
  startSession,
  U,
  userMessage,
  useSandbox,
  writeSession,
} from "./support/fixtures.js";

const sandbox = useSandbox();

/** Contents of everything below a directory, by relative path. */
function snapshotOf(dir: string): Record<string, string> {
  const files: Record<string, string> = {};
  for (const item of readdirSync(dir, { recursive: true, withFileTypes: true })) {
    if (item.isFile()) {
      const path = join(item.parentPath ?? item.path, item.name);
      files[path.slice(dir.length + 1)] = readFileSync(path, "utf8");
    }
  }
  return files;
}

describe("a session file whose name does not end in .jsonl", () => {
  for (const name of ["noext", "abc.txt", "x"]) {
    it(`(${name}) keeps its artifacts in a directory of its own`, async () => {
      const dir = join(sandbox(), "dir");
      const path = writeSession(join(dir, name), LINEAR4());
      const manager = await SessionManager.open(path);
      const artifacts = manager.getArtifactsDir() as string;
      expect(artifacts).toBe(`${path}.artifacts`);
      const id = (await manager.saveArtifact("output", "bash")) as string;
      const file = (await manager.getArtifactPath(id)) as string;
      expect(dirname(file)).toBe(artifacts);
      expect(readFileSync(file, "utf8")).toBe("output");
      const allocated = await manager.allocateArtifactPath("read");
      expect(dirname(allocated.path as string)).toBe(artifacts);
    });

    it(`(${name}) can be deleted without touching its neighbours`, async () => {
      const dir = join(sandbox(), "dir");
      const path = writeSession(join(dir, name), LINEAR4());
      writeSession(join(dir, "neighbour.jsonl"), LINEAR4());
      writeSession(join(sandbox(), "a", "file"), "unrelated");
      await new FileSessionStorage().deleteSessionWithArtifacts(path);
      expect(existsSync(path)).toBe(false);
      expect(namesIn(dir)).toEqual(["neighbour.jsonl"]);
      expect(existsSync(join(sandbox(), "a", "file"))).toBe(true);
    });
  }

  it("moves with its artifacts and nothing else", async () => {
    const from = join(sandbox(), "from");
    const to = join(sandbox(), "to");
    mkdirSync(from);
    mkdirSync(to);
    const path = writeSession(join(sandbox(), "dir", "noext"), LINEAR4());
    writeSession(join(sandbox(), "dir", "neighbour.jsonl"), LINEAR4());
    const manager = await SessionManager.open(path);
    await manager.saveArtifact("output", "bash");
    await manager.moveTo(to);
    expect(namesIn(join(sandbox(), "dir"))).toEqual(["neighbour.jsonl"]);
    expect(basename(fileOf(manager))).toBe("noext");
    const artifact = (await manager.getArtifactPath("0")) as string;
    expect(readFileSync(artifact, "utf8")).toBe("output");
    expect(dirname(artifact)).toBe(`${fileOf(manager)}.artifacts`);
  });

  it("forks into a session with artifacts of its own", async () => {
    const path = writeSession(join(sandbox(), "dir", "noext"), LINEAR4());
    const manager = await SessionManager.open(path);
    await manager.saveArtifact("output", "bash");
    const paths = await manager.fork();
    expect(paths?.oldSessionFile).toBe(path);
    expect(paths?.newSessionFile).toBe(fileOf(manager));
    expect(dirname(manager.getArtifactsDir() as string)).toBe(dirname(path));
    expect(manager.getArtifactsDir()).not.toBe(`${path}.artifacts`);
  });
});

describe("artifacts saved at the same time", () => {
  /** Saves `count` artifacts through each manager at once; checks that all can be read back. */
  async function saveAll(managers: SessionManager[], count: number, tool: (n: number) => string) {
    const saves = managers.flatMap((manager, which) =>
      Array.from({ length: count }, async (_, n) => {
        const content = `content ${which}-${n}`;
        const id = (await manager.saveArtifact(content, tool(n))) as string;
        return { manager, id, content };
      }),
    );
    const saved = await Promise.all(saves);
    expect(new Set(saved.map(({ id }) => id)).size).toBe(saved.length);
    for (const { manager, id, content } of saved) {
      const path = (await manager.getArtifactPath(id)) as string;
      expect(readFileSync(path, "utf8")).toBe(content);
    }
  }

  it("get different ids with one tool name", async () => {
    const manager = await startSession(join(sandbox(), "sessions"));
    await saveAll([manager], 12, () => "bash");
  });

  it("get different ids with different tool names", async () => {
    const manager = await startSession(join(sandbox(), "sessions"));
    await saveAll([manager], 12, (n) => `tool${n}`);
  });

  it("get different ids through two managers of one session", async () => {
    const manager = await startSession(join(sandbox(), "sessions"));
    const second = await SessionManager.open(fileOf(manager));
    await saveAll([manager, second], 8, () => "bash");
  });

  it("get different ids when only paths are allocated", async () => {
    const manager = await startSession(join(sandbox(), "sessions"));
    const pending = Array.from({ length: 8 }, () => manager.allocateArtifactPath("bash"));
    const paths = (await Promise.all(pending)).map(({ path }) => path);
    expect(new Set(paths).size).toBe(8);
  });
});

describe("moving a session to a directory that has a file of the same name", () => {
  async function prepare() {
    const from = join(sandbox(), "from");
    const to = join(sandbox(), "to");
    mkdirSync(from);
    mkdirSync(to);
    const manager = await startSession(SessionManager.getDefaultSessionDir(from), from);
    await manager.saveArtifact("output", "bash");
    return { manager, from, to, target: SessionManager.getDefaultSessionDir(to) };
  }

  it("rejects and changes nothing", async () => {
    const { manager, from, to, target } = await prepare();
    writeSession(join(target, basename(fileOf(manager))), "precious\n");
    const before = snapshotOf(sandbox());
    const file = fileOf(manager);
    await expect(manager.moveTo(to)).rejects.toMatchObject({ code: "EEXIST" });
    expect(snapshotOf(sandbox())).toEqual(before);
    expect(manager.getCwd()).toBe(from);
    expect(manager.getSessionFile()).toBe(file);
    manager.appendMessage(userMessage("u2"));
    await manager.flush();
    expect(idsOnDisk(file)).toEqual(idsOf(manager));
  });

  it("leaves both sides alone when only the artifacts are in the way", async () => {
    const { manager, to, target } = await prepare();
    const folder = basename(fileOf(manager), ".jsonl");
    writeSession(join(target, folder, "0.bash.log"), "other output");
    const before = snapshotOf(sandbox());
    await expect(manager.moveTo(to)).rejects.toThrow();
    expect(snapshotOf(sandbox())).toEqual(before);
    rmSync(join(target, folder), { recursive: true });
    await manager.moveTo(to);
    expect(dirname(fileOf(manager))).toBe(target);
    expect(readFileSync((await manager.getArtifactPath("0")) as string, "utf8")).toBe("output");
  });

  it("moves file, artifacts and header where nothing is in the way", async () => {
    const { manager, to, target } = await prepare();
    const old = fileOf(manager);
    const id = manager.getSessionId();
    await manager.moveTo(to);
    expect(existsSync(old)).toBe(false);
    expect(fileOf(manager)).toBe(join(target, basename(old)));
    manager.appendMessage(userMessage("u2"));
    await manager.flush();
    const again = await SessionManager.open(fileOf(manager));
    expect(again.getSessionId()).toBe(id);
    expect(again.getCwd()).toBe(to);
    expect(contextOf(again)).toBe("u1 a1 u2");
  });
});

describe("the breadcrumb of a terminal", () => {
  interface Outcome {
    expected: string;
    settled: string;
    file: string;
    continued: string;
  }

  for (const [action, what] of [
    ["fork", "a fork"],
    ["branch", "a session branched off"],
    ["openMissing", "a session opened at a new path"],
    ["switchMany", "the last of many sessions in quick succession"],
  ] as const) {
    it(`leads to ${what}`, async () => {
      const outcome = await runForResult<Outcome>("breadcrumb.cjs", [action, sandbox()], {
        env: { TMUX_PANE: "%7", PI_CODING_AGENT_DIR: join(sandbox(), "agent") },
      });
      expect(outcome.settled).toBe(outcome.expected);
      expect(outcome.continued).toBe(outcome.file);
    });
  }
});

describe("a session whose header is longer than 4,096 bytes", () => {
  for (const [what, extra] of [
    ["title", { title: "long title ".repeat(1000) }],
    ["working directory", { cwd: `/${"d".repeat(200)}`.repeat(40) }],
    ["unknown field", { note: "漢".repeat(20_000) }],
  ] as const) {
    it(`because of its ${what} is the most recent one, and is continued`, async () => {
      const dir = join(sandbox(), "sessions");
      const older = writeSession(join(dir, "older.jsonl"), LINEAR4());
      utimesSync(older, 1000, 1000);
      const path = writeSession(join(dir, "long.jsonl"), [
        H({ id: "long", ...extra }),
        U("u1", null),
        A("a1", "u1"),
      ]);
      expect(await findMostRecentSession(dir)).toBe(path);
      expect((await getRecentSessions(dir)).map((recent) => recent.path)).toEqual([path, older]);
      const manager = await SessionManager.continueRecent("/w/p", dir);
      expect(manager.getSessionFile()).toBe(path);
      expect(contextOf(manager)).toBe("u1 a1");
    });
  }
});

describe("two projects whose names lead to one folder", () => {
  it("do not see or continue each other's sessions", async () => {
    const root = realpathSync(sandbox());
    const projects = [join(root, "a-b", "c"), join(root, "a", "b-c")];
    for (const cwd of projects) {
      mkdirSync(cwd, { recursive: true });
    }
    const [first, second] = projects as [string, string];
    const dir = SessionManager.getDefaultSessionDir(first);
    expect(SessionManager.getDefaultSessionDir(second)).toBe(dir);
    const files = new Map<string, string>();
    for (const cwd of projects) {
      files.set(cwd, fileOf(await startSession(dir, cwd)));
    }
    for (const cwd of projects) {
      const file = files.get(cwd);
      expect((await SessionManager.list(cwd)).map((info) => info.path)).toEqual([file]);
      expect((await SessionManager.continueRecent(cwd)).getSessionFile()).toBe(file);
    }
  });
});
