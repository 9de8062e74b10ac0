"use strict";

/** Takes old output of tools out of a conversation. */

const { estimateTokens, tokensOf } = require("./tokens.js");
const { optionsWith, requireArray } = require("./validate.js");

const DEFAULTS = Object.freeze({
  protectTokens: 40000,
  minimumSavings: 20000,
  protectedTools: Object.freeze(["skill", "read"]),
  notice: "[Output truncated - {{tokens}} tokens]",
});

/** What to prune, newest first. Output of the last `protectTokens` tokens is left alone. */
function candidates(entries, config) {
  const found = [];
  let seen = 0;
  for (const entry of entries.toReversed()) {
    const message = entry?.type === "message" ? entry.message : undefined;
    if (message?.role !== "toolResult") {
      continue;
    }
    const tokens = estimateTokens(message);
    const isProtected =
      message.prunedAt !== undefined ||
      seen < config.protectTokens ||
      config.protectedTools.includes(message.toolName);
    if (!isProtected) {
      const notice = config.notice.replaceAll("{{tokens}}", String(tokens));
      found.push({ message, notice, saved: Math.max(0, tokens - tokensOf(notice.length)) });
    }
    seen += tokens;
  }
  return found;
}

/** Replaces old output by a notice, in the given entries, if that saves enough. */
function pruneToolOutputs(entries, config) {
  requireArray(entries, "entries");
  const effective = optionsWith(DEFAULTS, config, "config");
  const found = candidates(entries, effective);
  const tokensSaved = found.reduce((total, { saved }) => total + saved, 0);
  if (found.length === 0 || tokensSaved < effective.minimumSavings) {
    return { prunedCount: 0, tokensSaved: 0 };
  }
  const now = Date.now();
  for (const { message, notice } of found) {
    message.content = [{ type: "text", text: notice }];
    message.prunedAt = now;
  }
  return { prunedCount: found.length, tokensSaved };
}

module.exports = { pruneToolOutputs };
