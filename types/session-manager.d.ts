/** One conversation: a tree of entries in memory and the file that follows it. */

import type { BlobPutResult } from "./blobs.js";
import type { SessionContext } from "./context.js";
import type {
  CompactionEntry,
  SessionEntry,
  SessionHeader,
  SessionInitEntry,
  SessionTitleSource,
} from "./entries.js";
import type {
  ListingControl,
  SessionHit,
  SessionInfo,
  SessionSearchOptions,
  searchSessions,
} from "./listing.js";
import type {
  AgentMessage,
  ImageContent,
  MessageAttribution,
  ServiceTier,
  TextContent,
} from "./messages.js";
import type {
  BranchCandidate,
  BranchPlan,
  FlatTree,
  FlattenTreeOptions,
  TreeNavigationPlan,
  TreeNavigationResult,
  TreeNavigationSummary,
} from "./navigation.js";
import type {
  LoadReport,
  NewSessionOptions,
  SessionManagerSnapshot,
  SessionTreeNode,
  UsageStatistics,
} from "./session-values.js";
import type { SessionStorage } from "./storage.js";

/**
 * A session: append entries, move the leaf, ask for the tree. Made by the static factories.
 *
 * - Entries are live objects: every query returns the same object for the same entry, and changes to
 *   it reach the disk with {@link rewriteEntries}. Returned arrays are new and belong to the caller.
 * - Nothing is written before the first assistant message, unless {@link ensureOnDisk}, a fork or an
 *   opened path asks for it. Later entries are on their way to the disk when the current tick ends.
 * - Members that do not return a promise work in memory and throw at once. A write that failed is
 *   thrown by the next append and rejects {@link flush}, each of which first tries again; no entry is
 *   lost by it. Errors of the system carry `code`, `errno`, `syscall` and `path`.
 * - An argument of the wrong type is a `TypeError` with code `ERR_INVALID_ARG_TYPE`.
 */
export declare class SessionManager {
  private constructor();

  // --- Factories ---------------------------------------------------------------------------------

  /**
   * The directory of a working directory's sessions. Synchronous. Creates it, and moves sessions there
   * from the names that earlier versions used.
   *
   * @param agentDir Default: the current agent directory.
   * @throws The error of creating the directory.
   */
  static getDefaultSessionDir(cwd: string, agentDir?: string, storage?: SessionStorage): string;

  /**
   * A new session that will be kept in a file. Synchronous; creates the directory, but not the file.
   *
   * @param cwd Recorded as given.
   * @param sessionDir Directory of the file; default: the one of `cwd`.
   */
  static create(cwd: string, sessionDir?: string, storage?: SessionStorage): SessionManager;

  /**
   * Opens a session file. Promise. Does not change the file, even when its format is old or it is
   * damaged; {@link getLoadReport} tells what was found. A missing or blank file becomes a new session
   * at that path.
   *
   * @param filePath A relative path counts from the process's working directory.
   * @param sessionDir Directory of later files of this manager; default: that of `filePath`.
   * @throws (rejects) `EACCES`, `EISDIR` and other read errors; `INVALID_SESSION_FILE` when the
   *   storage was made with `onInvalid: "error"` and the file holds no session.
   */
  static open(
    filePath: string,
    sessionDir?: string,
    storage?: SessionStorage,
  ): Promise<SessionManager>;

  /**
   * Goes on with the last session of this terminal and working directory, else with the newest one in
   * the directory, else starts one like {@link create}. Promise; rejects like {@link open}.
   */
  static continueRecent(
    cwd: string,
    sessionDir?: string,
    storage?: SessionStorage,
  ): Promise<SessionManager>;

  /**
   * A new session with the history of another file, which stays as it is. Promise; the new file is
   * complete when it resolves. The header's `parentSession` is the id of the source.
   *
   * @throws (rejects) `SESSION_NOT_FOUND` or `INVALID_SESSION_FILE`, and then nothing was created;
   *   errors of reading and writing.
   */
  static forkFrom(
    sourcePath: string,
    cwd: string,
    sessionDir?: string,
    storage?: SessionStorage,
  ): Promise<SessionManager>;

  /**
   * A session that is never written. Synchronous.
   *
   * @param cwd Default: the process's working directory.
   */
  static inMemory(cwd?: string, storage?: SessionStorage): SessionManager;

  /**
   * The sessions of a working directory, newest first. Promise. Files that cannot be read are left
   * out and told to the logger. A missing directory gives `[]`, one that cannot be read rejects.
   *
   * @param sessionDir Default: the directory of `cwd`.
   * @param options Progress and cancelling.
   */
  static list(
    cwd: string,
    sessionDir?: string,
    storage?: SessionStorage,
    options?: ListingControl,
  ): Promise<SessionInfo[]>;

