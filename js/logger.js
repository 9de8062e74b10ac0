"use strict";

/**
 * Where log records go: nowhere, until the host program sets a function. Each environment (the
 * main thread, every worker) has its own.
 */

const { optionalFunction } = require("./validate.js");

let sink;

/**
 * Sets the function that gets every record, or none with `undefined` or `null`.
 *
 * @param {((level: "debug" | "warn" | "error", message: string, context?: object) => void) |
 *   undefined | null} logger
 */
function setLogger(logger) {
  sink = optionalFunction(logger, "logger");
}

/** Hands a record to the logger. What the logger throws or rejects with is its own affair. */
function log(level, message, context) {
  try {
    const result = sink?.(level, message, context);
    if (typeof result?.then === "function") {
      result.then(undefined, () => {});
    }
  } catch {
    // Logging must never break what is being logged.
  }
}

module.exports = { log, setLogger };
