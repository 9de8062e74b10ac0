"use strict";

/** A session as plain text for people: settings, tools and messages under headings. */

const { contentBlocks } = require("./convert.js");
const { bashExecutionToText, pythonExecutionToText } = require("./execution-text.js");
const { optionalString, requireArray, requireObject } = require("./validate.js");
const { jsonOf, text, textOf } = require("./values.js");

/** Between sections. Parts are joined by line feeds, so this leaves two lines empty. */
const GAP = "\n";
const FENCE = "```";
/** What the model says about a call, which is no argument of the tool. */
const INTENT = "_i";
/** Names that a library for schemas adds to them. */
const LIBRARY_PREFIX = "TypeBox.";

/** The text of a conversation with the settings that it was held with. */
function formatSessionDumpText(options) {
  const { messages, systemPrompt, model, thinkingLevel, tools } = requireObject(options, "options");
  requireArray(messages, "options.messages");
  const prompt = optionalString(systemPrompt, "options.systemPrompt");
  if (model !== undefined && model !== null) {
    requireObject(model, "options.model");
  }
  const parts = [
    ...(prompt ? ["## System Prompt\n", prompt, GAP] : []),
    ...configuration(model, optionalString(thinkingLevel, "options.thinkingLevel")),
    ...toolSection(requireArray(tools ?? [], "options.tools")),
    ...messages.flatMap(messageParts),
  ];
  return parts.join("\n").trim();
}

function configuration(model, thinkingLevel = "") {
  const name = model ? text`${model.provider}/${model.id}` : "(not selected)";
  const lines = [`Model: ${name}`, `Thinking Level: ${thinkingLevel}`];
  return ["## Configuration\n", ...lines, GAP];
}

function toolSection(tools) {
  return tools.length === 0
    ? []
    : ["## Available Tools\n", ...membersOf(tools).flatMap(toolParts), GAP];
}

function toolParts({ name, description, parameters }) {
  return [
    text`<tool name="${name}">`,
    textOf(description),
    "\nParameters:\n",
    ...argumentParts(withoutLibraryNames(parameters)),
    "</tool>\n",
  ];
}

/** A copy of a schema without the names that are not part of it. */
function withoutLibraryNames(schema) {
  const clean = (key, value) => (key.startsWith(LIBRARY_PREFIX) ? undefined : value);
  try {
    return JSON.parse(JSON.stringify(schema, clean) ?? "null");
  } catch {
    return schema;
  }
}

/** One part with a line for each argument; none for what is no object. */
function argumentParts(given) {
  if (given === null || typeof given !== "object") {
    return [];
  }
  const lines = Object.entries(given)
    .filter(([key]) => key !== INTENT)
    .map(([key, value]) => {
      const shown = typeof value === "string" ? value : jsonOf(value);
      return `\t<parameter name="${key}">${shown}</parameter>`;
    });
  return [lines.join("\n")];
}

function messageParts(message) {
  switch (message?.role) {
    case "user":
      return ["## User\n", ...contentParts(message.content), GAP];
    case "developer":
      return ["## Developer\n", ...contentParts(message.content), GAP];
    case "assistant":
      return ["## Assistant\n", ...blocksOf(message.content).flatMap(answerParts), ""];
    case "toolResult":
      return resultParts(message);
    case "bashExecution":
      return executionParts("Bash", message, bashExecutionToText);
    case "pythonExecution":
      return executionParts("Python", message, pythonExecutionToText);
    case "custom":
    case "hookMessage":
      return [text`## ${message.customType}\n`, ...contentParts(message.content), GAP];
    case "branchSummary":
      return summaryParts("Branch", text`from branch: ${message.fromId}`, message);
    case "compactionSummary":
      return summaryParts(
        "Compaction",
        text`${message.tokensBefore} tokens before compaction`,
        message,
      );
    case "fileMention":
      return ["## File Mention\n", ...membersOf(message.files).flatMap(fileParts), GAP];
    default:
      return [];
  }
}

/** The members of a list that can be looked into; none for what is no list. */
const membersOf = (list) => (Array.isArray(list) ? list.filter(Boolean) : []);

const blocksOf = (content) => membersOf(contentBlocks(content));

function contentParts(content) {
  return blocksOf(content).flatMap((block) => {
    switch (block.type) {
      case "text":
        return textOf(block.text);
      case "image":
        return "[Image]";
      default:
        return [];
    }
  });
}

function answerParts(block) {
  switch (block.type) {
    case "text":
      return [textOf(block.text)];
    case "thinking":
      return ["<thinking>", textOf(block.thinking), "</thinking>\n"];
    case "toolCall":
      return [
        text`<invoke name="${block.name}">`,
        ...argumentParts(block.arguments),
        "</invoke>\n",
      ];
    default:
      return [];
  }
}

function resultParts({ toolName, isError, content }) {
  const output = blocksOf(content).flatMap((block) => {
    switch (block.type) {
      case "text":
        return [FENCE, textOf(block.text), FENCE];
      case "image":
        return ["[Image output]"];
      default:
        return [];
    }
  });
  return [text`### Tool Result: ${toolName}`, ...(isError ? ["(error)"] : []), ...output, ""];
}

function executionParts(language, message, toText) {
  return message.excludeFromContext ? [] : [`## ${language} Execution\n`, toText(message), GAP];
}

function summaryParts(kind, origin, { summary }) {
  return [`## ${kind} Summary\n`, `(${origin})\n`, textOf(summary), GAP];
}

function fileParts({ path, content, image }) {
  return [
    text`<file path="${path}">`,
    ...(content ? [textOf(content)] : []),
    ...(image ? ["[Image attached]"] : []),
    "</file>\n",
  ];
}

module.exports = { formatSessionDumpText };
