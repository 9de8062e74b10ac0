import * as fs from "node:fs";
import { afterEach, describe, expect, it, vi } from "vitest";
import { resolveResumableSession, SessionManager } from "../index.js";
import { loose, unchecked } from "./support/loose.js";
import { createIn, createWritten, fileOf } from "./support/managers.js";
import { assistantMessage, toolResultMessage, usage, userMessage } from "./support/messages.js";
import { useSandbox } from "./support/sandbox.js";
import { entryIds } from "./support/session-files.js";

const box = useSandbox();

afterEach(() => {
  vi.restoreAllMocks();
});

describe("members that callers pass around and replace", () => {
  it("a static handed to a helper works without its class", async () => {
    await createWritten(box.dir);
    const timed = <A extends unknown[], R>(run: (...args: A) => R, ...args: A) => run(...args);
    expect(await timed(SessionManager.list, box.dir, box.dir)).toHaveLength(1);
  });

  it("a spy on a static is seen by the functions of the module", async () => {
    const manager = await createWritten(box.dir);
    const [info] = await SessionManager.list(box.dir, box.dir);
    const list = vi.spyOn(SessionManager, "list").mockResolvedValue([]);
    const listAll = vi.spyOn(SessionManager, "listAll").mockResolvedValue([unchecked(info)]);
    const match = await resolveResumableSession(manager.getSessionId(), box.makeDir("p"));
    expect(list).toHaveBeenCalledOnce();
    expect(listAll).toHaveBeenCalledOnce();
    expect(match).toEqual({ session: info, scope: "global" });
  });

  it("a spy on an instance method is honoured and can be taken back", async () => {
    const manager = createIn(box.dir);
    const spy = vi
      .spyOn(manager, "allocateArtifactPath")
      .mockResolvedValue({ id: "fake", path: "/fake" });
    expect(await manager.allocateArtifactPath("python")).toEqual({ id: "fake", path: "/fake" });
    expect(spy).toHaveBeenCalledWith("python");
    spy.mockRestore();
    expect(await manager.allocateArtifactPath("python")).toMatchObject({ id: "0" });
  });

  it("a spy on a prototype method reaches every instance", () => {
    const spy = vi.spyOn(SessionManager.prototype, "getSessionId").mockReturnValue("spied");
    expect(SessionManager.inMemory(box.dir).getSessionId()).toBe("spied");
    spy.mockRestore();
    expect(SessionManager.inMemory(box.dir).getSessionId()).not.toBe("spied");
  });
});

describe("an in-memory session", () => {
  it("says undefined, null and {} where callers look for them", async () => {
    const manager = SessionManager.inMemory(box.dir);
    expect(manager.getSessionFile()).toBeUndefined();
    expect(manager.getArtifactsDir()).toBeNull();
    expect(await manager.allocateArtifactPath("bash")).toStrictEqual({});
    expect(await manager.saveArtifact("text", "bash")).toBeTruthy();
    expect(await manager.fork()).toBeUndefined();
    expect(manager.isPersisted()).toBe(false);
  });

  it("replaces its entries when branched, with the labels of the path", () => {
    const manager = SessionManager.inMemory(box.dir);
    const first = manager.appendMessage(userMessage("1"));
    const second = manager.appendMessage(assistantMessage("2"));
    manager.appendLabelChange(first, "first");
    const third = manager.appendMessage(userMessage("3"));
    manager.appendLabelChange(third, "third");
    expect(manager.createBranchedSession(second)).toBeUndefined();
    expect(
      manager
        .getEntries()
        .filter((entry) => entry.type === "message")
        .map((entry) => entry.id),
    ).toEqual([first, second]);
    expect(manager.getLabel(first)).toBe("first");
    expect(manager.getLabel(third)).toBeUndefined();
    expect(manager.getEntry(third)).toBeUndefined();
  });
});

