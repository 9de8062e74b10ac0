import * as fs from "node:fs";
import { afterEach, describe, expect, it, vi } from "vitest";
import * as api from "../index.js";
import { loose } from "./support/loose.js";
import { createIn, createWritten, fileOf } from "./support/managers.js";
import { assistantMessage, userMessage } from "./support/messages.js";
import { useSandbox } from "./support/sandbox.js";
import {
  entryIds,
  rawLines,
  readSession,
  smallSession,
  writeLines,
} from "./support/session-files.js";

const { SessionManager } = api;
const box = useSandbox();

afterEach(() => {
  vi.useRealTimers();
});

function isPromise(value: unknown): boolean {
  return value instanceof Promise;
}

describe("synchronous members", () => {
  it("return plain values whose effects show on the next line", async () => {
    const manager = await createWritten(box.dir);
    const [first] = manager.getEntries();
    const state = manager.captureState();
    const results: Record<string, unknown> = {
      getDefaultSessionDir: SessionManager.getDefaultSessionDir(box.dir),
      create: SessionManager.create(box.dir, box.dir),
      inMemory: SessionManager.inMemory(box.dir),
      appendMessage: manager.appendMessage(userMessage()),
      appendThinkingLevelChange: manager.appendThinkingLevelChange("low"),
      appendServiceTierChange: manager.appendServiceTierChange("flex"),
      appendModeChange: manager.appendModeChange("plan"),
      appendModelChange: manager.appendModelChange("a/b"),
      appendContextChange: manager.appendContextChange("c", "t", "n"),
      appendSessionInit: manager.appendSessionInit({ systemPrompt: "", task: "", tools: [] }),
      appendCompaction: manager.appendCompaction("s", undefined, "k", 1),
      appendCustomEntry: manager.appendCustomEntry("ct"),
      appendCustomMessageEntry: manager.appendCustomMessageEntry("ct", "c", true),
      appendMCPToolSelection: manager.appendMCPToolSelection([]),
      appendTtsrInjection: manager.appendTtsrInjection([]),
      appendLabelChange: manager.appendLabelChange(String(first?.id), "l"),
      branchWithSummary: manager.branchWithSummary(null, "s"),
      branch: manager.branch(String(first?.id)),
      resetLeaf: manager.resetLeaf(),
      getEntries: manager.getEntries(),
      getEntry: manager.getEntry(String(first?.id)),
      getLeafId: manager.getLeafId(),
      getLeafEntry: manager.getLeafEntry(),
      getChildren: manager.getChildren(String(first?.id)),
      getLabel: manager.getLabel(String(first?.id)),
      getBranch: manager.getBranch(),
      getTree: manager.getTree(),
      getLastModelChangeRole: manager.getLastModelChangeRole(),
      getInjectedTtsrRules: manager.getInjectedTtsrRules(),
      getCwd: manager.getCwd(),
      getSessionDir: manager.getSessionDir(),
      getSessionId: manager.getSessionId(),
      getSessionFile: manager.getSessionFile(),
      getSessionName: manager.getSessionName(),
      titleSource: manager.titleSource,
      getHeader: manager.getHeader(),
      getUsageStatistics: manager.getUsageStatistics(),
      getArtifactsDir: manager.getArtifactsDir(),
      isPersisted: manager.isPersisted(),
      buildSessionContext: manager.buildSessionContext(),
      sanitize: manager.sanitizeLoadedOpenAIResponsesReplayMetadata(),
      contextOfEntries: api.buildSessionContext([]),
      parsed: api.parseSessionEntries(""),
      migrated: api.migrateSessionEntries([]),
      latest: api.getLatestCompactionEntry([]),
      captureState: state,
      restoreState: manager.restoreState(state),
      createBranchedSession: manager.createBranchedSession(String(first?.id)),
    };
    for (const [name, value] of Object.entries(results)) {
      expect(isPromise(value), name).toBe(false);
      expect(typeof loose(value ?? {}).then, name).not.toBe("function");
    }
    for (const name of ["branch", "resetLeaf", "restoreState", "migrated"]) {
      expect(results[name], name).toBeUndefined();
    }
    await manager.close();
  });

  it("throw in the call, with the entry's id in the message", () => {
    const manager = SessionManager.inMemory(box.dir);
    for (const call of [
      () => manager.appendLabelChange("missing-1", "l"),
      () => manager.branch("missing-1"),
      () => manager.branchWithSummary("missing-1", "s"),
      () => manager.createBranchedSession("missing-1"),
    ]) {
      expect(call).toThrow("Entry missing-1 not found");
    }
  });
});

