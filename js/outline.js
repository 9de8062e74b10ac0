"use strict";

/**
 * JSON texts of entries without their long strings.
 *
 * `JSON.stringify` looks at every character of a string and copies it, and the result is copied once
 * more when it is handed over. Long strings go beside the text instead, in which a marker takes their
 * place; they are put in natively, those of large entries on another thread.
 */

const { randomBytes } = require("node:crypto");

const { serialize } = require("./serialize.js");

/** A string that cannot be in any entry: nobody is told of it. */
const MARKER = randomBytes(24).toString("hex");

/**
 * Shortest string (UTF-16 units) that goes beside the text. A replacer costs about as much as writing
 * a string of this length.
 */
const LONG = 16 << 10;

/** Shortest string for which even many small values beside it are passed to a replacer. */
const VERY_LONG = 64 << 10;

/** Length of the longest text of a block of content. */
function lengthOf(block) {
  const length = (text) => (typeof text === "string" ? text.length : 0);
  return Math.max(length(block?.text), length(block?.data), length(block?.thinking));
}

/** Length of the longest string where messages have theirs. */
function longest(entry) {
  const content = entry.type === "message" ? entry.message?.content : entry.content;
  if (typeof content === "string") {
    return content.length;
  }
  let found = 0;
  if (Array.isArray(content)) {
    for (const block of content) {
      found = Math.max(found, lengthOf(block));
    }
  }
  return found;
}

/** Whether enough of an entry is long strings. A guess: both ways lead to the same line. */
function isWorthwhile(entry) {
  const length = longest(entry);
  const details = entry.message?.details ?? entry.details;
  return length >= VERY_LONG || (length >= LONG && details === undefined);
}

/**
 * The JSON text of an entry, or an object of a `text` with markers and the `strings` that belong
 * there. Throws what `JSON.stringify` throws.
 */
function outline(entry) {
  if (!isWorthwhile(entry)) {
    return serialize(entry);
  }
  const strings = [];
  const replace = (_, value) => {
    if (typeof value !== "string" || value.length < LONG) {
      return value;
    }
    strings.push(value);
    return MARKER;
  };
  try {
    // A replacer sees exactly the strings that would be written, whatever they come from.
    return { text: JSON.stringify(entry, replace), strings };
  } catch (error) {
    if (error instanceof RangeError) {
      return serialize(entry);
    }
    throw error;
  }
}

module.exports = { MARKER, outline };