  /**
   * The sessions of all working directories, newest first. Promise. Files and directories that cannot
   * be read are left out and told to the logger; transcripts among a session's artifacts are left out.
   *
   * @param options Progress and cancelling.
   */
  static listAll(storage?: SessionStorage, options?: ListingControl): Promise<SessionInfo[]>;

  /** The same as the function {@link searchSessions}. Promise. */
  static searchSessions(query: string, options?: SessionSearchOptions): Promise<SessionHit[]>;

  // --- Life cycle and persistence ----------------------------------------------------------------

  /**
   * Remembers the session and its position, for {@link restoreState}. Synchronous; copies the list of
   * entries but not the entries.
   */
  captureState(): SessionManagerSnapshot;

  /** Goes back to a snapshot, with the same entry objects. Synchronous. */
  restoreState(snapshot: SessionManagerSnapshot): void;

  /**
   * Switches to another session file. Promise. Pending writes go to the old file first. Working and
   * session directory of the manager stay.
   *
   * @throws (rejects) Like {@link open}; the manager then still has the session it had.
   */
  setSessionFile(sessionFile: string): Promise<void>;

  /**
   * Starts an empty session in this manager. Promise for the path its file will have, `undefined` for
   * a manager that is not persisted. Pending writes go to the old file first.
   */
  newSession(options?: NewSessionOptions): Promise<string | undefined>;

  /**
   * Goes on in a copy of the session under a new id, keeping entries and leaf. Promise for both paths;
   * `undefined` when the manager has no file to copy. Artifacts are not copied.
   *
   * @throws (rejects) The error of writing the new file.
   */
  fork(): Promise<{ oldSessionFile: string; newSessionFile: string } | undefined>;

  /**
   * Moves the session, its file and its artifacts to another working directory. Promise. Works across
   * file systems and undoes a half-finished move.
   *
   * @throws (rejects) `EEXIST` when a file of that name is there already; other errors of the system.
   */
  moveTo(newCwd: string): Promise<void>;

  /**
   * Replaces the file by the entries as they are now, changes made in place included. Promise;
   * resolves when the new file is durable. Does nothing for a manager that is not persisted.
   *
   * @throws (rejects) The error of writing; the old file is then unchanged.
   */
  rewriteEntries(): Promise<void>;

  /**
   * Writes the session although no assistant message is there yet, and from then on every entry.
   * Promise; rejects like {@link rewriteEntries}. Does nothing for a manager that is not persisted.
   */
  ensureOnDisk(): Promise<void>;

  /**
   * Makes everything appended so far survive a power failure. Promise. Entries that wait for the first
   * assistant message go on waiting.
   *
   * @throws (rejects) The first error of a write that could not be repeated.
   */
  flush(): Promise<void>;

  /**
   * Waits for all pending writes and releases the file. Promise; always settles and may be called
   * again. The manager stays usable and opens the file again when needed.
   */
  close(): Promise<void>;

  /**
   * Asks to be told when something cannot be written in the background: `callback` gets the error that
   * {@link flush} rejects with, in a microtask, once until everything is written again. An error that
   * is there already is told too. Belongs to the manager, whatever session it works on. Synchronous.
   *
   * @param callback What it throws or rejects with goes to the logger.
   * @returns A function that ends this; may be called again.
   */
  onPersistenceError(callback: (error: Error) => void): () => void;

  /** Whether this manager keeps its session in a file. Synchronous. */
  isPersisted(): boolean;

  /**
   * Sets the title. Promise; memory is up to date before it is returned. Control characters become
   * spaces, runs of spaces one.
   *
   * @param source Default `auto`. A title of source `user` is replaced only by another of that source.
   * @returns `false` when nothing changed because of that rule or because the title is empty.
   * @throws (rejects) The error of writing; memory then has the new title.
   */
  setSessionName(name: string, source?: SessionTitleSource): Promise<boolean>;

  /**
   * Removes replay data of OpenAI responses from assistant messages, as a load does. Synchronous;
   * nothing is written. Returns whether something changed.
   */
  sanitizeLoadedOpenAIResponsesReplayMetadata(): boolean;

  /** Stores bytes in the blob store, also when the session is in memory only. Promise. */
  putBlob(data: Uint8Array): Promise<BlobPutResult>;

  /** How the last load went; all zero and `false` for a session that was not loaded. Synchronous. */
  getLoadReport(): LoadReport;

  // --- Identity ----------------------------------------------------------------------------------