describe("asynchronous members", () => {
  it("return native promises", async () => {
    const file = writeLines(box.path("s.jsonl"), smallSession());
    const cwd = box.makeDir("project");
    const manager = await createWritten(box.makeDir("dir"), cwd);
    const calls: Record<string, () => Promise<unknown>> = {
      open: () => SessionManager.open(file),
      forkFrom: () => SessionManager.forkFrom(file, cwd, box.path("dir")),
      continueRecent: () => SessionManager.continueRecent(cwd, box.path("dir")),
      list: () => SessionManager.list(cwd, box.path("dir")),
      listAll: () => SessionManager.listAll(),
      loadEntriesFromFile: () => api.loadEntriesFromFile(file),
      findMostRecentSession: () => api.findMostRecentSession(box.path("dir")),
      getRecentSessions: () => api.getRecentSessions(box.path("dir")),
      resolveResumableSession: () => api.resolveResumableSession("none", cwd, box.path("dir")),
      flush: () => manager.flush(),
      rewriteEntries: () => manager.rewriteEntries(),
      ensureOnDisk: () => manager.ensureOnDisk(),
      setSessionName: () => manager.setSessionName("n"),
      saveArtifact: () => manager.saveArtifact("x", "bash"),
      allocateArtifactPath: () => manager.allocateArtifactPath("bash"),
      getArtifactPath: () => manager.getArtifactPath("0"),
      putBlob: () => manager.putBlob(Buffer.from("x")),
      fork: () => manager.fork(),
      moveTo: () => manager.moveTo(box.makeDir("moved")),
      setSessionFile: () => manager.setSessionFile(file),
      newSession: () => manager.newSession(),
      close: () => manager.close(),
    };
    for (const [name, call] of Object.entries(calls)) {
      const promise = call();
      expect(promise, name).toBeInstanceOf(Promise);
      expect(typeof promise.catch, name).toBe("function");
      await promise;
    }
  });

  it("of an in-memory manager are promises too and do no harm", async () => {
    const manager = SessionManager.inMemory(box.dir);
    for (const promise of [
      manager.flush(),
      manager.rewriteEntries(),
      manager.ensureOnDisk(),
      manager.fork(),
      manager.newSession(),
      manager.close(),
    ]) {
      expect(promise).toBeInstanceOf(Promise);
      expect(await promise).toBeUndefined();
    }
  });

  it("flush never throws in the call and always settles", async () => {
    const manager = createIn(box.makeDir("gone"));
    manager.appendMessage(userMessage());
    manager.appendMessage(assistantMessage());
    const flushes = [manager.flush(), manager.flush(), manager.flush()];
    await Promise.allSettled(flushes);
    await manager.close();
    await manager.flush();
    expect(entryIds(fileOf(manager))).toHaveLength(2);
  });
});

describe("what has been awaited is on disk", () => {
  const expectComplete = (manager: InstanceType<typeof SessionManager>) => {
    expect(entryIds(fileOf(manager))).toEqual(manager.getEntries().map((entry) => entry.id));
  };

  it("for flush, the first one and later ones", async () => {
    const manager = createIn(box.dir);
    manager.appendMessage(userMessage());
    manager.appendMessage(assistantMessage());
    await manager.flush();
    expectComplete(manager);
    for (let round = 0; round < 20; round += 1) {
      manager.appendMessage(userMessage(`round ${round}`));
      await manager.flush();
      expectComplete(manager);
    }
  });

  it("for rewriteEntries, ensureOnDisk, fork, moveTo, forkFrom and close", async () => {
    const manager = SessionManager.create(box.makeDir("project"));
    manager.appendMessage(userMessage());
    await manager.rewriteEntries();
    expectComplete(manager);
    manager.appendMessage(userMessage());
    await manager.ensureOnDisk();
    await manager.flush();
    expectComplete(manager);
    manager.appendMessage(assistantMessage());
    await manager.fork();
    expectComplete(manager);
    manager.appendMessage(userMessage());
    await manager.moveTo(box.makeDir("other"));
    expectComplete(manager);
    const copy = await SessionManager.forkFrom(fileOf(manager), box.dir, box.dir);
    expectComplete(copy);
    manager.appendMessage(userMessage());
    await manager.close();
    expectComplete(manager);
  });

  it("for createBranchedSession when it returns", async () => {
    const manager = await createWritten(box.dir);
    manager.createBranchedSession(String(manager.getLeafId()));
    expectComplete(manager);
  });

  it("for setSessionName, whose name shows before it is awaited", async () => {
    const manager = await createWritten(box.dir);
    const pending = manager.setSessionName("Shown at once");
    expect(manager.getSessionName()).toBe("Shown at once");
    await pending;
    expect(readSession(fileOf(manager))[0]?.title).toBe("Shown at once");
  });
});

describe("without any flush", () => {
  it("entries appear in the file as whole lines, soon after their append", async () => {
    const manager = createIn(box.dir);
    manager.appendMessage(userMessage());
    manager.appendMessage(assistantMessage());
    await vi.waitFor(() => expect(entryIds(fileOf(manager))).toHaveLength(2), { timeout: 5000 });
    const size = fs.statSync(fileOf(manager)).size;
    for (let round = 0; round < 10; round += 1) {
      const id = manager.appendMessage(userMessage(`round ${round}`));
      await vi.waitFor(() => expect(entryIds(fileOf(manager)).at(-1)).toBe(id), { timeout: 5000 });
    }
    expect(fs.statSync(fileOf(manager)).size).toBeGreaterThan(size);
  });

  it("a reader beside the writer only ever sees whole lines, appended at the end", async () => {
    const manager = await createWritten(box.dir);
    let seen = fs.readFileSync(fileOf(manager), "utf8");
    for (let round = 0; round < 100; round += 1) {
      manager.appendMessage(userMessage("x".repeat(round * 50)));
      await new Promise((resolve) => setImmediate(resolve));
      const text = fs.readFileSync(fileOf(manager), "utf8");
      expect(text.startsWith(seen)).toBe(true);
      expect(() => rawLines(fileOf(manager)).map((line) => JSON.parse(line))).not.toThrow();
      seen = text;
    }
  });
});
