/** What the model is given for the current branch of a session. */

import type { SessionEntry } from "./entries.js";
import type { AgentMessage, ServiceTier } from "./messages.js";

/** Messages and settings at one point of a session. */
export interface SessionContext {
  /**
   * Messages in order. Stored messages are the stored objects themselves; summaries and messages of
   * extensions are made anew on each call.
   */
  messages: AgentMessage[];
  /** Always present at run time; `off` when nothing else was chosen. */
  thinkingLevel?: string | undefined;
  serviceTier?: ServiceTier | undefined;
  /** `provider/modelId` by role; the role of an ordinary conversation is `default`. */
  models: Record<string, string>;
  activeContextName?: string | undefined;
  activeContextTenant?: string | undefined;
  /** Distinct names, in order of first injection. */
  injectedTtsrRules: string[];
  /** The latest selection; empty also when there was none, see the next field. */
  selectedMCPToolNames: string[];
  /** Tells an empty selection from no selection. */
  hasPersistedMCPToolSelection: boolean;
  /** `none` when no mode was entered. */
  mode: string;
  modeData?: Record<string, unknown> | undefined;
}

/**
 * Builds the context from entries alone, without a manager. Synchronous.
 *
 * The path runs from `leafId` to its root. `null` gives the empty context; an unknown, empty or
 * missing id means the last element of `entries`. Settings are collected over the whole path; after a
 * compaction, messages start with its summary, followed by what it kept.
 *
 * @param byId Index of the entries by id, if the caller has one. Its entries count even when
 *   `entries` lacks them.
 */
export declare function buildSessionContext(
  entries: readonly SessionEntry[],
  leafId?: string | null,
  byId?: ReadonlyMap<string, SessionEntry>,
): SessionContext;
