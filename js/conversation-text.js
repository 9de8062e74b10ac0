"use strict";

/** A conversation as one text, for a model that is to summarise it. */

const { contentText } = require("./convert.js");
const { requireArray } = require("./validate.js");
const { jsonOf, text, textOf } = require("./values.js");

/** How much of a tool's output is shown, in UTF-16 units. */
const SHOWN_OUTPUT = 2000;

/** The messages of a model's input as labelled paragraphs. */
function serializeConversation(messages) {
  requireArray(messages, "messages");
  return messages.flatMap(paragraphs).join("\n\n");
}

function paragraphs(message) {
  switch (message?.role) {
    case "user":
      return labelled("User", contentText(message.content));
    case "toolResult":
      return labelled("Tool result", shortened(contentText(message.content)));
    case "assistant":
      return Array.isArray(message.content) ? answer(message.content) : [];
    default:
      return [];
  }
}

const labelled = (label, said) => (said === "" ? [] : [`[${label}]: ${said}`]);

function answer(blocks) {
  const part = (label, type, textOfBlock, separator) => {
    const chosen = blocks.filter((block) => block?.type === type);
    return chosen.length === 0
      ? []
      : [`[${label}]: ${chosen.map((block) => textOf(textOfBlock(block))).join(separator)}`];
  };
  return [
    ...part("Assistant thinking", "thinking", (block) => block.thinking, "\n"),
    ...part("Assistant", "text", (block) => block.text, "\n"),
    ...part("Assistant tool calls", "toolCall", callText, "; "),
  ];
}

function callText({ name, arguments: given }) {
  const list = Object.entries(given ?? {}).map(([key, value]) => `${key}=${jsonOf(value)}`);
  return text`${name}(${list.join(", ")})`;
}

/** The beginning of a long text. A pair of surrogates is not taken apart. */
function shortened(output) {
  if (output.length <= SHOWN_OUTPUT) {
    return output;
  }
  const splitsPair = output.codePointAt(SHOWN_OUTPUT - 1) > 0xffff;
  const end = splitsPair ? SHOWN_OUTPUT - 1 : SHOWN_OUTPUT;
  return `${output.slice(0, end)}\n\n[... ${output.length - end} more characters truncated]`;
}

module.exports = { serializeConversation };
