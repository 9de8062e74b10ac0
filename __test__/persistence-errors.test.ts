import { mkdirSync, renameSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { MemorySessionStorage, SessionManager, setLogger } from "../index.js";
import {
  assistantMessage,
  fileOf,
  idsOf,
  idsOnDisk,
  startSession,
  userMessage,
  useSandbox,
} from "./support/fixtures.js";
import { loose } from "./support/loose.js";

const sandbox = useSandbox();

afterEach(() => setLogger(null));

/** A session whose file cannot be written: a directory is in its place. */
async function blocked(): Promise<{ manager: SessionManager; mend: () => void }> {
  const manager = await startSession(join(sandbox(), "sessions"));
  const file = fileOf(manager);
  await manager.close();
  renameSync(file, `${file}.away`);
  mkdirSync(join(file, "in the way"), { recursive: true });
  const mend = () => {
    rmdirSync(join(file, "in the way"));
    rmdirSync(file);
    renameSync(`${file}.away`, file);
  };
  return { manager, mend };
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

describe("onPersistenceError", () => {
  it("tells of an error of writing in the background, once until everything is written", async () => {
    const { manager, mend } = await blocked();
    const told: Error[] = [];
    manager.onPersistenceError((error) => told.push(error));
    manager.appendMessage(userMessage("u"));
    await expect(manager.flush()).rejects.toMatchObject({ code: "EISDIR" });
    await expect(manager.flush()).rejects.toThrow();
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject({ code: "EISDIR" });
    await expect(manager.flush()).rejects.toBe(told[0]);

    mend();
    await manager.flush();
    expect(idsOnDisk(fileOf(manager))).toEqual(idsOf(manager));
    expect(told).toHaveLength(1);
  });

  it("tells of a later failure again", async () => {
    const { manager, mend } = await blocked();
    const told = vi.fn();
    manager.onPersistenceError(told);
    manager.appendMessage(userMessage("u"));
    await expect(manager.flush()).rejects.toThrow();
    mend();
    await manager.close();
    renameSync(fileOf(manager), `${fileOf(manager)}.away`);
    mkdirSync(join(fileOf(manager), "x"), { recursive: true });
    manager.appendMessage(userMessage("v"));
    await expect(manager.flush()).rejects.toThrow();
    expect(told).toHaveBeenCalledTimes(2);
  });

  it("tells late subscribers in a microtask, and only of what is still wrong", async () => {
    const { manager, mend } = await blocked();
    manager.appendMessage(userMessage("u"));
    const error = await manager.flush().catch((reason: unknown) => reason);
    const late = vi.fn();
    manager.onPersistenceError(late);
    expect(late).not.toHaveBeenCalled();
    await Promise.resolve();
    expect(late).toHaveBeenCalledExactlyOnceWith(error);

    const never = vi.fn();
    manager.onPersistenceError(never)();
    mend();
    await manager.flush();
    const tooLate = vi.fn();
    manager.onPersistenceError(tooLate);
    await nextTurn();
    expect(never).not.toHaveBeenCalled();
    expect(tooLate).not.toHaveBeenCalled();
  });

  it("tells each subscription until it ends", async () => {
    const { manager } = await blocked();
    const told = vi.fn();
    const ends = [manager.onPersistenceError(told), manager.onPersistenceError(told)];
    ends[0]?.();
    ends[0]?.();
    manager.appendMessage(userMessage("u"));
    await expect(manager.flush()).rejects.toThrow();
    expect(told).toHaveBeenCalledOnce();
  });

  it("gives what callbacks throw or reject with to the logger", async () => {
    const { manager } = await blocked();
    const records: unknown[][] = [];
    setLogger((...record) => records.push(record));
    const last = vi.fn();
    manager.onPersistenceError(() => {
      throw new Error("thrown");
    });
    manager.onPersistenceError(async () => {
      throw new Error("rejected");
    });
    manager.onPersistenceError(last);
    manager.appendMessage(userMessage("u"));
    await expect(manager.flush()).rejects.toMatchObject({ code: "EISDIR" });
    await nextTurn();
    expect(last).toHaveBeenCalledOnce();
    const failed = records.filter(([, message]) => message === "A callback failed.");
    expect(failed).toEqual(
      ["thrown", "rejected"].map((error) => [
        "warn",
        "A callback failed.",
        { method: "onPersistenceError", error },
      ]),
    );
  });

  it("tells of sessions that the manager has left", async () => {
    const { manager } = await blocked();
    const told = vi.fn();
    manager.onPersistenceError(told);
    manager.appendMessage(userMessage("u"));
    await manager.newSession();
    manager.appendMessage(assistantMessage("a"));
    await manager.flush();
    expect(told).toHaveBeenCalledOnce();
  });

  it("knows errors of storage objects", async () => {
    const storage = new MemorySessionStorage();
    const manager = SessionManager.create("/w/p", "/sessions", storage);
    const told = vi.fn();
    manager.onPersistenceError(told);
    const broken = vi.spyOn(storage, "openWriter").mockImplementation(() => {
      throw new Error("no writer");
    });
    manager.appendMessage(assistantMessage("a"));
    await expect(manager.flush()).rejects.toThrow("no writer");
    expect(told).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ message: "no writer" }));
    broken.mockRestore();
    await manager.flush();
  });

  it("never tells anything of a session in memory", async () => {
    const manager = SessionManager.inMemory();
    const told = vi.fn();
    manager.onPersistenceError(told)();
    manager.onPersistenceError(told);
    manager.appendMessage(assistantMessage("a"));
    await manager.flush();
    expect(told).not.toHaveBeenCalled();
  });

  it("refuses what is no function", () => {
    const manager = loose(SessionManager.inMemory());
    for (const value of [undefined, null, {}, "x"]) {
      expect(() => manager.onPersistenceError(value)).toThrow(TypeError);
    }
  });
});
