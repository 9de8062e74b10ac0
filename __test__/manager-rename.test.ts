import * as fs from "node:fs";
import { describe, expect, it } from "vitest";
import { SessionManager } from "../index.js";
import { loose } from "./support/loose.js";
import { createIn, createWritten, fileOf } from "./support/managers.js";
import { userMessage } from "./support/messages.js";
import { useSandbox } from "./support/sandbox.js";
import {
  entryIds,
  fingerprint,
  HEADER_LINE_BYTES,
  rawLines,
  readSession,
  smallSession,
  writeLines,
} from "./support/session-files.js";

const box = useSandbox();

describe("setSessionName", () => {
  it("resolves with true and shows the name at once, even unawaited", async () => {
    const manager = SessionManager.inMemory(box.dir);
    const pending = manager.setSessionName("My name");
    expect(manager.getSessionName()).toBe("My name");
    expect(manager.titleSource).toBe("auto");
    expect(manager.getHeader()).toMatchObject({ title: "My name", titleSource: "auto" });
    expect(await pending).toBe(true);
  });

  it("adds title and titleSource at the end of the live header", async () => {
    const manager = createIn(box.dir);
    const header = loose(manager.getHeader());
    await manager.setSessionName("T", "user");
    expect(manager.getHeader()).toBe(header);
    expect(Object.keys(header).slice(-2)).toEqual(["title", "titleSource"]);
  });

  it("does not let an automatic name replace the user's", async () => {
    const manager = SessionManager.inMemory(box.dir);
    expect(await manager.setSessionName("Mine", "user")).toBe(true);
    expect(await manager.setSessionName("Guess", "auto")).toBe(false);
    expect(await manager.setSessionName("Guess")).toBe(false);
    expect(manager.getSessionName()).toBe("Mine");
    expect(await manager.setSessionName("Mine 2", "user")).toBe(true);
    expect(manager.getSessionName()).toBe("Mine 2");
  });

  it("lets the user replace an automatic name and a later one replace an earlier one", async () => {
    const manager = SessionManager.inMemory(box.dir);
    await manager.setSessionName("Guess 1");
    expect(await manager.setSessionName("Guess 2")).toBe(true);
    expect(await manager.setSessionName("Mine", "user")).toBe(true);
    expect(manager.titleSource).toBe("user");
  });

  it.each([
    ["control characters become spaces", "a\u0000b\u001fc\u007fd\u0085e\u009ff", "a b c d e f"],
    ["runs of spaces collapse", "  a \n\t\r  b  ", "a b"],
    ["outer white space of every kind is trimmed", "\u00a0\ufeff\u2003 a \u2028\u3000", "a"],
    ["inner white space other than spaces stays", "a\u00a0\u00a0b", "a\u00a0\u00a0b"],
    ["other characters stay", "Ünï – 日本 😀", "Ünï – 日本 😀"],
  ])("%s", async (_what, given, stored) => {
    const manager = SessionManager.inMemory(box.dir);
    expect(await manager.setSessionName(given)).toBe(true);
    expect(manager.getSessionName()).toBe(stored);
  });

  it.each(["", "   ", "\n\t", "\u0000\u0007", "\u00a0\ufeff"])(
    "resolves with false for the empty name %j and changes nothing",
    async (name) => {
      const manager = SessionManager.inMemory(box.dir);
      expect(await manager.setSessionName(name, "user")).toBe(false);
      expect(manager.getSessionName()).toBeUndefined();
      expect(manager.titleSource).toBeUndefined();
      expect("title" in loose(manager.getHeader())).toBe(false);
    },
  );

  it("does not create the file of a session that is not on disk", async () => {
    const manager = createIn(box.dir);
    await manager.setSessionName("Early");
    expect(fs.existsSync(fileOf(manager))).toBe(false);
    await manager.ensureOnDisk();
    expect(readSession(fileOf(manager))[0]).toMatchObject({ title: "Early", titleSource: "auto" });
  });

  it("is on disk when it resolves", async () => {
    const manager = await createWritten(box.dir);
    await manager.setSessionName("Named", "user");
    const [header] = readSession(fileOf(manager));
    expect(header).toMatchObject({ title: "Named", titleSource: "user" });
    const reopened = await SessionManager.open(fileOf(manager));
    expect(reopened.getSessionName()).toBe("Named");
    expect(reopened.titleSource).toBe("user");
  });

  it("changes only the padded header line of a file that the store made", async () => {
    const manager = await createWritten(box.dir);
    const before = fingerprint(fileOf(manager));
    await manager.setSessionName("Named in place");
    await manager.setSessionName("n");
    await manager.setSessionName("Named once more", "user");
    const after = fingerprint(fileOf(manager));
    expect(after.ino).toBe(before.ino);
    expect(after.text.length).toBe(before.text.length);
    expect(after.text.slice(HEADER_LINE_BYTES)).toBe(before.text.slice(HEADER_LINE_BYTES));
    expect(JSON.parse(after.text.slice(0, HEADER_LINE_BYTES))).toMatchObject({
      title: "Named once more",
      titleSource: "user",
    });
  });

  it("keeps a title that does not fit into the padding", async () => {
    const manager = await createWritten(box.dir);
    const title = "long ".repeat(200).trim();
    expect(await manager.setSessionName(title, "user")).toBe(true);
    const lines = readSession(fileOf(manager));
    expect(lines[0]?.title).toBe(title);
    expect(lines.slice(1).map((line) => line.id)).toEqual(
      manager.getEntries().map((entry) => entry.id),
    );
    expect(await manager.setSessionName("short", "user")).toBe(true);
    expect(readSession(fileOf(manager))[0]?.title).toBe("short");
  });

  it("counts the padding in bytes, not characters", async () => {
    const manager = await createWritten(box.dir);
    const before = fs.readFileSync(fileOf(manager));
    await manager.setSessionName("日本語のタイトル 😀");
    const after = fs.readFileSync(fileOf(manager));
    expect(after.length).toBe(before.length);
    expect(after.indexOf(0x0a)).toBe(HEADER_LINE_BYTES - 1);
    expect(after.subarray(HEADER_LINE_BYTES).equals(before.subarray(HEADER_LINE_BYTES))).toBe(true);
    expect(readSession(fileOf(manager))[0]?.title).toBe("日本語のタイトル 😀");
  });

  it("renames a file without padding and keeps its other lines byte for byte", async () => {
    const odd =
      '{"type":"custom","customType":"x", "data":1.50, "id":"aaaaaaa3","parentId":"aaaaaaa2"}';
    const file = writeLines(box.path("plain.jsonl"), [
      ...smallSession({ later: { kept: true } }),
      odd,
    ]);
    const lines = rawLines(file);
    const manager = await SessionManager.open(file);
    expect(await manager.setSessionName("New name", "user")).toBe(true);
    expect(rawLines(file).slice(1)).toEqual(lines.slice(1));
    expect(readSession(file)[0]).toMatchObject({
      title: "New name",
      titleSource: "user",
      later: { kept: true },
    });
  });

  it("replaces a title in its place in the key order", async () => {
    const file = writeLines(box.path("s.jsonl"), [
      {
        type: "session",
        title: "Old",
        version: 3,
        id: "15e1be0f427b9866",
        timestamp: "t",
        cwd: "/c",
      },
    ]);
    const manager = await SessionManager.open(file);
    await manager.setSessionName("New");
    expect(Object.keys(loose(readSession(file)[0]))).toEqual([
      "type",
      "title",
      "version",
      "id",
      "timestamp",
      "cwd",
      "titleSource",
    ]);
  });

  it("works while appends are being written", async () => {
    const manager = await createWritten(box.dir);
    const ids = [];
    const names = [];
    for (let round = 0; round < 20; round += 1) {
      ids.push(manager.appendModelChange(`a/${round}`));
      names.push(manager.setSessionName(`Round ${round}`, "user"));
      ids.push(manager.appendModelChange(`b/${round}`));
    }
    expect(await Promise.all(names)).toEqual(Array.from({ length: 20 }, () => true));
    await manager.flush();
    const lines = readSession(fileOf(manager));
    expect(lines[0]?.title).toBe("Round 19");
    expect(lines.slice(3).map((line) => line.id)).toEqual(ids);
  });
});

