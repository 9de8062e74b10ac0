// Entry point of a single-file program made by `bun build --compile`.

import { SessionManager } from "session-manager-native";

const manager = SessionManager.inMemory("/work/project");
const id = manager.appendMessage({ role: "user", content: "hello", timestamp: 1 });
console.log(
  JSON.stringify({ entries: manager.getEntries().length, isLeaf: manager.getLeafId() === id }),
);