  /** The working directory. Synchronous. */
  getCwd(): string;
  /** The directory of session files; empty for an in-memory session. Synchronous. */
  getSessionDir(): string;
  /** The id of the session. Synchronous. */
  getSessionId(): string;
  /** Absolute path of the session file, which may not exist yet; `undefined` when there is none. */
  getSessionFile(): string | undefined;
  /** The title, or `undefined`. Synchronous. */
  getSessionName(): string | undefined;
  /** Where the title came from; `undefined` when unknown. */
  get titleSource(): SessionTitleSource | undefined;
  /** The live header, or `null`. Synchronous. */
  getHeader(): SessionHeader | null;
  /** The live totals: one object that later appends change. Synchronous. */
  getUsageStatistics(): UsageStatistics;

  // --- Artifacts ---------------------------------------------------------------------------------

  /** The directory of the artifacts, or `null` without a session file. Synchronous. */
  getArtifactsDir(): string | null;
  /**
   * Reserves a file for tool output. Promise; without a session file the result has neither key.
   *
   * @param toolType Becomes part of the file name.
   */
  allocateArtifactPath(toolType: string): Promise<{ id?: string; path?: string }>;
  /**
   * Keeps tool output and gives its id. Promise; in memory when there is no session file.
   *
   * @throws (rejects) The error of writing.
   */
  saveArtifact(content: string, toolType: string): Promise<string | undefined>;
  /** Path of an artifact; `null` when there is none or no session file. Promise. */
  getArtifactPath(id: string): Promise<string | null>;

  // --- Appending ---------------------------------------------------------------------------------
  // All of these add an entry behind the leaf, make it the leaf and return its id, synchronously.
  // Objects are kept, not copied. When an earlier write failed and fails again, its error is thrown
  // although the entry has been added in memory.

  /**
   * Appends a message. Anything with a `role` is accepted, so that an agent can pass messages of its
   * own types.
   *
   * @returns The id of the entry. See above for what all append methods have in common.
   */
  appendMessage<M extends { role: string }>(message: M): string;
  // Last, so that `Parameters<…>` and the calls recorded by a spy have the known message types.
  appendMessage(message: AgentMessage): string;
  /** Appends a change of the reasoning effort; `undefined` is stored as `null`. Returns the id. */
  appendThinkingLevelChange(thinkingLevel?: string | null): string;
  /** Appends a change of the service tier; `null` for the provider's own default. Returns the id. */
  appendServiceTierChange(serviceTier: ServiceTier | null): string;
  /** Appends a change of mode. Returns the id. */
  appendModeChange(mode: string, data?: Record<string, unknown>): string;
  /**
   * Appends a change of model. Returns the id.
   *
   * @param model `provider/modelId`.
   */
  appendModelChange(model: string, role?: string): string;
  /** Appends a change of the working context. Returns the id. */
  appendContextChange(contextName: string, tenant: string, namespace: string): string;
  /** Appends how a subagent was started. Returns the id. */
  appendSessionInit(
    init: Pick<SessionInitEntry, "systemPrompt" | "task" | "tools" | "outputSchema">,
  ): string;
  /**
   * Appends a compaction. Returns the id.
   *
   * @param firstKeptEntryId First entry that the model still sees in full.
   * @param tokensBefore Size of the context before compaction, in tokens.
   */
  appendCompaction<T = unknown>(
    summary: string,
    shortSummary: string | undefined,
    firstKeptEntryId: string,
    tokensBefore: number,
    details?: T,
    fromExtension?: boolean,
    preserveData?: CompactionEntry["preserveData"],
  ): string;
  /** Appends data that the model does not see. Returns the id. */
  appendCustomEntry(customType: string, data?: unknown): string;
  /**
   * Appends a message of an extension, which the model sees. Returns the id.
   *
   * @param display Whether the user interface shows it.
   * @param attribution Default `agent`.
   */
  appendCustomMessageEntry<T = unknown>(
    customType: string,
    content: string | (TextContent | ImageContent)[],
    display: boolean,
    details?: T,
    attribution?: MessageAttribution,
  ): string;
  /** Appends a selection of MCP tools; the array is copied. Returns the id. */
  appendMCPToolSelection(selectedToolNames: readonly string[]): string;
  /** Appends names of injected rules. Returns the id. */
  appendTtsrInjection(ruleNames: string[]): string;
  /**
   * Names an entry; `undefined` or an empty text takes the name away. Returns the id.
   *
   * @throws `Entry <id> not found`, code `ENTRY_NOT_FOUND`, before anything is added.
   */
  appendLabelChange(targetId: string, label: string | undefined): string;

  // --- Queries (all synchronous) -----------------------------------------------------------------