describe("forking on disk", () => {
  it("gives both paths, from which the artifact directories follow", async () => {
    const manager = await createWritten(box.dir);
    await manager.saveArtifact("text", "bash");
    const result = await manager.fork();
    expect(fs.existsSync(String(result?.oldSessionFile).slice(0, -6))).toBe(true);
    expect(manager.getArtifactsDir()).toBe(String(result?.newSessionFile).slice(0, -6));
    expect(result?.newSessionFile.endsWith(".jsonl")).toBe(true);
    expect(await manager.getArtifactPath("0")).toBeNull();
  });

  it("loses nothing when the caller flushes first, nor when it does not", async () => {
    for (const flushFirst of [true, false]) {
      const manager = await createWritten(box.makeDir(`flush-${flushFirst}`));
      manager.appendMessage(userMessage("last"));
      if (flushFirst) {
        await manager.flush();
      }
      const result = await manager.fork();
      expect(entryIds(String(result?.oldSessionFile))).toHaveLength(3);
      expect(entryIds(String(result?.newSessionFile))).toHaveLength(3);
    }
  });
});

describe("a summary from before everything", () => {
  it("is a root entry that can be fetched by its id at once", () => {
    const manager = SessionManager.inMemory(box.dir);
    manager.appendMessage(userMessage());
    const id = manager.branchWithSummary(null, "summary", { readFiles: [] }, false);
    expect(manager.getEntry(id)).toMatchObject({
      type: "branch_summary",
      parentId: null,
      fromId: "root",
      summary: "summary",
      details: { readFiles: [] },
      fromExtension: false,
    });
  });
});

describe("naming", () => {
  it("says whether the name was stored", async () => {
    const manager = createIn(box.dir);
    expect(await manager.setSessionName("  ")).toBe(false);
    expect(await manager.setSessionName("User's", "user")).toBe(true);
    expect(await manager.setSessionName("Auto", "auto")).toBe(false);
    expect(manager.getSessionName()).toBe("User's");
  });
});

describe("a persisting manager", () => {
  it("has a directory that can be listed as soon as it exists", () => {
    const dir = box.path("deep", "sessions");
    createIn(dir);
    expect(fs.readdirSync(dir)).toEqual([]);
  });

  it("does not fail to open what is missing", async () => {
    const manager = await SessionManager.open(box.path("missing.jsonl"));
    expect(manager.getEntries()).toEqual([]);
  });
});

describe("usage totals", () => {
  it("default premium requests to zero, keep fractions and count tasks", () => {
    const manager = SessionManager.inMemory(box.dir);
    manager.appendMessage(assistantMessage());
    expect(manager.getUsageStatistics().premiumRequests).toBe(0);
    manager.appendMessage(assistantMessage("b", { usage: { ...usage(), premiumRequests: 0.25 } }));
    manager.appendMessage(
      toolResultMessage("r", {
        toolName: "task",
        details: { usage: { ...usage(), premiumRequests: 0.5 } },
      }),
    );
    expect(manager.getUsageStatistics()).toMatchObject({ input: 30, premiumRequests: 0.75 });
  });
});

describe("errors", () => {
  it("are the host's, with code and message", async () => {
    const error = await SessionManager.forkFrom(box.path("none.jsonl"), box.dir, box.dir).catch(
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(Error);
    expect(loose(error).message).toEqual(expect.any(String));
    expect(loose(error).code).toEqual(expect.any(String));
    const system = await SessionManager.open(box.makeDir("d")).catch((reason: unknown) => reason);
    expect(system).toBeInstanceOf(Error);
    expect(loose(system).code).toBe("EISDIR");
  });
});

describe("queries on every render", () => {
  it("stay cheap when repeated", () => {
    const manager = SessionManager.inMemory(box.dir);
    for (let index = 0; index < 2000; index += 1) {
      manager.appendMessage(index % 2 === 0 ? userMessage(`${index}`) : assistantMessage());
    }
    const started = performance.now();
    for (let round = 0; round < 300; round += 1) {
      manager.getUsageStatistics();
      manager.getSessionId();
      manager.getSessionName();
      manager.getLeafId();
      expect(manager.getEntries()).toHaveLength(2000);
      expect(manager.getBranch()).toHaveLength(2000);
    }
    expect(performance.now() - started).toBeLessThan(5000);
  });
});
