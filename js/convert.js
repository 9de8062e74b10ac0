"use strict";

/** From the messages of a session to those that a model is sent. */

const { bashExecutionToText, pythonExecutionToText } = require("./execution-text.js");
const {
  BRANCH_SUMMARY_TEMPLATE,
  COMPACTION_SUMMARY_TEMPLATE,
  renderSummaryTemplate,
} = require("./summary-template.js");
const { withOrderedResults } = require("./tool-results.js");
const { optionalObject, optionalString, requireArray } = require("./validate.js");
const { text } = require("./values.js");

const PRUNED_RESULT_NOTICE = "[Output truncated]";

/**
 * Converts the messages of a session for a model: one or no message each, tool results behind their
 * calls, neighbouring texts of the user joined. Changes none of the given messages.
 */
function convertToLlm(messages, options) {
  requireArray(messages, "messages");
  const wording = wordingOf(options);
  const converted = [];
  for (const message of messages) {
    const result = convert(message, wording);
    if (result !== undefined) {
      converted.push(result);
    }
  }
  return withJoinedTexts(withOrderedResults(converted, wording.missingResultNotice));
}

/** The texts that a caller may choose. */
function wordingOf(options) {
  const given = optionalObject(options, "options");
  const chosen = (name) => optionalString(given[name], `options.${name}`);
  return {
    branchSummaryTemplate: chosen("branchSummaryTemplate") ?? BRANCH_SUMMARY_TEMPLATE,
    compactionSummaryTemplate: chosen("compactionSummaryTemplate") ?? COMPACTION_SUMMARY_TEMPLATE,
    missingResultNotice: chosen("missingResultNotice"),
    prunedResultNotice: chosen("prunedResultNotice") ?? PRUNED_RESULT_NOTICE,
  };
}

/** The message for the model, or undefined when it gets none. */
function convert(message, wording) {
  switch (message?.role) {
    case "assistant":
      return message;
    case "user":
      return { ...message, attribution: message.attribution ?? "user" };
    case "developer":
      return { ...message, attribution: message.attribution ?? "agent" };
    case "toolResult":
      return {
        ...message,
        content: resultContent(message, wording),
        attribution: message.attribution ?? "agent",
      };
    case "bashExecution":
      return executed(message, bashExecutionToText);
    case "pythonExecution":
      return executed(message, pythonExecutionToText);
    case "custom":
    case "hookMessage":
      return fromUser(message, contentBlocks(message.content), message.attribution);
    case "branchSummary":
      return summary(message, wording.branchSummaryTemplate);
    case "compactionSummary":
      return {
        ...summary(message, wording.compactionSummaryTemplate),
        providerPayload: message.providerPayload,
      };
    case "fileMention":
      return fromUser(message, mentionedFiles(message.files), "user");
    default:
      return undefined;
  }
}

function fromUser({ timestamp }, content, attribution) {
  return { role: "user", content, attribution, timestamp };
}

const textBlock = (text) => ({ type: "text", text });

function contentBlocks(content) {
  return typeof content === "string" ? [textBlock(content)] : content;
}

function executed(message, toText) {
  return message.excludeFromContext
    ? undefined
    : fromUser(message, [textBlock(toText(message))], "user");
}

function summary(message, template) {
  return fromUser(message, [textBlock(renderSummaryTemplate(template, message.summary))], "agent");
}

/** Of pruned results the model sees the text that took their place. */
function resultContent({ content, prunedAt }, wording) {
  if (prunedAt === undefined) {
    return content;
  }
  return [textBlock(contentText(content) || wording.prunedResultNotice)];
}

/** All text of a content, without separators. */
function contentText(content) {
  if (!Array.isArray(content)) {
    return typeof content === "string" ? content : "";
  }
  const texts = content.filter((block) => block?.type === "text").map((block) => block.text);
  return texts.filter((each) => typeof each === "string").join("");
}

function mentionedFiles(list) {
  const files = Array.isArray(list) ? list.filter(Boolean) : [];
  const texts = files.map(({ path, content }) =>
    content
      ? text`<file path="${path}">\n${content}\n</file>`
      : text`<file path="${path}">\n</file>`,
  );
  const reminder = `<system-reminder>\n${texts.join("\n\n")}\n</system-reminder>`;
  return [textBlock(reminder), ...files.flatMap((file) => file.image ?? [])];
}

/** Whether a message can be joined with one of its kind: from the user, text blocks only. */
function isJoinable({ role, content }) {
  return (
    role === "user" && Array.isArray(content) && content.every((block) => block?.type === "text")
  );
}

/** The messages with neighbouring texts of the user in one message, which otherwise is the first. */
function withJoinedTexts(messages) {
  const joined = [];
  let last = false;
  let own;
  for (const message of messages) {
    const joinable = isJoinable(message);
    if (!joinable || !last) {
      joined.push(message);
      own = undefined;
    } else if (own === undefined) {
      const first = joined.pop();
      own = { ...first, content: [...first.content, ...message.content] };
      joined.push(own);
    } else {
      // The copy made for the second of them; growing it keeps long runs linear.
      for (const block of message.content) {
        own.content.push(block);
      }
    }
    last = joinable;
  }
  return joined;
}

module.exports = { contentBlocks, contentText, convertToLlm };
