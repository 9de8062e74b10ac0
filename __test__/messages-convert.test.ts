// What each kind of message becomes for a model, and which objects stay the same.

import { afterEach, describe, expect, it, vi } from "vitest";
import {
  bashExecutionToText,
  convertToLlm,
  createBranchSummaryMessage,
  createCompactionSummaryMessage,
  createCustomMessage,
  formatOutputNotice,
  pythonExecutionToText,
  renderSummaryTemplate,
  SKILL_PROMPT_MESSAGE_TYPE,
  sanitizeRehydratedOpenAIResponsesAssistantMessage,
  serializeConversation,
  setLogger,
} from "../index.js";
import { type Loose, loose, type Unchecked, unchecked } from "./support/loose.js";
import { assistantMessage, toolResultMessage, userMessage } from "./support/messages.js";

afterEach(() => {
  setLogger(null);
  vi.restoreAllMocks();
});

const text = (value: string) => ({ type: "text", text: value });
const image = { type: "image", data: "AA==", mimeType: "image/png" };
const replay = { type: "openaiResponsesHistory", provider: "openai", items: [] };

const convert = (...messages: Unchecked[]): Loose[] => convertToLlm(messages).map(loose);
const convertOne = (message: Unchecked): Loose => loose(convertToLlm([message])[0]);

const call = (id: string, name = "bash") => ({ type: "toolCall", id, name, arguments: {} });
const calling = (...ids: string[]): Unchecked =>
  assistantMessage("", { content: ids.map((id) => call(id)) });
const result = (id: string): Unchecked => toolResultMessage("out", { toolCallId: id });

const shell = (extra: Loose = {}): Unchecked => ({
  role: "bashExecution",
  command: "ls",
  output: "a.txt",
  exitCode: 0,
  cancelled: false,
  truncated: false,
  timestamp: 7,
  ...extra,
});

describe("constructors", () => {
  const time = "2026-01-02T03:04:05.678Z";
  const millis = Date.parse(time);

  it("take the time of the entry in milliseconds", () => {
    expect(createBranchSummaryMessage("s", "root", time)).toEqual({
      role: "branchSummary",
      summary: "s",
      fromId: "root",
      timestamp: millis,
    });
  });

  it("give no time for one that cannot be read", () => {
    expect(createBranchSummaryMessage("s", "root", "soon").timestamp).toBeNaN();
    expect(createCustomMessage("c", "", true, undefined, "").timestamp).toBeNaN();
  });

  it("keep what they are given as the same objects", () => {
    const details = { name: "n", path: "p", lineCount: 1 };
    const content: Unchecked = [text("t")];
    const custom = createCustomMessage(SKILL_PROMPT_MESSAGE_TYPE, content, false, details, time);
    expect(custom.content).toBe(content);
    expect(custom.details).toBe(details);
    expect(custom.attribution).toBeUndefined();
    const compaction = createCompactionSummaryMessage("s", 5, time, "short", unchecked(replay));
    expect(compaction.providerPayload).toBe(replay);
    expect(JSON.parse(JSON.stringify(compaction))).toEqual({
      role: "compactionSummary",
      summary: "s",
      shortSummary: "short",
      tokensBefore: 5,
      providerPayload: replay,
      timestamp: millis,
    });
  });
});

describe("text of executions", () => {
  it("tells any code but 0, unless the run was cancelled", () => {
    expect(bashExecutionToText(shell({ exitCode: -1 }))).toMatch(/code -1$/);
    expect(bashExecutionToText(shell({ exitCode: undefined }))).toMatch(/```$/);
    expect(bashExecutionToText(shell({ exitCode: 3, cancelled: true }))).toMatch(/cancelled\)$/);
    const python: Unchecked = { code: "x", output: "", exitCode: 1, cancelled: true };
    expect(pythonExecutionToText(python)).toMatch(/\n\n\(execution cancelled\)$/);
  });

  it("appends what was left out", () => {
    const truncation = { totalLines: 9, outputLines: 4, truncatedBy: "lines", artifactId: "3" };
    expect(bashExecutionToText(shell({ meta: { truncation } }))).toMatch(
      /```\n\n\[Showing 4 of 9 lines\. Read artifact:\/\/3 for full output\]$/,
    );
  });
});

