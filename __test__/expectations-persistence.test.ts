import * as fs from "node:fs";
import * as path from "node:path";
import { describe, expect, it } from "vitest";
import { SessionManager } from "../index.js";
import { type Loose, loose } from "./support/loose.js";
import { createIn, createWritten, fileOf } from "./support/managers.js";
import { assistantMessage, userMessage } from "./support/messages.js";
import { useSandbox } from "./support/sandbox.js";
import {
  entryIds,
  fingerprint,
  headerLine,
  messageLine,
  readSession,
  smallSession,
  writeLines,
} from "./support/session-files.js";

const box = useSandbox();

/** A version-1 session: no ids, no version. */
function legacySession(): Loose[] {
  const header = headerLine();
  delete header.version;
  return [
    header,
    { type: "message", timestamp: "2026-01-02T03:04:06.000Z", message: userMessage("old q") },
    { type: "message", timestamp: "2026-01-02T03:04:07.000Z", message: assistantMessage("old a") },
  ];
}

/** A session whose answer carries replay data that loading drops. */
function replaySession(): Loose[] {
  return [
    headerLine(),
    messageLine("m1", null, userMessage()),
    messageLine(
      "m2",
      "m1",
      assistantMessage("a", { providerPayload: { type: "openaiResponsesHistory", items: [1] } }),
    ),
  ];
}

describe("before the first answer", () => {
  it("no kind of entry creates a file", async () => {
    const manager = createIn(box.makeDir("s"));
    const first = manager.appendMessage(userMessage());
    manager.appendModelChange("a/b");
    manager.appendThinkingLevelChange("high");
    manager.appendCustomEntry("ct", {});
    manager.appendCustomMessageEntry("ct", "c", true);
    manager.appendLabelChange(first, "l");
    manager.branchWithSummary(null, "s");
    await manager.setSessionName("Name");
    await manager.flush();
    await manager.close();
    expect(fs.readdirSync(box.path("s"))).toEqual([]);
  });

  it("a fresh session is not resumed in place of the last one with content", async () => {
    const sessions = box.makeDir("s");
    const manager = await createWritten(sessions, box.dir);
    const old = fileOf(manager);
    const fresh = await manager.newSession();
    manager.appendMessage(userMessage("nothing yet"));
    await manager.flush();
    expect(fs.existsSync(String(fresh))).toBe(false);
    expect(fresh).not.toBe(old);
    const resumed = await SessionManager.continueRecent(box.dir, sessions);
    expect(resumed.getSessionFile()).toBe(old);
    expect(resumed.getEntries()).toHaveLength(2);
  });

  it.each<[string, (manager: SessionManager) => Promise<unknown>]>([
    ["ensureOnDisk", (manager) => manager.ensureOnDisk()],
    ["rewriteEntries", (manager) => manager.rewriteEntries()],
    ["fork", (manager) => manager.fork()],
  ])("%s writes the session all the same", async (_name, write) => {
    const manager = createIn(box.dir);
    const id = manager.appendMessage(userMessage());
    await write(manager);
    expect(entryIds(fileOf(manager))).toEqual([id]);
  });

  it("what was held back is written, in order, with the answer", async () => {
    const manager = createIn(box.dir);
    const ids = [
      manager.appendModelChange("a/b"),
      manager.appendMessage(userMessage()),
      manager.appendThinkingLevelChange(),
      manager.appendMessage(assistantMessage()),
    ];
    await manager.flush();
    expect(entryIds(fileOf(manager))).toEqual(ids);
  });

  it("an answer on another branch counts", async () => {
    const manager = createIn(box.dir);
    manager.appendMessage(assistantMessage());
    manager.resetLeaf();
    const id = manager.appendMessage(userMessage());
    await manager.flush();
    expect(entryIds(fileOf(manager)).at(-1)).toBe(id);
  });
});

