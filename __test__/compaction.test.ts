// Sizes, cut points, preparation of summaries, pruning.

import fs from "node:fs";
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  calculateContextTokens,
  calculatePromptTokens,
  computeFileLists,
  estimateTokens,
  findCutPoint,
  findTurnStartIndex,
  getLastAssistantUsage,
  prepareBranchEntries,
  prepareCompaction,
  pruneToolOutputs,
  SessionManager,
  shouldCompact,
  upsertFileOperations,
} from "../index.js";
import { type Loose, loose, type Unchecked, unchecked } from "./support/loose.js";
import { assistantMessage, toolResultMessage, usage, userMessage } from "./support/messages.js";
import { useSandbox } from "./support/sandbox.js";

const box = useSandbox();

afterEach(() => vi.restoreAllMocks());

const image = { type: "image", data: "AA==", mimeType: "image/png" };
const x = (length: number) => "x".repeat(length);

/** Chains entries, ids by position. */
const entries = (...bare: Unchecked[]): Unchecked[] =>
  bare.map((entry, at) => ({
    id: `e${at}`,
    parentId: at === 0 ? null : `e${at - 1}`,
    timestamp: "2026-01-01T00:00:00.000Z",
    ...entry,
  }));
const said = (message: Unchecked) => ({ type: "message", message });
const user = (length: number) => said(userMessage(x(length)));
const answer = (length: number, extra: Loose = {}) =>
  said(assistantMessage(x(length), { usage: undefined, ...extra }));
const output = (length: number, extra: Loose = {}) => said(toolResultMessage(x(length), extra));
const setting = { type: "thinking_level_change", thinkingLevel: "high" };
const inserted = { type: "custom_message", customType: "c", content: "c", display: true };
const branchSummary = (extra: Loose = {}) => ({
  type: "branch_summary",
  fromId: "root",
  summary: "s",
  ...extra,
});
const compaction = (extra: Loose = {}) => ({
  type: "compaction",
  summary: "old",
  firstKeptEntryId: "e0",
  tokensBefore: 9,
  ...extra,
});

/** An answer that calls tools on paths. */
const using = (...calls: [tool: string, path: unknown][]) =>
  said(
    assistantMessage("", {
      usage: undefined,
      content: calls.map(([name, path], at) => ({
        type: "toolCall",
        id: `${at}`,
        name,
        arguments: { path },
      })),
    }),
  );

describe("sizes", () => {
  const call = { type: "toolCall", id: "x", name: "grep", arguments: { a: "é" } };
  it.each([
    ["text of the user", userMessage(x(5)), 2],
    ["blocks of the user, without images", userMessage([{ type: "text", text: x(4) }, image]), 1],
    ["surrogates as two", userMessage("😀😀"), 1],
    [
      "output with images",
      toolResultMessage("", { content: [{ type: "text", text: "x" }, image] }),
      1201,
    ],
    ["calls by name and arguments", assistantMessage("", { content: [call] }), 4],
    ["thinking", assistantMessage("", { content: [{ type: "thinking", thinking: x(8) }] }), 2],
    [
      "no redacted thinking",
      assistantMessage("", { content: [{ type: "redactedThinking", data: x(8) }] }),
      0,
    ],
    [
      "calls without arguments",
      assistantMessage("", { content: [{ ...call, arguments: undefined }] }),
      1,
    ],
    ["commands", { role: "bashExecution", command: x(3), output: x(2) }, 2],
    ["nothing for Python", { role: "pythonExecution", code: x(9), output: x(9) }, 0],
    ["nothing for messages of extensions", { role: "custom", content: x(9) }, 0],
    ["messages of extensions in old files", { role: "hookMessage", content: x(9) }, 3],
    ["nothing for what is no message", null, 0],
    ["nothing for content of other shapes", { role: "user", content: 5 }, 0],
  ])("count %s", (_, message, tokens) => {
    expect(estimateTokens(unchecked(message))).toBe(tokens);
  });

  it("are what the provider reports, or the sum", () => {
    const parts = { ...usage(), totalTokens: 0 };
    expect(calculateContextTokens(usage())).toBe(18);
    expect(calculateContextTokens({ ...usage(), totalTokens: 99 })).toBe(99);
    expect(calculateContextTokens(parts)).toBe(18);
    expect(calculatePromptTokens(parts)).toBe(13);
    expect(calculatePromptTokens(unchecked({ output: 5, totalTokens: 7 }))).toBe(7);
  });

  it("come from the last answer that went well", () => {
    const good = usage(3);
    const branch = entries(
      answer(1, { usage: usage(2) }),
      answer(1, { usage: good }),
      answer(1, { usage: usage(4), stopReason: "aborted" }),
      answer(1, { usage: usage(5), stopReason: "error" }),
      answer(1),
      null,
    );
    expect(getLastAssistantUsage(branch)).toBe(good);
    expect(getLastAssistantUsage(entries(user(1)))).toBeUndefined();
  });
});

