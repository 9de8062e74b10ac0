import fs from "node:fs";
import path from "node:path";
import { Worker } from "node:worker_threads";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  FileSessionStorage,
  type ListingControl,
  MemorySessionStorage,
  SessionManager,
  setLogger,
} from "../index.js";
import { unchecked } from "./support/loose.js";
import { useSandbox } from "./support/sandbox.js";
import { headerLine, messageLine, writeLines } from "./support/session-files.js";

const box = useSandbox();
const CWD = "/work/project";
const COUNT = 60;

afterEach(() => setLogger(undefined));

/** Session files of one project, where its sessions belong. */
function putSessions(count = COUNT): string {
  const dir = SessionManager.getDefaultSessionDir(CWD);
  for (let n = 0; n < count; n++) {
    const message = messageLine("a", null, { role: "user", content: `text ${n}` });
    writeLines(path.join(dir, `${n}.jsonl`), [headerLine({ id: `id${n}` }), message]);
  }
  return dir;
}

/** A storage whose methods are called, because one of them is not the original. */
class CountingStorage extends FileSessionStorage {
  reads = 0;
  override async readText(file: string): Promise<string> {
    this.reads += 1;
    return super.readText(file);
  }
}

/** The three calls, by name, natively and through a storage. */
const calls: [string, (control?: ListingControl) => Promise<{ id: string }[]>][] = [
  ["list", (control) => SessionManager.list(CWD, undefined, undefined, control)],
  ["listAll", (control) => SessionManager.listAll(undefined, control)],
  ["searchSessions", (control) => SessionManager.searchSessions("text", { cwd: CWD, ...control })],
  ["list, storage", (c) => SessionManager.list(CWD, undefined, new CountingStorage(), c)],
  ["listAll, storage", (c) => SessionManager.listAll(new CountingStorage(), c)],
  [
    "searchSessions, storage",
    (c) =>
      SessionManager.searchSessions("text", { cwd: CWD, storage: new CountingStorage(), ...c }),
  ],
];

describe.each(calls)("%s", (_, call) => {
  it("tells its progress from nothing to all", async () => {
    putSessions();
    const seen: [number, number][] = [];
    const found = await call({ onProgress: (done, total) => seen.push([done, total]) });
    expect(found).toHaveLength(COUNT);
    expect(seen.length).toBeGreaterThan(2);
    expect(seen[0]).toEqual([0, COUNT]);
    expect(seen.at(-1)).toEqual([COUNT, COUNT]);
    expect(seen.every(([, total]) => total === COUNT)).toBe(true);
    const done = seen.map(([count]) => count);
    expect([...new Set(done)].sort((left, right) => left - right)).toEqual(done);
  });

  it("tells once that there is nothing to do", async () => {
    const onProgress = vi.fn();
    expect(await call({ onProgress })).toEqual([]);
    expect(onProgress.mock.calls).toEqual([[0, 0]]);
  });

  it("gives the same with progress and without", async () => {
    putSessions();
    const plain = await call();
    expect(await call({ onProgress: () => {}, signal: new AbortController().signal })).toEqual(
      plain,
    );
    expect(await call({ onProgress: null })).toEqual(plain);
  });

  it("keeps its result when the callback throws or rejects, and logs that", async () => {
    putSessions();
    const records: unknown[] = [];
    setLogger((...record) => records.push(record));
    const failure = new Error("from the callback");
    const throwing = call({
      onProgress: () => {
        throw failure;
      },
    });
    expect(await throwing).toHaveLength(COUNT);
    expect(records).toContainEqual(["warn", "Progress callback failed.", { err: failure }]);
    const rejecting = unchecked(() => Promise.reject(failure));
    expect(await call({ onProgress: rejecting })).toHaveLength(COUNT);
  });

  it("rejects with the reason of a signal that is aborted already, and creates nothing", async () => {
    const onProgress = vi.fn();
    const signal = AbortSignal.abort();
    await expect(call({ signal, onProgress })).rejects.toBe(signal.reason);
    await expect(call({ signal })).rejects.toMatchObject({ name: "AbortError" });
    expect(onProgress).not.toHaveBeenCalled();
    expect(fs.existsSync(box.agentDir)).toBe(false);
  });

  it("rejects with the reason when it is aborted under way", async () => {
    putSessions();
    const controller = new AbortController();
    const seen: number[] = [];
    const reason = new Error("enough");
    const pending = call({
      signal: controller.signal,
      onProgress: (done) => {
        seen.push(done);
        if (done > 0) {
          controller.abort(reason);
        }
      },
    });
    await expect(pending).rejects.toBe(reason);
    const told = seen.length;
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(seen).toHaveLength(told);
    expect(seen.at(-1)).toBeLessThan(COUNT);
  });

  it("rejects at once when it is aborted in the tick of the call", async () => {
    putSessions();
    const controller = new AbortController();
    const onProgress = vi.fn();
    const pending = call({ signal: controller.signal, onProgress });
    controller.abort();
    await expect(pending).rejects.toBe(controller.signal.reason);
  });

  it("is not harmed by a signal that is aborted afterwards", async () => {
    putSessions(3);
    const controller = new AbortController();
    expect(await call({ signal: controller.signal })).toHaveLength(3);
    controller.abort();
  });

  it("rejects with an AbortError when the signal gives no reason", async () => {
    putSessions(2);
    const early = Object.assign(new EventTarget(), { aborted: true });
    await expect(call({ signal: unchecked(early) })).rejects.toMatchObject({ name: "AbortError" });
    const late = Object.assign(new EventTarget(), { aborted: false });
    const pending = call({ signal: unchecked(late) });
    late.aborted = true;
    late.dispatchEvent(new Event("abort"));
    await expect(pending).rejects.toMatchObject({ name: "AbortError" });
  });

  it("takes signals that listeners cannot be removed from", async () => {
    putSessions(2);
    const signal = { aborted: false, addEventListener() {} };
    expect(await call({ signal: unchecked(signal) })).toHaveLength(2);
  });

  it("looks at signals that do not tell when they are aborted", async () => {
    putSessions();
    const signal = { aborted: false, reason: "enough", addEventListener() {} };
    const onProgress = vi.fn(() => {
      signal.aborted = true;
    });
    await expect(call({ signal: unchecked(signal), onProgress })).rejects.toBe("enough");
    expect(onProgress).toHaveBeenCalledTimes(1);
  });

  it("tells nothing any more after it was aborted", async () => {
    putSessions();
    const controller = new AbortController();
    const onProgress = vi.fn();
    const pending = call({ signal: controller.signal, onProgress });
    setImmediate(() => controller.abort(new Error("enough")));
    await pending.catch(() => {});
    const told = onProgress.mock.calls.length;
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(onProgress).toHaveBeenCalledTimes(told);
  });

  it.each([
    [{ signal: {} }, "options.signal"],
    [{ signal: "stop" }, "options.signal"],
    [{ onProgress: 5 }, "options.onProgress"],
  ])("refuses %j", async (control, name) => {
    await expect(call(unchecked(control))).rejects.toThrow(`The "${name}" argument must be`);
  });
});

