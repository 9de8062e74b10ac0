import { describe, expect, it } from "vitest";
import { formatSessionDumpText, type SessionDumpOptions } from "../index.js";
import { type Unchecked, unchecked } from "./support/loose.js";

const HEAD = "## Configuration\n\nModel: (not selected)\nThinking Level:";

/** The part of a dump that is about messages. */
function dumped(...messages: unknown[]): string {
  const text = formatSessionDumpText({ messages: unchecked(messages) });
  expect(text.startsWith(HEAD)).toBe(true);
  return text.slice(HEAD.length).trim();
}

const block = (text: string) => ({ type: "text", text });
const image = { type: "image", data: "QUJD", mimeType: "image/png" };

describe("settings and tools", () => {
  it("of nothing are a configuration without values", () => {
    expect(formatSessionDumpText({ messages: [] })).toBe(HEAD);
    const none: SessionDumpOptions = {
      messages: [],
      systemPrompt: null,
      model: null,
      thinkingLevel: null,
      tools: null,
    };
    expect(formatSessionDumpText(none)).toBe(HEAD);
  });

  it("stand before the messages", () => {
    const text = formatSessionDumpText({
      messages: [{ role: "user", content: "hi", timestamp: 1 }],
      systemPrompt: "Be brief.",
      model: { provider: "p", id: "m" },
      thinkingLevel: "high",
      tools: [
        {
          name: "read",
          description: "Reads.",
          parameters: {
            type: "object",
            _i: "hidden",
            "TypeBox.Kind": "Object",
            properties: { path: { type: "string", "TypeBox.Kind": "String" } },
          },
        },
        { name: "none", description: "Does nothing.", parameters: {} },
      ],
    });
    expect(text).toBe(
      [
        "## System Prompt",
        "",
        "Be brief.",
        "",
        "",
        "## Configuration",
        "",
        "Model: p/m",
        "Thinking Level: high",
        "",
        "",
        "## Available Tools",
        "",
        '<tool name="read">',
        "Reads.",
        "",
        "Parameters:",
        "",
        '\t<parameter name="type">object</parameter>',
        '\t<parameter name="properties">{"path":{"type":"string"}}</parameter>',
        "</tool>",
        "",
        '<tool name="none">',
        "Does nothing.",
        "",
        "Parameters:",
        "",
        "",
        "</tool>",
        "",
        "",
        "",
        "## User",
        "",
        "hi",
      ].join("\n"),
    );
  });
});

describe("messages", () => {
  it("of the user and of developers tell of images", () => {
    expect(dumped({ role: "user", content: [block("a"), image, block("b")] })).toBe(
      "## User\n\na\n[Image]\nb",
    );
    const both = dumped({ role: "developer", content: "d" }, { role: "user", content: "u" });
    expect(both).toBe("## Developer\n\nd\n\n\n## User\n\nu");
  });

  it("of assistants show thinking and calls, without intents", () => {
    const content = [
      { type: "thinking", thinking: "hm" },
      { type: "redactedThinking", data: "x" },
      block("I look."),
      { type: "toolCall", id: "1", name: "bash", arguments: { _i: "look", cmd: "ls", n: [1] } },
      { type: "toolCall", id: "2", name: "odd", arguments: null },
      { type: "toolCall", id: "3", name: "empty", arguments: {} },
    ];
    expect(dumped({ role: "assistant", content }, { role: "user", content: "u" })).toBe(
      [
        "## Assistant",
        "",
        "<thinking>",
        "hm",
        "</thinking>",
        "",
        "I look.",
        '<invoke name="bash">',
        '\t<parameter name="cmd">ls</parameter>',
        '\t<parameter name="n">[1]</parameter>',
        "</invoke>",
        "",
        '<invoke name="odd">',
        "</invoke>",
        "",
        '<invoke name="empty">',
        "",
        "</invoke>",
        "",
        "",
        "## User",
        "",
        "u",
      ].join("\n"),
    );
  });

  it("of tools are fenced and marked when they failed", () => {
    const result = { role: "toolResult", toolName: "bash", content: [block("out"), image] };
    expect(dumped({ ...result, isError: true }, result)).toBe(
      [
        "### Tool Result: bash",
        "(error)",
        "```",
        "out",
        "```",
        "[Image output]",
        "",
        "### Tool Result: bash",
        "```",
        "out",
        "```",
        "[Image output]",
      ].join("\n"),
    );
  });

  it("about executions are left out when they are excluded", () => {
    const bash = { role: "bashExecution", command: "ls", output: "a", exitCode: 0 };
    expect(dumped(bash, { ...bash, excludeFromContext: true })).toBe(
      "## Bash Execution\n\nRan `ls`\n```\na\n```",
    );
    expect(dumped({ role: "pythonExecution", code: "1", output: "", exitCode: 0 })).toBe(
      "## Python Execution\n\nRan Python:\n```python\n1\n```\n(no output)",
    );
  });

  it("of extensions, summaries and mentioned files have headings", () => {
    const content = [block("x"), image];
    expect(dumped({ role: "custom", customType: "note", content })).toBe("## note\n\nx\n[Image]");
    expect(dumped({ role: "hookMessage", customType: "old", content: "y" })).toBe("## old\n\ny");
    expect(dumped({ role: "branchSummary", summary: "s", fromId: "f" })).toBe(
      "## Branch Summary\n\n(from branch: f)\n\ns",
    );
    expect(dumped({ role: "compactionSummary", summary: "s", tokensBefore: 7 })).toBe(
      "## Compaction Summary\n\n(7 tokens before compaction)\n\ns",
    );
    const files = [
      { path: "a.txt", content: "A" },
      { path: "b.png", content: "", image },
    ];
    expect(dumped({ role: "fileMention", files })).toBe(
      [
        "## File Mention",
        "",
        '<file path="a.txt">',
        "A",
        "</file>",
        "",
        '<file path="b.png">',
        "[Image attached]",
        "</file>",
      ].join("\n"),
    );
  });

  it("of any other shape do no harm", () => {
    const cycle: Unchecked = {};
    cycle.self = cycle;
    const call = (given: unknown) => ({ type: "toolCall", id: "c", name: "t", arguments: given });
    expect(dumped(null, 1, {}, { role: "unknown", content: "x" })).toBe("");
    expect(dumped({ role: "user", content: [null, 5, { type: "other" }] })).toBe("## User");
    expect(dumped({ role: "fileMention", files: "none" }, { role: "toolResult" })).toBe(
      "## File Mention\n\n\n\n### Tool Result: undefined",
    );
    expect(dumped({ role: "assistant", content: [call({ n: 1n, cycle })] })).toContain(
      '\t<parameter name="n">1</parameter>\n\t<parameter name="cycle">[object Object]</parameter>',
    );
    const tools = [{ name: "t", description: "d", parameters: cycle }, null];
    expect(formatSessionDumpText({ messages: [], tools: unchecked(tools) })).toContain("<tool");
  });
});

it.each([
  [undefined, "options"],
  [{}, "options.messages"],
  [{ messages: [], systemPrompt: 1 }, "options.systemPrompt"],
  [{ messages: [], thinkingLevel: {} }, "options.thinkingLevel"],
  [{ messages: [], tools: {} }, "options.tools"],
  [{ messages: [], model: "p/m" }, "options.model"],
])("refuses %j", (options, name) => {
  const call = () => formatSessionDumpText(unchecked(options));
  expect(call).toThrow(expect.objectContaining({ code: "ERR_INVALID_ARG_TYPE" }));
  expect(call).toThrow(`The "${name}" argument must be`);
});
