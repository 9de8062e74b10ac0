/**
 * Messages as sessions hold them. The store reads only a handful of their fields and keeps the rest
 * as it is, so these types describe what agents put in and expect back; nothing here is checked at
 * run time. All message timestamps are milliseconds since the epoch.
 */

/** Who caused a message: the person at the keyboard or the program. */
export type MessageAttribution = "user" | "agent";

/** Why the model stopped producing an assistant message. */
export type StopReason = "stop" | "length" | "toolUse" | "error" | "aborted";

/** Processing tier requested from a provider. */
export type ServiceTier = "auto" | "default" | "flex" | "scale" | "priority";

/** A piece of text. */
export interface TextContent {
  type: "text";
  text: string;
  /** Opaque provider data that belongs to the text. */
  textSignature?: string;
}

/** A picture. On disk, large data is moved to the blob store and comes back on load. */
export interface ImageContent {
  type: "image";
  /** Base64, without a `data:` prefix. */
  data: string;
  /** For example `image/png`. */
  mimeType: string;
}

/** Reasoning that the model showed. */
export interface ThinkingContent {
  type: "thinking";
  thinking: string;
  /** Opaque provider data; cleared on load for messages with an OpenAI replay payload. */
  thinkingSignature?: string;
}

/** Reasoning that the provider returned encrypted. */
export interface RedactedThinkingContent {
  type: "redactedThinking";
  /** Opaque provider data. */
  data: string;
}

/** A tool call that the model asked for. */
export interface ToolCall {
  type: "toolCall";
  /** Matches {@link ToolResultMessage.toolCallId}. */
  id: string;
  name: string;
  /** Arguments as the model wrote them; their shape is the tool's business. */
  arguments: Record<string, any>;
  /** Opaque provider data. */
  thoughtSignature?: string;
  /** What the model says it wants to achieve with the call. */
  intent?: string;
}

/** Provider-side history that travels with a message so that a request can replay it. */
export interface ProviderPayload {
  type: "openaiResponsesHistory";
  provider?: string;
  dt?: boolean;
  items: Record<string, unknown>[];
}

/** Tokens and money spent on one assistant message. */
export interface Usage {
  /** Tokens read outside the cache. */
  input: number;
  /** Tokens produced. */
  output: number;
  /** Tokens read from the cache. */
  cacheRead: number;
  /** Tokens written to the cache. */
  cacheWrite: number;
  /** Sum of the four token counts, as the provider reports it. */
  totalTokens: number;
  /** Requests charged against a premium quota; may be fractional. */
  premiumRequests?: number;
  /** Prices in the provider's currency, usually US dollars. */
  cost: {
    input: number;
    output: number;
    cacheRead: number;
    cacheWrite: number;
    total: number;
  };
}

/** What the user said. */
export interface UserMessage {
  role: "user";
  content: string | (TextContent | ImageContent)[];
  /** True for text that the program wrote in the user's place. */
  synthetic?: boolean;
  attribution?: MessageAttribution;
  providerPayload?: ProviderPayload;
  timestamp: number;
}

/** Instructions with developer priority. */
export interface DeveloperMessage {
  role: "developer";
  content: string | (TextContent | ImageContent)[];
  attribution?: MessageAttribution;
  providerPayload?: ProviderPayload;
  timestamp: number;
}

/** A turn of the model. The first one in a session is what puts the session on disk. */
export interface AssistantMessage {
  role: "assistant";
  content: (TextContent | ThinkingContent | RedactedThinkingContent | ToolCall)[];
  /** Name of the wire protocol, for example `anthropic-messages`. */
  api: string;
  provider: string;
  /** The provider's id of the model. */
  model: string;
  responseId?: string;
  usage: Usage;
  stopReason: StopReason;
  errorMessage?: string;
  /** Cleared on load, because a provider's replay history outlives no process. */
  providerPayload?: ProviderPayload;
  timestamp: number;
  /** Milliseconds from request to end of answer. */
  duration?: number;
  /** Milliseconds from request to first token. */
  ttft?: number;
}

/** The answer to a {@link ToolCall}. */
export interface ToolResultMessage<TDetails = any> {
  role: "toolResult";
  toolCallId: string;
  toolName: string;
  content: (TextContent | ImageContent)[];
  /**
   * Data for the program, not for the model. `details.usage` of a tool named `task` is counted in
   * the session's usage statistics.
   */
  details?: TDetails;
  isError: boolean;
  isWarning?: boolean;
  attribution?: MessageAttribution;
  timestamp: number;
  /** When the output was dropped from the model's view, milliseconds since the epoch. */
  prunedAt?: number;
}

/** The four roles that providers know. */
export type Message = UserMessage | DeveloperMessage | AssistantMessage | ToolResultMessage;

