/** Finding sessions on disk. */

import type { FileEntry } from "./entries.js";
import type { SessionStorage } from "./storage.js";

/** Summary of one session file, over all of its branches. */
export interface SessionInfo {
  /** Path of the session file. */
  path: string;
  id: string;
  /** Working directory in the header; empty when the header has none. */
  cwd: string;
  /** The title, else the short summary of the last compaction. */
  title?: string | undefined;
  /** Where the session came from; in spite of the name it can be an id. */
  parentSessionPath?: string | undefined;
  /** Time in the header; an invalid date when that cannot be read. */
  created: Date;
  /** Modification time of the file. */
  modified: Date;
  /** Messages of all roles. */
  messageCount: number;
  /** Text of the first user message, or `(no messages)`. */
  firstMessage: string;
  /** Text of all user and assistant messages, joined by spaces; can be megabytes. */
  allMessagesText: string;
}

/** An entry of a short list of recent sessions. Texts are worked out when first read. */
export interface RecentSessionInfo {
  /** Path of the session file. */
  readonly path: string;
  /** Modification time of the file, milliseconds since the epoch. */
  readonly mtime: number;
  /** Title, else first prompt, else id, else file name; one line, without control characters. */
  readonly fullName: string;
  /** {@link fullName}, cut to 40 UTF-16 units with an ellipsis. */
  readonly name: string;
  /** Age in words, for example `5m ago`; after a week the date in the host's locale. */
  readonly timeAgo: string;
}

/** Outcome of {@link resolveResumableSession}. */
export interface ResolvedSessionMatch {
  session: SessionInfo;
  /** Whether it was found among the sessions of the working directory or among all. */
  scope: "local" | "global";
}

/**
 * Reads the records of a session file. Promise. Neither migrates nor resolves blobs.
 *
 * @returns `[]` when the file is missing, empty or does not start with a session header.
 * @throws (rejects) Read errors other than `ENOENT`, for example `EACCES` or `EISDIR`.
 */
export declare function loadEntriesFromFile(
  filePath: string,
  storage?: SessionStorage,
): Promise<FileEntry[]>;

/**
 * Path of the session file in a directory that was modified last, or `null`. Promise, never rejects
 * for unreadable files. Only names ending in `.jsonl` whose first line is a session header count.
 */
export declare function findMostRecentSession(
  sessionDir: string,
  storage?: SessionStorage,
): Promise<string | null>;

/**
 * The most recently modified sessions of a directory, newest first. Promise; files that cannot be
 * read are left out, and so is everything when the directory cannot be listed.
 *
 * @param limit How many at most; default 3.
 */
export declare function getRecentSessions(
  sessionDir: string,
  limit?: number,
  storage?: SessionStorage,
): Promise<RecentSessionInfo[]>;

/**
 * Finds the session that a user means by an id, the start of one, or the start of a file name; case
 * does not matter. Promise.
 *
 * Sessions of `cwd` come first. All others are searched only when no `sessionDir` is given. An exact
 * id wins; among several matches the newest one does.
 *
 * @returns `undefined` when nothing matches; an empty argument matches nothing.
 */
export declare function resolveResumableSession(
  sessionArg: string,
  cwd: string,
  sessionDir?: string,
  storage?: SessionStorage,
): Promise<ResolvedSessionMatch | undefined>;