describe("notices", () => {
  const cut = (extra: Loose) =>
    formatOutputNotice(unchecked({ truncation: { totalLines: 9, outputLines: 4, ...extra } }));

  it("round halves of a tenth up", () => {
    expect(cut({ truncatedBy: "bytes", outputBytes: 1280, maxBytes: null })).toBe(
      "\n\n[Showing 4 of 9 lines (1.3KB limit)]",
    );
  });

  it("count lines when the range is empty", () => {
    expect(cut({ shownRange: { start: 5, end: 4 } })).toBe("\n\n[Showing 4 of 9 lines]");
  });

  it("know offset 0 and are silent about nothing", () => {
    expect(cut({ nextOffset: 0 })).toContain("Use sel=L0 to continue");
    expect(formatOutputNotice(undefined)).toBe("");
    expect(formatOutputNotice(unchecked({ diagnostics: { summary: "s", messages: [] } }))).toBe("");
  });

  it("group diagnostics by folder and file", () => {
    const messages = [
      "src\\a.ts:1:2 one",
      "top.ts:3:4 two",
      "free",
      "src/b.ts:5:6 three",
      "src/a.ts:7:8 four",
      "other.ts:9:1 five",
    ];
    expect(formatOutputNotice({ diagnostics: { summary: "6", messages } })).toBe(
      [
        "",
        "",
        "LSP Diagnostics (6):",
        "# src",
        "## └─ a.ts",
        "  1:2 one",
        "  7:8 four",
        "## └─ b.ts",
        "  5:6 three",
        "",
        "# top.ts",
        "  3:4 two",
        "",
        "# other.ts",
        "  9:1 five",
        "",
        "free",
      ].join("\n"),
    );
  });
});

describe("summary templates", () => {
  it("take summaries literally", () => {
    expect(renderSummaryTemplate("a {{summary}} b", "$& {{summary}} $1")).toBe(
      "a $& {{summary}} $1 b",
    );
    expect(renderSummaryTemplate("a\n{{summary}}\n", undefined)).toBe("a");
  });

  it("tell white space of JavaScript from other white space", () => {
    expect(renderSummaryTemplate("{{summary}}", "a\ufeff\nb\u0085")).toBe("a\nb\u0085");
  });

  it("keep lone surrogates", () => {
    expect(renderSummaryTemplate("{{summary}}", "\ud800 x")).toBe("\ud800 x");
  });

  it("know tags by their form", () => {
    expect(renderSummaryTemplate("{{summary}}", "<br />\n\na\n\n</tag>\n\nb")).toBe(
      "<br />\na\n</tag>\n\nb",
    );
    expect(renderSummaryTemplate("{{summary}}", "<h1>\n\na\n\n-\n\n1. b")).toBe(
      "<h1>\n\na\n\n-\n1. b",
    );
  });
});

