import * as fs from "node:fs";
import * as path from "node:path";
import { describe, expect, it } from "vitest";
import { MemorySessionStorage, SessionManager } from "../index.js";
import { createIn, createWritten, fileOf } from "./support/managers.js";
import { assistantMessage, userMessage } from "./support/messages.js";
import { useSandbox } from "./support/sandbox.js";
import {
  entryIds,
  fingerprint,
  readSession,
  smallSession,
  writeLines,
} from "./support/session-files.js";

const box = useSandbox();

/** A written session in its project's default directory. */
async function writtenInDefault(project: string) {
  const manager = SessionManager.create(project);
  manager.appendMessage(userMessage("question"));
  manager.appendMessage(assistantMessage("answer"));
  await manager.flush();
  return manager;
}

describe("moveTo", () => {
  it("moves the file into the other project's directory", async () => {
    const from = box.makeDir("from");
    const to = box.makeDir("to");
    const manager = await writtenInDefault(from);
    const old = fileOf(manager);
    const header = manager.getHeader();
    expect(await manager.moveTo(to)).toBeUndefined();
    const file = fileOf(manager);
    expect(fs.existsSync(old)).toBe(false);
    expect(path.basename(file)).toBe(path.basename(old));
    expect(path.dirname(file)).toBe(SessionManager.getDefaultSessionDir(to));
    expect(manager.getSessionDir()).toBe(SessionManager.getDefaultSessionDir(to));
    expect(manager.getCwd()).toBe(to);
    expect(manager.getHeader()).toBe(header);
    expect(header?.cwd).toBe(to);
    expect(readSession(file)[0]?.cwd).toBe(to);
    expect(entryIds(file)).toEqual(manager.getEntries().map((entry) => entry.id));
  });

  it("takes the artifacts along", async () => {
    const manager = await writtenInDefault(box.makeDir("from"));
    const id = await manager.saveArtifact("big output", "bash");
    const oldArtifacts = String(manager.getArtifactsDir());
    await manager.moveTo(box.makeDir("to"));
    expect(fs.existsSync(oldArtifacts)).toBe(false);
    const found = String(await manager.getArtifactPath(String(id)));
    expect(path.dirname(found)).toBe(manager.getArtifactsDir());
    expect(fs.readFileSync(found, "utf8")).toBe("big output");
  });

  it("does nothing for the directory it is in", async () => {
    const from = box.makeDir("from");
    const manager = await writtenInDefault(from);
    const before = fingerprint(fileOf(manager));
    await manager.moveTo(`${from}/sub/..`);
    expect(fingerprint(fileOf(manager))).toEqual(before);
    expect(manager.getCwd()).toBe(from);
  });

  it("leaves a file in place that is in the target's directory already", async () => {
    const here = box.makeDir("here");
    const file = path.join(SessionManager.getDefaultSessionDir(here), "strayed.jsonl");
    writeLines(file, smallSession({ cwd: box.makeDir("elsewhere") }));
    const manager = await SessionManager.open(file);
    const id = String(await manager.saveArtifact("output", "bash"));
    await manager.moveTo(here);
    expect(fileOf(manager)).toBe(file);
    expect(manager.getCwd()).toBe(here);
    expect(readSession(file)[0]?.cwd).toBe(here);
    expect(entryIds(file)).toHaveLength(2);
    expect(fs.readFileSync(String(await manager.getArtifactPath(id)), "utf8")).toBe("output");
    await manager.close();
  });

  it("makes a relative target absolute", async () => {
    const to = box.makeDir("to");
    const manager = await writtenInDefault(box.makeDir("from"));
    await manager.moveTo(path.relative(process.cwd(), to));
    expect(manager.getCwd()).toBe(to);
  });

  it("moves a session of an explicit directory into the default root", async () => {
    const to = box.makeDir("to");
    const manager = await createWritten(box.makeDir("explicit"), box.makeDir("from"));
    await manager.moveTo(to);
    expect(manager.getSessionDir()).toBe(SessionManager.getDefaultSessionDir(to));
    expect(fs.readdirSync(box.path("explicit"))).toEqual([]);
  });

  it("stays beside its siblings in a root that follows the naming", async () => {
    const from = box.makeDir("from");
    const to = box.makeDir("to");
    const names = [from, to].map((cwd) => path.basename(SessionManager.getDefaultSessionDir(cwd)));
    const manager = await createWritten(box.makeDir("root", String(names[0])), from);
    await manager.moveTo(to);
    expect(manager.getSessionDir()).toBe(box.path("root", String(names[1])));
    expect(fs.existsSync(fileOf(manager))).toBe(true);
  });

  it("leaves a session that was never written unwritten", async () => {
    const to = box.makeDir("to");
    const manager = SessionManager.create(box.makeDir("from"));
    manager.appendMessage(userMessage());
    await manager.moveTo(to);
    expect(manager.getCwd()).toBe(to);
    expect(fs.existsSync(fileOf(manager))).toBe(false);
    manager.appendMessage(assistantMessage());
    await manager.flush();
    expect(entryIds(fileOf(manager))).toHaveLength(2);
    expect(readSession(fileOf(manager))[0]?.cwd).toBe(to);
  });

  it("writes the file again when it vanished and there is an answer", async () => {
    const manager = await writtenInDefault(box.makeDir("from"));
    await manager.close();
    fs.unlinkSync(fileOf(manager));
    await manager.moveTo(box.makeDir("to"));
    expect(entryIds(fileOf(manager))).toHaveLength(2);
  });

  it("keeps appending to the moved file", async () => {
    const manager = await writtenInDefault(box.makeDir("from"));
    await manager.moveTo(box.makeDir("to"));
    const id = manager.appendMessage(userMessage("after the move"));
    await manager.flush();
    expect(entryIds(fileOf(manager)).at(-1)).toBe(id);
  });

  it("never overwrites a file at the target", async () => {
    const to = box.makeDir("to");
    const manager = await writtenInDefault(box.makeDir("from"));
    const old = fileOf(manager);
    const inTheWay = path.join(SessionManager.getDefaultSessionDir(to), path.basename(old));
    fs.writeFileSync(inTheWay, "precious\n");
    await manager.moveTo(to).catch(() => undefined);
    expect(fs.readFileSync(inTheWay, "utf8")).toBe("precious\n");
    expect(entryIds(fileOf(manager))).toHaveLength(2);
  });

  it("changes directories of an in-memory manager only in memory", async () => {
    const to = box.makeDir("to");
    const manager = SessionManager.inMemory(box.dir);
    await manager.moveTo(to);
    expect(manager.getCwd()).toBe(to);
    expect(manager.getHeader()?.cwd).toBe(to);
    expect(manager.getSessionDir()).toBe(SessionManager.getDefaultSessionDir(to));
    expect(manager.getSessionFile()).toBeUndefined();
  });

  it("rejects for a written session in a memory storage and stays where it is", async () => {
    const manager = SessionManager.create("/virtual", "/virtual/s", new MemorySessionStorage());
    manager.appendMessage(userMessage());
    manager.appendMessage(assistantMessage());
    await manager.flush();
    await expect(manager.moveTo(box.makeDir("to"))).rejects.toMatchObject({ code: "ENOENT" });
    expect(manager.getCwd()).toBe("/virtual");
    expect(manager.getSessionDir()).toBe("/virtual/s");
  });

  it("shows its effects when it resolves, to synchronous readers too", async () => {
    const manager = createIn(box.makeDir("s"), box.makeDir("from"));
    await manager.ensureOnDisk();
    await manager.moveTo(box.makeDir("to"));
    expect(JSON.parse(fs.readFileSync(fileOf(manager), "utf8")).cwd).toBe(box.path("to"));
  });
});
