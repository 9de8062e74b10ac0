import * as fs from "node:fs";
import { describe, expect, it } from "vitest";
import { SessionManager } from "../index.js";
import { loose } from "./support/loose.js";
import { createIn, createWritten, fileOf } from "./support/managers.js";
import { assistantMessage, userMessage } from "./support/messages.js";
import { useSandbox } from "./support/sandbox.js";
import {
  HEADER_LINE_BYTES,
  headerLine,
  rawLines,
  smallSession,
  writeLines,
} from "./support/session-files.js";

const box = useSandbox();

/** Checks the first line of a file that the store made, and returns the header's keys. */
function paddedHeaderKeys(file: string): string[] {
  const bytes = fs.readFileSync(file);
  expect(bytes.indexOf(0x0a)).toBe(HEADER_LINE_BYTES - 1);
  const line = bytes.subarray(0, HEADER_LINE_BYTES - 1).toString("utf8");
  expect(line).toMatch(/^\{.*\} +$/);
  expect(line.trimEnd()).toBe(JSON.stringify(JSON.parse(line)));
  return Object.keys(JSON.parse(line));
}

const NEW_SESSION = ["type", "version", "id", "timestamp", "cwd"];

describe("the header line of a new file", () => {
  it("is padded with spaces to a fixed size, whatever wrote it first", async () => {
    const answered = await createWritten(box.dir);
    expect(paddedHeaderKeys(fileOf(answered))).toEqual(NEW_SESSION);
    const ensured = createIn(box.dir);
    await ensured.ensureOnDisk();
    expect(paddedHeaderKeys(fileOf(ensured))).toEqual(NEW_SESSION);
    const rewritten = createIn(box.dir);
    await rewritten.rewriteEntries();
    expect(paddedHeaderKeys(fileOf(rewritten))).toEqual(NEW_SESSION);
    const opened = await SessionManager.open(box.path("missing.jsonl"));
    expect(paddedHeaderKeys(fileOf(opened))).toEqual(NEW_SESSION);
  });

  it("keeps its size over rewrites", async () => {
    const manager = await createWritten(box.dir);
    await manager.rewriteEntries();
    expect(paddedHeaderKeys(fileOf(manager))).toEqual(NEW_SESSION);
    const again = await SessionManager.open(fileOf(manager));
    again.appendMessage(userMessage());
    await again.rewriteEntries();
    expect(paddedHeaderKeys(fileOf(again))).toEqual(NEW_SESSION);
  });

  it("has title and titleSource at the end after naming", async () => {
    const manager = await createWritten(box.dir);
    await manager.setSessionName("T", "user");
    expect(paddedHeaderKeys(fileOf(manager))).toEqual([...NEW_SESSION, "title", "titleSource"]);
  });

  it("has parentSession after cwd when newSession got one", async () => {
    const manager = createIn(box.dir);
    await manager.newSession({ parentSession: "p" });
    await manager.ensureOnDisk();
    expect(paddedHeaderKeys(fileOf(manager))).toEqual([...NEW_SESSION, "parentSession"]);
  });

  it("has the title before the time in a fork", async () => {
    const manager = await createWritten(box.dir);
    await manager.fork();
    expect(paddedHeaderKeys(fileOf(manager))).toEqual([...NEW_SESSION, "parentSession"]);
    await manager.setSessionName("T", "auto");
    await manager.fork();
    expect(paddedHeaderKeys(fileOf(manager))).toEqual([
      "type",
      "version",
      "id",
      "title",
      "titleSource",
      "timestamp",
      "cwd",
      "parentSession",
    ]);
  });

  it("has the title last in a copy of another file", async () => {
    const source = writeLines(
      box.path("source.jsonl"),
      smallSession({ title: "T", titleSource: "user", foreign: 1 }),
    );
    const manager = await SessionManager.forkFrom(source, box.dir, box.dir);
    expect(paddedHeaderKeys(fileOf(manager))).toEqual([
      ...NEW_SESSION,
      "parentSession",
      "title",
      "titleSource",
    ]);
  });

  it("has parentSession last in a branched session without title", async () => {
    const manager = await createWritten(box.dir);
    manager.createBranchedSession(String(manager.getLeafId()));
    expect(paddedHeaderKeys(fileOf(manager))).toEqual([...NEW_SESSION, "parentSession"]);
  });

  it("is as long as it must be when it does not fit", async () => {
    const cwd = `/work/${"very-long-directory-name/".repeat(40)}`;
    const manager = createIn(box.dir, cwd);
    manager.appendMessage(userMessage());
    manager.appendMessage(assistantMessage());
    await manager.flush();
    const [line] = rawLines(fileOf(manager));
    expect(JSON.parse(String(line))).toMatchObject({ type: "session", cwd });
    expect((await SessionManager.open(fileOf(manager))).getEntries()).toHaveLength(2);
  });

  it("counts bytes, not characters", async () => {
    const manager = createIn(box.dir, "/プロジェクト/😀");
    await manager.ensureOnDisk();
    expect(paddedHeaderKeys(fileOf(manager))).toEqual(NEW_SESSION);
  });

  it("has version 3 and the live header's values", async () => {
    const manager = await createWritten(box.dir);
    const header = JSON.parse(String(rawLines(fileOf(manager))[0]));
    expect(header).toEqual({
      type: "session",
      version: 3,
      id: manager.getSessionId(),
      timestamp: manager.getHeader()?.timestamp,
      cwd: box.dir,
    });
  });
});

