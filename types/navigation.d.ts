/** Moving in the tree of a session, and the tree as a list of rows. */

import type { SessionEntry } from "./entries.js";
import type { SessionManager } from "./session-manager.js";

/** What a move of the leaf to an entry means. Made by {@link SessionManager.prepareTreeNavigation}. */
export type TreeNavigationPlan = TreeNavigationNoop | TreeNavigationMove;

/** The target is the leaf already. */
export interface TreeNavigationNoop {
  kind: "noop";
  targetId: string;
  oldLeafId: string;
}

/** The leaf moves. */
export interface TreeNavigationMove {
  kind: "move";
  targetId: string;
  /** The leaf when the plan was made. */
  oldLeafId: string | null;
  /** The deepest entry on the ways to both the old leaf and the target; `null` for none. */
  commonAncestorId: string | null;
  /** Entries that the move leaves behind, of all kinds, oldest first. */
  entryIdsToSummarize: string[];
  /** Whether the user asked for a summary of them. */
  userWantsSummary: boolean;
  /**
   * Where the leaf goes: to the target, or to the entry above it when that is a prompt which is to be
   * written anew; `null` for before everything.
   */
  newLeafId: string | null;
  /** Text of a target that is a prompt, for the editor; it may be empty. Absent for other targets. */
  editorText?: string;
  /** What the target is. The first two are prompts. */
  targetKind: "user" | "custom_message" | "other";
}

/** A summary of what a move leaves behind. */
export interface TreeNavigationSummary {
  /** An empty text counts as no summary. */
  text: string;
  details?: unknown;
  /** Whether an extension wrote it. */
  fromExtension?: boolean;
}

/** Outcome of {@link SessionManager.commitTreeNavigation}. */
export interface TreeNavigationResult {
  /** The leaf now: the summary if one was appended. */
  leafId: string | null;
  /** Id of the summary; absent without one. */
  summaryEntryId?: string;
}

/** Outcome of {@link SessionManager.prepareBranch}. */
export interface BranchPlan {
  /** Text of the prompt. */
  selectedText: string;
  /** The entry to branch from; `null` when the new session begins empty. */
  branchFromId: string | null;
}

/** A prompt that a new session can end before. */
export interface BranchCandidate {
  entryId: string;
  text: string;
}

/** Which entries a list shows. */
export type TreeFilter = "default" | "no-tools" | "user-only" | "labeled-only" | "all";

/** What part of a tree a list shows, and what is selected in it. */
export interface TreeViewOptions {
  /**
   * - `default`: all but labels, data of extensions, changes of model and of reasoning effort
   * - `no-tools`: the same without results of tools
   * - `user-only`: user messages
   * - `labeled-only`: entries with a label
   * - `all`: everything
   *
   * No filter shows assistant messages without text that ended as usual, unless they are the leaf.
   */
  filter?: TreeFilter | undefined;
  /** Every word of it must occur in an entry's label, role or text; case does not matter. */
  query?: string | undefined;
  /** Selects this entry or its nearest ancestor that is shown, else the last row. */
  selectedId?: string | null | undefined;
}

/** Options of {@link SessionManager.flattenTree}. */
export interface FlattenTreeOptions extends TreeViewOptions {
  /** Default: `default`. */
  filter?: TreeFilter | undefined;
  /** Default: the empty query, which everything matches. */
  query?: string | undefined;
  /** Default: `leafId`. */
  selectedId?: string | null | undefined;
  /** The position to show the tree from; default: the leaf. `null` for none. */
  leafId?: string | null | undefined;
  /** Shown as `~` in paths of tool calls; default: the user's home directory. */
  homeDir?: string | undefined;
}

/**
 * A tree as a list: parents before children, of siblings the one on the way to the leaf first.
 *
 * It is a snapshot. Entries, labels and positions that change later do not change it, nor do entries
 * edited in place.
 */
export interface FlatTree {
  /** Number of rows that filter and query leave. */
  readonly length: number;
  /** Number of nodes before filter and query. */
  readonly total: number;
  /** Whether the tree has more than one root. */
  readonly multipleRoots: boolean;
  /** Position of the selected row; -1 when there are no rows. */
  readonly selectedIndex: number;
  /** Ids of all rows. */
  ids(): string[];
  /**
   * Rows from position `start` up to but not including `end`, as `slice` counts; default: all of
   * them. Take what fits the screen: deep in a tree every row lists a guide line for each branching
   * above it.
   */
  rows(start?: number, end?: number): TreeRow[];
  /**
   * The same snapshot under another filter or query. What is not given stays as it is here, and so
   * does the selection as far as it is still shown. Takes one pass over the rows.
   */
  refilter(options?: TreeViewOptions): FlatTree;
}

/** One row of a {@link FlatTree}. */
export interface TreeRow {
  id: string;
  parentId: string | null;
  /** Type of the entry; empty when it has none. */
  type: string;
  /** Role of a message. */
  role?: string;
  /** Level of indentation, from 0. */
  depth: number;
  /** What connects the row to its parent: nothing, or a branch that is or is not the last one. */
  connector: "none" | "branch" | "last";
  /** Guide lines of the levels above; `show` is false below a last branch. */
  gutters: { position: number; show: boolean }[];
  /** Whether it lies on the way from the root to the leaf. */
  onActivePath: boolean;
  isLeaf: boolean;
  /** Number of children, shown or not. */
  childCount: number;
  /** The label; absent without one. */
  label?: string;
  timestamp: string;
  /** The first part of what is shown, like `user: `; maybe empty. */
  lead: string;
  /** The rest, on one line; not cut to any width. Empty for bookkeeping that has no text. */
  text: string;
  /** How the text is to be coloured. */
  tone: "user" | "assistant" | "muted" | "dim" | "error" | "custom" | "compaction" | "summary";
}

/** Pieces of {@link renderTreePrefix}, each up to three columns wide. */
export interface TreeSymbols {
  /** Default `├─ `. */
  branch?: string | undefined;
  /** Default `└─ `. */
  last?: string | undefined;
  /** Default `│`. */
  vertical?: string | undefined;
}

/**
 * The guide lines and the connector before a row, three columns for each level. Synchronous.
 *
 * @param row A row, or the members of one that place it.
 */
export declare function renderTreePrefix(
  row: Pick<TreeRow, "depth" | "connector" | "gutters">,
  symbols?: TreeSymbols,
): string;

/**
 * The entries that a move from `oldLeafId` to `targetId` leaves behind. Synchronous.
 * {@link SessionManager.collectEntriesForBranchSummary} gives their ids.
 *
 * @param session A manager, or anything else with `getBranch`.
 */
export declare function collectEntriesForBranchSummary(
  session: Pick<SessionManager, "getBranch">,
  oldLeafId: string | null,
  targetId: string,
): { entries: SessionEntry[]; commonAncestorId: string | null };
