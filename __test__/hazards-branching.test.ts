import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { SessionManager } from "../index.js";
import {
  A,
  type AnyEntry,
  assistantMessage,
  contextOf,
  fileOf,
  H,
  idsOf,
  idsOnDisk,
  L,
  LINEAR4,
  namesIn,
  recordsOf,
  startSession,
  toolResult,
  treeIds,
  U,
  until,
  userMessage,
  useSandbox,
  writeSession,
} from "./support/fixtures.js";

const sandbox = useSandbox();
const sessions = () => join(sandbox(), "sessions");

/** Number of this process's open descriptors on a path. */
function descriptorsOn(path: string): number {
  return readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(path);
    } catch {
      return false;
    }
  }).length;
}

describe("a session branched off a path with labels", () => {
  const LABELLED = [
    H(),
    U("u1", null),
    L("l1", "u1", "u1", "start"),
    A("a1", "l1"),
    L("l2", "a1", "a1"),
    L("l3", "l2", "u1", "renamed"),
    U("u2", "l3"),
    A("a2", "u2"),
  ];

  it("keeps the whole conversation", async () => {
    const manager = await SessionManager.open(writeSession(join(sessions(), "s.jsonl"), LABELLED));
    expect(contextOf(manager)).toBe("u1 a1 u2 a2");
    const file = manager.createBranchedSession("a2") as string;
    expect(contextOf(manager)).toBe("u1 a1 u2 a2");
    expect(manager.getLabel("u1")).toBe("renamed");
    expect(manager.getLabel("a1")).toBe("x");
    expect(manager.getTree()).toHaveLength(1);
    const again = await SessionManager.open(file);
    expect(contextOf(again)).toBe("u1 a1 u2 a2");
    expect(again.getLabel("u1")).toBe("renamed");
    expect(again.getTree()).toHaveLength(1);
  });

  it("keeps the whole conversation when it is branched off again", async () => {
    const manager = await SessionManager.open(writeSession(join(sessions(), "s.jsonl"), LABELLED));
    manager.createBranchedSession("a2");
    manager.createBranchedSession("a2");
    expect(contextOf(manager)).toBe("u1 a1 u2 a2");
  });

  it("gives only the copies a new parent, not the entries of the old session", async () => {
    const path = writeSession(join(sessions(), "s.jsonl"), LABELLED);
    const manager = await SessionManager.open(path);
    const snapshot = manager.captureState();
    const parents = () =>
      (snapshot.fileEntries as unknown as AnyEntry[]).map((item) => item.parentId);
    const before = parents();
    manager.createBranchedSession("a2");
    expect(manager.getEntry("a1")?.parentId).toBe("u1");
    expect(manager.getEntry("u2")?.parentId).toBe("a1");
    expect(parents()).toEqual(before);
    manager.restoreState(snapshot);
    expect(idsOf(manager)).toEqual(["u1", "l1", "a1", "l2", "l3", "u2", "a2"]);
    expect(contextOf(manager)).toBe("u1 a1 u2 a2");
  });

  it("keeps the conversation in memory-only sessions too", () => {
    const manager = SessionManager.inMemory("/w/p");
    const first = manager.appendMessage(userMessage("u1"));
    manager.appendLabelChange(first, "mark");
    manager.appendMessage(assistantMessage("a1"));
    const leaf = manager.appendMessage(userMessage("u2"));
    expect(manager.createBranchedSession(leaf)).toBeUndefined();
    expect(contextOf(manager)).toBe("u1 a1 u2");
    expect(manager.getLabel(first)).toBe("mark");
    expect(treeIds(manager)).toHaveLength(4);
  });
});

