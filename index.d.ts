/**
 * Session store for coding agents: conversation trees in append-only JSONL files.
 *
 * Every value is exported by name, to CommonJS and to ES modules. Members whose documentation says
 * "Promise" do their work off the JavaScript thread and report even wrong arguments by rejecting; all
 * others are synchronous. Errors are ordinary `Error` objects. `code` is the system's (`ENOENT`,
 * `EACCES`, …) or one of `ENTRY_NOT_FOUND`, `SESSION_NOT_FOUND`, `INVALID_SESSION_FILE`,
 * `ENTRY_UNREADABLE`, `ERR_INVALID_ARG_TYPE`, or, from the prompt history, the name of an SQLite result
 * (`SQLITE_NOTADB`, `SQLITE_BUSY`, …).
 *
 * @packageDocumentation
 */

export * from "./types/artifacts.js";
export * from "./types/blobs.js";
export * from "./types/compaction.js";
export * from "./types/context.js";
export * from "./types/conversion.js";
export * from "./types/directories.js";
export * from "./types/doctor.js";
export * from "./types/entries.js";
export * from "./types/event-log.js";
export * from "./types/history.js";
export * from "./types/listing.js";
export * from "./types/logging.js";
export * from "./types/messages.js";
export * from "./types/navigation.js";
export * from "./types/session-manager.js";
export * from "./types/session-values.js";
export * from "./types/storage.js";
