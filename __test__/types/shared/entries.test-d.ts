// The shapes of entries and headers, and how code narrows them.

import {
  type BranchSummaryEntry,
  type CompactionEntry,
  CURRENT_SESSION_VERSION,
  type CustomEntry,
  type CustomMessageEntry,
  type FileEntry,
  getLatestCompactionEntry,
  type LabelEntry,
  migrateSessionEntries,
  parseSessionEntries,
  type SessionEntry,
  type SessionHeader,
  type SessionMessageEntry,
  type ThinkingLevelChangeEntry,
} from "session-manager-native";
import { expectAssignable, expectSame } from "./expect.js";

// The fourteen kinds, no more and no less.
expectSame<
  SessionEntry["type"],
  | "message"
  | "thinking_level_change"
  | "model_change"
  | "context_change"
  | "service_tier_change"
  | "compaction"
  | "branch_summary"
  | "custom"
  | "custom_message"
  | "label"
  | "ttsr_injection"
  | "mcp_tool_selection"
  | "session_init"
  | "mode_change"
>();
expectSame<FileEntry, SessionHeader | SessionEntry>();
expectSame<SessionHeader["type"], "session">();
expectSame<typeof CURRENT_SESSION_VERSION, 3>();

/** Every case narrows, and the last line proves that none is missing. */
export function describe(entry: SessionEntry): string {
  switch (entry.type) {
    case "message":
      return entry.message.role;
    case "thinking_level_change":
      return entry.thinkingLevel ?? "off";
    case "model_change":
      return `${entry.model} ${entry.role ?? "default"}`;
    case "context_change":
      return entry.contextName + entry.tenant + entry.namespace;
    case "service_tier_change":
      return entry.serviceTier ?? "none";
    case "compaction":
      return entry.summary + (entry.shortSummary ?? "") + entry.tokensBefore.toFixed();
    case "branch_summary":
      return entry.summary + entry.fromId;
    case "custom":
      return entry.customType;
    case "custom_message":
      return typeof entry.content === "string"
        ? entry.content
        : entry.content.map((block) => (block.type === "text" ? block.text : "")).join();
    case "label":
      return entry.label ?? entry.targetId;
    case "ttsr_injection":
      return entry.injectedRules.join();
    case "mcp_tool_selection":
      return entry.selectedToolNames.join();
    case "session_init":
      return entry.systemPrompt + entry.task + entry.tools.join();
    case "mode_change":
      return entry.mode + Object.keys(entry.data ?? {}).join();
    default:
      return entry satisfies never;
  }
}

// Generic payloads.
interface PluginState {
  count: number;
}
declare const custom: CustomEntry<PluginState>;
expectSame<typeof custom.data, PluginState | undefined>();
declare const compaction: CompactionEntry<{ readFiles: string[] }>;
expectSame<typeof compaction.details, { readFiles: string[] } | undefined>();
declare const summary: BranchSummaryEntry<PluginState>;
expectSame<typeof summary.details, PluginState | undefined>();
declare const injected: CustomMessageEntry<PluginState>;
expectSame<typeof injected.details, PluginState | undefined>();
expectSame<CustomEntry["data"], unknown>();
expectAssignable<SessionEntry, CustomEntry<PluginState>>();
expectAssignable<SessionEntry, CompactionEntry<PluginState>>();

// A guard and a cast, as extensions write them.
export function lastState(entries: SessionEntry[]): PluginState | undefined {
  const found = entries
    .filter((entry): entry is CustomEntry<PluginState> => entry.type === "custom")
    .findLast((entry) => entry.customType === "plugin");
  const cast = entries[0] as CustomEntry<PluginState>;
  return found?.data ?? cast.data;
}

// Null and undefined.
expectSame<LabelEntry["label"], string | undefined>();
expectSame<ThinkingLevelChangeEntry["thinkingLevel"], string | null | undefined>();
expectSame<SessionEntry["parentId"], string | null>();
expectSame<ReturnType<typeof getLatestCompactionEntry>, CompactionEntry | null>();

// Entries made by hand.
const base = { id: "a1b2c3d4", parentId: null, timestamp: "2026-11-30T00:00:00.000Z" };
const user: SessionMessageEntry = {
  type: "message",
  ...base,
  message: { role: "user", content: "hi", timestamp: 1 },
};
const assistant: SessionMessageEntry = {
  type: "message",
  ...base,
  message: {
    role: "assistant",
    content: [
      { type: "thinking", thinking: "…", thinkingSignature: "s" },
      { type: "text", text: "hello" },
      { type: "toolCall", id: "c", name: "bash", arguments: { command: "ls" } },
    ],
    api: "anthropic-messages",
    provider: "anthropic",
    model: "claude",
    usage: {
      input: 1,
      output: 2,
      cacheRead: 0,
      cacheWrite: 0,
      totalTokens: 3,
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
    },
    stopReason: "stop",
    timestamp: 2,
  },
};
const cleared: LabelEntry = { type: "label", ...base, targetId: "x", label: undefined };
const header: SessionHeader = {
  type: "session",
  version: CURRENT_SESSION_VERSION,
  id: "15e1be0f427b9866",
  timestamp: "2026-11-30T00:00:00.000Z",
  cwd: "/p",
  parentSession: undefined,
};
const file: FileEntry[] = [header, user, assistant, cleared];
migrateSessionEntries(file);

// Headers and entries are told apart by `type`.
const parsed = parseSessionEntries("");
const [first] = parsed;
if (first?.type === "session") {
  expectSame<typeof first, SessionHeader>();
}
const entries = parsed.filter((record): record is SessionEntry => record.type !== "session");
getLatestCompactionEntry(entries)?.firstKeptEntryId.slice(0, 8);

// @ts-expect-error not a kind of entry
export const unknownKind: SessionEntry = { type: "note", ...base };
// @ts-expect-error a compaction needs the entry it keeps from
export const noKept: CompactionEntry = {
  type: "compaction",
  ...base,
  summary: "",
  tokensBefore: 0,
};
// @ts-expect-error the tier is one of five
export const noTier: SessionEntry = { type: "service_tier_change", ...base, serviceTier: "cheap" };
