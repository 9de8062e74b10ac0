// Preparing summaries, and pruning, against recorded results.

import { describe, expect, it } from "vitest";
import {
  computeFileLists,
  estimateTokens,
  findCutPoint,
  prepareBranchEntries,
  prepareCompaction,
  pruneToolOutputs,
} from "../index.js";
import { type Loose, loose, type Unchecked, unchecked } from "./support/loose.js";
import { vectors } from "./support/vectors.js";

const recorded = vectors("compaction-entries");

const numbered = (cases: Unchecked[]) => cases.map((each, at) => [at, each] as [number, Unchecked]);
const roles = (messages: { role: string }[]) => messages.map(({ role }) => role);

it("has cases of every kind", () => {
  const counts = Object.entries(recorded).map(([name, cases]) => [name, loose(cases).length]);
  expect(Object.fromEntries(counts)).toEqual({
    findCutPoint: 45,
    prepareCompaction: 30,
    prepareBranchEntries: 30,
    pruneToolOutputs: 20,
  });
});

describe("findCutPoint", () => {
  it.each(numbered(recorded.findCutPoint))(
    "case %i",
    (_, { entries, result, estimates, ...at }) => {
      const estimated = entries.map((entry: Loose) =>
        entry.type === "message" ? estimateTokens(entry.message) : null,
      );
      expect(estimated).toEqual(estimates);
      expect(findCutPoint(entries, at.startIndex, at.endIndex, at.keepRecentTokens)).toEqual(
        result,
      );
    },
  );
});

describe("prepareCompaction", () => {
  function short(prepared: ReturnType<typeof prepareCompaction>) {
    return (
      prepared && {
        firstKeptEntryId: prepared.firstKeptEntryId,
        summarize: roles(prepared.messagesToSummarize),
        prefix: roles(prepared.turnPrefixMessages),
        recent: roles(prepared.recentMessages),
        isSplitTurn: prepared.isSplitTurn,
        tokensBefore: prepared.tokensBefore,
        previousSummary: prepared.previousSummary ?? null,
        fileOps: {
          read: [...prepared.fileOps.read],
          written: [...prepared.fileOps.written],
          edited: [...prepared.fileOps.edited],
        },
      }
    );
  }

  it.each(numbered(recorded.prepareCompaction))("case %i", (_, each) => {
    const { entries, keepRecentTokens, result } = each;
    expect(short(prepareCompaction(entries, { keepRecentTokens })) ?? null).toEqual(result);
  });
});

describe("prepareBranchEntries", () => {
  it.each(numbered(recorded.prepareBranchEntries))("case %i", (_, each) => {
    const { messages, totalTokens, fileOps } = prepareBranchEntries(each.entries, each.tokenBudget);
    const short = { messages: roles(messages), totalTokens, ...computeFileLists(fileOps) };
    expect(short).toEqual(each.result);
  });
});

describe("pruneToolOutputs", () => {
  it.each(numbered(recorded.pruneToolOutputs))("case %i", (_, each) => {
    const before = structuredClone(each.entries);
    const pruned = pruneToolOutputs(unchecked(each.entries), each.config);
    expect(pruned).toEqual(each.result);
    const changed = each.entries.filter(
      (entry: Loose, at: number) => JSON.stringify(entry) !== JSON.stringify(before[at]),
    );
    const texts = changed.map(({ id, message }: Loose) => [id, message.content[0].text]);
    expect(texts).toEqual(each.prunedTexts);
    expect(new Set(changed.map(({ message }: Loose) => typeof message.prunedAt)).size).toBe(
      changed.length > 0 ? 1 : 0,
    );
  });
});
