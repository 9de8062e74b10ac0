"use strict";

/** What is told of a session file that cannot be written. */

const { log } = require("./logger.js");

/** What was thrown as an error. */
function asError(thrown) {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** To be logged once until everything is written. */
function logPersistError(filePath, error) {
  log("error", "Session persistence error.", {
    sessionFile: filePath,
    error: error.message,
    stack: error.stack,
  });
}

module.exports = { asError, logPersistError };
