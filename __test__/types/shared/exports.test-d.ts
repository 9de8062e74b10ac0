// The exported names, complete in both directions.

import type * as pkg from "session-manager-native";
import type {
  AgentMessage,
  AssistantMessage,
  BashExecutionMessage,
  BlobPutResult,
  BranchSummaryEntry,
  BranchSummaryMessage,
  CompactionEntry,
  CompactionSummaryMessage,
  ContextChangeEntry,
  CustomAgentMessages,
  CustomEntry,
  CustomMessage,
  CustomMessageEntry,
  DeveloperMessage,
  FileEntry,
  FileMentionMessage,
  FileSessionStorageOptions,
  HookMessage,
  ImageContent,
  LabelEntry,
  LoadReport,
  Logger,
  LogLevel,
  MCPToolSelectionEntry,
  Message,
  MessageAttribution,
  ModeChangeEntry,
  ModelChangeEntry,
  NewSessionOptions,
  OutputMeta,
  ProviderPayload,
  PythonExecutionMessage,
  ReadonlySessionManager,
  RecentSessionInfo,
  RedactedThinkingContent,
  ResolvedSessionMatch,
  ServiceTier,
  ServiceTierChangeEntry,
  SessionContext,
  SessionEntry,
  SessionEntryBase,
  SessionHeader,
  SessionInfo,
  SessionInitEntry,
  SessionManagerSnapshot,
  SessionMessageEntry,
  SessionStorage,
  SessionStorageStat,
  SessionStorageWriter,
  SessionStorageWriterOptions,
  SessionTitleSource,
  SessionTreeNode,
  SessionTypeOverrides,
  StopReason,
  TextContent,
  ThinkingContent,
  ThinkingLevelChangeEntry,
  ToolCall,
  ToolResultMessage,
  TtsrInjectionEntry,
  Usage,
  UsageStatistics,
  UserMessage,
} from "session-manager-native";
import { expectSame } from "./expect.js";

/** The values that exist at run time. */
type RuntimeNames =
  // sessions
  | "CURRENT_SESSION_VERSION"
  | "SessionManager"
  | "buildSessionContext"
  | "getLatestCompactionEntry"
  | "migrateSessionEntries"
  | "parseSessionEntries"
  | "loadEntriesFromFile"
  | "findMostRecentSession"
  | "getRecentSessions"
  | "resolveResumableSession"
  // storage
  | "FileSessionStorage"
  | "MemorySessionStorage"
  // blobs and artifacts
  | "BlobStore"
  | "isBlobRef"
  | "parseBlobRef"
  | "isImageDataUrl"
  | "externalizeImageDataUrl"
  | "externalizeImageData"
  | "resolveImageDataUrl"
  | "resolveImageData"
  | "ArtifactManager"
  // directories
  | "getAgentDir"
  | "setAgentDir"
  | "getSessionsDir"
  | "getBlobsDir"
  | "getTerminalSessionsDir"
  | "getHistoryDbPath"
  | "getTerminalId"
  // logging
  | "setLogger";

// ES modules see `module.exports` as `default` as well.
expectSame<Exclude<keyof typeof pkg, "default" | "module.exports">, RuntimeNames>();

/** One use of every type that has no value, so that a missing one is an error here. */
export interface TypeNames {
  messages: [
    AgentMessage,
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomAgentMessages,
    CustomMessage,
    CustomMessage<{ a: 1 }>,
    DeveloperMessage,
    FileMentionMessage,
    HookMessage,
    HookMessage<{ a: 1 }>,
    ImageContent,
    Message,
    MessageAttribution,
    OutputMeta,
    ProviderPayload,
    PythonExecutionMessage,
    RedactedThinkingContent,
    ServiceTier,
    SessionTypeOverrides,
    StopReason,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    ToolResultMessage<{ a: 1 }>,
    Usage,
    UserMessage,
  ];
  entries: [
    BranchSummaryEntry,
    BranchSummaryEntry<{ a: 1 }>,
    CompactionEntry,
    CompactionEntry<{ a: 1 }>,
    ContextChangeEntry,
    CustomEntry,
    CustomEntry<{ a: 1 }>,
    CustomMessageEntry,
    CustomMessageEntry<{ a: 1 }>,
    FileEntry,
    LabelEntry,
    MCPToolSelectionEntry,
    ModeChangeEntry,
    ModelChangeEntry,
    ServiceTierChangeEntry,
    SessionEntry,
    SessionEntryBase,
    SessionHeader,
    SessionInitEntry,
    SessionMessageEntry,
    SessionTitleSource,
    ThinkingLevelChangeEntry,
    TtsrInjectionEntry,
  ];
  managers: [
    LoadReport,
    NewSessionOptions,
    ReadonlySessionManager,
    RecentSessionInfo,
    ResolvedSessionMatch,
    SessionContext,
    SessionInfo,
    SessionManagerSnapshot,
    SessionTreeNode,
    UsageStatistics,
  ];
  storage: [
    BlobPutResult,
    FileSessionStorageOptions,
    SessionStorage,
    SessionStorageStat,
    SessionStorageWriter,
    SessionStorageWriterOptions,
  ];
  logging: [Logger, LogLevel];
}