describe("conversion", () => {
  it("passes answers on as they are", () => {
    const answer = assistantMessage("a", { stopReason: "aborted" });
    expect(convertOne(answer)).toBe(answer);
  });

  it.each([
    ["user", "user"],
    ["developer", "agent"],
    ["toolResult", "agent"],
  ])("attributes messages with the role %s to the %s", (role, attribution) => {
    const content = [text("t")];
    const message = { role, content, toolCallId: "x", timestamp: 1, extra: 1 };
    const converted = convertOne(message);
    expect(converted).toEqual({ ...message, attribution });
    expect(converted).not.toBe(message);
    expect(converted.content).toBe(content);
    const other = attribution === "user" ? "agent" : "user";
    expect(convertOne({ ...message, attribution: other }).attribution).toBe(other);
    expect(convertOne({ ...message, attribution: null }).attribution).toBe(attribution);
  });

  it("keeps the mark of synthetic messages", () => {
    expect(convertOne({ ...userMessage(), synthetic: true }).synthetic).toBe(true);
  });

  it("lets the user tell about executions", () => {
    expect(convertOne(shell())).toEqual({
      role: "user",
      content: [text("Ran `ls`\n```\na.txt\n```")],
      attribution: "user",
      timestamp: 7,
    });
    expect(convert(shell({ excludeFromContext: true }))).toEqual([]);
  });

  it.each(["custom", "hookMessage"])("makes messages of the user of %s", (role) => {
    const content = [text("t"), image];
    const message = { role, customType: "c", content, display: false, details: 1, timestamp: 4 };
    expect(convertOne(message)).toEqual({ role: "user", content, timestamp: 4 });
    expect(convertOne(message).content).toBe(content);
    const plain = { ...message, content: "t", attribution: "agent" };
    expect(convertOne(plain)).toEqual({
      role: "user",
      content: [text("t")],
      attribution: "agent",
      timestamp: 4,
    });
  });

  it("puts summaries into the templates of the caller", () => {
    const branch: Unchecked = createBranchSummaryMessage("left", "root", "2026-01-01");
    const compacted: Unchecked = {
      ...createCompactionSummaryMessage("old", 1, "2026-01-01"),
      providerPayload: replay,
    };
    const [first, , second] = convertToLlm([branch, assistantMessage(), compacted], {
      branchSummaryTemplate: "<b>\n{{summary}}\n</b>",
      compactionSummaryTemplate: "<c>\n{{summary}}\n</c>",
    }).map(loose);
    expect(first).toMatchObject({ content: [text("<b>\nleft\n</b>")], attribution: "agent" });
    expect(second).toMatchObject({ content: [text("<c>\nold\n</c>")], attribution: "agent" });
    expect(second?.providerPayload).toBe(replay);
    expect(first).not.toHaveProperty("providerPayload");
  });

  it("has templates of its own, with the summary between tags", () => {
    const branch = createBranchSummaryMessage("left", "root", "2026-01-01");
    expect(convertOne(branch).content[0].text).toMatch(/\S\n\n<([a-z-]+)>\nleft\n<\/\1>$/);
    const compacted = createCompactionSummaryMessage("old", 1, "2026-01-01");
    expect(convertOne(compacted).content[0].text).toMatch(/\S\n\n<([a-z-]+)>\nold\n<\/\1>$/);
  });

  it("shows mentioned files, images behind the text", () => {
    const files = [
      { path: 'a"<', content: "one", skippedReason: "tooLarge" },
      { path: "b", content: "", image },
    ];
    const converted = convertOne({ role: "fileMention", files, timestamp: 4 });
    expect(converted.content).toEqual([
      text(
        '<system-reminder>\n<file path="a"<">\none\n</file>\n\n<file path="b">\n</file>\n</system-reminder>',
      ),
      image,
    ]);
    expect(converted.content[1]).toBe(image);
    for (const none of [[], undefined]) {
      expect(convertOne({ role: "fileMention", files: none, timestamp: 4 }).content).toEqual([
        text("<system-reminder>\n\n</system-reminder>"),
      ]);
    }
  });

  it.each([0, null, 5])("leaves only text of results pruned at %s", (prunedAt) => {
    const content = [text("a"), image, text("b")];
    expect(convertOne(toolResultMessage("", { content, prunedAt })).content).toEqual([text("ab")]);
    const empty = toolResultMessage("", { content: [image], prunedAt });
    expect(convertOne(empty).content).toEqual([text("[Output truncated]")]);
    const [chosen] = convertToLlm([empty], { prunedResultNotice: "gone" });
    expect(loose(chosen).content).toEqual([text("gone")]);
  });

  it("leaves out what it does not know", () => {
    expect(convert({ role: "notification" }, { content: "x" }, null, 5)).toEqual([]);
  });

  it("changes nothing that it is given", () => {
    const messages = [userMessage([text("a")]), userMessage([text("b")]), calling("x"), shell()];
    const before = structuredClone(messages);
    convertToLlm(messages);
    expect(messages).toEqual(before);
  });

  it("checks its arguments", () => {
    const named = (name: string) => ({
      code: "ERR_INVALID_ARG_TYPE",
      message: expect.stringContaining(name),
    });
    expect(() => convertToLlm(unchecked(undefined))).toThrow(
      expect.objectContaining(named("messages")),
    );
    expect(() => convertToLlm([], unchecked({ missingResultNotice: 5 }))).toThrow(
      expect.objectContaining(named("options.missingResultNotice")),
    );
  });
});

describe("results of tools", () => {
  it("are invented where there are none", () => {
    vi.spyOn(Date, "now").mockReturnValue(1234);
    const records: unknown[][] = [];
    setLogger((...record) => records.push(record));
    const answer = assistantMessage("", { content: [call("x", "first"), call("x", "second")] });
    expect(convert(answer)).toEqual([
      answer,
      {
        role: "toolResult",
        toolCallId: "x",
        toolName: "first",
        content: [text("Tool execution was interrupted (session recovery).")],
        isError: true,
        timestamp: 1234,
      },
    ]);
    expect(records).toEqual([
      ["warn", "Repaired tool_use/tool_result ordering in conversation history", { missing: 1 }],
    ]);
  });

  it("have the caller's words then, and the name of their own call", () => {
    const second = assistantMessage("", { content: [call("x", "other")] });
    const converted = convertToLlm([calling("x"), result("x"), second], {
      missingResultNotice: "lost",
    });
    expect(converted[3]).toMatchObject({ toolName: "other", content: [text("lost")] });
  });

  it("are left alone while in order, without a word", () => {
    const log = vi.fn();
    setLogger(log);
    const messages = [userMessage(), calling("x", "y"), result("y"), result("x"), result("lone")];
    expect(convert(...messages).map(({ toolCallId }) => toolCallId)).toEqual([
      undefined,
      undefined,
      "y",
      "x",
      "lone",
    ]);
    expect(log).not.toHaveBeenCalled();
  });

  it("can have ids of any kind", () => {
    const ids = ["", "__proto__", "\ud800", "\udc00", "\ufffd"];
    const converted = convert(calling(...ids), userMessage(), ...ids.map(result));
    expect(converted.slice(1, -1).map(({ toolCallId }) => toolCallId)).toEqual(ids);
  });
});

