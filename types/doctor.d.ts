/** What is wrong with session files, and copies without it. */

/** A kind of damage. `docs/command-line.md` explains them. */
export type SessionFindingKind =
  | "empty-file"
  | "not-a-session"
  | "missing-header"
  | "damaged-header"
  | "misplaced-header"
  | "extra-header"
  | "unknown-version"
  | "damaged-line"
  | "nul-run"
  | "torn-tail"
  | "unterminated-tail"
  | "glued-entry"
  | "stray-value"
  | "unknown-record"
  | "entry-without-id"
  | "duplicate-entry"
  | "duplicate-id"
  | "orphan"
  | "self-parent"
  | "cycle"
  | "call-without-result"
  | "result-without-call"
  | "kept-entry-off-path"
  | "missing-blob"
  | "damaged-blob"
  | "invalid-blob-reference"
  | "leftover-temp"
  | "lock-file"
  | "unfinished-rewrite";

/** One thing that is wrong. */
export interface SessionFinding {
  kind: SessionFindingKind;
  /** The finding in plain words. */
  message: string;
  /** Whether a repaired copy is free of it. */
  repairable: boolean;
  /** Line in which it begins, from 1. Like `offset` absent for files beside the session. */
  line?: number;
  /** Bytes from the start of the file. */
  offset?: number;
  /** Bytes that it takes. */
  length?: number;
  /** What it is about: an entry, a tool call, a blob, a version. */
  id?: string;
  /** What that refers to or is referred to by: a missing parent, the entry of a call or blob. */
  related?: string;
  /** How many: members of a loop, NUL bytes among damaged ones. */
  count?: number;
  /** A file beside the session. */
  path?: string;
}

/** Outcome of {@link examineSession}. */
export interface SessionExamination {
  /** Length of the file in bytes. */
  size: number;
  /** Id in the header; absent without a usable header. */
  sessionId?: string;
  /** Format version; without a header what the entries look like. */
  formatVersion?: number;
  /** Number of entries. */
  entries: number;
  /** What is wrong, in file order; empty for a whole file. */
  findings: SessionFinding[];
}

/**
 * Says what is wrong with a session file. Promise; reads off the JavaScript thread, changes nothing.
 * Memory grows with the number of entries, not with the length of the file.
 *
 * @param options `blobsDir`: where blobs are, by default the agent's; with `null` blobs are not looked
 * at.
 * @throws (rejects) When the file, its directory or a blob cannot be read.
 */
export declare function examineSession(
  filePath: string,
  options?: { blobsDir?: string | null | undefined },
): Promise<SessionExamination>;

/** Outcome of {@link repairSession}. */
export interface SessionRepair {
  /** The copy. */
  path: string;
  /** Entries in it. */
  entries: number;
  /** Entries that shared their lines with other bytes. */
  recoveredEntries: number;
  /** Entries that hang from another parent than in the original. */
  relinkedEntries: number;
  /** Entries that got a new id. */
  renamedEntries: number;
  /** Entries left out because the same is there once more. */
  duplicatesLeftOut: number;
  /** Bytes left out because nothing can be made of them. */
  bytesLeftOut: number;
  /** The header had to be made. */
  headerMade: boolean;
}

/**
 * Writes a repaired copy of a session file. Promise; the file itself is only read, and an existing file
 * is never replaced. Whole entries are copied byte for byte; `docs/command-line.md` says what changes.
 *
 * @param output The copy; by default `<name>.repaired.jsonl` beside the file.
 * @param options `cwd`: working directory for a header that has to be made, by default the process's.
 * @throws (rejects) `EEXIST` when there is something at `output`, `INVALID_SESSION_FILE` when nothing can
 * be read in the file; then nothing is written.
 */
export declare function repairSession(
  filePath: string,
  output?: string,
  options?: { cwd?: string | undefined },
): Promise<SessionRepair>;
