"use strict";

/**
 * When a conversation is to be compacted, and what of it is to be summarised. The summary itself is
 * the program's business. All of this reads the messages of entries, which are objects here; the
 * numbers that a native walk would need cost more to collect than the walk.
 */

const { addSummarized, addToolCalls, noFileOperations } = require("./file-operations.js");
const { messageOf } = require("./message-constructors.js");
const {
  calculateContextTokens,
  calculatePromptTokens,
  estimateTokens,
  getLastAssistantUsage,
} = require("./tokens.js");
const { optionsWith, requireArray, requireNumber } = require("./validate.js");

const DEFAULTS = Object.freeze({
  enabled: true,
  strategy: "context-full",
  thresholdPercent: -1,
  thresholdTokens: -1,
  reserveTokens: 16384,
  keepRecentTokens: 20000,
});

/** Roles of messages before which a conversation can be cut. Results stay with their calls. */
const CUT_ROLES = new Set([
  "user",
  "assistant",
  "bashExecution",
  "hookMessage",
  "branchSummary",
  "compactionSummary",
]);
const TURN_ROLES = new Set(["user", "bashExecution"]);

const roleOf = (entry) => (entry?.type === "message" ? entry.message?.role : undefined);

const isInserted = (entry) => entry?.type === "branch_summary" || entry?.type === "custom_message";

const isCutPoint = (entry) => isInserted(entry) || CUT_ROLES.has(roleOf(entry));

const startsTurn = (entry) => isInserted(entry) || TURN_ROLES.has(roleOf(entry));

/** The last position from `index` down to `start` where a turn starts, or -1. */
function findTurnStartIndex(entries, index, start) {
  requireArray(entries, "entries");
  requireNumber(index, "index");
  requireNumber(start, "start");
  for (let at = Math.min(index, entries.length - 1); at >= Math.max(start, 0); at -= 1) {
    if (startsTurn(entries[at])) {
      return at;
    }
  }
  return -1;
}

/** Where to cut the entries from `start` to before `end` so that about so many tokens are kept. */
function findCutPoint(entries, start, end, keepRecentTokens) {
  requireArray(entries, "entries");
  requireNumber(start, "start");
  requireNumber(end, "end");
  requireNumber(keepRecentTokens, "keepRecentTokens");
  const from = Math.max(start, 0);
  const to = Math.min(end, entries.length);
  const first = nextCutPoint(entries, from, to);
  if (first === -1) {
    return { firstKeptEntryIndex: start, turnStartIndex: -1, isSplitTurn: false };
  }
  const recent = nextCutPoint(entries, recentStart(entries, from, to, keepRecentTokens), to);
  let cut = recent === -1 ? first : recent;
  while (cut > from && isBeside(entries[cut - 1])) {
    cut -= 1;
  }
  const turn = roleOf(entries[cut]) === "user" ? -1 : findTurnStartIndex(entries, cut, from);
  return { firstKeptEntryIndex: cut, turnStartIndex: turn, isSplitTurn: turn !== -1 };
}

/** The first position from `start` to before `end` that can be cut at, or -1. */
function nextCutPoint(entries, start, end) {
  for (let at = start; at < end; at += 1) {
    if (isCutPoint(entries[at])) {
      return at;
    }
  }
  return -1;
}

/** Where the last messages of so many tokens begin; `end` when there are not as many. */
function recentStart(entries, start, end, tokens) {
  let sum = 0;
  for (let at = end - 1; at >= start; at -= 1) {
    if (entries[at]?.type === "message") {
      sum += estimateTokens(entries[at].message);
      if (sum >= tokens) {
        return at;
      }
    }
  }
  return end;
}

/** Settings, labels and what was inserted belong to the message behind them. */
const isBeside = (entry) => entry?.type !== "message" && entry?.type !== "compaction";

/** The messages of the entries from `start` to before `end`. */
function messagesOf(entries, start, end) {
  const messages = entries.slice(start, end).map(messageOf);
  return messages.filter((message) => message !== undefined);
}

/**
 * How many tokens to keep by estimate, so that about `keepRecentTokens` are kept by the provider's
 * count, where that is the larger one.
 */
function calibrated(keepRecentTokens, usage, messages) {
  if (usage === undefined) {
    return keepRecentTokens;
  }
  const estimate = messages.reduce((total, message) => total + estimateTokens(message), 0);
  const ratio = estimate > 0 ? calculatePromptTokens(usage) / estimate : 0;
  return Number.isFinite(ratio) && ratio > 1
    ? Math.max(1, Math.floor(keepRecentTokens / ratio))
    : keepRecentTokens;
}

/** What to summarise and what to keep of a branch; undefined when there is nothing to summarise. */
function prepareCompaction(pathEntries, settings) {
  requireArray(pathEntries, "pathEntries");
  const effective = optionsWith(DEFAULTS, settings, "settings");
  const previousAt = pathEntries.findLastIndex((entry) => entry?.type === "compaction");
  const start = previousAt + 1;
  const end = pathEntries.length;
  if (previousAt === end - 1) {
    return undefined;
  }
  const usage = getLastAssistantUsage(pathEntries);
  const keep = calibrated(effective.keepRecentTokens, usage, messagesOf(pathEntries, start, end));
  const cut = findCutPoint(pathEntries, start, end, keep);
  const firstKeptEntryId = pathEntries[cut.firstKeptEntryIndex]?.id;
  const historyEnd = cut.isSplitTurn ? cut.turnStartIndex : cut.firstKeptEntryIndex;
  const messagesToSummarize = messagesOf(pathEntries, start, historyEnd);
  const turnPrefixMessages = messagesOf(pathEntries, historyEnd, cut.firstKeptEntryIndex);
  if (!firstKeptEntryId || messagesToSummarize.length + turnPrefixMessages.length === 0) {
    return undefined;
  }
  const previous = pathEntries[previousAt];
  return {
    firstKeptEntryId,
    messagesToSummarize,
    turnPrefixMessages,
    recentMessages: messagesOf(pathEntries, cut.firstKeptEntryIndex, end),
    isSplitTurn: cut.isSplitTurn,
    tokensBefore: usage ? calculateContextTokens(usage) : 0,
    previousSummary: previous?.summary,
    previousPreserveData: previous?.preserveData,
    fileOps: summarizedFiles(previous, [...messagesToSummarize, ...turnPrefixMessages]),
    settings: effective,
  };
}

function summarizedFiles(previous, messages) {
  const operations = noFileOperations();
  if (previous) {
    addSummarized(operations, previous);
  }
  for (const message of messages) {
    addToolCalls(operations, message);
  }
  return operations;
}

const isPositive = (value) => Number.isFinite(value) && value > 0;

const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

/** Whether a context of so many tokens is due for compaction in a window of this size. */
function shouldCompact(contextTokens, contextWindow, settings) {
  requireNumber(contextTokens, "contextTokens");
  requireNumber(contextWindow, "contextWindow");
  const effective = optionsWith(DEFAULTS, settings, "settings");
  if (!effective.enabled || effective.strategy === "off" || contextWindow <= 0) {
    return false;
  }
  return contextTokens > threshold(contextWindow, effective);
}

function threshold(window, { thresholdTokens, thresholdPercent, reserveTokens }) {
  if (isPositive(thresholdTokens)) {
    return clamp(thresholdTokens, 1, window - 1);
  }
  if (isPositive(thresholdPercent)) {
    return Math.floor((window * clamp(thresholdPercent, 1, 99)) / 100);
  }
  return window - Math.max(Math.floor(window * 0.15), reserveTokens);
}

module.exports = { findCutPoint, findTurnStartIndex, prepareCompaction, shouldCompact };
