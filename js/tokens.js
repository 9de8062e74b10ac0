"use strict";

/**
 * Sizes in tokens: estimated from the length of texts, or as a provider counted them. Lengths of
 * JavaScript strings are known without looking at the text, so this is done here.
 */

const { requireArray, requireObject } = require("./validate.js");
const { jsonOf } = require("./values.js");

const UNITS_PER_TOKEN = 4;
/** What an image in a tool's output counts for, in units of text. */
const UNITS_PER_IMAGE = 4800;

const isObject = (value) => value !== null && typeof value === "object";

const lengthOf = (text) => (typeof text === "string" ? text.length : 0);

const tokensOf = (units) => Math.ceil(units / UNITS_PER_TOKEN);

/** Estimates the tokens of a message; 0 for roles whose size is not estimated. */
function estimateTokens(message) {
  return tokensOf(unitsOf(message));
}

function unitsOf(message) {
  switch (message?.role) {
    case "user":
      return contentUnits(message.content, 0);
    case "toolResult":
    case "hookMessage":
      return contentUnits(message.content, UNITS_PER_IMAGE);
    case "assistant":
      return sum(message.content, answerUnits);
    case "bashExecution":
      return lengthOf(message.command) + lengthOf(message.output);
    case "branchSummary":
    case "compactionSummary":
      return lengthOf(message.summary);
    default:
      return 0;
  }
}

function sum(blocks, units) {
  return Array.isArray(blocks) ? blocks.reduce((total, block) => total + units(block), 0) : 0;
}

function contentUnits(content, perImage) {
  return typeof content === "string"
    ? content.length
    : sum(content, (block) => {
        if (block?.type === "image") {
          return perImage;
        }
        return block?.type === "text" ? lengthOf(block.text) : 0;
      });
}

function answerUnits(block) {
  switch (block?.type) {
    case "text":
      return lengthOf(block.text);
    case "thinking":
      return lengthOf(block.thinking);
    case "toolCall":
      return lengthOf(block.name) + lengthOf(jsonOf(block.arguments));
    default:
      return 0;
  }
}

const count = (value) => (typeof value === "number" ? value : 0);

const promptOf = (usage) => count(usage.input) + count(usage.cacheRead) + count(usage.cacheWrite);

/** Size of the context after an answer with this usage. */
function calculateContextTokens(usage) {
  requireObject(usage, "usage");
  return count(usage.totalTokens) || promptOf(usage) + count(usage.output);
}

/** Size of the prompt that was answered with this usage. */
function calculatePromptTokens(usage) {
  requireObject(usage, "usage");
  const prompt = promptOf(usage);
  return prompt > 0 ? prompt : calculateContextTokens(usage);
}

/** The usage of the last answer that was neither aborted nor failed. */
function getLastAssistantUsage(entries) {
  requireArray(entries, "entries");
  const found = entries.findLast((entry) => {
    const message = entry?.type === "message" ? entry.message : undefined;
    return (
      message?.role === "assistant" &&
      message.stopReason !== "aborted" &&
      message.stopReason !== "error" &&
      isObject(message.usage)
    );
  });
  return found?.message.usage;
}

module.exports = {
  calculateContextTokens,
  calculatePromptTokens,
  estimateTokens,
  getLastAssistantUsage,
  tokensOf,
};