describe("opening", () => {
  it.each([
    ["a current session", smallSession],
    ["a version-1 session", legacySession],
    ["a session with replay data", replaySession],
    ["a session without an answer", () => smallSession().slice(0, 2)],
  ])("changes neither bytes nor time of %s", async (_what, lines) => {
    const file = writeLines(box.path("s.jsonl"), lines());
    fs.utimesSync(file, new Date(1_700_000_000_000), new Date(1_700_000_000_000));
    const before = fingerprint(file);
    const manager = await SessionManager.open(file);
    manager.getEntries();
    manager.buildSessionContext();
    manager.getTree();
    await manager.flush();
    const other = createIn(box.dir);
    await other.setSessionFile(file);
    await other.flush();
    await other.close();
    await manager.close();
    expect(fingerprint(file)).toEqual(before);
  });

  it("works where nothing may be written", async () => {
    const dir = box.makeDir("locked");
    const file = writeLines(path.join(dir, "s.jsonl"), replaySession());
    fs.chmodSync(file, 0o444);
    fs.chmodSync(dir, 0o555);
    try {
      const manager = await createWritten(box.dir);
      await manager.setSessionFile(file);
      expect(manager.getEntries()).toHaveLength(2);
      expect((await SessionManager.open(file)).getEntries()).toHaveLength(2);
      expect(fs.readdirSync(dir)).toEqual(["s.jsonl"]);
    } finally {
      fs.chmodSync(dir, 0o755);
    }
  });
});

describe("a migrated session", () => {
  it("is written whole by the next append: three old lines and a new one", async () => {
    const file = writeLines(box.path("s.jsonl"), legacySession());
    const manager = await SessionManager.open(file);
    const id = manager.appendMessage(userMessage("new"));
    await manager.flush();
    const lines = readSession(file);
    expect(lines).toHaveLength(4);
    expect(lines[0]?.version).toBe(3);
    expect(lines[3]?.id).toBe(id);
    expect(lines[1]?.parentId).toBeNull();
    expect(lines[2]?.parentId).toBe(lines[1]?.id);
    expect(lines[3]?.parentId).toBe(lines[2]?.id);
    expect(lines.map((line) => line.id).slice(1)).toEqual(
      manager.getEntries().map((entry) => entry.id),
    );
  });

  it.each<[string, (manager: SessionManager) => Promise<unknown>]>([
    ["rewriteEntries", (manager) => manager.rewriteEntries()],
    ["ensureOnDisk", (manager) => manager.ensureOnDisk()],
    ["setSessionName", (manager) => manager.setSessionName("Name")],
  ])("is written whole by %s", async (_name, write) => {
    const file = writeLines(box.path("s.jsonl"), legacySession());
    const manager = await SessionManager.open(file);
    await write(manager);
    const lines = readSession(file);
    expect(lines).toHaveLength(3);
    expect(lines[0]?.version).toBe(3);
    expect(lines[1]?.id).toBe(manager.getEntries()[0]?.id);
    expect(loose(manager.captureState()).needsFullRewriteOnNextPersist).toBe(false);
  });

  it("goes whole to the new file of fork and moveTo", async () => {
    const file = writeLines(box.path("s.jsonl"), legacySession());
    const forked = await SessionManager.open(file);
    await forked.fork();
    expect(readSession(fileOf(forked))).toHaveLength(3);
    expect(readSession(file)[0]?.version).toBeUndefined();
    const moved = await SessionManager.open(file);
    await moved.moveTo(box.makeDir("elsewhere"));
    expect(readSession(fileOf(moved))[0]?.version).toBe(3);
    expect(entryIds(fileOf(moved))).toEqual(moved.getEntries().map((entry) => entry.id));
  });
});

describe("ensureOnDisk", () => {
  it("makes a fresh session resumable after a single question", async () => {
    const manager = createIn(box.dir);
    await manager.ensureOnDisk();
    expect(readSession(fileOf(manager))).toHaveLength(1);
    const id = manager.appendMessage(userMessage("only a question"));
    await manager.flush();
    const again = await SessionManager.open(fileOf(manager));
    expect(again.getEntries().map((entry) => entry.id)).toEqual([id]);
    await again.fork();
    expect(entryIds(fileOf(again))).toEqual([id]);
  });
});

describe("after close", () => {
  it("the manager can be asked, appended to, moved and closed again", async () => {
    const manager = SessionManager.create(box.makeDir("project"));
    manager.appendMessage(userMessage());
    manager.appendMessage(assistantMessage());
    await manager.saveArtifact("text", "bash");
    await manager.close();
    expect(fs.existsSync(fileOf(manager))).toBe(true);
    expect(await manager.getArtifactPath("0")).toMatch(/0\.bash\.log$/);
    const id = manager.appendMessage(userMessage("after"));
    await manager.flush();
    expect(entryIds(fileOf(manager)).at(-1)).toBe(id);
    await manager.close();
    fs.unlinkSync(fileOf(manager));
    await manager.moveTo(box.makeDir("other"));
    expect(entryIds(fileOf(manager))).toHaveLength(3);
    await manager.close();
  });
});
