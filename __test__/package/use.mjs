// Run in an empty project that installed the packed tarballs: the package from an ES module.

import * as everything from "session-manager-native";
import { CURRENT_SESSION_VERSION, SessionManager } from "session-manager-native";

const manager = SessionManager.inMemory("/work/project");
manager.appendMessage({ role: "user", content: "hello", timestamp: 1 });

// Node and Bun add different helpers of their own (`default`, `module.exports`, `__esModule`).
const names = Object.keys(everything).filter(
  (name) => name !== "default" && /^[A-Za-z]/.test(name),
);
console.log(
  JSON.stringify({
    exports: names.filter((name) => name !== "module.exports").sort(),
    formatVersion: CURRENT_SESSION_VERSION,
    messages: manager.buildSessionContext().messages.length,
  }),
);
