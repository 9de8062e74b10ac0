"use strict";

/** Errors of event logs that have a class of their own. */

class SessionFormatUnsupportedError extends Error {
  constructor(message, location) {
    super(message);
    this.name = "SessionFormatUnsupportedError";
    this.code = "SESSION_FORMAT_UNSUPPORTED";
    this.location = location;
  }
}

class SessionPersistenceCorruptionError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = "SessionPersistenceCorruptionError";
    this.code = "SESSION_VALIDATION_FAILED";
  }
}

/** Throws an error of the core as what it is for callers. */
function rethrow(error) {
  const { code, message, path, cause, rollback } = error ?? {};
  switch (code) {
    case "SESSION_FORMAT_UNSUPPORTED":
      if (!(error instanceof SessionFormatUnsupportedError)) {
        throw new SessionFormatUnsupportedError(message, { kind: "jsonl", path });
      }
      break;
    case "SESSION_VALIDATION_FAILED":
      if (!(error instanceof SessionPersistenceCorruptionError)) {
        throw new SessionPersistenceCorruptionError(message, { cause });
      }
      break;
    case "SESSION_ROLLBACK_FAILED":
      if (!(error instanceof AggregateError)) {
        throw Object.assign(new AggregateError([cause, rollback], message), { code, path });
      }
      break;
    default:
  }
  throw error;
}

module.exports = { SessionFormatUnsupportedError, SessionPersistenceCorruptionError, rethrow };
