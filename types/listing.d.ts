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
  /**
   * Text of the first user message, or `(no messages)`. Of one of more than 4 KB, the rest is read from
   * the file when this is first read, like {@link allMessagesText}.
   */
  firstMessage: string;
  /**
   * Text of all user and assistant messages, joined by spaces; can be megabytes. It is read from the
   * file when this property is first read, synchronously, and kept from then on; spreads,
   * `JSON.stringify` and the like read it. What was appended after the listing is not part of it. If
   * another file has taken the place of the one that was listed, it is that file's text; if there is
   * none, the first message, and the logger is told.
   */
  allMessagesText: string;
}

/** How a call that reads many files is watched and ended. */
export interface ListingControl {
  /**
   * Ends the call: it rejects at once with the signal's reason and stops reading soon. With a signal
   * that is aborted already it reads nothing and creates no directory.
   */
  signal?: AbortSignal | undefined;
  /**
   * Is told how many files have been read of how many: first `0`, in the end all, never less than
   * before. What it throws is told to the logger and does not end the call.
   */
  onProgress?: ((done: number, total: number) => void) | null | undefined;
}

/** Options of {@link searchSessions}. */
export interface SessionSearchOptions extends ListingControl {
  /** `folder` (default): the sessions of `cwd`; `all`: those of all working directories. */
  scope?: "folder" | "all" | undefined;
  /** Default: the process's working directory. */
  cwd?: string | undefined;
  /** Default: the directory of `cwd`. */
  sessionDir?: string | undefined;
  /** How many at most; default: no limit. */
  limit?: number | undefined;
  storage?: SessionStorage | undefined;
}

/** A session that a search found. */
export interface SessionHit extends Omit<SessionInfo, "allMessagesText"> {
  /** How well it matches: lower is better, 0 for a blank query. */
  score: number;
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

/**
 * Finds sessions by what is in them: id, title, working directory, messages, path. Promise; files are
 * read and compared off the JavaScript thread.
 *
 * Every word of the query must match: its letters occur in this order, whatever is between them. Best
 * matches come first, the newest first among equally good ones; see {@link fuzzyMatch}. A blank query
 * gives all sessions, newest first. What cannot be read is left out and told to the logger.
 *
 * @throws (rejects) The reason of an aborted signal; the error of a directory that cannot be read.
 */
export declare function searchSessions(
  query: string,
  options?: SessionSearchOptions,
): Promise<SessionHit[]>;

/**
 * Compares a text with a query that counts as one word. Synchronous. A lower score is better: letters
 * that follow each other and beginnings of words lower it, gaps and a late start raise it. Case does
 * not matter. The score is 0 without a match and for an empty query.
 */
export declare function fuzzyMatch(
  query: string,
  text: string,
): { matches: boolean; score: number };

/**
 * The items whose text matches every word of a query, best first; equally good ones stay in their
 * order. Synchronous. A blank query gives the list itself.
 */
export declare function fuzzyFilter<T>(
  items: T[],
  query: string,
  getText: (item: T) => string,
): T[];