describe("the time to compact", () => {
  it("leaves a reserve by default", () => {
    expect(shouldCompact(170_000, 200_000)).toBe(false);
    expect(shouldCompact(170_001, 200_000)).toBe(true);
    expect(shouldCompact(50_000 - 16_384, 50_000)).toBe(false);
    expect(shouldCompact(50_001 - 16_384, 50_000)).toBe(true);
  });

  it.each([
    [{ thresholdTokens: 100, thresholdPercent: 50 }, 100],
    [{ thresholdTokens: 5000 }, 999],
    [{ thresholdTokens: 0.5 }, 1],
    [{ thresholdTokens: Number.NaN, thresholdPercent: 50 }, 500],
    [{ thresholdPercent: 0.1 }, 10],
    [{ thresholdPercent: 100 }, 990],
    [{ thresholdPercent: undefined, reserveTokens: 400 }, 600],
  ])("is set by %o", (settings, threshold) => {
    expect(shouldCompact(threshold, 1000, settings)).toBe(false);
    expect(shouldCompact(threshold + 1, 1000, settings)).toBe(true);
  });

  it("never comes when switched off or without a window", () => {
    expect(shouldCompact(1e9, 1000, { enabled: false })).toBe(false);
    expect(shouldCompact(1e9, 1000, { strategy: "off" })).toBe(false);
    expect(shouldCompact(1e9, 0)).toBe(false);
  });
});

describe("cut points", () => {
  it("keep a result with its call", () => {
    const branch = entries(user(40), answer(40), output(40), answer(40));
    expect(findCutPoint(branch, 0, 4, 15)).toEqual({
      firstKeptEntryIndex: 3,
      turnStartIndex: 0,
      isSplitTurn: true,
    });
  });

  it("take settings along, and then count as through a turn", () => {
    const branch = entries(user(40), answer(40), setting, user(40));
    expect(findCutPoint(branch, 0, 4, 5)).toEqual({
      firstKeptEntryIndex: 2,
      turnStartIndex: 0,
      isSplitTurn: true,
    });
  });

  it("do not go beyond their range, whatever it is", () => {
    const branch = entries(user(40), answer(40));
    const all = { firstKeptEntryIndex: 0, turnStartIndex: -1, isSplitTurn: false };
    expect(findCutPoint(branch, -Infinity, Infinity, 1e9)).toEqual(all);
    expect(findCutPoint(branch, 5, 2, 1)).toEqual({ ...all, firstKeptEntryIndex: 5 });
    expect(findTurnStartIndex(branch, Infinity, -Infinity)).toBe(0);
    expect(findTurnStartIndex(branch, 1, 1)).toBe(-1);
  });

  const entry = fc.oneof(
    fc.nat(200).map(user),
    fc.nat(200).map((length) => answer(length)),
    fc.nat(200).map((length) => output(length)),
    fc.constantFrom(setting, inserted, branchSummary(), compaction(), null, {}),
    fc.constant(said({ role: "custom", content: "c" })),
  );
  const branches = fc.array(entry, { maxLength: 30 }).map((bare) => entries(...bare));

  it("divide without loss or change", () => {
    fc.assert(
      fc.property(branches, fc.nat(300), (branch, keepRecentTokens) => {
        const prepared = prepareCompaction(branch, { keepRecentTokens });
        fc.pre(prepared !== undefined);
        const { messagesToSummarize, turnPrefixMessages, recentMessages } = unchecked(prepared);
        const divided = [...messagesToSummarize, ...turnPrefixMessages, ...recentMessages];
        const last = branch.findLastIndex(({ type }) => type === "compaction");
        const expected = branch
          .slice(last + 1)
          .filter(({ type }) => ["message", "custom_message", "branch_summary"].includes(type));
        expect(divided).toHaveLength(expected.length);
        for (const [at, { message }] of expected.entries()) {
          expect(message === undefined || Object.is(divided[at], message)).toBe(true);
        }
      }),
    );
  });

  it("keep less than asked for behind the first kept message, which is no result", () => {
    fc.assert(
      fc.property(branches, fc.integer({ min: 1, max: 300 }), (branch, tokens) => {
        const cutFor = (keep: number) =>
          findCutPoint(branch, 0, branch.length, keep).firstKeptEntryIndex;
        const cut = cutFor(tokens);
        // Where nothing recent can be cut at, as much is kept as can be.
        fc.pre(cut !== cutFor(Infinity));
        expect(branch[cut].message?.role).not.toBe("toolResult");
        const kept = branch.slice(cut).filter(({ type }) => type === "message");
        const sizes = kept.slice(1).map(({ message }) => estimateTokens(message));
        expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(tokens);
      }),
    );
  });
});