/** Facts about tool output: what was cut, where it came from, what was noticed. */
export interface OutputMeta {
  truncation?: {
    direction: "head" | "tail";
    truncatedBy: "lines" | "bytes";
    totalLines: number;
    totalBytes: number;
    outputLines: number;
    outputBytes: number;
    maxBytes?: number;
    /** First and last line shown, counted from 1. */
    shownRange?: { start: number; end: number };
    /** Artifact with the full output. */
    artifactId?: string;
    /** Line to continue from. */
    nextOffset?: number;
  };
  source?: { type: "path" | "url" | "internal"; value: string };
  diagnostics?: { summary: string; messages: string[] };
  limits?: {
    matchLimit?: { reached: number; suggestion: number };
    resultLimit?: { reached: number; suggestion: number };
    headLimit?: { reached: number; suggestion: number };
    columnTruncated?: { maxColumn: number };
  };
}

/** A shell command that the user ran. */
export interface BashExecutionMessage {
  role: "bashExecution";
  command: string;
  output: string;
  /** Undefined while unknown, for example after a cancel. */
  exitCode: number | undefined;
  cancelled: boolean;
  truncated: boolean;
  meta?: OutputMeta;
  timestamp: number;
  /** True when the model must not see it. */
  excludeFromContext?: boolean;
}

/** Python code that the user ran. */
export interface PythonExecutionMessage {
  role: "pythonExecution";
  code: string;
  output: string;
  /** Undefined while unknown, for example after a cancel. */
  exitCode: number | undefined;
  cancelled: boolean;
  truncated: boolean;
  meta?: OutputMeta;
  timestamp: number;
  /** True when the model must not see it. */
  excludeFromContext?: boolean;
}

/** A message that an extension or the program itself put into the conversation. */
export interface CustomMessage<T = unknown> {
  role: "custom";
  customType: string;
  content: string | (TextContent | ImageContent)[];
  /** Whether the user interface shows it; the model sees it either way. */
  display: boolean;
  details?: T;
  attribution?: MessageAttribution;
  timestamp: number;
}

/** The older name of {@link CustomMessage}; found only in old data. */
export interface HookMessage<T = unknown> {
  role: "hookMessage";
  customType: string;
  content: string | (TextContent | ImageContent)[];
  /** Whether the user interface shows it; the model sees it either way. */
  display: boolean;
  details?: T;
  attribution?: MessageAttribution;
  timestamp: number;
}

/** Summary of a branch that was left; made from a `branch_summary` entry, never stored. */
export interface BranchSummaryMessage {
  role: "branchSummary";
  summary: string;
  /** Entry that the branch was left for, or `root`. */
  fromId: string;
  timestamp: number;
}

/** Summary in place of compacted history; made from a `compaction` entry, never stored. */
export interface CompactionSummaryMessage {
  role: "compactionSummary";
  summary: string;
  shortSummary?: string;
  /** Size of the context before compaction, in tokens. */
  tokensBefore: number;
  providerPayload?: ProviderPayload;
  timestamp: number;
}

/** Files that the user mentioned in a prompt. */
export interface FileMentionMessage {
  role: "fileMention";
  files: {
    path: string;
    content: string;
    lineCount?: number;
    /** Size on disk in bytes. */
    byteSize?: number;
    skippedReason?: "tooLarge";
    image?: ImageContent;
  }[];
  timestamp: number;
}

/**
 * The session-level roles. Add your own by declaration merging; every use of {@link AgentMessage}
 * then knows them:
 *
 * ```ts
 * declare module "session-manager-native" {
 *   interface CustomAgentMessages {
 *     notification: { role: "notification"; text: string; timestamp: number };
 *   }
 * }
 * ```
 */
export interface CustomAgentMessages {
  bashExecution: BashExecutionMessage;
  pythonExecution: PythonExecutionMessage;
  custom: CustomMessage;
  hookMessage: HookMessage;
  branchSummary: BranchSummaryMessage;
  compactionSummary: CompactionSummaryMessage;
  fileMention: FileMentionMessage;
}

/**
 * Empty on purpose. An agent whose own message types differ from the ones here can put them in
 * their place, for everything that this package returns:
 *
 * ```ts
 * declare module "session-manager-native" {
 *   interface SessionTypeOverrides {
 *     agentMessage: import("my-agent-core").AgentMessage;
 *   }
 * }
 * ```
 */
// biome-ignore lint/suspicious/noEmptyInterface: only interfaces can be augmented by callers.
export interface SessionTypeOverrides {}

/**
 * Any message of a conversation: the four provider roles and the session-level ones. Narrow it by
 * `role`. Extend it through {@link CustomAgentMessages} or replace it through
 * {@link SessionTypeOverrides}.
 */
export type AgentMessage = SessionTypeOverrides extends { agentMessage: infer Override }
  ? Override
  : Message | CustomAgentMessages[keyof CustomAgentMessages];
