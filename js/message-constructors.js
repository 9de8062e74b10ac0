"use strict";

/** Messages that are made of entries. Everything but the time is taken over as it is. */

const { dateOf } = require("./values.js");

/** The `customType` of messages that invoke a skill. */
const SKILL_PROMPT_MESSAGE_TYPE = "skill-prompt";

/** Milliseconds of an entry's time; NaN when it cannot be read. */
const millis = (timestamp) => dateOf(timestamp).getTime();

function createBranchSummaryMessage(summary, fromId, timestamp) {
  return { role: "branchSummary", summary, fromId, timestamp: millis(timestamp) };
}

function createCompactionSummaryMessage(
  summary,
  tokensBefore,
  timestamp,
  shortSummary,
  providerPayload,
) {
  return {
    role: "compactionSummary",
    summary,
    shortSummary,
    tokensBefore,
    providerPayload,
    timestamp: millis(timestamp),
  };
}

function createCustomMessage(customType, content, display, details, timestamp, attribution) {
  return {
    role: "custom",
    customType,
    content,
    display,
    details,
    attribution,
    timestamp: millis(timestamp),
  };
}

/**
 * The message that an entry of the conversation stands for; undefined for settings, labels and
 * whatever else is no part of it. Compactions are left to the caller.
 */
function messageOf(entry) {
  switch (entry?.type) {
    case "message":
      return typeof entry.message?.role === "string" ? entry.message : undefined;
    case "custom_message":
      return createCustomMessage(
        entry.customType,
        entry.content,
        entry.display,
        entry.details,
        entry.timestamp,
        entry.attribution,
      );
    case "branch_summary":
      return createBranchSummaryMessage(entry.summary, entry.fromId, entry.timestamp);
    default:
      return undefined;
  }
}

module.exports = {
  SKILL_PROMPT_MESSAGE_TYPE,
  createBranchSummaryMessage,
  createCompactionSummaryMessage,
  createCustomMessage,
  messageOf,
};
