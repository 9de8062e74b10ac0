"use strict";

/** Replay metadata of provider connections, which must not be used again once a session was closed. */

const { requireObject } = require("./validate.js");

/**
 * Replaces the messages of assistants that carry replay metadata of a closed provider connection by
 * copies without it. Gives whether there were any.
 */
function stripReplayMetadata(entries) {
  let changed = false;
  for (const entry of entries) {
    const message = entry?.type === "message" ? entry.message : undefined;
    if (message?.role === "assistant") {
      entry.message = sanitizeRehydratedOpenAIResponsesAssistantMessage(message);
      changed ||= entry.message !== message;
    }
  }
  return changed;
}

/** A message of an assistant without replay metadata: a copy, or the message when it has none. */
function sanitizeRehydratedOpenAIResponsesAssistantMessage(message) {
  requireObject(message, "message");
  if (message.providerPayload?.type !== "openaiResponsesHistory") {
    return message;
  }
  const signed = (block) => block?.type === "thinking" && block.thinkingSignature !== undefined;
  const copy = { ...message, providerPayload: undefined };
  if (Array.isArray(message.content) && message.content.some(signed)) {
    copy.content = message.content.map((block) =>
      signed(block) ? { ...block, thinkingSignature: undefined } : block,
    );
  }
  return copy;
}

module.exports = { sanitizeRehydratedOpenAIResponsesAssistantMessage, stripReplayMetadata };
