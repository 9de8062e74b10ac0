"use strict";

/** What goes into the summary of a branch that is left. */

const { addSummarized, addToolCalls, noFileOperations } = require("./file-operations.js");
const { createCompactionSummaryMessage, messageOf } = require("./message-constructors.js");
const { estimateTokens } = require("./tokens.js");
const { requireArray, requireNumber } = require("./validate.js");

/** Up to this part of the budget an earlier summary may go beyond it: it stands for much. */
const ROOM_FOR_SUMMARY = 0.9;

/** The message of an entry. Results of tools are left out: the answers tell what came of them. */
function summarizedMessage(entry) {
  if (entry?.type === "compaction") {
    const { summary, tokensBefore, timestamp, shortSummary } = entry;
    return createCompactionSummaryMessage(summary, tokensBefore, timestamp, shortSummary);
  }
  const message = messageOf(entry);
  return message?.role === "toolResult" ? undefined : message;
}

const isSummary = (entry) => entry.type === "compaction" || entry.type === "branch_summary";

/**
 * The newest messages of a branch that fit into a budget, and the files that the branch used.
 *
 * @param entries entries of the branch, oldest first
 * @param tokenBudget estimated tokens; 0 for no limit
 */
function prepareBranchEntries(entries, tokenBudget = 0) {
  requireArray(entries, "entries");
  requireNumber(tokenBudget, "tokenBudget");
  const fileOps = noFileOperations();
  for (const entry of entries) {
    if (entry?.type === "branch_summary") {
      addSummarized(fileOps, entry);
    }
  }
  const messages = [];
  let totalTokens = 0;
  for (const entry of entries.toReversed()) {
    const message = summarizedMessage(entry);
    if (message === undefined) {
      continue;
    }
    addToolCalls(fileOps, message);
    const tokens = estimateTokens(message);
    const fits = !(tokenBudget > 0) || totalTokens + tokens <= tokenBudget;
    if (fits || (isSummary(entry) && totalTokens < ROOM_FOR_SUMMARY * tokenBudget)) {
      messages.push(message);
      totalTokens += tokens;
    }
    if (!fits) {
      break;
    }
  }
  return { messages: messages.reverse(), fileOps, totalTokens };
}

module.exports = { prepareBranchEntries };
