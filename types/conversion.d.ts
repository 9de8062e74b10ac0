/**
 * From the messages of a session to those that a model is sent. All functions are synchronous; none
 * changes a message that it is given.
 */

import type {
  AgentMessage,
  AssistantMessage,
  BashExecutionMessage,
  BranchSummaryMessage,
  CompactionSummaryMessage,
  CustomMessage,
  ImageContent,
  Message,
  MessageAttribution,
  OutputMeta,
  ProviderPayload,
  PythonExecutionMessage,
  TextContent,
} from "./messages.js";

/** The `customType` of messages that invoke a skill. They are converted like any other. */
export declare const SKILL_PROMPT_MESSAGE_TYPE: "skill-prompt";

/** The `details` of messages that invoke a skill. */
export interface SkillPromptDetails {
  name: string;
  /** File that holds the skill. */
  path: string;
  /** What the user wrote behind the name. */
  args?: string;
  lineCount: number;
}

/**
 * The message of a `branch_summary` entry.
 *
 * @param timestamp The entry's, ISO 8601; one that cannot be read gives `NaN`.
 */
export declare function createBranchSummaryMessage(
  summary: string,
  fromId: string,
  timestamp: string,
): BranchSummaryMessage;

/**
 * The message of a `compaction` entry.
 *
 * @param timestamp The entry's, ISO 8601; one that cannot be read gives `NaN`.
 * @param providerPayload Kept as this very object.
 */
export declare function createCompactionSummaryMessage(
  summary: string,
  tokensBefore: number,
  timestamp: string,
  shortSummary?: string,
  providerPayload?: ProviderPayload,
): CompactionSummaryMessage;

/**
 * The message of a `custom_message` entry. Content and details are kept as these very objects.
 *
 * @param timestamp The entry's, ISO 8601; one that cannot be read gives `NaN`.
 * @param attribution Not completed: missing stays missing.
 */
export declare function createCustomMessage<T = unknown>(
  customType: string,
  content: string | (TextContent | ImageContent)[],
  display: boolean,
  details: T | undefined,
  timestamp: string,
  attribution?: MessageAttribution,
): CustomMessage<T>;

/**
 * A shell command with its output, as text for the model: the command, the output between fences,
 * how it ended if not well, and {@link formatOutputNotice} of its `meta`. Nothing is escaped.
 */
export declare function bashExecutionToText(message: BashExecutionMessage): string;

/** Python code with its output, as text for the model; see {@link bashExecutionToText}. */
export declare function pythonExecutionToText(message: PythonExecutionMessage): string;

/**
 * What was left out of some output and which limits it ran into, in brackets, followed by
 * diagnostics under headings for their folders and files. Starts with an empty line; the empty
 * string when there is nothing to say.
 */
export declare function formatOutputNotice(meta: OutputMeta | null | undefined): string;

/**
 * Puts a summary into a template, in place of `{{summary}}`, and tidies the whole text: no blanks at
 * ends of lines or around cells of tables, no empty lines at the end, at the beginning, beside the
 * tags around the summary, before lists, or in a row. Code between fences keeps its lines. The summary
 * is not searched for placeholders.
 */
export declare function renderSummaryTemplate(
  template: string,
  summary: string | null | undefined,
): string;

/** Texts that a program can choose. What it leaves out has a wording of this package. */
export interface ConversionOptions {
  /** Around summaries of branches, in place of `{{summary}}`; see {@link renderSummaryTemplate}. */
  branchSummaryTemplate?: string | undefined;
  /** Around summaries of compacted history, in place of `{{summary}}`. */
  compactionSummaryTemplate?: string | undefined;
  /** Content of results that had to be invented for calls without one. */
  missingResultNotice?: string | undefined;
  /** Content of pruned results that hold no text. */
  prunedResultNotice?: string | undefined;
}

/**
 * Converts the messages of a session for a model.
 *
 * 1. Each message becomes one or none. Assistant messages stay the same objects; messages of the other
 *    provider roles are copied and get an `attribution` if they have none. Executions (unless
 *    excluded), messages of extensions, summaries and mentioned files become messages of the user.
 *    Pruned results keep their text only. Other roles are left out.
 * 2. Results of tools move behind their calls; what stood between comes after them. A call without a
 *    result gets one that says so, with `isError`. Nothing is dropped: results without a call stay, and
 *    one that stands before its call is repeated after it. A repair is logged as a warning. Where
 *    several messages use the same id for a call, a call can stay without a result.
 * 3. Neighbouring messages of the user that consist of text blocks become one, which otherwise is the
 *    first of them.
 */
export declare function convertToLlm(
  messages: readonly AgentMessage[],
  options?: ConversionOptions,
): Message[];

/**
 * A message without replay metadata of a provider connection that is gone: a copy without
 * `providerPayload` and signatures of thinking. A message without such a payload is returned itself,
 * and content without signatures stays the same array. Sessions that are loaded went through this.
 */
export declare function sanitizeRehydratedOpenAIResponsesAssistantMessage(
  message: AssistantMessage,
): AssistantMessage;

/**
 * A converted conversation as one text, for a model that is to summarise it: labelled paragraphs with
 * what the user said, what the assistant thought, said and called, and the first 2,000 UTF-16 units
 * of each result. Messages of developers are left out.
 */
export declare function serializeConversation(messages: readonly Message[]): string;

/** A tool as {@link formatSessionDumpText} shows it. */
export interface DumpedTool {
  name: string;
  description: string;
  /** JSON schema; its top-level members are shown, without what a library for schemas adds. */
  parameters: unknown;
}

/** What {@link formatSessionDumpText} shows. */
export interface SessionDumpOptions {
  messages: readonly AgentMessage[];
  /** Shown first; without one there is no such section. */
  systemPrompt?: string | null | undefined;
  /** Default: none selected. */
  model?: { provider: string; id: string } | null | undefined;
  thinkingLevel?: string | null | undefined;
  tools?: readonly DumpedTool[] | null | undefined;
}

/**
 * A session as plain text for people, for example to be copied: the settings, the tools and all
 * messages in full under headings. Images are only mentioned, thinking that a provider hides and
 * executions that are excluded from the context are left out. Nothing is escaped.
 */
export declare function formatSessionDumpText(options: SessionDumpOptions): string;
