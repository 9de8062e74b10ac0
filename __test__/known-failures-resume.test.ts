import { existsSync, mkdirSync, readFileSync, realpathSync, renameSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { resolveResumableSession, SessionManager } from "../index.js";
import {
  A,
  assistantMessage,
  contextOf,
  fileOf,
  H,
  idsOf,
  idsOnDisk,
  LINEAR4,
  namesIn,
  recordsOf,
  startSession,
  U,
  userMessage,
  useSandbox,
  writeSession,
} from "./support/fixtures.js";

const sandbox = useSandbox();
const sessions = () => join(sandbox(), "sessions");

describe("the id of a session", () => {
  const makers: [string, () => Promise<SessionManager>][] = [
    ["create", async () => SessionManager.create("/w/p", sessions())],
    [
      "newSession",
      async () => {
        const manager = await startSession(sessions());
        await manager.newSession({ parentSession: "parent" });
        return manager;
      },
    ],
    [
      "fork",
      async () => {
        const manager = await startSession(sessions());
        await manager.fork();
        return manager;
      },
    ],
    [
      "createBranchedSession",
      async () => {
        const manager = await startSession(sessions());
        manager.createBranchedSession(manager.getLeafId() as string);
        return manager;
      },
    ],
    [
      "forkFrom",
      async () => {
        const source = fileOf(await startSession(sessions()));
        return SessionManager.forkFrom(source, "/w/p", sessions());
      },
    ],
    ["continueRecent", () => SessionManager.continueRecent("/w/p", sessions())],
  ];

  for (const [what, make] of makers) {
    it(`after ${what} is in the file name and the header, and resumes the session`, async () => {
      const manager = await make();
      const id = manager.getSessionId();
      const file = fileOf(manager);
      expect(id).toMatch(/^[0-9a-f]{16}$/);
      expect(manager.getHeader()?.id).toBe(id);
      const stamp = manager.getHeader()?.timestamp.replace(/[:.]/g, "-");
      expect(file).toBe(join(sessions(), `${stamp}_${id}.jsonl`));
      manager.appendMessage(userMessage("u9"));
      manager.appendMessage(assistantMessage("a9"));
      await manager.flush();
      expect(manager.getSessionId()).toBe(id);
      expect(recordsOf(file)[0]?.id).toBe(id);
      const found = await resolveResumableSession(id, "/w/p", sessions());
      expect(found?.session.path).toBe(file);
      expect((await SessionManager.open(file)).getSessionId()).toBe(id);
    });
  }
});

describe("forking a session that is being written", () => {
  it("gives a valid beginning each time", async () => {
    const writer = await startSession(sessions());
    const forks: Promise<SessionManager>[] = [];
    for (let n = 0; n < 1000; n++) {
      writer.appendMessage(userMessage(`message ${n} `.repeat(1 + (n % 60))));
      if (n % 20 === 0) {
        forks.push(SessionManager.forkFrom(fileOf(writer), "/w/p", join(sandbox(), "forks")));
      }
      if (n % 7 === 0) {
        await new Promise((resolve) => setImmediate(resolve));
      }
      if (n % 250 === 0) {
        void writer.setSessionName(`Name ${n}`);
      }
    }
    await writer.flush();
    const all = idsOf(writer);
    const files = new Set<string>();
    for (const fork of await Promise.all(forks)) {
      const ids = idsOf(fork);
      expect(ids.length).toBeGreaterThanOrEqual(2);
      expect(ids).toEqual(all.slice(0, ids.length));
      expect(idsOnDisk(fileOf(fork))).toEqual(ids);
      files.add(fileOf(fork));
    }
    expect(files.size).toBe(50);
    expect(idsOnDisk(fileOf(writer))).toEqual(all);
  }, 60_000);

  it("takes no bytes of a line that is not finished", async () => {
    const torn = `${LINEAR4()
      .map((line) => JSON.stringify(line))
      .join("\n")}\n{"type":"mess`;
    const path = writeSession(join(sessions(), "s.jsonl"), torn);
    const fork = await SessionManager.forkFrom(path, "/w/p", join(sandbox(), "forks"));
    expect(contextOf(fork)).toBe("u1 a1 u2 a2");
    expect(idsOnDisk(fileOf(fork))).toEqual(["u1", "a1", "u2", "a2"]);
    expect(readFileSync(path, "utf8")).toBe(torn);
  });
});

describe("a fork of a session with artifacts", () => {
  it("tells both paths, from which both artifact directories follow", async () => {
    const manager = await startSession(sessions());
    const old = fileOf(manager);
    const oldArtifacts = manager.getArtifactsDir();
    await manager.saveArtifact("output", "bash");
    const paths = await manager.fork();
    expect(paths).toEqual({ oldSessionFile: old, newSessionFile: fileOf(manager) });
    expect(oldArtifacts).toBe(old.slice(0, -".jsonl".length));
    const artifacts = manager.getArtifactsDir() as string;
    expect(artifacts).toBe(fileOf(manager).slice(0, -".jsonl".length));
    expect(dirname(artifacts)).toBe(sessions());
    expect(await manager.getArtifactPath("0")).toBeNull();
    const id = (await manager.saveArtifact("more", "bash")) as string;
    expect(readFileSync((await manager.getArtifactPath(id)) as string, "utf8")).toBe("more");
    expect(readFileSync(join(oldArtifacts as string, "0.bash.log"), "utf8")).toBe("output");
  });
});

describe("a project that was renamed", () => {
  it("keeps its sessions findable by id, and moves them on request", async () => {
    const root = realpathSync(sandbox());
    const [before, after] = [join(root, "before"), join(root, "after")] as const;
    mkdirSync(before);
    const manager = await startSession(SessionManager.getDefaultSessionDir(before), before);
    await manager.saveArtifact("output", "bash");
    await manager.close();
    renameSync(before, after);
    const id = manager.getSessionId();
    const found = await resolveResumableSession(id, after);
    expect(found?.scope).toBe("global");
    const file = found?.session.path as string;
    const resumed = await SessionManager.open(file);
    expect(resumed.getCwd()).toBe(before);
    await resumed.moveTo(after);
    expect(existsSync(file)).toBe(false);
    expect(fileOf(resumed)).toBe(join(SessionManager.getDefaultSessionDir(after), basename(file)));
    resumed.appendMessage(userMessage("u2"));
    await resumed.flush();
    expect(recordsOf(fileOf(resumed))[0]).toMatchObject({ id, cwd: after });
    expect(idsOnDisk(fileOf(resumed))).toEqual(idsOf(resumed));
    expect(readFileSync((await resumed.getArtifactPath("0")) as string, "utf8")).toBe("output");
    const local = await resolveResumableSession(id, after);
    expect(local).toMatchObject({ scope: "local", session: { id, cwd: after } });
  });
});

describe("sessions that look incomplete", () => {
  it("are all listed", async () => {
    const dir = sessions();
    writeSession(join(dir, "header.jsonl"), [H({ id: "header" })]);
    writeSession(join(dir, "no-user.jsonl"), [H({ id: "no-user" }), A("a1", null)]);
    writeSession(join(dir, "no-cwd.jsonl"), [H({ id: "no-cwd", cwd: undefined }), U("u1", null)]);
    const late = Array.from({ length: 423 }, (_, n) => A(`a${n}`, n === 0 ? null : `a${n - 1}`));
    writeSession(join(dir, "late.jsonl"), [H({ id: "late" }), ...late, U("late-user", "a422")]);
    for (let n = 0; n < 238; n++) {
      writeSession(join(dir, `more-${n}.jsonl`), [H({ id: `more-${n}` }), U("u1", null)]);
    }
    const infos = await SessionManager.list("/w/p", dir);
    expect(infos).toHaveLength(242);
    const by = (id: string) => infos.find((info) => info.id === id);
    expect(by("header")).toMatchObject({ messageCount: 0, firstMessage: "(no messages)" });
    expect(by("no-user")).toMatchObject({ messageCount: 1, firstMessage: "(no messages)" });
    expect(by("no-cwd")).toMatchObject({ cwd: "", firstMessage: "u1" });
    expect(by("late")).toMatchObject({ messageCount: 424, firstMessage: "late-user" });
  });
});

describe("switching between sessions", () => {
  it("back and forth with appends in between mixes nothing up", async () => {
    const manager = await startSession(sessions());
    const expected = new Map<string, string[]>();
    const note = () => expected.set(fileOf(manager), idsOf(manager));
    note();
    for (let n = 0; n < 30; n++) {
      if (n % 5 === 0) {
        await manager.newSession();
        manager.appendMessage(assistantMessage(`first ${n}`));
      } else if (n % 5 === 1) {
        await manager.fork();
      } else if (n % 5 === 2) {
        const [file] = [...expected.keys()].filter((known) => existsSync(known)).slice(n % 3);
        await manager.setSessionFile(file as string);
      } else if (n % 5 === 3) {
        manager.createBranchedSession(manager.getLeafId() as string);
      }
      manager.appendMessage(userMessage(`message ${n}`));
      note();
    }
    await manager.close();
    for (const [file, ids] of expected) {
      expect(idsOnDisk(file)).toEqual(ids);
    }
    expect(namesIn(sessions()).sort()).toEqual([...expected.keys()].map((f) => basename(f)).sort());
  });
});