describe("neighbouring texts", () => {
  it("become one message, otherwise the first", () => {
    const first = { ...userMessage([text("a")]), attribution: "agent", providerPayload: replay };
    const second = { ...userMessage([text("b")]), timestamp: 9, synthetic: true };
    const [joined, ...rest] = convert(first, second, userMessage([]), shell());
    expect(rest).toEqual([]);
    expect(joined).toEqual({
      ...first,
      content: [text("a"), text("b"), text("Ran `ls`\n```\na.txt\n```")],
    });
    expect(first.content).toEqual([text("a")]);
  });

  it.each([
    ["plain strings", userMessage("b")],
    ["images", userMessage([text("b"), image])],
    ["developers", { role: "developer", content: [text("b")], timestamp: 1 }],
    ["answers", assistantMessage("b")],
  ])("are divided by %s", (_, between) => {
    const converted = convert(userMessage([text("a")]), between, userMessage([text("c")]));
    expect(converted.map(({ role }) => role)).toEqual(["user", between.role, "user"]);
  });

  it("are joined where results moved away", () => {
    const converted = convert(
      calling("x", "y"),
      result("x"),
      userMessage([text("a")]),
      result("y"),
      userMessage([text("b")]),
    );
    expect(converted.at(-1)?.content).toEqual([text("a"), text("b")]);
    expect(converted).toHaveLength(4);
  });
});

describe("replay metadata", () => {
  const clean = (message: Unchecked) =>
    loose(sanitizeRehydratedOpenAIResponsesAssistantMessage(message));
  const thinking = (thinkingSignature?: unknown) => ({
    type: "thinking",
    thinking: "t",
    thinkingSignature,
  });

  it("leaves messages without it alone", () => {
    const plain = assistantMessage("a", { content: [thinking("s")] });
    expect(clean(plain)).toBe(plain);
    const other = { ...plain, providerPayload: { type: "other" } };
    expect(clean(other)).toBe(other);
  });

  it("keeps content that has no signatures", () => {
    const message = assistantMessage("a", { providerPayload: replay, responseId: "r" });
    const cleaned = clean(message);
    expect(cleaned).not.toBe(message);
    expect(cleaned.content).toBe(message.content);
    expect(JSON.parse(JSON.stringify(cleaned))).not.toHaveProperty("providerPayload");
    expect(cleaned.responseId).toBe("r");
    expect(message.providerPayload).toBe(replay);
  });

  it.each(["s", "", null])("takes the signature %o off thinking, and nothing else", (signature) => {
    const signed = { type: "text", text: "x", textSignature: "kept" };
    const unsigned = thinking();
    const message = assistantMessage("", {
      providerPayload: replay,
      content: [signed, unsigned, thinking(signature)],
    });
    const { content } = clean(message);
    expect(content[0]).toBe(signed);
    expect(content[1]).toBe(unsigned);
    expect(content[2]).toEqual(thinking());
    expect(message.content[2].thinkingSignature).toBe(signature);
  });
});

describe("a conversation as text", () => {
  it("has a paragraph for each part", () => {
    const answer = assistantMessage("", {
      content: [
        { type: "thinking", thinking: "hm" },
        text("one"),
        { ...call("x", "read"), arguments: { path: "p", from: 3 } },
        text("two"),
        call("y"),
        { type: "thinking", thinking: "so" },
      ],
    });
    const conversation = [
      userMessage("hi"),
      { role: "developer", content: "no", timestamp: 1 },
      answer,
      toolResultMessage("out"),
      toolResultMessage("", { content: [image] }),
      userMessage([text("a"), image, text("b")]),
    ];
    expect(serializeConversation(conversation)).toBe(
      [
        "[User]: hi",
        "[Assistant thinking]: hm\nso",
        "[Assistant]: one\ntwo",
        '[Assistant tool calls]: read(path="p", from=3); bash()',
        "[Tool result]: out",
        "[User]: ab",
      ].join("\n\n"),
    );
  });

  it("shortens results, not within a pair of surrogates", () => {
    const long = (start: string) =>
      serializeConversation([toolResultMessage(start + "x".repeat(2500 - start.length))]);
    expect(long("")).toBe(
      `[Tool result]: ${"x".repeat(2000)}\n\n[... 500 more characters truncated]`,
    );
    expect(long(`${"x".repeat(1999)}😀`)).toBe(
      `[Tool result]: ${"x".repeat(1999)}\n\n[... 501 more characters truncated]`,
    );
    expect(serializeConversation([toolResultMessage("x".repeat(2000))])).not.toContain("truncated");
  });
});
