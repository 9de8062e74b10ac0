"use strict";

/**
 * Values of entries as the host reads them. Entries hold whatever a file or a caller put there, also
 * objects that the host refuses to convert.
 */

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

/** A template literal into which any values can be put. */
function text(strings, ...values) {
  return String.raw({ raw: strings }, ...values.map(textOf));
}

module.exports = { dateOf, text, textOf };
