import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  ArtifactManager,
  BlobStore,
  FileSessionStorage,
  getRecentSessions,
  resolveResumableSession,
  SessionManager,
} from "../index.js";
import { runForResult } from "./support/child-process.js";
import {
  assistantMessage,
  fileOf,
  idsOf,
  idsOnDisk,
  recordsOf,
  toolResult,
  userMessage,
  useSandbox,
} from "./support/fixtures.js";

const sandbox = useSandbox();
const directory = () => join(sandbox(), "sessions");

afterEach(() => {
  vi.useRealTimers();
});

const { setImmediate: realSetImmediate } = globalThis;
const nextTurn = () => new Promise<void>((resolve) => realSetImmediate(resolve));

type Fakes = NonNullable<Parameters<typeof vi.useFakeTimers>[0]>;

const FAKES: [string, Fakes][] = [
  ["as they are by default", {}],
  ["microtasks included", { toFake: ["setTimeout", "setImmediate", "Date", "queueMicrotask"] }],
  ["at a time far ahead", { now: new Date("2099-01-01T00:00:00Z") }],
];

/** A storage of the caller's own: the manager has to call it. */
class OwnStorage extends FileSessionStorage {
  override readText(path: string) {
    return super.readText(path);
  }
}

const STORAGES: [string, () => FileSessionStorage][] = [
  ["files", () => new FileSessionStorage()],
  ["a storage of the caller's own", () => new OwnStorage()],
];

describe.each(FAKES)("with fake timers, %s,", (_, fakes) => {
  it.each(STORAGES)("a session in %s is written, read, moved and found", async (_, make) => {
    vi.useFakeTimers(fakes);
    const storage = make();
    const manager = SessionManager.create("/w/p", directory(), storage);
    manager.appendMessage(userMessage("u1"));
    manager.appendMessage(assistantMessage("a1"));
    await manager.flush();
    expect(idsOnDisk(fileOf(manager))).toEqual(idsOf(manager));

    manager.appendMessage(userMessage("not waited for"));
    await nextTurn();
    expect(idsOnDisk(fileOf(manager))).toEqual(idsOf(manager));

    manager.appendMessage(toolResult("long ".repeat(50_000)));
    expect(await manager.setSessionName("Name")).toBe(true);
    await manager.rewriteEntries();
    manager.appendMessage(userMessage("u2"));
    await manager.ensureOnDisk();
    await manager.close();
    expect(idsOnDisk(fileOf(manager))).toEqual(idsOf(manager));
    expect(recordsOf(fileOf(manager))[0]?.title).toBe("Name");

    const listed = await SessionManager.list("/w/p", directory(), storage);
    expect(listed.map(({ path, title }) => [path, title])).toEqual([[fileOf(manager), "Name"]]);
    expect(await getRecentSessions(directory(), 3, storage)).toHaveLength(1);
    const id = manager.getSessionId();
    expect(await resolveResumableSession(id, "/w/p", directory(), storage)).toBeDefined();
    const opened = await SessionManager.open(fileOf(manager), directory(), storage);
    expect(idsOf(opened)).toEqual(idsOf(manager));

    await opened.fork();
    await opened.newSession();
    await opened.setSessionFile(fileOf(manager));
    await SessionManager.forkFrom(fileOf(manager), "/w/q", directory(), storage);
    const continued = await SessionManager.continueRecent("/w/p", directory(), storage);
    expect(continued.getEntries()).toHaveLength(5);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("blobs and artifacts are stored and read", async () => {
    vi.useFakeTimers(fakes);
    const store = new BlobStore(join(sandbox(), "blobs"));
    const { hash } = await store.put(Buffer.from("blob"));
    expect(String(await store.get(hash))).toBe("blob");
    expect(await store.has(hash)).toBe(true);
    const artifacts = new ArtifactManager(join(sandbox(), "s.jsonl"));
    const artifact = await artifacts.save("text", "tool");
    expect(await artifacts.getPath(artifact)).not.toBeNull();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("a process without timers and with a clock that stands still", () => {
  interface Report {
    file: string;
    ids: string[];
    opened: string[];
    listed: [string, string][];
    recent: string[];
  }

  it.each(["before", "after"])("works when they went %s the package was loaded", async (moment) => {
    const report = await runForResult<Report>("replaced-timers.cjs", [moment, directory()]);
    expect(report.ids).toHaveLength(4);
    expect(report.opened).toEqual(report.ids);
    expect(idsOnDisk(report.file)).toEqual(report.ids);
    expect(report.listed).toEqual([[report.file, "Name"]]);
    expect(report.recent).toEqual([report.file]);
  });
});
