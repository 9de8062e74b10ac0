/**
 * Message types as an agent's own packages declare them: interfaces of their own, a registry of
 * custom roles of their own, fields that this package does not know.
 */

export type KnownApi = "anthropic-messages" | "openai-responses";
export type Api = KnownApi | (string & {});

export interface TextContent {
  type: "text";
  text: string;
  textSignature?: string;
}
export interface ImageContent {
  type: "image";
  data: string;
  mimeType: string;
}
export interface ThinkingContent {
  type: "thinking";
  thinking: string;
  thinkingSignature?: string;
}
export interface RedactedThinkingContent {
  type: "redactedThinking";
  data: string;
}
export interface ToolCall {
  type: "toolCall";
  id: string;
  name: string;
  arguments: Record<string, any>;
  thoughtSignature?: string;
  intent?: string;
  /** Not known to the store. */
  streamIndex?: number;
}
export interface Usage {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  totalTokens: number;
  premiumRequests?: number;
  cost: { input: number; output: number; cacheRead: number; cacheWrite: number; total: number };
}
export interface UserMessage {
  role: "user";
  content: string | (TextContent | ImageContent)[];
  synthetic?: boolean;
  attribution?: "user" | "agent";
  timestamp: number;
}
export interface DeveloperMessage {
  role: "developer";
  content: string | (TextContent | ImageContent)[];
  attribution?: "user" | "agent";
  timestamp: number;
}
export interface AssistantMessage {
  role: "assistant";
  content: (TextContent | ThinkingContent | RedactedThinkingContent | ToolCall)[];
  api: Api;
  provider: string;
  model: string;
  usage: Usage;
  stopReason: "stop" | "length" | "toolUse" | "error" | "aborted";
  errorMessage?: string;
  timestamp: number;
}
export interface ToolResultMessage<TDetails = any> {
  role: "toolResult";
  toolCallId: string;
  toolName: string;
  content: (TextContent | ImageContent)[];
  details?: TDetails;
  isError: boolean;
  timestamp: number;
}
export type Message = UserMessage | DeveloperMessage | AssistantMessage | ToolResultMessage;

export interface BashExecutionMessage {
  role: "bashExecution";
  command: string;
  output: string;
  exitCode: number | undefined;
  cancelled: boolean;
  truncated: boolean;
  timestamp: number;
}
export interface PythonExecutionMessage {
  role: "pythonExecution";
  code: string;
  output: string;
  exitCode: number | undefined;
  cancelled: boolean;
  truncated: boolean;
  timestamp: number;
}
export interface CustomMessage<T = unknown> {
  role: "custom";
  customType: string;
  content: string | (TextContent | ImageContent)[];
  display: boolean;
  details?: T;
  timestamp: number;
}
export interface HookMessage<T = unknown> {
  role: "hookMessage";
  customType: string;
  content: string | (TextContent | ImageContent)[];
  display: boolean;
  details?: T;
  timestamp: number;
}
export interface BranchSummaryMessage {
  role: "branchSummary";
  summary: string;
  fromId: string;
  timestamp: number;
}
export interface CompactionSummaryMessage {
  role: "compactionSummary";
  summary: string;
  tokensBefore: number;
  timestamp: number;
}
export interface FileMentionMessage {
  role: "fileMention";
  files: { path: string; content: string; lineCount?: number; image?: ImageContent }[];
  timestamp: number;
}

export type AgentMessage =
  | Message
  | BashExecutionMessage
  | PythonExecutionMessage
  | CustomMessage
  | HookMessage
  | BranchSummaryMessage
  | CompactionSummaryMessage
  | FileMentionMessage;

/** A role that only this agent has. */
export interface NotificationMessage {
  role: "notification";
  text: string;
  timestamp: number;
}
