// Conversion against recorded results.

import { describe, expect, it } from "vitest";
import {
  bashExecutionToText,
  convertToLlm,
  formatOutputNotice,
  pythonExecutionToText,
  renderSummaryTemplate,
} from "../index.js";
import { type Loose, loose, type Unchecked } from "./support/loose.js";
import { toolResultMessage } from "./support/messages.js";
import { vectors } from "./support/vectors.js";

describe("text of executions", () => {
  const recorded = vectors("execution-text");

  it.each(recorded.bash as Unchecked[])("of the shell: $text", ({ input, text }) => {
    expect(bashExecutionToText(input)).toBe(text);
  });

  it.each(recorded.python as Unchecked[])("of Python: $text", ({ input, text }) => {
    expect(pythonExecutionToText(input)).toBe(text);
  });

  it.each(recorded.bytes as Unchecked[])("of $n bytes", ({ n, notice }) => {
    const truncation: Unchecked = {
      truncatedBy: "bytes",
      totalLines: 1,
      outputLines: 1,
      maxBytes: n,
    };
    expect(formatOutputNotice({ truncation })).toBe(notice);
  });
});

describe("templates", () => {
  const { template, cases } = vectors("template-format");

  it.each(cases as Unchecked[])("around $summary", ({ summary, output }) => {
    expect(renderSummaryTemplate(template, summary)).toBe(output);
  });
});

describe("order of tool results", () => {
  /** A message of the short form that the vectors use; its position is in the timestamp. */
  function message(short: Loose, timestamp: number): Unchecked {
    switch (short.r) {
      case "a": {
        const calls = (short.calls ?? []).map((id: string) => ({
          type: "toolCall",
          id,
          name: `tool_${id}`,
          arguments: {},
        }));
        return { role: "assistant", content: calls, timestamp };
      }
      case "t":
        return toolResultMessage("out", { toolCallId: short.id, timestamp });
      case "u":
        return { role: "user", content: [{ type: "text", text: `${timestamp}` }], timestamp };
      default:
        return { role: "developer", content: "d", timestamp };
    }
  }

  /** A converted message in the short form of results. */
  function short(converted: Loose, count: number): unknown {
    if (converted.role === "user") {
      return converted.content.map((block: Loose) => Number(block.text));
    }
    if (converted.timestamp >= count) {
      return { synthetic: converted.toolCallId, toolName: converted.toolName };
    }
    return converted.timestamp;
  }

  const cases: [number, Loose][] = vectors("ordering-repair").map((each: Loose, at: number) => [
    at,
    each,
  ]);

  it("is recorded for many lists", () => {
    expect(cases.length).toBe(200);
  });

  it.each(cases)("in list %i", (_, recorded) => {
    const converted = convertToLlm(recorded.in.map(message));
    expect(converted.map((each) => short(loose(each), recorded.in.length))).toEqual(recorded.out);
  });
});
