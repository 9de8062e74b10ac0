// Messages cross between an agent's own types and the ones here without casts.

import {
  type AgentMessage,
  type AssistantMessage,
  buildSessionContext,
  type Message,
  type SessionEntry,
  SessionManager,
  type SessionMessageEntry,
  type ToolResultMessage,
} from "session-manager-native";
import { expectAssignable, expectSame } from "./expect.js";
import type * as foreign from "./foreign-messages.js";

const manager = SessionManager.inMemory();

// In: the union, each part, generic wrappers, a role of the agent's own, and literals.
declare const theirs: foreign.AgentMessage;
declare const theirMessage:
  | foreign.Message
  | foreign.CustomMessage
  | foreign.HookMessage
  | foreign.BashExecutionMessage
  | foreign.PythonExecutionMessage
  | foreign.FileMentionMessage;
declare const notification: foreign.NotificationMessage;
manager.appendMessage(theirs);
manager.appendMessage(theirMessage);
manager.appendMessage(notification);
manager.appendMessage({ role: "user", content: "hi", timestamp: Date.now() });
manager.appendMessage({ role: "notification", text: "done", timestamp: 1 });
export function append<T extends foreign.AgentMessage>(message: T): string {
  return manager.appendMessage(message);
}
expectAssignable<AgentMessage, foreign.AgentMessage>();
expectAssignable<Message, foreign.Message>();
manager.appendCustomMessageEntry<{ path: string }>(
  "skill",
  [{ type: "text", text: "t" } satisfies foreign.TextContent],
  true,
  { path: "/p" },
);

// @ts-expect-error a message has a role
manager.appendMessage({ content: "hi" });
// @ts-expect-error nothing is no message
manager.appendMessage(undefined);
// @ts-expect-error an entry is no message
manager.appendMessage(manager.getEntries()[0] as SessionEntry);

// Out: what the store returns goes into functions that take the agent's types.
expectAssignable<foreign.AgentMessage, AgentMessage>();
expectAssignable<foreign.Message, Message>();
declare function replaceMessages(messages: foreign.AgentMessage[]): void;
replaceMessages(manager.buildSessionContext().messages);
replaceMessages(buildSessionContext(manager.getBranch(), null).messages.slice(-4));

// Narrowing by role, then by block.
export function texts(message: AgentMessage): string[] {
  if (message.role === "assistant") {
    expectSame<typeof message, AssistantMessage>();
    const total: number = message.usage.cost.total + (message.usage.premiumRequests ?? 0);
    return message.content.map((block) => {
      switch (block.type) {
        case "text":
          return block.text;
        case "thinking":
          return block.thinking;
        case "toolCall":
          // Arguments are read as freely as the agent's own type allows.
          return block.name + block.arguments.path.toUpperCase() + total;
        case "redactedThinking":
          return "";
        default:
          return block satisfies never;
      }
    });
  }
  if (message.role === "toolResult") {
    expectSame<typeof message, ToolResultMessage>();
    return [message.toolName, String(message.details?.usage?.input)];
  }
  return "content" in message && typeof message.content === "string" ? [message.content] : [];
}

expectSame<
  AgentMessage["role"],
  | "user"
  | "developer"
  | "assistant"
  | "toolResult"
  | "bashExecution"
  | "pythonExecution"
  | "custom"
  | "hookMessage"
  | "branchSummary"
  | "compactionSummary"
  | "fileMention"
>();

// In-place edits, as pruning makes them.
for (const entry of manager.getBranch()) {
  if (entry.type === "message" && entry.message.role === "toolResult") {
    entry.message.content = [{ type: "text", text: "[pruned]" }];
    entry.message.prunedAt = Date.now();
  }
}

// Casts to the agent's types.
declare const entry: SessionMessageEntry;
export const cast = entry.message as foreign.AssistantMessage;

// What a spy or a wrapper sees are the known messages.
expectSame<Parameters<SessionManager["appendMessage"]>, [message: AgentMessage]>();
