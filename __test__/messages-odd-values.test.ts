// Files hold whatever programs wrote into them. Whoever continues such a session gets no exception.

import fc from "fast-check";
import { expect, it } from "vitest";
import {
  computeFileLists,
  convertToLlm,
  estimateTokens,
  findCutPoint,
  getLastAssistantUsage,
  prepareBranchEntries,
  prepareCompaction,
  pruneToolOutputs,
  serializeConversation,
  upsertFileOperations,
} from "../index.js";
import type { Unchecked } from "./support/loose.js";

const roles = [
  "user",
  "developer",
  "assistant",
  "toolResult",
  "bashExecution",
  "pythonExecution",
  "custom",
  "hookMessage",
  "branchSummary",
  "compactionSummary",
  "fileMention",
];

/** Values of a JSON text, some of which cannot be converted to text. */
const odd: fc.Arbitrary<Unchecked> = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constant({ toString: null }),
  fc.constant({ toString: 1, valueOf: 1 }),
  fc.constant(undefined),
);

/** An object with the names that matter, and any values. */
const having = (names: string[]) =>
  fc.dictionary(fc.constantFrom(...names), odd, { maxKeys: names.length, noNullPrototype: true });

const types = ["text", "image", "thinking", "toolCall"];
const block = fc.oneof(
  odd,
  fc
    .tuple(fc.constantFrom(...types), having(["text", "thinking", "id", "name", "arguments"]))
    .map(([type, rest]) => ({ ...rest, type })),
);
const meta = fc.record({
  truncation: having(["truncatedBy", "maxBytes", "outputBytes", "shownRange", "nextOffset"]),
  limits: fc.record({ matchLimit: odd, columnTruncated: odd }),
  diagnostics: fc.record({ summary: odd, messages: fc.array(odd, { maxLength: 3 }) }),
});
const file = fc.oneof(odd, having(["path", "content", "image"]));
const fields = [
  "command",
  "code",
  "output",
  "exitCode",
  "summary",
  "toolCallId",
  "toolName",
  "prunedAt",
  "usage",
];

const message = fc
  .record({
    role: fc.oneof({ weight: 20, arbitrary: fc.constantFrom(...roles) }, odd),
    content: fc.oneof(odd, fc.array(block, { maxLength: 3 })),
    rest: having(fields),
    meta: fc.oneof(odd, meta),
    files: fc.oneof(odd, fc.array(file, { maxLength: 2 })),
  })
  .map(({ rest, ...known }) => ({ ...known, ...rest }));

const entry = fc.oneof(
  odd,
  fc.oneof(message, odd).map((each) => ({ type: "message", id: "e", message: each })),
  fc
    .tuple(
      fc.constantFrom("branch_summary", "compaction", "custom_message", "label"),
      having(["id", "summary", "timestamp", "tokensBefore", "content"]),
      fc.oneof(odd, fc.record({ readFiles: fc.array(odd), modifiedFiles: fc.array(odd) })),
    )
    .map(([type, rest, details]) => ({ ...rest, type, details })),
);

it("messages of any shape are converted", () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(message, odd), { maxLength: 8 }), (messages) => {
      const converted = convertToLlm(messages);
      expect(typeof serializeConversation(converted)).toBe("string");
      for (const each of messages) {
        expect(estimateTokens(each)).toBeGreaterThanOrEqual(0);
      }
    }),
    { numRuns: 500 },
  );
});

it("entries of any shape are summarised and pruned", () => {
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 8 }), fc.nat(50), (entries: Unchecked[], tokens) => {
      findCutPoint(entries, 0, entries.length, tokens);
      getLastAssistantUsage(entries);
      prepareCompaction(entries, { keepRecentTokens: tokens });
      const { fileOps, totalTokens } = prepareBranchEntries(entries, tokens);
      const { readFiles, modifiedFiles } = computeFileLists(fileOps);
      expect(typeof upsertFileOperations("s", readFiles, modifiedFiles)).toBe("string");
      expect(totalTokens).toBeGreaterThanOrEqual(0);
      const pruned = pruneToolOutputs(entries, { protectTokens: 0, minimumSavings: 0 });
      expect(pruned.prunedCount).toBeGreaterThanOrEqual(0);
    }),
    { numRuns: 500 },
  );
});
