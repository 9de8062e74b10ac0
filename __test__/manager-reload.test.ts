import { appendFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { MemorySessionStorage, SessionManager } from "../index.js";
import {
  assistantMessage,
  contextOf,
  fileOf,
  idsOf,
  idsOnDisk,
  jsonl,
  startSession,
  U,
  userMessage,
  useSandbox,
} from "./support/fixtures.js";

const sandbox = useSandbox();

async function twoManagers(): Promise<[SessionManager, SessionManager]> {
  const first = await startSession(join(sandbox(), "sessions"));
  return [first, await SessionManager.open(fileOf(first))];
}

describe("reload", () => {
  it("shows what others appended, as another branch", async () => {
    const [first, second] = await twoManagers();
    const shared = first.getLeafId();
    const theirs = [
      second.appendMessage(userMessage("theirs")),
      second.appendMessage(assistantMessage("t")),
    ];
    await second.flush();
    const ours = first.appendMessage(userMessage("ours"));
    await first.flush();

    expect(await first.reload()).toBe(2);
    expect(idsOf(first)).toEqual(idsOnDisk(fileOf(first)));
    expect(first.getLeafId()).toBe(ours);
    expect(first.getChildren(shared as string).map(({ id }) => id)).toEqual([theirs[0], ours]);
    expect(contextOf(first)).not.toContain("theirs");
    first.branch(theirs[1] as string);
    expect(contextOf(first)).toContain("theirs");
    expect(await first.reload()).toBe(0);
    const next = first.appendMessage(userMessage("next"));
    await first.flush();
    expect(idsOnDisk(fileOf(first)).at(-1)).toBe(next);
    expect(idsOf(await SessionManager.open(fileOf(first)))).toEqual(idsOf(first));
  });

  it("keeps the objects of known entries, with their changes", async () => {
    const [first, second] = await twoManagers();
    const before = first.getEntries();
    const [entry] = before;
    Object.assign(entry as object, { note: "changed" });
    const usage = first.getUsageStatistics();
    const { output } = usage;
    second.appendMessage(assistantMessage("theirs"));
    await second.flush();
    await first.reload();
    first
      .getEntries()
      .slice(0, before.length)
      .forEach((one, at) => {
        expect(one).toBe(before[at]);
      });
    expect(first.getUsageStatistics()).toBe(usage);
    expect(usage.output).toBeGreaterThan(output);
    await first.rewriteEntries();
    const reopened = await SessionManager.open(fileOf(first));
    expect(reopened.getEntries()[0]).toMatchObject({ note: "changed" });
    expect(reopened.getEntries()).toHaveLength(before.length + 1);
  });

  it("keeps own entries that are appended while it reads, each once on disk", async () => {
    const [first, second] = await twoManagers();
    const theirs = second.appendMessage(userMessage("theirs"));
    await second.flush();
    const before = first.appendMessage(userMessage("before"));
    const reloading = first.reload();
    const during = first.appendMessage(userMessage("during"));
    expect(await reloading).toBe(1);
    const after = first.appendMessage(userMessage("after"));
    await first.flush();
    const onDisk = idsOnDisk(fileOf(first));
    expect([...onDisk].sort()).toEqual([...idsOf(first)].sort());
    expect(onDisk.filter((id) => [theirs, before, during, after].includes(id))).toEqual([
      theirs,
      before,
      during,
      after,
    ]);
    expect(first.getLeafId()).toBe(after);
  });

  it("takes in what a rewrite of another manager left, and its title", async () => {
    const [first, second] = await twoManagers();
    second.appendMessage(userMessage("theirs"));
    await second.setSessionName("Theirs");
    await second.rewriteEntries();
    await first.reload();
    expect(idsOf(first)).toEqual(idsOf(second));
    expect(first.getSessionName()).toBe("Theirs");
    expect(first.getHeader()?.title).toBe("Theirs");
    await first.rewriteEntries();
    expect((await SessionManager.open(fileOf(first))).getSessionName()).toBe("Theirs");
  });

  it("writes again what the file lost", async () => {
    for (const harm of ["removed", "emptied", "cut"]) {
      const manager = await startSession(join(sandbox(), harm));
      const ids = idsOf(manager);
      const file = fileOf(manager);
      await manager.close();
      if (harm === "removed") {
        rmSync(file);
      } else if (harm === "emptied") {
        truncateSync(file, 0);
      } else {
        writeFileSync(file, jsonl([{ ...manager.getHeader() }]));
      }
      expect(await manager.reload(), harm).toBe(0);
      expect(idsOf(manager), harm).toEqual(ids);
      const added = manager.appendMessage(userMessage("more"));
      await manager.flush();
      expect(idsOnDisk(file), harm).toEqual([...ids, added]);
    }
  });

  it("keeps snapshots as they were", async () => {
    const [first, second] = await twoManagers();
    const ids = idsOf(first);
    const snapshot = first.captureState();
    second.appendMessage(userMessage("theirs"));
    await second.flush();
    await first.reload();
    first.restoreState(snapshot);
    expect(idsOf(first)).toEqual(ids);
    expect(first.getLeafId()).toBe(ids.at(-1));
  });

  it("knows labels and reports of what it reads", async () => {
    const [first, second] = await twoManagers();
    const [id] = idsOf(first);
    second.appendLabelChange(id as string, "theirs");
    await second.flush();
    appendFileSync(fileOf(first), "damaged\n");
    await first.reload();
    expect(first.getLabel(id as string)).toBe("theirs");
    expect(first.getLoadReport()).toMatchObject({ skippedLines: 1, entries: idsOf(first).length });
  });

  it("reads from storage objects, and does nothing without a file", async () => {
    const storage = new MemorySessionStorage();
    const manager = SessionManager.create("/w/p", "/sessions", storage);
    manager.appendMessage(assistantMessage("a"));
    await manager.flush();
    const file = fileOf(manager);
    storage.writeTextSync(file, (await storage.readText(file)) + jsonl([U("theirs", null)]));
    expect(await manager.reload()).toBe(1);
    expect(idsOf(manager)).toContain("theirs");

    const inMemory = SessionManager.inMemory();
    inMemory.appendMessage(assistantMessage("a"));
    expect(await inMemory.reload()).toBe(0);
    const unwritten = SessionManager.create("/w/p", join(sandbox(), "new"));
    const id = unwritten.appendMessage(userMessage("u"));
    expect(await unwritten.reload()).toBe(0);
    expect(idsOf(unwritten)).toEqual([id]);
  });
});

describe("onExternalChange", () => {
  /** What a manager is told. */
  function watch(manager: SessionManager): { kinds: string[]; end: () => void } {
    const kinds: string[] = [];
    const end = manager.onExternalChange(({ kind }) => kinds.push(kind));
    return { kinds, end };
  }

  it("tells of what others appended, not of own work", async () => {
    const [first, second] = await twoManagers();
    const { kinds } = watch(first);
    first.appendMessage(userMessage("own"));
    await first.flush();
    await first.setSessionName("Own");
    await first.rewriteEntries();
    first.appendMessage(userMessage("own"));
    await first.flush();
    expect(kinds).toEqual([]);

    second.appendMessage(userMessage("theirs"));
    await second.flush();
    first.appendMessage(userMessage("own"));
    await first.flush();
    expect(kinds).toEqual(["appended"]);
    expect(await first.reload()).toBe(1);
    first.appendMessage(userMessage("own"));
    await first.flush();
    expect(kinds).toEqual(["appended"]);
  });

  it("tells with flush alone, also of files that were opened and never written", async () => {
    const [first, second] = await twoManagers();
    await first.close();
    const { kinds, end } = watch(second);
    first.appendMessage(userMessage("theirs"));
    await first.flush();
    await second.flush();
    expect(kinds).toEqual(["appended"]);
    await first.rewriteEntries();
    await second.flush();
    expect(kinds).toEqual(["appended", "replaced"]);
    end();
    first.appendMessage(userMessage("more"));
    await first.flush();
    second.appendMessage(userMessage("own"));
    await second.flush();
    expect(kinds).toEqual(["appended", "replaced"]);
  });

  it("tells of what a rewrite took in", async () => {
    const [first, second] = await twoManagers();
    const { kinds } = watch(first);
    second.appendMessage(userMessage("theirs"));
    await second.flush();
    await first.rewriteEntries();
    await first.flush();
    expect(kinds).toEqual(["appended"]);
    expect(await first.reload()).toBe(1);
    await first.flush();
    expect(kinds).toEqual(["appended"]);
  });

  it("never tells anything of a session in memory, and refuses what is no function", () => {
    const manager = SessionManager.inMemory();
    const { kinds, end } = watch(manager);
    manager.appendMessage(userMessage("u"));
    end();
    end();
    expect(kinds).toEqual([]);
    expect(() => manager.onExternalChange("x" as never)).toThrow(TypeError);
  });
});
