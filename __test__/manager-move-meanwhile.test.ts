import * as fs from "node:fs";
import * as path from "node:path";
import { describe, expect, it, vi } from "vitest";
import { SessionManager } from "../index.js";
import { runForResult } from "./support/child-process.js";
import { createWritten, fileOf } from "./support/managers.js";
import { assistantMessage, userMessage } from "./support/messages.js";
import { useSandbox } from "./support/sandbox.js";
import { entryIds, readSession } from "./support/session-files.js";

const box = useSandbox();

/** How far a move is when something else happens, in turns of the event loop. */
const TURNS = [0, 1, 2, 3, 4, 6, 8];

async function turns(count: number) {
  for (let turn = 0; turn < count; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const idsOf = (manager: SessionManager) => manager.getEntries().map((entry) => entry.id);

/** All session files of the agent directory. */
function sessionFiles(): string[] {
  const names = fs.readdirSync(path.join(box.agentDir, "sessions"), { recursive: true });
  return (names as string[]).filter((name) => name.includes(".jsonl"));
}

describe("what is appended while a session is moved", () => {
  for (const count of TURNS) {
    it(`is in the moved file and nowhere else, ${count} turns after the start`, async () => {
      const manager = SessionManager.create(box.makeDir("from"));
      manager.appendMessage(userMessage("question"));
      manager.appendMessage(assistantMessage("answer"));
      await manager.flush();
      const moving = manager.moveTo(box.makeDir("to"));
      await turns(count);
      manager.appendMessage(userMessage("while moving"));
      await null;
      manager.appendMessage(userMessage("long ".repeat(20_000)));
      await moving;
      manager.appendMessage(userMessage("after"));
      await manager.close();
      expect(entryIds(fileOf(manager))).toEqual(idsOf(manager));
      expect(readSession(fileOf(manager))[0]?.cwd).toBe(box.path("to"));
      expect(sessionFiles()).toHaveLength(1);
    });

    it(`survives the end of the process ${count} turns after the start`, async () => {
      box.makeDir("from");
      box.makeDir("to");
      const args = [box.dir, String(count)];
      const { id, ids } = await runForResult<{ id: string; ids: string[] }>(
        "exit-while-moving.cjs",
        args,
      );
      const files = sessionFiles();
      expect(files).toHaveLength(1);
      const file = path.join(box.agentDir, "sessions", String(files[0]));
      expect(entryIds(file)).toEqual(ids);
      const header = readSession(file)[0];
      expect(header?.id).toBe(id);
      const cwd = String(header?.cwd);
      expect(path.dirname(file)).toBe(SessionManager.getDefaultSessionDir(cwd));
      const reopened = await SessionManager.open(file);
      expect(await reopened.getArtifactPath("0")).not.toBeNull();
    });
  }

  it("is flushed by a flush that was asked for in the meantime", async () => {
    const manager = await createWritten(box.makeDir("s"), box.makeDir("from"));
    const moving = manager.moveTo(box.makeDir("to"));
    manager.appendMessage(userMessage("while moving"));
    await manager.flush();
    const flushed = sessionFiles().map((name) => path.join(box.agentDir, "sessions", name));
    const files = [...flushed, ...fs.readdirSync(box.path("s")).map((name) => box.path("s", name))];
    expect(files.map((file) => entryIds(file))).toEqual([idsOf(manager)]);
    await moving;
    expect(entryIds(fileOf(manager))).toEqual(idsOf(manager));
  });

  it("stays in the old file when the move fails", async () => {
    const to = box.makeDir("to");
    const manager = await createWritten(box.makeDir("s"), box.makeDir("from"));
    const old = fileOf(manager);
    const inTheWay = path.join(SessionManager.getDefaultSessionDir(to), path.basename(old));
    fs.writeFileSync(inTheWay, "precious\n");
    const moving = manager.moveTo(to);
    manager.appendMessage(userMessage("while moving"));
    await expect(moving).rejects.toMatchObject({ code: "EEXIST", path: inTheWay });
    await manager.flush();
    expect(fileOf(manager)).toBe(old);
    expect(manager.getCwd()).toBe(box.path("from"));
    expect(entryIds(old)).toEqual(idsOf(manager));
    expect(fs.readFileSync(inTheWay, "utf8")).toBe("precious\n");
  });

  it("is written with a new name and by a rewrite", async () => {
    const manager = await createWritten(box.makeDir("s"), box.makeDir("from"));
    const moving = manager.moveTo(box.makeDir("to"));
    const others = [manager.setSessionName("Named while moving"), manager.rewriteEntries()];
    manager.appendMessage(userMessage("while moving"));
    await Promise.all([moving, ...others]);
    await manager.flush();
    expect(entryIds(fileOf(manager))).toEqual(idsOf(manager));
    expect(readSession(fileOf(manager))[0]).toMatchObject({
      cwd: box.path("to"),
      title: "Named while moving",
    });
    expect(fs.readdirSync(box.path("s"))).toEqual([]);
  });
});

describe("another call while a session is moved", () => {
  it("moves it again, afterwards", async () => {
    const manager = await createWritten(box.makeDir("s"), box.makeDir("from"));
    const moves = ["one", "two", "three"].map((name) => manager.moveTo(box.makeDir(name)));
    await Promise.all(moves);
    expect(manager.getCwd()).toBe(box.path("three"));
    expect(path.dirname(fileOf(manager))).toBe(
      SessionManager.getDefaultSessionDir(box.path("three")),
    );
    expect(entryIds(fileOf(manager))).toEqual(idsOf(manager));
    expect(sessionFiles()).toHaveLength(1);
  });

  it("leaves it where the move ends", async () => {
    const manager = await createWritten(box.makeDir("s"), box.makeDir("from"));
    const ids = idsOf(manager);
    const moving = manager.moveTo(box.makeDir("to"));
    const next = await manager.newSession();
    await moving;
    expect(fileOf(manager)).toBe(next);
    expect(manager.getEntries()).toEqual([]);
    expect(fs.readdirSync(box.path("s"))).toEqual([]);
    const file = path.join(box.agentDir, "sessions", String(sessionFiles()[0]));
    expect(entryIds(file)).toEqual(ids);
    expect(readSession(file)[0]?.cwd).toBe(box.path("to"));
  });
});

describe("moving to another file system", () => {
  /** Renames fail as between file systems, except of temporary files. */
  function separateFileSystems() {
    const { rename } = fs.promises;
    return vi.spyOn(fs.promises, "rename").mockImplementation(async (from, to) => {
      if (path.dirname(String(from)) !== path.dirname(String(to))) {
        throw Object.assign(new Error("EXDEV: cross-device link not permitted"), { code: "EXDEV" });
      }
      await rename(from, to);
    });
  }

  it("takes the file and the artifacts along", async () => {
    const manager = await createWritten(box.makeDir("s"), box.makeDir("from"));
    await manager.saveArtifact("output", "bash");
    const artifacts = String(manager.getArtifactsDir());
    fs.mkdirSync(path.join(artifacts, "deeper"));
    fs.symlinkSync("../0.bash.log", path.join(artifacts, "deeper", "link"));
    const rename = separateFileSystems();
    try {
      await manager.moveTo(box.makeDir("to"));
    } finally {
      rename.mockRestore();
    }
    expect(fs.readdirSync(box.path("s"))).toEqual([]);
    expect(entryIds(fileOf(manager))).toEqual(idsOf(manager));
    expect(fs.statSync(fileOf(manager)).mode & 0o777).toBe(0o600);
    const moved = String(manager.getArtifactsDir());
    expect(fs.readFileSync(String(await manager.getArtifactPath("0")), "utf8")).toBe("output");
    expect(fs.readlinkSync(path.join(moved, "deeper", "link"))).toBe("../0.bash.log");
    const names = [fileOf(manager), moved].map((name) => path.basename(name));
    expect(fs.readdirSync(manager.getSessionDir()).sort()).toEqual(names.sort());
  });

  it("leaves everything where it is when it cannot be copied", async () => {
    const manager = await createWritten(box.makeDir("s"), box.makeDir("from"));
    await manager.saveArtifact("output", "bash");
    const before = fs.readdirSync(box.path("s"));
    const rename = separateFileSystems();
    const cp = vi.spyOn(fs.promises, "cp").mockImplementation(async (from, to) => {
      fs.writeFileSync(String(to), "half");
      throw Object.assign(new Error(`ENOSPC: no space left on device, copyfile '${from}'`), {
        code: "ENOSPC",
      });
    });
    try {
      await expect(manager.moveTo(box.makeDir("to"))).rejects.toMatchObject({ code: "ENOSPC" });
    } finally {
      rename.mockRestore();
      cp.mockRestore();
    }
    expect(fs.readdirSync(box.path("s"))).toEqual(before);
    expect(fs.readdirSync(SessionManager.getDefaultSessionDir(box.path("to")))).toEqual([]);
    expect(manager.getCwd()).toBe(box.path("from"));
    expect(entryIds(fileOf(manager))).toEqual(idsOf(manager));
    expect(await manager.getArtifactPath("0")).not.toBeNull();
  });
});