describe("the header of a loaded file", () => {
  it("keeps its order and unknown keys", async () => {
    const header = {
      foreign: { deep: [1, null] },
      cwd: "/c",
      id: "15e1be0f427b9866",
      type: "session",
      timestamp: "2026-01-02T03:04:05.678Z",
      version: 3,
      other: "x",
    };
    const file = writeLines(box.path("s.jsonl"), [header, ...smallSession().slice(1)]);
    const manager = await SessionManager.open(file);
    expect(Object.keys(loose(manager.getHeader()))).toEqual(Object.keys(header));
    await manager.rewriteEntries();
    expect(String(rawLines(file)[0]).trimEnd()).toBe(JSON.stringify(header));
  });

  it("gets a missing version last", async () => {
    const header = headerLine();
    delete header.version;
    const file = writeLines(box.path("s.jsonl"), [header]);
    const manager = await SessionManager.open(file);
    await manager.rewriteEntries();
    expect(String(rawLines(file)[0]).trimEnd()).toBe(JSON.stringify({ ...header, version: 3 }));
  });

  it("is written without keys whose value is undefined", async () => {
    const file = writeLines(box.path("s.jsonl"), smallSession());
    const manager = await SessionManager.forkFrom(file, box.dir, box.dir);
    expect("title" in loose(manager.getHeader())).toBe(true);
    expect(paddedHeaderKeys(fileOf(manager))).toEqual([...NEW_SESSION, "parentSession"]);
  });

  it("padded by hand is read like any other", async () => {
    const [header, ...entries] = smallSession({ title: "T" });
    const file = writeLines(box.path("s.jsonl"), [
      `  ${JSON.stringify(header)}${" ".repeat(3000)}\t`,
      ...entries,
    ]);
    const manager = await SessionManager.open(file);
    expect(manager.getSessionName()).toBe("T");
    expect(manager.getEntries()).toHaveLength(2);
  });
});

describe("a session file", () => {
  it("is UTF-8 without a mark, one value per line, every line ended by one line feed", async () => {
    const manager = await createWritten(box.dir);
    manager.appendMessage(userMessage("zwei\nZeilen – 日本 😀\r\n\u2028"));
    await manager.flush();
    const bytes = fs.readFileSync(fileOf(manager));
    expect(bytes[0]).toBe("{".charCodeAt(0));
    expect(bytes.at(-1)).toBe(0x0a);
    expect(bytes.includes(0x0d)).toBe(false);
    const lines = bytes.toString("utf8").slice(0, -1).split("\n");
    expect(lines).toHaveLength(4);
    for (const line of lines) {
      expect(() => JSON.parse(line)).not.toThrow();
    }
    expect(lines.slice(1).every((line) => !line.endsWith(" "))).toBe(true);
  });
});