describe("listeners of a signal", () => {
  it("are removed when the call is over", async () => {
    putSessions(2);
    const { signal } = new AbortController();
    const add = vi.spyOn(signal, "addEventListener");
    const remove = vi.spyOn(signal, "removeEventListener");
    await SessionManager.listAll(undefined, { signal });
    expect(add.mock.calls).toHaveLength(1);
    expect(remove.mock.calls[0]?.[1]).toBe(add.mock.calls[0]?.[1]);
  });
});

describe("storages that are called", () => {
  it("are not read any more after an abort", async () => {
    putSessions();
    const storage = new CountingStorage();
    const controller = new AbortController();
    const onProgress = (done: number) => done === 1 && controller.abort();
    const pending = SessionManager.listAll(storage, { signal: controller.signal, onProgress });
    await expect(pending).rejects.toMatchObject({ name: "AbortError" });
    const { reads } = storage;
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(storage.reads).toBe(reads);
    expect(reads).toBeLessThan(COUNT);
  });

  it("need not ever answer for a call to be aborted", async () => {
    const storage = new MemorySessionStorage();
    storage.writeTextSync("/s/a.jsonl", "");
    storage.readText = () => new Promise(() => {});
    const pending = SessionManager.list(CWD, "/s", storage, { signal: AbortSignal.timeout(20) });
    await expect(pending).rejects.toMatchObject({ name: "TimeoutError" });
  });
});

describe("the end of a thread", () => {
  const script = `
    const { workerData } = require("node:worker_threads");
    const { SessionManager } = require(workerData.index);
    const controller = new AbortController();
    const { signal } = controller;
    const onProgress = (done, total) => {
      if (workerData.at === "progress" && done > 0 && done < total) process.exit(7);
      if (workerData.at === "abort" && done > 0) controller.abort();
    };
    const pending = SessionManager.listAll(undefined, { signal, onProgress });
    if (workerData.at === "start") setImmediate(() => process.exit(7));
    const end = () => process.exit(7);
    pending.then(end, end);
  `;

  it.each(["start", "progress", "abort", "result"])("may come while it lists: %s", async (at) => {
    putSessions();
    const index = path.resolve(import.meta.dirname, "../index.js");
    const worker = new Worker(script, { eval: true, workerData: { index, at } });
    const code = await new Promise((resolve, reject) => {
      worker.once("error", reject);
      worker.once("exit", resolve);
    });
    expect(code).toBe(7);
  });
});
