import { describe, expect, it } from "vitest";
import { buildSessionContext, SessionManager } from "../index.js";
import { type Loose, loose, unchecked } from "./support/loose.js";
import { assistantMessage, userMessage } from "./support/messages.js";
import { useSandbox } from "./support/sandbox.js";
import {
  entryLine,
  headerLine,
  messageLine,
  timestampAt,
  writeLines,
} from "./support/session-files.js";

const box = useSandbox();

/** Six messages m1..m6 in a chain, with a compaction between m4 and m5. */
function compacted(fields: Loose): Loose[] {
  const message = (number: number) =>
    messageLine(
      `m${number}`,
      null,
      number % 2 === 1 ? userMessage(`m${number}`) : assistantMessage(`m${number}`),
    );
  const entries = [
    message(1),
    message(2),
    message(3),
    message(4),
    entryLine("compaction", "c", null, { summary: "sum", tokensBefore: 99, ...fields }, 8),
    message(5),
    message(6),
  ];
  return entries.map((entry, index) => ({ ...entry, parentId: entries[index - 1]?.id ?? null }));
}

/** What the context shows, in short: the compaction as `[summary]`, messages by their text. */
function shown(entries: Loose[], leaf?: string): string[] {
  return buildSessionContext(unchecked(entries), leaf).messages.map((entry) => {
    const message = loose(entry);
    return message.role === "compactionSummary"
      ? `[${message.summary}]`
      : (message.content[0].text ?? message.content);
  });
}

describe("a compaction on the path", () => {
  it("replaces what comes before its first kept entry", () => {
    expect(shown(compacted({ firstKeptEntryId: "m3" }))).toEqual(["[sum]", "m3", "m4", "m5", "m6"]);
    expect(shown(compacted({ firstKeptEntryId: "m1" }))).toEqual([
      "[sum]",
      "m1",
      "m2",
      "m3",
      "m4",
      "m5",
      "m6",
    ]);
  });

  it.each(["gone", "m5", "c", "", undefined, null])(
    "replaces everything before it when the kept entry is %j",
    (firstKeptEntryId) => {
      expect(shown(compacted({ firstKeptEntryId }))).toEqual(["[sum]", "m5", "m6"]);
    },
  );

  it("does not show below a leaf that lies before it", () => {
    expect(shown(compacted({ firstKeptEntryId: "m3" }), "m4")).toEqual(["m1", "m2", "m3", "m4"]);
    expect(shown(compacted({ firstKeptEntryId: "m3" }), "c")).toEqual(["[sum]", "m3", "m4"]);
  });

  it("emits a message with its keys in order", () => {
    const [message] = buildSessionContext(
      unchecked(compacted({ firstKeptEntryId: "m3", shortSummary: "short" })),
    ).messages;
    expect(Object.keys(loose(message))).toEqual([
      "role",
      "summary",
      "shortSummary",
      "tokensBefore",
      "providerPayload",
      "timestamp",
    ]);
    expect(message).toStrictEqual({
      role: "compactionSummary",
      summary: "sum",
      shortSummary: "short",
      tokensBefore: 99,
      providerPayload: undefined,
      timestamp: Date.parse(timestampAt(8)),
    });
  });

  it("keeps settings from before it", () => {
    const entries = [
      entryLine("thinking_level_change", "t", null, { thinkingLevel: "high" }),
      ...compacted({ firstKeptEntryId: "m4" }),
    ].map((entry, index, all) => ({ ...entry, parentId: loose(all[index - 1] ?? {}).id ?? null }));
    expect(buildSessionContext(unchecked(entries)).thinkingLevel).toBe("high");
  });

  it("is passed over when a later one is on the path", () => {
    const entries = compacted({ firstKeptEntryId: "m3" });
    const second = entryLine("compaction", "c2", "m6", {
      summary: "second",
      tokensBefore: 5,
      firstKeptEntryId: "m4",
    });
    const last = messageLine("m7", "c2", userMessage("m7"));
    expect(shown([...entries, second, last])).toEqual(["[second]", "m4", "m5", "m6", "m7"]);
  });

  it("emits custom messages and branch summaries of the kept range", () => {
    const entries = [
      messageLine("m1", null, userMessage("m1")),
      entryLine("custom_message", "k", null, { customType: "ct", content: "kept", display: true }),
      entryLine("branch_summary", "b", null, { fromId: "m1", summary: "there" }),
      entryLine("compaction", "c", null, {
        summary: "sum",
        tokensBefore: 1,
        firstKeptEntryId: "k",
      }),
      entryLine("custom_message", "n", null, { customType: "ct", content: "new", display: true }),
    ].map((entry, index, all) => ({ ...entry, parentId: loose(all[index - 1] ?? {}).id ?? null }));
    const { messages } = buildSessionContext(unchecked(entries));
    expect(messages.map((message) => message.role)).toEqual([
      "compactionSummary",
      "custom",
      "branchSummary",
      "custom",
    ]);
  });
});

