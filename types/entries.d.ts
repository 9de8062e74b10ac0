/**
 * The records of a session file. A file is one header and any number of entries, each a JSON object
 * on a line of its own; entries form a tree through `parentId`.
 *
 * The union {@link SessionEntry} lists the kinds that this version writes. A file may hold others:
 * they keep their place in the tree, are returned by all queries and are written back unchanged.
 */

import type {
  AgentMessage,
  ImageContent,
  MessageAttribution,
  ServiceTier,
  TextContent,
} from "./messages.js";

/** Where a title came from. A title set by the user is not replaced by a generated one. */
export type SessionTitleSource = "auto" | "user";

/** First record of a session file. */
export interface SessionHeader {
  type: "session";
  /** Version of the format; a missing one means 1. See {@link CURRENT_SESSION_VERSION}. */
  version?: number | undefined;
  /** 16 lower-case hex digits in sessions made here; any string is accepted on load. */
  id: string;
  title?: string | undefined;
  titleSource?: SessionTitleSource | undefined;
  /** Creation time of this file, ISO 8601 in UTC with milliseconds. */
  timestamp: string;
  /** Working directory of the conversation. */
  cwd: string;
  /** Where the session came from: the id of a forked session or the path of a branched one. */
  parentSession?: string | undefined;
}

/** What all entries have. */
export interface SessionEntryBase {
  type: string;
  /** Unique within the session; 8 lower-case hex digits in entries made here. */
  id: string;
  /** The entry before this one on its branch; `null` for a root. */
  parentId: string | null;
  /** ISO 8601 in UTC with milliseconds. */
  timestamp: string;
}

/** A message of the conversation. */
export interface SessionMessageEntry extends SessionEntryBase {
  type: "message";
  /** The very object that was appended; after a load, one object for the life of the manager. */
  message: AgentMessage;
}

/** The reasoning effort was changed. */
export interface ThinkingLevelChangeEntry extends SessionEntryBase {
  type: "thinking_level_change";
  /** `null` means off. */
  thinkingLevel?: string | null | undefined;
}

/** Another model was chosen. */
export interface ModelChangeEntry extends SessionEntryBase {
  type: "model_change";
  /** `provider/modelId`. */
  model: string;
  /** What the model is used for; a missing role means `default`. */
  role?: string | undefined;
}

/** Another working context (tenant and namespace) was chosen. */
export interface ContextChangeEntry extends SessionEntryBase {
  type: "context_change";
  contextName: string;
  tenant: string;
  namespace: string;
}

/** Another service tier was chosen. */
export interface ServiceTierChangeEntry extends SessionEntryBase {
  type: "service_tier_change";
  /** `null` means the provider's own default. */
  serviceTier: ServiceTier | null;
}

/** History before `firstKeptEntryId` is replaced by a summary in what the model sees. */
export interface CompactionEntry<T = unknown> extends SessionEntryBase {
  type: "compaction";
  summary: string;
  /** One line for lists; also the title of a session that has no other. */
  shortSummary?: string | undefined;
  /** First entry that the model still sees in full. */
  firstKeptEntryId: string;
  /** Size of the context before compaction, in tokens. */
  tokensBefore: number;
  /** Data of the program or extension that made the summary. */
  details?: T | undefined;
  /** Data that must survive compaction, by owner. */
  preserveData?: Record<string, unknown> | undefined;
  /** True when an extension made the summary. */
  fromExtension?: boolean | undefined;
}

/** Summary of a branch that was left. */
export interface BranchSummaryEntry<T = unknown> extends SessionEntryBase {
  type: "branch_summary";
  /** Entry that the new branch starts from, or `root`. */
  fromId: string;
  summary: string;
  details?: T | undefined;
  /** True when an extension made the summary. */
  fromExtension?: boolean | undefined;
}

/** Data of an extension; never shown to the model. */
export interface CustomEntry<T = unknown> extends SessionEntryBase {
  type: "custom";
  /** Tells the owner's kinds apart. */
  customType: string;
  data?: T | undefined;
}

/** A message of an extension that the model sees. */
export interface CustomMessageEntry<T = unknown> extends SessionEntryBase {
  type: "custom_message";
  /** Tells the owner's kinds apart. */
  customType: string;
  content: string | (TextContent | ImageContent)[];
  details?: T | undefined;
  /** Whether the user interface shows it. */
  display: boolean;
  /** Missing in old files. */
  attribution?: MessageAttribution | undefined;
}

/** A name given to another entry, or taken away from it. */
export interface LabelEntry extends SessionEntryBase {
  type: "label";
  /** The entry that gets the name. */
  targetId: string;
  /** Undefined, missing or empty takes the name away. */
  label: string | undefined;
}

/** Rules that were injected into the conversation. */
export interface TtsrInjectionEntry extends SessionEntryBase {
  type: "ttsr_injection";
  injectedRules: string[];
}

/** The set of MCP tools that the user selected. */
export interface MCPToolSelectionEntry extends SessionEntryBase {
  type: "mcp_tool_selection";
  selectedToolNames: string[];
}

/** How a subagent's session was started. */
export interface SessionInitEntry extends SessionEntryBase {
  type: "session_init";
  systemPrompt: string;
  task: string;
  tools: string[];
  outputSchema?: unknown;
}

/** The agent switched between modes, for example into planning. */
export interface ModeChangeEntry extends SessionEntryBase {
  type: "mode_change";
  mode: string;
  data?: Record<string, unknown> | undefined;
}

/** Any entry; narrow it by `type`. */
export type SessionEntry =
  | SessionMessageEntry
  | ThinkingLevelChangeEntry
  | ModelChangeEntry
  | ContextChangeEntry
  | ServiceTierChangeEntry
  | CompactionEntry
  | BranchSummaryEntry
  | CustomEntry
  | CustomMessageEntry
  | LabelEntry
  | TtsrInjectionEntry
  | MCPToolSelectionEntry
  | SessionInitEntry
  | ModeChangeEntry;

/** Any record of a session file. */
export type FileEntry = SessionHeader | SessionEntry;

/** Version of the format that this package writes. Older versions are migrated on load. */
export declare const CURRENT_SESSION_VERSION: 3;

/**
 * Reads the records out of the text of a session file. Synchronous, never throws for bad content:
 * what cannot be read is left out. No migration, no header check, no blob lookup; a line holding
 * another JSON value (`null`, a number, an array) is returned as that value.
 */
export declare function parseSessionEntries(content: string): FileEntry[];

/**
 * Brings records to {@link CURRENT_SESSION_VERSION}, in place. Synchronous. Records of version 1 get
 * new ids and parents in file order; records of version 2 get the new name of the hook role. Records
 * of this or a later version stay as they are.
 */
export declare function migrateSessionEntries(entries: FileEntry[]): void;

/** The last compaction in array order, or `null`. Synchronous; returns the object itself. */
export declare function getLatestCompactionEntry(
  entries: readonly SessionEntry[],
): CompactionEntry | null;
