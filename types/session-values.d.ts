/** Plain values that session managers take and give. */

import type { FileEntry, SessionEntry, SessionTitleSource } from "./entries.js";

/** Choices for `SessionManager.newSession`. */
export interface NewSessionOptions {
  /** Recorded in the header as the origin of the session. */
  parentSession?: string | undefined;
}

/** An entry and what follows it. */
export interface SessionTreeNode {
  /** The live entry. */
  entry: SessionEntry;
  /** Oldest first; empty for a leaf. */
  children: SessionTreeNode[];
  /** The name given to the entry. */
  label?: string | undefined;
}

/** Totals over every entry of a session, on all branches. */
export interface UsageStatistics {
  /** Tokens. */
  input: number;
  /** Tokens. */
  output: number;
  /** Tokens. */
  cacheRead: number;
  /** Tokens. */
  cacheWrite: number;
  /** Requests charged against a premium quota; may be fractional. */
  premiumRequests: number;
  /** In the currency of the messages, usually US dollars. */
  cost: number;
}

/** What `SessionManager.captureState` remembers. Treat it as opaque where you can. */
export interface SessionManagerSnapshot {
  sessionId: string;
  sessionName: string | undefined;
  titleSource: SessionTitleSource | undefined;
  sessionFile: string | undefined;
  /** Whether the file held everything at that time. */
  flushed: boolean;
  /** Whether the next write replaces the whole file. */
  needsFullRewriteOnNextPersist: boolean;
  /** Header first, then the entries: a new array of the live objects. */
  fileEntries: FileEntry[];
  /** Entry that the next append would have followed; left out in snapshots made by hand. */
  leafId?: string | null | undefined;
  /** Whether entries were written before the first assistant message. */
  ensuredOnDisk?: boolean | undefined;
}

/** How the last load of a session file went. */
export interface LoadReport {
  /** Entries read, without the header. */
  entries: number;
  /** Lines that hold no readable record. They are left on disk. */
  skippedLines: number;
  /** Bytes on those lines and beside recovered entries. */
  skippedBytes: number;
  /** Whole entries found on damaged lines, for example glued behind a torn one. */
  recoveredEntries: number;
  /** True when the header could not be read and another one stands in for it. */
  headerSalvaged: boolean;
  /** True when the file ended in the middle of a line. */
  tornTail: boolean;
}
