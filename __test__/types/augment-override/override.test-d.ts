// An agent puts its own message type in the place of ours.

import {
  type AgentMessage,
  type SessionContext,
  SessionManager,
  type SessionMessageEntry,
} from "session-manager-native";
import { expectSame } from "../shared/expect.js";

interface Turn {
  role: "human" | "machine";
  parts: readonly { kind: "words"; words: string }[];
}

declare module "session-manager-native" {
  interface SessionTypeOverrides {
    agentMessage: Turn;
  }
}

expectSame<AgentMessage, Turn>();
expectSame<SessionMessageEntry["message"], Turn>();
expectSame<SessionContext["messages"], Turn[]>();
expectSame<Parameters<SessionManager["appendMessage"]>, [message: Turn]>();
SessionManager.inMemory().appendMessage({ role: "human", parts: [{ kind: "words", words: "hi" }] });
SessionManager.inMemory().buildSessionContext().messages[0]?.parts[0]?.words.slice();
