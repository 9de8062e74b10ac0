import type { Loose, Unchecked } from "./loose.js";

/** Token counts of an assistant message; `scale` multiplies every number. */
export function usage(scale = 1) {
  return {
    input: 10 * scale,
    output: 5 * scale,
    cacheRead: 2 * scale,
    cacheWrite: 1 * scale,
    totalTokens: 18 * scale,
    cost: {
      input: 0.01 * scale,
      output: 0.02 * scale,
      cacheRead: 0.001 * scale,
      cacheWrite: 0.002 * scale,
      total: 0.033 * scale,
    },
  };
}

/** A user message. */
export function userMessage(content: unknown = "hello"): Unchecked {
  return { role: "user", content, timestamp: 1 };
}

/** An assistant message with one text block; `extra` adds or replaces fields. */
export function assistantMessage(text = "hi there", extra: Loose = {}): Unchecked {
  return {
    role: "assistant",
    content: [{ type: "text", text }],
    api: "anthropic-messages",
    provider: "anthropic",
    model: "test-model",
    usage: usage(),
    stopReason: "stop",
    timestamp: 2,
    ...extra,
  };
}

/** A tool result with one text block; `extra` adds or replaces fields. */
export function toolResultMessage(text = "output", extra: Loose = {}): Unchecked {
  return {
    role: "toolResult",
    toolCallId: "call_1",
    toolName: "bash",
    content: [{ type: "text", text }],
    isError: false,
    timestamp: 3,
    ...extra,
  };
}