describe("a name in a loaded header", () => {
  it("is taken as it is, neither sanitised nor checked", async () => {
    const file = writeLines(
      box.path("s.jsonl"),
      smallSession({ title: " two  spaces\n", titleSource: "auto" }),
    );
    const manager = await SessionManager.open(file);
    expect(manager.getSessionName()).toBe(" two  spaces\n");
    expect(manager.titleSource).toBe("auto");
  });
});

describe("a name that could not be written", () => {
  const RETRIES: [string, (manager: SessionManager) => unknown][] = [
    ["flush", (manager) => manager.flush()],
    ["close", (manager) => manager.close()],
    ["moveTo", (manager) => manager.moveTo(box.makeDir("elsewhere"))],
    ["the end of the process", () => process.emit("exit", 0)],
    [
      "an append",
      async (manager) => {
        expect(() => manager.appendMessage(userMessage("later"))).toThrow("EISDIR");
        await manager.flush();
      },
    ],
  ];

  for (const [how, retry] of RETRIES) {
    it(`is written by ${how}`, async () => {
      const manager = await createWritten(box.makeDir("s"));
      await manager.close();
      const file = fileOf(manager);
      fs.renameSync(file, `${file}.aside`);
      fs.mkdirSync(file);
      await expect(manager.setSessionName("Title")).rejects.toMatchObject({ code: "EISDIR" });
      expect(manager.getSessionName()).toBe("Title");
      fs.rmdirSync(file);
      fs.renameSync(`${file}.aside`, file);
      await retry(manager);
      expect(readSession(fileOf(manager))[0]?.title).toBe("Title");
      expect(entryIds(fileOf(manager))).toEqual(manager.getEntries().map((entry) => entry.id));
    });
  }
});
