// An agent adds a role of its own to all messages.

import { type AgentMessage, SessionManager } from "session-manager-native";
import { expectAssignable, expectSame } from "../shared/expect.js";
import type { NotificationMessage } from "../shared/foreign-messages.js";

declare module "session-manager-native" {
  interface CustomAgentMessages {
    notification: NotificationMessage;
  }
}

expectAssignable<AgentMessage, NotificationMessage>();
declare const message: AgentMessage;
if (message.role === "notification") {
  expectSame<typeof message, NotificationMessage>();
}
if (message.role === "assistant") {
  message.usage.cost.total.toFixed();
}
for (const { role } of SessionManager.inMemory().buildSessionContext().messages) {
  expectSame<typeof role, AgentMessage["role"]>();
}
