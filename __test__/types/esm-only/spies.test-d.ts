// Spies on statics, prototypes and instances, with the types of the members they replace.

import { FileSessionStorage, type SessionInfo, SessionManager } from "session-manager-native";
import { expect, vi } from "vitest";

const info: SessionInfo = {
  path: "/d/s.jsonl",
  id: "15e1be0f427b9866",
  cwd: "/p",
  created: new Date(0),
  modified: new Date(0),
  messageCount: 1,
  firstMessage: "hi",
  allMessagesText: "hi",
};

// Statics.
const list = vi.spyOn(SessionManager, "list").mockResolvedValue([info]);
list.mockImplementation(async (cwd, sessionDir) => [{ ...info, cwd: sessionDir ?? cwd }]);
const lastCwd: string | undefined = list.mock.lastCall?.[0];
vi.spyOn(SessionManager, "create").mockReturnValue(SessionManager.inMemory(lastCwd));
// @ts-expect-error a list is an array
vi.spyOn(SessionManager, "listAll").mockResolvedValue(info);

// Prototypes.
vi.spyOn(FileSessionStorage.prototype, "deleteSessionWithArtifacts").mockResolvedValue(undefined);
vi.spyOn(FileSessionStorage.prototype, "exists").mockResolvedValue(true);
vi.spyOn(SessionManager.prototype, "getCwd").mockReturnValue("/p");

// Instances.
const manager = SessionManager.inMemory();
vi.spyOn(manager, "allocateArtifactPath").mockResolvedValue({ id: "0", path: "/a/0.bash.log" });
vi.spyOn(manager, "allocateArtifactPath").mockResolvedValue({});
vi.spyOn(manager, "titleSource", "get").mockReturnValue("user");
vi.spyOn(manager, "appendCustomEntry").mockImplementation((customType) => customType.slice(0, 8));
const append = vi.spyOn(manager, "appendMessage");
append.mockImplementation((message) => (message.role === "user" ? message.role : "id"));
expect(append.mock.calls[0]?.[0].role).toBe("user");
// @ts-expect-error ids are text
vi.spyOn(manager, "appendCustomEntry").mockReturnValue(1);
// @ts-expect-error not a member
vi.spyOn(manager, "appendNothing");
list.mockRestore();
