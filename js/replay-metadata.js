"use strict";

/** Replay metadata of provider connections, which must not be used again once a session was closed. */

/**
 * Replaces the messages of assistants that carry replay metadata of a closed provider connection by
 * copies without it. Gives whether there were any.
 */
function stripReplayMetadata(entries) {
  let changed = false;
  for (const entry of entries) {
    const message = entry?.type === "message" ? entry.message : undefined;
    if (
      message?.role === "assistant" &&
      message.providerPayload?.type === "openaiResponsesHistory"
    ) {
      entry.message = withoutReplayMetadata(message);
      changed = true;
    }
  }
  return changed;
}

function withoutReplayMetadata(message) {
  const signed = (block) => block?.type === "thinking" && block.thinkingSignature !== undefined;
  const copy = { ...message, providerPayload: undefined };
  if (Array.isArray(message.content) && message.content.some(signed)) {
    copy.content = message.content.map((block) =>
      signed(block) ? { ...block, thinkingSignature: undefined } : block,
    );
  }
  return copy;
}

module.exports = { stripReplayMetadata };