describe("entries not yet written when the manager switches", () => {
  it("go to the session they were appended to when a branch becomes a session", async () => {
    const manager = await startSession(sessions());
    const old = fileOf(manager);
    const base = manager.getLeafId() as string;
    const pending = [1, 2, 3].map((n) => manager.appendMessage(userMessage(`late ${n}`)));
    const branched = manager.createBranchedSession(base) as string;
    const added = manager.appendMessage(userMessage("in the branch"));
    await manager.flush();
    await manager.close();
    expect(idsOnDisk(old).slice(2)).toEqual(pending);
    expect(idsOnDisk(branched).slice(2)).toEqual([added]);
  });

  it("go to the session they were appended to when a snapshot is restored", async () => {
    const manager = await startSession(sessions());
    const first = fileOf(manager);
    const firstIds = idsOnDisk(first);
    const snapshot = manager.captureState();
    const second = writeSession(join(sandbox(), "other.jsonl"), LINEAR4());
    await manager.setSessionFile(second);
    const late = manager.appendMessage(userMessage("late"));
    manager.restoreState(snapshot);
    const added = manager.appendMessage(userMessage("back"));
    await manager.flush();
    await manager.close();
    await until(() => idsOnDisk(second).length === 5);
    expect(idsOnDisk(second).at(-1)).toBe(late);
    expect(idsOnDisk(first)).toEqual([...firstIds, added]);
  });

  it("go to the old session when the first exchange is still being written", async () => {
    const manager = SessionManager.create("/w/p", sessions());
    const old = fileOf(manager);
    manager.appendMessage(userMessage("u1"));
    const leaf = manager.appendMessage(assistantMessage("a1"));
    const branched = manager.createBranchedSession(leaf) as string;
    await manager.flush();
    await manager.close();
    expect(idsOnDisk(branched)).toHaveLength(2);
    await until(() => existsSync(old));
    expect(idsOnDisk(old)).toEqual(idsOnDisk(branched));
  });

  it("leave no descriptor of the old file open", async () => {
    const manager = await startSession(sessions());
    const old = fileOf(manager);
    const snapshot = manager.captureState();
    manager.appendMessage(userMessage("u2"));
    await manager.flush();
    manager.createBranchedSession(manager.getLeafId() as string);
    await manager.flush();
    await until(() => descriptorsOn(old) === 0);
    const branched = fileOf(manager);
    manager.appendMessage(userMessage("u3"));
    await manager.flush();
    manager.restoreState(snapshot);
    await manager.flush();
    await until(() => descriptorsOn(branched) === 0);
    await manager.close();
    await until(() => descriptorsOn(sessions()) === 0);
  });
});

describe("the file of a branched session", () => {
  it("is written with the same transforms as any other write", async () => {
    const manager = await startSession(sessions());
    const data = Buffer.alloc(3000, 7).toString("base64");
    const image = { type: "image" as const, data, mimeType: "image/png" };
    const picture = toolResult("picture");
    manager.appendMessage({ ...picture, content: [...picture.content, image] });
    manager.appendMessage(toolResult("long".repeat(200_000)));
    const leaf = manager.appendCustomEntry("test", { partialJson: "{", jsonlEvents: [1], keep: 1 });
    const file = manager.createBranchedSession(leaf) as string;
    const text = readFileSync(file, "utf8");
    expect(text).not.toContain(data.slice(0, 200));
    expect(text).toMatch(/"data":"blob:sha256:[0-9a-f]{64}"/);
    expect(text).not.toContain("partialJson");
    expect(text).not.toContain("jsonlEvents");
    const [long] = recordsOf(file).slice(-2) as unknown as [
      { message: { content: { text: string }[] } },
    ];
    expect(long.message.content[0]?.text).toHaveLength(500_000);
    const again = await SessionManager.open(file);
    const reread = again.getEntries()[2] as unknown as {
      message: { content: { data?: string }[] };
    };
    expect(reread.message.content[1]?.data).toBe(data);
  });

  it("is complete when the call returns, private, and alone in its directory", async () => {
    const manager = await startSession(sessions());
    const old = fileOf(manager);
    const file = manager.createBranchedSession(manager.getLeafId() as string) as string;
    expect(idsOnDisk(file)).toEqual(idsOf(manager));
    expect(readFileSync(file, "utf8").endsWith("\n")).toBe(true);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(namesIn(sessions())).toEqual([basename(old), basename(file)].sort());
    expect(lstatSync(file).isFile()).toBe(true);
  });

  it("keeps the session's title", async () => {
    const manager = await startSession(sessions());
    await manager.setSessionName("My title", "user");
    const file = manager.createBranchedSession(manager.getLeafId() as string) as string;
    expect(recordsOf(file)[0]).toMatchObject({ title: "My title", titleSource: "user" });
    expect(manager.getSessionName()).toBe("My title");
    const again = await SessionManager.open(file);
    expect(again.getSessionName()).toBe("My title");
    expect(again.titleSource).toBe("user");
  });

  it("names the file it was branched from", async () => {
    const manager = await startSession(sessions());
    const old = fileOf(manager);
    const file = manager.createBranchedSession(manager.getLeafId() as string) as string;
    expect(recordsOf(file)[0]?.parentSession).toBe(old);
  });
});

