"use strict";

/** The text of a message's content: a string as it is, or its text blocks without anything between. */
function contentText(content) {
  if (typeof content === "string") {
    return content;
  }
  if (!Array.isArray(content)) {
    return "";
  }
  const isText = (block) => block?.type === "text" && typeof block.text === "string";
  return content
    .filter(isText)
    .map((block) => block.text)
    .join("");
}

module.exports = { contentText };
