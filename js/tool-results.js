"use strict";

/**
 * Puts tool results behind the calls that they belong to. The order is planned natively, from
 * numbers in place of messages; here the messages are put in that order.
 */

const native = require("./native.js");
const { log } = require("./logger.js");

const MISSING_RESULT_NOTICE = "Tool execution was interrupted (session recovery).";

const isToolCall = (block) => block?.type === "toolCall";

/** Content that may hold tool calls. */
function answerOf({ role, content }) {
  return role === "assistant" && Array.isArray(content) ? content : [];
}

/** The messages as numbers (`src/messages/repair.rs`) and the ids by number. */
function pack(messages) {
  const numbers = new Map();
  const ids = [];
  const numberOf = (id) => {
    let number = numbers.get(id);
    if (number === undefined) {
      number = ids.push(id) - 1;
      numbers.set(id, number);
    }
    return number;
  };
  const packed = [];
  let anyCalls = false;
  for (const message of messages) {
    if (message.role === "toolResult") {
      packed.push(1, numberOf(message.toolCallId));
      continue;
    }
    const head = packed.push(0) - 1;
    for (const block of answerOf(message)) {
      if (isToolCall(block)) {
        packed.push(numberOf(block.id));
      }
    }
    const calls = packed.length - head - 1;
    if (calls > 0) {
      packed[head] = 1 + calls;
      anyCalls = true;
    }
  }
  return { packed, ids, anyCalls };
}

/** Names of the tools that a message calls, by call; of several with one id the first. */
function toolNamesOf(assistant) {
  const names = new Map();
  for (const block of answerOf(assistant)) {
    if (isToolCall(block) && !names.has(block.id)) {
      names.set(block.id, block.name);
    }
  }
  return names;
}

/** A result in place of one that does not exist. */
function missingResult(toolName, id, text, timestamp) {
  return {
    role: "toolResult",
    toolCallId: id,
    toolName: toolName ?? "unknown",
    content: [{ type: "text", text }],
    isError: true,
    timestamp,
  };
}

/**
 * The messages with every tool result behind its call. Returns the list itself when it is in order.
 *
 * @param messages messages for a model
 * @param notice text of results that do not exist
 */
function withOrderedResults(messages, notice = MISSING_RESULT_NOTICE) {
  const { packed, ids, anyCalls } = pack(messages);
  const plan = anyCalls ? native.planToolResults(Uint32Array.from(packed)) : null;
  if (plan === null) {
    return messages;
  }
  const now = Date.now();
  let assistant;
  // Made when a result is missing, which is rare.
  let names;
  let missing = 0;
  const ordered = Array.from(plan, (step) => {
    if (step < 0) {
      missing += 1;
      names ??= toolNamesOf(assistant);
      const id = ids[-1 - step];
      return missingResult(names.get(id), id, notice, now);
    }
    const message = messages[step];
    if (message.role === "assistant") {
      assistant = message;
      names = undefined;
    }
    return message;
  });
  log("warn", "Repaired tool_use/tool_result ordering in conversation history", { missing });
  return ordered;
}

module.exports = { withOrderedResults };