describe("a session without assistant message that was written once", () => {
  const writes: [string, (manager: SessionManager) => Promise<SessionManager>][] = [
    [
      "rewriteEntries",
      async (manager) => {
        await manager.rewriteEntries();
        return manager;
      },
    ],
    [
      "setSessionName on a written file",
      async (manager) => {
        await manager.rewriteEntries();
        await manager.setSessionName("Name");
        return manager;
      },
    ],
    [
      "fork",
      async (manager) => {
        await manager.fork();
        return manager;
      },
    ],
    [
      "forkFrom",
      async (manager) => {
        await manager.ensureOnDisk();
        return SessionManager.forkFrom(fileOf(manager), "/w/p", sessions());
      },
    ],
    [
      "createBranchedSession",
      async (manager) => {
        manager.createBranchedSession(manager.getLeafId() as string);
        return manager;
      },
    ],
    [
      "createBranchedSession and ensureOnDisk",
      async (manager) => {
        manager.createBranchedSession(manager.getLeafId() as string);
        await manager.ensureOnDisk();
        return manager;
      },
    ],
  ];

  for (const [what, write] of writes) {
    it(`gets every later entry on disk after ${what}`, async () => {
      const fresh = SessionManager.create("/w/p", sessions());
      fresh.appendMessage(userMessage("u1"));
      const manager = await write(fresh);
      const ids = ["u2", "u3"].map((text) => manager.appendMessage(userMessage(text)));
      await manager.flush();
      expect(idsOnDisk(fileOf(manager)).slice(1)).toEqual(ids);
    });
  }

  it("is not written before there is a reason to", async () => {
    const manager = SessionManager.create("/w/p", sessions());
    manager.appendMessage(userMessage("u1"));
    manager.appendModelChange("a/b");
    await manager.setSessionName("Name");
    await manager.flush();
    await manager.close();
    expect(namesIn(sessions())).toEqual([]);
  });
});

describe("restoring a snapshot", () => {
  it("brings back the leaf", async () => {
    const manager = await SessionManager.open(writeSession(join(sessions(), "s.jsonl"), LINEAR4()));
    manager.branch("a1");
    const snapshot = manager.captureState();
    const other = writeSession(join(sessions(), "o.jsonl"), [H({ id: "s2" }), U("x1", null)]);
    await manager.setSessionFile(other);
    manager.restoreState(snapshot);
    expect(manager.getLeafId()).toBe("a1");
    expect(contextOf(manager)).toBe("u1 a1");
    const id = manager.appendMessage(userMessage("u3"));
    expect(manager.getEntry(id)?.parentId).toBe("a1");
  });

  it("brings back a leaf before all entries", async () => {
    const manager = await SessionManager.open(writeSession(join(sessions(), "s.jsonl"), LINEAR4()));
    manager.resetLeaf();
    const snapshot = manager.captureState();
    await manager.newSession();
    manager.restoreState(snapshot);
    expect(manager.getLeafId()).toBeNull();
    expect(idsOf(manager)).toEqual(["u1", "a1", "u2", "a2"]);
  });

  it("goes to the last entry when the snapshot does not say where the leaf was", async () => {
    const manager = await SessionManager.open(writeSession(join(sessions(), "s.jsonl"), LINEAR4()));
    manager.branch("a1");
    const full = manager.captureState();
    const {
      sessionId,
      sessionName,
      titleSource,
      sessionFile,
      flushed,
      needsFullRewriteOnNextPersist,
      fileEntries,
    } = full;
    const snapshot = {
      sessionId,
      sessionName,
      titleSource,
      sessionFile,
      flushed,
      needsFullRewriteOnNextPersist,
      fileEntries,
    };
    await manager.newSession();
    manager.restoreState(snapshot as typeof full);
    expect(manager.getLeafId()).toBe("a2");
  });

  it("holds a session back again that had not been written", async () => {
    const manager = SessionManager.create("/w/p", sessions());
    manager.appendMessage(userMessage("u1"));
    const snapshot = manager.captureState();
    const file = fileOf(manager);
    await manager.setSessionFile(writeSession(join(sandbox(), "o.jsonl"), LINEAR4()));
    manager.restoreState(snapshot);
    manager.appendMessage(userMessage("u2"));
    await manager.flush();
    expect(existsSync(file)).toBe(false);
    manager.appendMessage(assistantMessage("a1"));
    await manager.flush();
    expect(idsOnDisk(file)).toEqual(idsOf(manager));
  });

  it("writes at once again where the session was on disk by request", async () => {
    const manager = SessionManager.create("/w/p", sessions());
    manager.appendMessage(userMessage("u1"));
    await manager.ensureOnDisk();
    const snapshot = manager.captureState();
    await manager.newSession();
    manager.restoreState(snapshot);
    manager.appendMessage(userMessage("u2"));
    await manager.flush();
    expect(idsOnDisk(fileOf(manager))).toEqual(idsOf(manager));
  });
});
