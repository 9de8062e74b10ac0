import * as fs from "node:fs";
import { describe, expect, it } from "vitest";
import type { SessionManager } from "../index.js";
import { createIn, createWritten, fileOf } from "./support/managers.js";
import { assistantMessage, userMessage } from "./support/messages.js";
import { useSandbox } from "./support/sandbox.js";
import { entryIds } from "./support/session-files.js";

const box = useSandbox();

const idsOf = (manager: SessionManager) => manager.getEntries().map((entry) => entry.id);

describe("a fork and the session it was made of", () => {
  it("are written apart when the session is restored", async () => {
    const manager = await createWritten(box.makeDir("s"));
    const snapshot = manager.captureState();
    const objects = manager.getEntries();
    await manager.fork();
    const fork = fileOf(manager);
    const forked = idsOf(manager);
    manager.restoreState(snapshot);
    const id = manager.appendMessage(userMessage("only in the old one"));
    await manager.flush();
    await manager.close();
    expect(entryIds(fork)).toEqual(forked);
    expect(entryIds(fileOf(manager))).toEqual([...forked, id]);
    expect(manager.getEntries().slice(0, 2)).toEqual(objects);
    expect(manager.getEntries()[0]).toBe(objects[0]);
  });

  it("are written apart when the session is restored before the fork is on disk", async () => {
    const manager = await createWritten(box.makeDir("s"));
    const snapshot = manager.captureState();
    const old = fileOf(manager);
    const forking = manager.fork();
    while (fileOf(manager) === old) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    const fork = fileOf(manager);
    const forked = idsOf(manager);
    manager.restoreState(snapshot);
    const id = manager.appendMessage(userMessage("only in the old one"));
    await forking;
    await manager.close();
    expect(entryIds(fork)).toEqual(forked);
    expect(entryIds(old)).toEqual([...forked, id]);
  });

  it("have the same entry objects", async () => {
    const manager = await createWritten(box.makeDir("s"));
    const before = manager.getEntries();
    await manager.fork();
    const after = manager.getEntries();
    expect(after).toHaveLength(before.length);
    expect(after.every((entry, at) => entry === before[at])).toBe(true);
  });

  it("are written apart when the session could not be written until after the fork", async () => {
    const manager = await createWritten(box.makeDir("s"));
    const old = fileOf(manager);
    const aside = box.path("aside");
    fs.renameSync(old, aside);
    fs.mkdirSync(old);
    const failed = manager.appendMessage(userMessage("not written yet"));
    await expect(manager.flush()).rejects.toMatchObject({ code: "EISDIR" });
    await manager.fork().catch(() => manager.fork());
    expect(fileOf(manager)).not.toBe(old);
    const id = manager.appendMessage(userMessage("only in the fork"));
    await manager.flush();
    fs.rmdirSync(old);
    fs.renameSync(aside, old);
    process.emit("exit", 0);
    expect(entryIds(old)).not.toContain(id);
    expect(entryIds(old)).toContain(failed);
    expect(entryIds(fileOf(manager))).toEqual(idsOf(manager));
    await manager.close();
  });

  it("are not written for each other's first answer", async () => {
    const manager = createIn(box.makeDir("s"));
    manager.appendMessage(userMessage("question"));
    const old = fileOf(manager);
    await manager.fork();
    manager.appendMessage(assistantMessage("answer"));
    await manager.close();
    expect(fs.existsSync(old)).toBe(false);
    expect(entryIds(fileOf(manager))).toHaveLength(2);
  });
});