describe("preparing a compaction", () => {
  it("finds nothing in what is compacted or too small", () => {
    expect(prepareCompaction([])).toBeUndefined();
    expect(prepareCompaction(entries(user(9), answer(9), compaction()))).toBeUndefined();
    expect(prepareCompaction(entries(user(9), answer(9)))).toBeUndefined();
  });

  it("carries the summary before on, and its files", () => {
    const preserveData = { a: 1 };
    const details = { readFiles: ["r"], modifiedFiles: ["m"] };
    const branch = entries(
      using(["read", "before"]),
      compaction({ preserveData, details }),
      user(400),
      using(["read", "a"], ["write", "b"], ["edit", "c"], ["grep", "d"], ["read", ""], ["read", 5]),
      user(400),
    );
    const prepared = prepareCompaction(branch, { keepRecentTokens: 100 });
    expect(prepared).toMatchObject({ firstKeptEntryId: "e4", previousSummary: "old" });
    expect(prepared?.previousPreserveData).toBe(preserveData);
    expect(prepared?.fileOps).toEqual({
      read: new Set(["r", "a"]),
      written: new Set(["b"]),
      edited: new Set(["m", "c"]),
    });
    const foreign = entries(compaction({ details, fromExtension: true }), ...branch.slice(2));
    expect(prepareCompaction(foreign, { keepRecentTokens: 100 })?.fileOps.read).toEqual(
      new Set(["a"]),
    );
  });

  it("keeps less where estimates are too low", () => {
    const turns = (extra: Loose) =>
      entries(user(400), answer(400), user(400), answer(400), user(400), answer(400, extra));
    const kept = (branch: Unchecked[]) =>
      prepareCompaction(branch, { keepRecentTokens: 400 })?.recentMessages.length;
    expect(kept(turns({}))).toBe(4);
    expect(kept(turns({ usage: { ...usage(), input: 1200 } }))).toBe(2);
    expect(kept(turns({ usage: { ...usage(), input: 1 } }))).toBe(4);
  });

  it("completes its settings", () => {
    const branch = entries(user(400), answer(400));
    const settings: Unchecked = { keepRecentTokens: 1, strategy: undefined, mine: 1 };
    expect(prepareCompaction(branch, settings)?.settings).toEqual({
      enabled: true,
      strategy: "context-full",
      thresholdPercent: -1,
      thresholdTokens: -1,
      reserveTokens: 16384,
      keepRecentTokens: 1,
      mine: 1,
    });
  });

  it("works on the branch of a manager, whose entries it gives back", () => {
    const manager = SessionManager.inMemory();
    manager.appendMessage(userMessage(x(400)));
    manager.appendMessage(assistantMessage(x(400), { usage: undefined }));
    const kept = manager.appendMessage(userMessage(x(400)));
    const prepared = prepareCompaction(manager.getBranch(), { keepRecentTokens: 50 });
    expect(prepared?.firstKeptEntryId).toBe(kept);
    expect(prepared?.recentMessages[0]).toBe(loose(manager.getEntry(kept)).message);
  });
});

describe("preparing the summary of a branch", () => {
  it("leaves out results, and takes all by default", () => {
    const branch = entries(
      user(4),
      answer(4),
      output(4),
      inserted,
      branchSummary(),
      compaction(),
      setting,
    );
    const { messages, totalTokens } = prepareBranchEntries(branch);
    expect(messages.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "custom",
      "branchSummary",
      "compactionSummary",
    ]);
    expect(messages[0]).toBe(branch[0].message);
    expect(totalTokens).toBe(4);
  });

  it("takes the newest that fit, and a summary beyond", () => {
    const summary = branchSummary({ summary: x(400) });
    const roles = (branch: Unchecked[], budget: number) =>
      prepareBranchEntries(branch, budget).messages.map(({ role }) => role);
    expect(roles(entries(user(40), answer(40), user(40)), 20)).toEqual(["assistant", "user"]);
    expect(roles(entries(user(40), summary, user(40)), 20)).toEqual(["branchSummary", "user"]);
    expect(roles(entries(user(40), summary, user(72)), 20)).toEqual(["user"]);
  });

  it("counts the files of the first message that does not fit, and of every summary", () => {
    const details = { readFiles: ["r"], modifiedFiles: "none" };
    const branch = entries(
      branchSummary({ details }),
      branchSummary({ details: { readFiles: ["foreign"] }, fromExtension: true }),
      using(["read", "older"]),
      using(["read", "first"]),
      user(40),
    );
    expect(prepareBranchEntries(branch, 10).fileOps.read).toEqual(new Set(["r", "first"]));
  });
});

