"use strict";

/**
 * Values of entries as the host reads them. Entries hold whatever a file or a caller put there, also
 * objects that the host refuses to convert.
 */

const { serialize } = require("./serialize.js");

/** A time; an invalid date for what is none. */
function dateOf(value) {
  try {
    return new Date(value);
  } catch {
    return new Date(Number.NaN);
  }
}

/** A value as text. */
function textOf(value) {
  try {
    return String(value);
  } catch {
    return "[object Object]";
  }
}

/** JSON text of a value; of one that cannot be JSON, like a bigint or a cycle, what it is as text. */
function jsonOf(value) {
  try {
    return serialize(value);
  } catch {
    return textOf(value);
  }
}

/** A template literal into which any values can be put. */
function text(strings, ...values) {
  return String.raw({ raw: strings }, ...values.map(textOf));
}

module.exports = { dateOf, jsonOf, text, textOf };
