/**
 * What to summarise of a conversation, and what to keep. All functions are synchronous and, but for
 * {@link pruneToolOutputs}, change nothing; messages that they return are those of the entries.
 */

import type { SessionEntry } from "./entries.js";
import type { AgentMessage, Usage } from "./messages.js";

/**
 * Estimates the size of a message in tokens, as a quarter of its UTF-16 units, rounded up. Images count
 * in results of tools only (1,200 tokens). 0 for the roles `custom`, `developer`, `pythonExecution` and
 * `fileMention`, and for roles that are not known.
 */
export declare function estimateTokens(message: AgentMessage): number;

/** Tokens of the context after an answer: what the provider reports, or the sum of its parts. */
export declare function calculateContextTokens(usage: Usage): number;

/** Tokens of the prompt that was answered, or of the context when the parts are not known. */
export declare function calculatePromptTokens(usage: Usage): number;

/** The usage of the last answer that was neither aborted nor failed. */
export declare function getLastAssistantUsage(entries: readonly SessionEntry[]): Usage | undefined;

/** When to compact, and how much to keep. */
export interface CompactionSettings {
  /** Default `true`. */
  enabled: boolean;
  /** `off` never compacts; the meaning of others is the program's. Default `context-full`. */
  strategy: string;
  /** Percent of the window, taken as 1 to 99. Values up to 0 count as not set. Default -1. */
  thresholdPercent: number;
  /**
   * Tokens, taken as 1 to one less than the window; comes before `thresholdPercent`. Values up to 0
   * count as not set. Default -1.
   */
  thresholdTokens: number;
  /** Tokens to leave free in the window when no threshold is set, at least 15 %. Default 16,384. */
  reserveTokens: number;
  /** Tokens of recent messages to keep. Default 20,000. */
  keepRecentTokens: number;
}

/**
 * Whether a context is due for compaction.
 *
 * @param contextWindow Tokens that the model takes; 0 when not known, which is never due.
 */
export declare function shouldCompact(
  contextTokens: number,
  contextWindow: number,
  settings?: { [Name in keyof CompactionSettings]?: CompactionSettings[Name] | undefined },
): boolean;

/** A place to cut a conversation at. */
export interface CutPoint {
  /** Position of the first entry to keep. */
  firstKeptEntryIndex: number;
  /** Where the turn starts that is cut through; -1 for none. */
  turnStartIndex: number;
  /** Whether the cut goes through a turn. */
  isSplitTurn: boolean;
}

/**
 * The last position from `index` down to `start` where a turn starts, or -1. Turns start with what the
 * user said or ran, with messages of extensions and with summaries of branches.
 */
export declare function findTurnStartIndex(
  entries: readonly SessionEntry[],
  index: number,
  start: number,
): number;

/**
 * Where to cut the entries from `start` to before `end`: at the message with which the last ones reach
 * an estimate of `keepRecentTokens`, or behind it at the next place that can be cut at. What is kept
 * never begins with the result of a tool; where nothing recent can be cut at, the first place of all is
 * taken. Settings, labels and insertions before the
 * first kept message are kept too; when the cut lands on one of them it counts as one through the
 * turn before.
 */
export declare function findCutPoint(
  entries: readonly SessionEntry[],
  start: number,
  end: number,
  keepRecentTokens: number,
): CutPoint;

/** Paths of files that tools named `read`, `write` and `edit` were called with. */
export interface FileOperations {
  read: Set<string>;
  written: Set<string>;
  edited: Set<string>;
}

/** What {@link prepareCompaction} found. */
export interface CompactionPreparation {
  /** First entry that is kept; goes into the `compaction` entry. */
  firstKeptEntryId: string;
  /** Messages to summarise; without those of the turn that is cut through. */
  messagesToSummarize: AgentMessage[];
  /** Messages of the turn that is cut through, up to the cut. */
  turnPrefixMessages: AgentMessage[];
  /** Messages that are kept. */
  recentMessages: AgentMessage[];
  /** Whether the cut goes through a turn. */
  isSplitTurn: boolean;
  /** Size of the context by the last usage on the branch; 0 when there is none. */
  tokensBefore: number;
  /** Summary of the compaction before, which the new one continues. */
  previousSummary: string | undefined;
  /** `preserveData` of the compaction before. */
  previousPreserveData: Record<string, unknown> | undefined;
  /** Files of the messages to summarise and of the summary before. */
  fileOps: FileOperations;
  /** The settings with their defaults. */
  settings: CompactionSettings;
}

/**
 * Divides a branch into what to summarise and what to keep. Only entries after the last compaction
 * count. `keepRecentTokens` is scaled down where the last usage shows that estimates are too low.
 *
 * @param pathEntries A branch, root first, as `SessionManager.getBranch()` gives it.
 * @returns `undefined` when there is nothing to summarise, also right after a compaction.
 */
export declare function prepareCompaction(
  pathEntries: readonly SessionEntry[],
  settings?: { [Name in keyof CompactionSettings]?: CompactionSettings[Name] | undefined },
): CompactionPreparation | undefined;

/** What {@link prepareBranchEntries} found. */
export interface BranchPreparation {
  /** Messages in order of time, without results of tools. */
  messages: AgentMessage[];
  /** Files of the messages looked at and of earlier summaries of branches. */
  fileOps: FileOperations;
  /** Sum of the estimates. */
  totalTokens: number;
}

/**
 * The newest messages of a branch that fit into a budget, for the summary of a branch that is left. An
 * earlier summary is taken beyond the budget as long as less than 90 % of it is used.
 *
 * @param entries Entries of the branch in order of time.
 * @param tokenBudget In estimated tokens; 0, the default, for no limit.
 */
export declare function prepareBranchEntries(
  entries: readonly SessionEntry[],
  tokenBudget?: number,
): BranchPreparation;

/** Files that were only read, and files that were changed; each sorted by UTF-16 units. */
export declare function computeFileLists(fileOps: FileOperations): {
  readFiles: string[];
  modifiedFiles: string[];
};

/**
 * A summary with the lists of files at its end, as `<read-files>` and `<modified-files>` elements with
 * a file per line, in place of those that it had. Lists longer than 20 are cut.
 */
export declare function upsertFileOperations(
  summary: string,
  readFiles: readonly string[],
  modifiedFiles: readonly string[],
): string;

/** What {@link pruneToolOutputs} may take out. */
export interface PruneConfig {
  /** Estimated tokens of recent output to leave alone. Default 40,000. */
  protectTokens: number;
  /** Estimated tokens that must be saved, or nothing is done. Default 20,000. */
  minimumSavings: number;
  /** Names of tools whose output is left alone. Default `skill` and `read`. */
  protectedTools: readonly string[];
  /** What takes the place of output; `{{tokens}}` stands for its estimated size. */
  notice: string;
}

/**
 * Replaces old output of tools by a notice and sets `prunedAt`, **in the given entries**. Entries of a
 * manager reach the file with its `rewriteEntries()`.
 *
 * @param entries A branch, as `SessionManager.getBranch()` gives it.
 */
export declare function pruneToolOutputs(
  entries: readonly SessionEntry[],
  config?: { [Name in keyof PruneConfig]?: PruneConfig[Name] | undefined },
): {
  prunedCount: number;
  /** Estimated tokens. */
  tokensSaved: number;
};
