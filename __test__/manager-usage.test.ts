import { describe, expect, it } from "vitest";
import { SessionManager } from "../index.js";
import { loose, unchecked } from "./support/loose.js";
import { assistantMessage, toolResultMessage, usage, userMessage } from "./support/messages.js";
import { useSandbox } from "./support/sandbox.js";
import { headerLine, messageLine, writeLines } from "./support/session-files.js";

const box = useSandbox();

const ZERO = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, premiumRequests: 0, cost: 0 };

describe("getUsageStatistics", () => {
  it("starts at zero, plain and with six keys in order", () => {
    const statistics = SessionManager.inMemory(box.dir).getUsageStatistics();
    expect(statistics).toStrictEqual(ZERO);
    expect(Object.keys(statistics)).toEqual(Object.keys(ZERO));
    expect({ ...statistics }).toEqual(ZERO);
  });

  it("adds every answer, on all branches", () => {
    const manager = SessionManager.inMemory(box.dir);
    const root = manager.appendMessage(userMessage());
    manager.appendMessage(assistantMessage("a", { usage: usage(1) }));
    manager.branch(root);
    manager.appendMessage(assistantMessage("b", { usage: { ...usage(2), premiumRequests: 0.33 } }));
    const statistics = manager.getUsageStatistics();
    expect(statistics).toMatchObject({ input: 30, output: 15, cacheRead: 6, cacheWrite: 3 });
    expect(statistics.premiumRequests).toBe(0.33);
    expect(statistics.cost).toBeCloseTo(0.099);
  });

  it("adds the usage that task results carry, and no other tool's", () => {
    const manager = SessionManager.inMemory(box.dir);
    const task = (details: unknown) => toolResultMessage("r", { toolName: "task", details });
    manager.appendMessage(task({ usage: usage(3) }));
    manager.appendMessage(
      toolResultMessage("r", { toolName: "bash", details: { usage: usage() } }),
    );
    manager.appendMessage(task(undefined));
    manager.appendMessage(task(null));
    manager.appendMessage(task({ usage: null }));
    manager.appendMessage(task("text"));
    expect(manager.getUsageStatistics()).toMatchObject({ input: 30, output: 15 });
  });

  it("is one live object until the entries are replaced", async () => {
    const manager = SessionManager.inMemory(box.dir);
    const statistics = manager.getUsageStatistics();
    manager.appendMessage(assistantMessage());
    expect(manager.getUsageStatistics()).toBe(statistics);
    expect(statistics.input).toBe(10);
    await manager.newSession();
    expect(manager.getUsageStatistics()).not.toBe(statistics);
    expect(manager.getUsageStatistics()).toStrictEqual(ZERO);
    expect(statistics.input).toBe(10);
  });

  it("is counted anew over a restored state", () => {
    const manager = SessionManager.inMemory(box.dir);
    manager.appendMessage(assistantMessage());
    const state = manager.captureState();
    const statistics = manager.getUsageStatistics();
    manager.appendMessage(assistantMessage());
    manager.restoreState(state);
    expect(manager.getUsageStatistics()).not.toBe(statistics);
    expect(manager.getUsageStatistics().input).toBe(10);
  });

  it("is counted anew even when nothing came after the snapshot", () => {
    const manager = SessionManager.inMemory(box.dir);
    manager.appendMessage(assistantMessage());
    const statistics = manager.getUsageStatistics();
    manager.restoreState(manager.captureState());
    expect(manager.getUsageStatistics()).not.toBe(statistics);
    expect(manager.getUsageStatistics()).toStrictEqual(statistics);
    manager.appendMessage(assistantMessage());
    expect(statistics.input).toBe(10);
    expect(manager.getUsageStatistics().input).toBe(20);
  });

  it("is counted from a file, fractions included", async () => {
    const file = writeLines(box.path("s.jsonl"), [
      headerLine(),
      messageLine("m1", null, userMessage()),
      messageLine(
        "m2",
        "m1",
        assistantMessage("a", { usage: { ...usage(0.5), premiumRequests: 1.5 } }),
      ),
      messageLine("m3", "m1", assistantMessage("b", { usage: usage(1) })),
      messageLine(
        "m4",
        "m3",
        toolResultMessage("r", { toolName: "task", details: { usage: usage(2) } }),
      ),
    ]);
    const manager = await SessionManager.open(file);
    expect(manager.getUsageStatistics()).toMatchObject({
      input: 35,
      output: 17.5,
      cacheRead: 7,
      cacheWrite: 3.5,
      premiumRequests: 1.5,
    });
    expect(manager.getUsageStatistics().cost).toBeCloseTo(0.1155);
    manager.appendMessage(assistantMessage());
    expect(manager.getUsageStatistics().input).toBe(45);
  });

  it("takes missing parts as zero, from a file and from an append", async () => {
    const parts = [
      undefined,
      null,
      {},
      { input: 5 },
      { input: 1, output: 1, cacheRead: 1, cacheWrite: 1, cost: null },
      { ...usage(), cost: {} },
    ];
    const messages = parts.map((part) => assistantMessage("x", { usage: part }));
    const file = writeLines(box.path("s.jsonl"), [
      headerLine(),
      ...messages.map((message, index) => messageLine(`m${index}`, null, message)),
    ]);
    const expected = { ...ZERO, input: 16, output: 6, cacheRead: 3, cacheWrite: 2 };
    expect((await SessionManager.open(file)).getUsageStatistics()).toStrictEqual(expected);
    const manager = SessionManager.inMemory(box.dir);
    for (const message of messages) {
      manager.appendMessage(unchecked(message));
    }
    expect(manager.getUsageStatistics()).toStrictEqual(expected);
    expect(loose(manager.getUsageStatistics()).totalTokens).toBeUndefined();
  });

  it("does not change with fork, branch and moveTo", async () => {
    const manager = SessionManager.create(box.dir, box.makeDir("s"));
    const root = manager.appendMessage(userMessage());
    manager.appendMessage(assistantMessage());
    const statistics = manager.getUsageStatistics();
    manager.branch(root);
    await manager.fork();
    await manager.moveTo(box.makeDir("other"));
    expect(manager.getUsageStatistics()).toBe(statistics);
    expect(statistics.input).toBe(10);
  });
});