  /** All entries in order of appending, over all branches, without the header. */
  getEntries(): SessionEntry[];
  /** The entry with an id, or `undefined`. */
  getEntry(id: string): SessionEntry | undefined;
  /** The id that the next entry will have as its parent; `null` when it will be a root. */
  getLeafId(): string | null;
  /** The entry at the leaf, or `undefined`. */
  getLeafEntry(): SessionEntry | undefined;
  /** The entries right behind one; `null` asks for the roots. */
  getChildren(parentId: string | null): SessionEntry[];
  /** The name given to an entry, or `undefined`. */
  getLabel(id: string): string | undefined;
  /** The path from the root to an entry, by default to the leaf; `[]` for an unknown id. */
  getBranch(fromId?: string | null): SessionEntry[];
  /** Role of the latest model change on the branch (`default` if it has none), or `undefined`. */
  getLastModelChangeRole(): string | undefined;
  /** Distinct names of the rules injected on the branch, in order of first injection. */
  getInjectedTtsrRules(): string[];
  /** The roots with everything below them: new nodes around the live entries. */
  getTree(): SessionTreeNode[];
  /** What the model is given at the leaf. */
  buildSessionContext(): SessionContext;

  // --- Branching ---------------------------------------------------------------------------------

  /**
   * Moves the leaf. Synchronous; nothing is written, so a later load starts at the end of the file
   * unless something is appended.
   *
   * @throws `Entry <id> not found`, code `ENTRY_NOT_FOUND`.
   */
  branch(branchFromId: string): void;

  /** Moves the leaf before everything, so that the next entry is a root. Synchronous. */
  resetLeaf(): void;

  /**
   * Moves the leaf and appends a summary of the branch that is left. Synchronous; returns the id of
   * the new entry.
   *
   * @param branchFromId `null` makes the summary a root.
   * @throws `Entry <id> not found`, code `ENTRY_NOT_FOUND`; as an append, also the error of a write.
   */
  branchWithSummary(
    branchFromId: string | null,
    summary: string,
    details?: unknown,
    fromExtension?: boolean,
  ): string;

  /**
   * Goes on in a new session that holds only the path to an entry, with its labels. Synchronous: the
   * new file is complete on return.
   *
   * @returns The path of the new file; `undefined` for a manager that is not persisted.
   * @throws `Entry <id> not found`, code `ENTRY_NOT_FOUND`; errors of writing the file.
   */
  createBranchedSession(leafId: string): string | undefined;

  // --- Navigation (all synchronous) --------------------------------------------------------------

  /**
   * Plans a move of the leaf to an entry; changes nothing. What the plan leaves behind may then be
   * summarised, and {@link commitTreeNavigation} carries it out.
   *
   * @throws `Entry <id> not found`.
   */
  prepareTreeNavigation(targetId: string, options?: { wantSummary?: boolean }): TreeNavigationPlan;

  /**
   * Carries a plan out: moves the leaf and, with a summary that is not empty, appends it there. For a
   * plan of kind `noop` nothing happens, whatever the summary.
   *
   * @param plan A plan, or just where to go. With `oldLeafId` the leaf must still be there.
   * @throws `Session position changed`; `Entry <id> not found`; with a summary, as an append, also the
   *   error of a write, and then the leaf has moved all the same.
   */
  commitTreeNavigation(
    plan: TreeNavigationPlan | { newLeafId: string | null; oldLeafId?: string | null },
    summary?: TreeNavigationSummary | null,
  ): TreeNavigationResult;

  /**
   * Plans a new session that ends before a prompt: {@link createBranchedSession} with
   * `branchFromId`, or {@link newSession} when that is `null`, because nothing stands before the
   * prompt. Changes nothing.
   *
   * @throws `Invalid entry ID for branching` when the entry is no user message.
   */
  prepareBranch(entryId: string): BranchPlan;

  /** The prompts of all branches that have a text, in the order of the file. */
  getBranchCandidates(): BranchCandidate[];

  /**
   * Ids of the entries that a move from `oldLeafId` to `targetId` leaves behind, oldest first: those
   * behind the last entry that the ways to both have in common. An id that is no entry has no way.
   */
  collectEntriesForBranchSummary(
    oldLeafId: string | null,
    targetId: string,
  ): { entryIds: string[]; commonAncestorId: string | null };

  /**
   * The whole tree as a list of rows. Reads the texts of entries that nobody has looked at yet from the
   * file, without making objects of them.
   *
   * @throws `ENTRY_UNREADABLE` when the file was changed under the session.
   */
  flattenTree(options?: FlattenTreeOptions): FlatTree;
}

/** The part of a manager that reads the session, for code that must not change it. */
export type ReadonlySessionManager = Pick<
  SessionManager,
  | "getCwd"
  | "getSessionDir"
  | "getSessionId"
  | "getSessionFile"
  | "getSessionName"
  | "getArtifactsDir"
  | "allocateArtifactPath"
  | "saveArtifact"
  | "getArtifactPath"
  | "getLeafId"
  | "getLeafEntry"
  | "getEntry"
  | "getLabel"
  | "getBranch"
  | "getHeader"
  | "getEntries"
  | "getTree"
  | "getUsageStatistics"
  | "putBlob"
>;