describe("a provider's own history in a compaction", () => {
  const history = (openaiRemoteCompaction: unknown) => ({
    firstKeptEntryId: "m3",
    preserveData: { openaiRemoteCompaction },
  });

  it("is passed on and replaces the kept entries", () => {
    const entries = compacted(history({ provider: "openai", replacementHistory: [{ a: 1 }] }));
    const { messages } = buildSessionContext(unchecked(entries));
    expect(messages.map((message) => message.role)).toEqual([
      "compactionSummary",
      "user",
      "assistant",
    ]);
    const payload = loose(messages[0]).providerPayload;
    expect(payload).toStrictEqual({
      type: "openaiResponsesHistory",
      provider: "openai",
      items: [{ a: 1 }],
    });
    expect(Object.keys(payload)).toEqual(["type", "provider", "items"]);
    expect(payload.items).toBe(entries[4]?.preserveData.openaiRemoteCompaction.replacementHistory);
  });

  it("may be empty", () => {
    const entries = compacted(history({ provider: "openai", replacementHistory: [] }));
    const { messages } = buildSessionContext(unchecked(entries));
    expect(loose(messages[0]).providerPayload.items).toEqual([]);
    expect(messages).toHaveLength(3);
  });

  it.each([
    ["null", null],
    ["a string", "x"],
    ["without provider", { replacementHistory: [] }],
    ["with an empty provider", { provider: "", replacementHistory: [] }],
    ["with a provider of another type", { provider: 5, replacementHistory: [] }],
    ["without history", { provider: "openai" }],
    ["with a history that is no array", { provider: "openai", replacementHistory: {} }],
  ])("is ignored when it is %s", (_what, value) => {
    const entries = compacted(history(value));
    expect(shown(entries)).toEqual(["[sum]", "m3", "m4", "m5", "m6"]);
    expect(
      loose(buildSessionContext(unchecked(entries)).messages[0]).providerPayload,
    ).toBeUndefined();
  });
});

describe("a compacted session from a file", () => {
  it("gives the same context as the plain entries", async () => {
    for (const fields of [
      { firstKeptEntryId: "m3" },
      { firstKeptEntryId: "gone" },
      {
        firstKeptEntryId: "m3",
        preserveData: { openaiRemoteCompaction: { provider: "p", replacementHistory: [1] } },
      },
    ]) {
      const entries = compacted(fields);
      const file = writeLines(box.path("s.jsonl"), [headerLine(), ...entries]);
      const manager = await SessionManager.open(file);
      expect(manager.buildSessionContext()).toStrictEqual(buildSessionContext(unchecked(entries)));
      expect(manager.buildSessionContext().messages.at(-1)).toBe(
        loose(manager.getEntry("m6")).message,
      );
    }
  });

  it("takes part in the manager's own appends", () => {
    const manager = SessionManager.inMemory(box.dir);
    manager.appendMessage(userMessage("gone"));
    const kept = manager.appendMessage(userMessage("kept"));
    manager.appendCompaction("sum", undefined, kept, 5);
    manager.appendMessage(userMessage("new"));
    const { messages } = manager.buildSessionContext();
    expect(messages.map((message) => loose(message).content ?? loose(message).summary)).toEqual([
      "sum",
      "kept",
      "new",
    ]);
  });
});
