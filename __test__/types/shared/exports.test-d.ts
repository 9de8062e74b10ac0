// The exported names, complete in both directions.

import type * as pkg from "session-manager-native";
import type {
  AgentMessage,
  AssistantMessage,
  BashExecutionMessage,
  BlobPutResult,
  BranchCandidate,
  BranchPlan,
  BranchPreparation,
  BranchSummaryEntry,
  BranchSummaryMessage,
  CompactionEntry,
  CompactionPreparation,
  CompactionSettings,
  CompactionSummaryMessage,
  ContextChangeEntry,
  ConversionOptions,
  CustomAgentMessages,
  CustomEntry,
  CustomMessage,
  CustomMessageEntry,
  CutPoint,
  DeveloperMessage,
  FileEntry,
  FileMentionMessage,
  FileOperations,
  FileSessionStorageOptions,
  FlatTree,
  FlattenTreeOptions,
  HistoryEntry,
  HookMessage,
  ImageContent,
  JsonlSessionPersistenceOptions,
  LabelEntry,
  ListingControl,
  LoadReport,
  LoggedSession,
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
  PruneConfig,
  PythonExecutionMessage,
  RawSessionLog,
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
  SessionHit,
  SessionInfo,
  SessionInitEntry,
  SessionLogEvent,
  SessionLogHeader,
  SessionLogSnapshot,
  SessionManagerSnapshot,
  SessionMessageEntry,
  SessionSearchOptions,
  SessionStorage,
  SessionStorageStat,
  SessionStorageWriter,
  SessionStorageWriterOptions,
  SessionTitleSource,
  SessionTreeNode,
  SessionTypeOverrides,
  SkillPromptDetails,
  StopReason,
  StorageRecord,
  StoredPrefix,
  TextContent,
  ThinkingContent,
  ThinkingLevelChangeEntry,
  ToolCall,
  ToolResultMessage,
  TornMarker,
  TreeFilter,
  TreeNavigationMove,
  TreeNavigationNoop,
  TreeNavigationPlan,
  TreeNavigationResult,
  TreeNavigationSummary,
  TreeRow,
  TreeSymbols,
  TreeViewOptions,
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
  | "searchSessions"
  | "fuzzyMatch"
  | "fuzzyFilter"
  // navigation
  | "collectEntriesForBranchSummary"
  | "renderTreePrefix"
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
  // prompt history
  | "HistoryStorage"
  // directories
  | "getAgentDir"
  | "setAgentDir"
  | "getSessionsDir"
  | "getBlobsDir"
  | "getTerminalSessionsDir"
  | "getHistoryDbPath"
  | "getTerminalId"
  // logging
  | "setLogger"
  // messages for a model
  | "SKILL_PROMPT_MESSAGE_TYPE"
  | "createBranchSummaryMessage"
  | "createCompactionSummaryMessage"
  | "createCustomMessage"
  | "bashExecutionToText"
  | "pythonExecutionToText"
  | "formatOutputNotice"
  | "sanitizeRehydratedOpenAIResponsesAssistantMessage"
  | "renderSummaryTemplate"
  | "convertToLlm"
  | "serializeConversation"
  | "formatSessionDumpText"
  // summaries and pruning
  | "estimateTokens"
  | "calculateContextTokens"
  | "calculatePromptTokens"
  | "getLastAssistantUsage"
  | "shouldCompact"
  | "findTurnStartIndex"
  | "findCutPoint"
  | "prepareCompaction"
  | "prepareBranchEntries"
  | "computeFileLists"
  | "upsertFileOperations"
  | "pruneToolOutputs"
  | "examineSession"
  | "repairSession"
  // event logs
  | "JsonlSessionPersistence"
  | "SessionFormatUnsupportedError"
  | "SessionPersistenceCorruptionError"
  | "encodeSegment"
  | "projectKey"
  | "packChunkRuns"
  | "decodeStorageRecord"
  | "interruptedTurnClosers";

// ES modules see `module.exports` as `default` as well.
expectSame<Exclude<keyof typeof pkg, "default" | "module.exports">, RuntimeNames>();

/** One use of every type that has no value, so that a missing one is an error here. */
export interface TypeNames {
  eventLogs: [
    JsonlSessionPersistenceOptions,
    LoggedSession,
    RawSessionLog,
    SessionLogEvent,
    SessionLogHeader,
    SessionLogSnapshot,
    StorageRecord,
    StoredPrefix,
    TornMarker,
  ];
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
  history: [HistoryEntry];
  managers: [
    LoadReport,
    NewSessionOptions,
    ReadonlySessionManager,
    RecentSessionInfo,
    ResolvedSessionMatch,
    SessionContext,
    SessionHit,
    SessionInfo,
    SessionManagerSnapshot,
    SessionTreeNode,
    UsageStatistics,
  ];
  finding: [ListingControl, SessionSearchOptions];
  navigation: [
    BranchCandidate,
    BranchPlan,
    FlatTree,
    FlattenTreeOptions,
    TreeFilter,
    TreeNavigationMove,
    TreeNavigationNoop,
    TreeNavigationPlan,
    TreeNavigationResult,
    TreeNavigationSummary,
    TreeRow,
    TreeSymbols,
    TreeViewOptions,
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
  conversion: [ConversionOptions, SkillPromptDetails];
  compaction: [
    BranchPreparation,
    CompactionPreparation,
    CompactionSettings,
    CutPoint,
    FileOperations,
    PruneConfig,
  ];
}