describe("lists of files", () => {
  it("tell files that were only read from changed ones", () => {
    const fileOps = {
      read: new Set(["b", "a", "Z"]),
      written: new Set(["b"]),
      edited: new Set(["c", "b"]),
    };
    expect(computeFileLists(fileOps)).toEqual({ readFiles: ["Z", "a"], modifiedFiles: ["b", "c"] });
  });

  it("go to the end of a summary, a file per line", () => {
    expect(upsertFileOperations("s \n", ["a", "b"], ["c"])).toBe(
      "s\n\n<read-files>\na\nb\n</read-files>\n<modified-files>\nc\n</modified-files>",
    );
    expect(upsertFileOperations("s", [], ["c"])).toBe(
      "s\n\n<modified-files>\nc\n</modified-files>",
    );
    expect(upsertFileOperations("s\n", [], [])).toBe("s");
    expect(upsertFileOperations(" ", ["a"], [])).toBe("<read-files>\na\n</read-files>");
  });

  it("are cut", () => {
    const files = Array.from({ length: 23 }, (_, at) => `f${at}`);
    const text = upsertFileOperations("", files, files.slice(0, 20));
    expect(text).toContain("\nf19\n… (3 more files omitted)\n</read-files>");
    expect(text).toContain("\nf19\n</modified-files>");
  });

  it("take the place of those before", () => {
    const lists = fc.array(fc.stringMatching(/^[a-z$&./-]{1,8}$/), { maxLength: 25 });
    fc.assert(
      fc.property(lists, lists, lists, (read, modified, before) => {
        const once = upsertFileOperations("text", read, modified);
        expect(upsertFileOperations(once, read, modified)).toBe(once);
        const other = upsertFileOperations("text", before, before);
        expect(upsertFileOperations(other, read, modified)).toBe(once);
      }),
    );
    expect(upsertFileOperations("a\n<read-files>x</read-files>\n\nb", [], [])).toBe("a\nb");
  });
});

describe("pruning", () => {
  const config = { protectTokens: 100, minimumSavings: 1 };

  it("leaves recent, protected and small output alone", () => {
    const branch = entries(
      output(4000),
      output(4000, { toolName: "read" }),
      output(4000, { toolName: "skill" }),
      user(4000),
      output(360),
      output(40),
    );
    const before = structuredClone(branch);
    expect(pruneToolOutputs(branch, config)).toEqual({ prunedCount: 1, tokensSaved: 992 });
    expect(branch.slice(1)).toEqual(before.slice(1));
    expect(pruneToolOutputs(branch, { ...config, protectedTools: [] }).prunedCount).toBe(2);
  });

  it("does nothing for little", () => {
    const branch = entries(output(4000), output(400));
    const before = structuredClone(branch);
    const asked = { ...config, minimumSavings: 993 };
    expect(pruneToolOutputs(branch, asked)).toEqual({ prunedCount: 0, tokensSaved: 0 });
    expect(pruneToolOutputs(branch)).toEqual({ prunedCount: 0, tokensSaved: 0 });
    expect(branch).toEqual(before);
  });

  it("marks what it pruned with one time, and prunes nothing twice", () => {
    vi.spyOn(Date, "now").mockReturnValue(777);
    const branch = entries(output(4000), output(4000), output(400));
    const notice = "{{tokens}} of {{tokens}}";
    expect(pruneToolOutputs(branch, { ...config, notice }).prunedCount).toBe(2);
    for (const { message } of branch.slice(0, 2)) {
      expect(message.content).toEqual([{ type: "text", text: "1000 of 1000" }]);
      expect(message.prunedAt).toBe(777);
    }
    expect(pruneToolOutputs(branch, config)).toEqual({ prunedCount: 0, tokensSaved: 0 });
  });

  it("reaches the file with the manager's rewrite", async () => {
    const manager = SessionManager.create(box.dir, box.makeDir("sessions"));
    manager.appendMessage(userMessage("go"));
    manager.appendMessage(assistantMessage("I will"));
    manager.appendMessage(toolResultMessage(x(4000)));
    manager.appendMessage(toolResultMessage(x(400)));
    expect(pruneToolOutputs(manager.getBranch(), config).prunedCount).toBe(1);
    await manager.rewriteEntries();
    const file = fs.readFileSync(manager.getSessionFile() as string, "utf8");
    expect(file).toContain("[Output truncated - 1000 tokens]");
    expect(file).not.toContain(x(4000));
    await manager.close();
  });
});
