import { createHash } from "node:crypto";
import * as fs from "node:fs";
import * as path from "node:path";
import { describe, expect, it } from "vitest";
import * as api from "../index.js";
import { type Loose, loose, unchecked } from "./support/loose.js";
import { createIn, createWritten, fileOf } from "./support/managers.js";
import { assistantMessage, userMessage } from "./support/messages.js";
import { useSandbox } from "./support/sandbox.js";
import {
  entryIds,
  headerLine,
  messageLine,
  readEntries,
  smallSession,
  writeLines,
} from "./support/session-files.js";

const { loadEntriesFromFile, migrateSessionEntries, parseSessionEntries, SessionManager } = api;
const box = useSandbox();

const PAYLOAD = { type: "openaiResponsesHistory", provider: "openai", items: [{ x: 1 }] };

/** Question and answer that both carry provider data; the answer also signatures. */
function replayEntries(): Loose[] {
  return [
    headerLine(),
    messageLine("m1", null, { ...userMessage(), providerPayload: PAYLOAD }),
    messageLine("m2", "m1", { ...userMessage(), role: "developer", providerPayload: PAYLOAD }),
    messageLine(
      "m3",
      "m2",
      assistantMessage("a", {
        providerPayload: PAYLOAD,
        content: [
          { type: "thinking", thinking: "hm", thinkingSignature: "sig-1" },
          { type: "text", text: "a", textSignature: "sig-2" },
          { type: "toolCall", id: "c", name: "n", arguments: {}, thoughtSignature: "sig-3" },
        ],
      }),
    ),
  ];
}

function expectSanitised(messages: Loose[]) {
  expect(messages[0]?.providerPayload).toEqual(PAYLOAD);
  expect(messages[1]?.providerPayload).toEqual(PAYLOAD);
  expect(messages[2]?.providerPayload).toBeUndefined();
  expect(messages[2]?.content).toMatchObject([
    { type: "thinking", thinking: "hm" },
    { type: "text", textSignature: "sig-2" },
    { type: "toolCall", thoughtSignature: "sig-3" },
  ]);
  expect(messages[2]?.content[0].thinkingSignature).toBeUndefined();
}

const messagesOf = (manager: InstanceType<typeof SessionManager>) =>
  manager.getEntries().map((entry) => loose(entry).message);

describe("loadEntriesFromFile", () => {
  it.each([
    ["a missing file", undefined],
    ["an empty file", ""],
    ["a blank file", "\n \n"],
    ["garbage", "this is\nnot json\n"],
    ["JSON without a header", '{"type":"message","id":"a"}\n'],
    ["a header without an id", '{"type":"session","version":3}\n'],
    ["a header with a numeric id", '{"type":"session","id":5}\n'],
    ["a first value that is null", `null\n${JSON.stringify(headerLine())}\n`],
    ["a first value that is an array", `[]\n${JSON.stringify(headerLine())}\n`],
  ])("gives [] for %s", async (_what, content) => {
    const file = box.path("x.jsonl");
    if (content !== undefined) {
      fs.writeFileSync(file, content);
    }
    expect(await loadEntriesFromFile(file)).toEqual([]);
    expect(fs.existsSync(file)).toBe(content !== undefined);
  });

  it("gives header and entries as they are, without migrating them", async () => {
    const header = headerLine({ version: 1, id: "" });
    const file = writeLines(
      box.path("s.jsonl"),
      [header, { type: "message", message: {} }, 5].map((line) => unchecked(line)),
    );
    expect(await loadEntriesFromFile(file)).toEqual([header, { type: "message", message: {} }, 5]);
  });

  it("skips lines that cannot be read", async () => {
    const [header, first, second] = smallSession();
    const file = writeLines(box.path("s.jsonl"), [
      loose(header),
      "garbage",
      loose(first),
      '{"type":"message","broken',
      loose(second),
    ]);
    expect(await loadEntriesFromFile(file)).toEqual(smallSession());
  });

  it("rejects for what is no file", async () => {
    await expect(loadEntriesFromFile(box.makeDir("d"))).rejects.toMatchObject({ code: "EISDIR" });
  });
});

describe("parsed, migrated and built without a manager", () => {
  it("plain entries give a context", () => {
    const header = headerLine();
    delete header.version;
    const text = [
      header,
      { type: "message", timestamp: "2026-01-01T00:00:00.000Z", message: userMessage("q") },
      {
        type: "message",
        timestamp: "2026-01-01T00:00:01.000Z",
        message: { role: "assistant", content: [], provider: "p", model: "m" },
      },
      {
        type: "compaction",
        timestamp: "2026-01-01T00:00:02.000Z",
        summary: "s",
        firstKeptEntryIndex: 2,
        tokensBefore: 5,
      },
      { type: "message", timestamp: "2026-01-01T00:00:03.000Z", message: userMessage("next") },
    ]
      .map((line) => JSON.stringify(line))
      .join("\n");
    const entries = parseSessionEntries(text);
    expect(entries[0]?.type).toBe("session");
    expect(migrateSessionEntries(entries)).toBeUndefined();
    const tree = entries.filter((entry) => entry.type !== "session");
    expect(tree.every((entry) => loose(entry).id.length === 8)).toBe(true);
    const context = api.buildSessionContext(unchecked(tree));
    expect(context.messages.map((message) => message.role)).toEqual([
      "compactionSummary",
      "assistant",
      "user",
    ]);
    expect(context.models).toEqual({ default: "p/m" });
    expect(api.getLatestCompactionEntry(unchecked(tree))).toBe(tree[2]);
  });

  it("hand-made entries need no header, and a leaf chooses the branch", () => {
    const entries = [
      messageLine("a", null, userMessage("a")),
      messageLine("b", "a", assistantMessage("b")),
      messageLine("c", "a", assistantMessage("c")),
    ];
    const texts = (leaf?: string) =>
      api
        .buildSessionContext(unchecked(entries), leaf)
        .messages.map((message) => loose(message).content[0].text ?? loose(message).content);
    expect(texts()).toEqual(["a", "c"]);
    expect(texts("b")).toEqual(["a", "b"]);
    const custom = { ...messageLine("d", "c", {}), type: "custom_message", content: "x" };
    const built = api.buildSessionContext(unchecked([...entries, custom])).messages.at(-1);
    expect(loose(built).attribution).toBeUndefined();
  });

  it("ids of version 2 stay", () => {
    const entries = [headerLine({ version: 2 }), messageLine("keep-me", null, userMessage())];
    migrateSessionEntries(unchecked(entries));
    expect(entries[1]?.id).toBe("keep-me");
    expect(entries[0]?.version).toBe(3);
  });

  it("the text of a written file starts with its header", async () => {
    const manager = await createWritten(box.dir);
    const entries = parseSessionEntries(fs.readFileSync(fileOf(manager), "utf8"));
    expect(entries[0]).toEqual(JSON.parse(JSON.stringify(manager.getHeader())));
    expect(entries.slice(1)).toEqual(JSON.parse(JSON.stringify(manager.getEntries())));
  });
});

describe("what is too large to keep", () => {
  it("signatures come back empty, the blocks around them whole", async () => {
    const manager = createIn(box.dir);
    const huge = "s".repeat(500_001);
    manager.appendMessage(
      assistantMessage("a", {
        content: [
          { type: "thinking", thinking: "thought", thinkingSignature: huge },
          { type: "text", text: "said", textSignature: huge },
          { type: "toolCall", id: "c", name: "n", arguments: { a: 1 }, thoughtSignature: huge },
          { type: "text", text: "small", textSignature: "small" },
        ],
      }),
    );
    await manager.flush();
    const again = await SessionManager.open(fileOf(manager));
    expect(messagesOf(again)[0].content).toEqual([
      { type: "thinking", thinking: "thought", thinkingSignature: "" },
      { type: "text", text: "said", textSignature: "" },
      { type: "toolCall", id: "c", name: "n", arguments: { a: 1 }, thoughtSignature: "" },
      { type: "text", text: "small", textSignature: "small" },
    ]);
  });

  it("image URLs go to a blob named by the hash of the URL and come back on open", async () => {
    const manager = createIn(box.dir);
    const url = `data:image/png;base64,${Buffer.from("some image").toString("base64")}`;
    const hash = createHash("sha256").update(url).digest("hex");
    manager.appendMessage({
      ...userMessage(),
      providerPayload: {
        type: "openaiResponsesHistory",
        items: [{ content: [{ type: "input_image", image_url: url }] }],
      },
    });
    manager.appendMessage(assistantMessage());
    await manager.flush();
    const image = (message: Loose) => message.providerPayload.items[0].content[0].image_url;
    expect(image(readEntries(fileOf(manager))[0]?.message)).toBe(`blob:sha256:${hash}`);
    expect(fs.readFileSync(path.join(box.blobsDir, hash), "utf8")).toBe(url);
    expect(image(messagesOf(manager)[0])).toBe(url);
    expect(image(messagesOf(await SessionManager.open(fileOf(manager)))[0])).toBe(url);
  });
});

describe("stale replay data", () => {
  it("is dropped from answers on open, switch, fork and reload", async () => {
    const file = writeLines(box.path("s.jsonl"), replayEntries());
    const opened = await SessionManager.open(file);
    expectSanitised(messagesOf(opened));
    const switched = await createWritten(box.makeDir("w"));
    await switched.setSessionFile(file);
    expectSanitised(messagesOf(switched));
    const copied = await SessionManager.forkFrom(file, box.dir, box.makeDir("f"));
    expectSanitised(messagesOf(copied));
    expectSanitised(readEntries(fileOf(copied)).map((entry) => entry.message));
    await opened.setSessionFile(file);
    expectSanitised(messagesOf(opened));
    expectSanitised(opened.buildSessionContext().messages.map(loose));
    expectSanitised(
      loose(opened.captureState())
        .fileEntries.slice(1)
        .map((e: Loose) => e.message),
    );
  });

  it("leaves the disk with the next rewrite", async () => {
    const file = writeLines(box.path("s.jsonl"), replayEntries());
    const manager = await SessionManager.open(file);
    await manager.rewriteEntries();
    const message = readEntries(file)[2]?.message;
    expect("providerPayload" in message).toBe(false);
    expect("thinkingSignature" in message.content[0]).toBe(false);
    expect(readEntries(file)[0]?.message.providerPayload).toEqual(PAYLOAD);
  });

  it("can be dropped from memory on request", () => {
    const manager = SessionManager.inMemory(box.dir);
    const message = assistantMessage("a", {
      providerPayload: PAYLOAD,
      content: [{ type: "thinking", thinking: "hm", thinkingSignature: "sig" }],
    });
    const id = manager.appendMessage(message);
    const entry = manager.getEntry(id);
    expect(manager.sanitizeLoadedOpenAIResponsesReplayMetadata()).toBe(true);
    expect(manager.getEntry(id)).toBe(entry);
    expect(loose(entry).message).not.toBe(message);
    expect(loose(entry).message.providerPayload).toBeUndefined();
    expect(loose(entry).message.content[0].thinkingSignature).toBeUndefined();
    expect(message.providerPayload).toBe(PAYLOAD);
    expect(message.content[0].thinkingSignature).toBe("sig");
    expect(manager.sanitizeLoadedOpenAIResponsesReplayMetadata()).toBe(false);
  });

  it("of other kinds and of other roles stays", () => {
    const manager = SessionManager.inMemory(box.dir);
    manager.appendMessage(assistantMessage("a", { providerPayload: { type: "other" } }));
    manager.appendMessage(
      assistantMessage("b", {
        content: [{ type: "thinking", thinking: "t", thinkingSignature: "sig" }],
      }),
    );
    manager.appendMessage({ ...userMessage(), providerPayload: PAYLOAD });
    const before = messagesOf(manager);
    expect(manager.sanitizeLoadedOpenAIResponsesReplayMetadata()).toBe(false);
    expect(messagesOf(manager).every((message, index) => message === before[index])).toBe(true);
  });
});

describe("reloading", () => {
  it("a session that was never written keeps its path", async () => {
    const manager = createIn(box.dir);
    const file = fileOf(manager);
    await manager.setSessionFile(file);
    expect(manager.getSessionFile()).toBe(file);
    manager.appendMessage(userMessage());
    await manager.flush();
    expect(entryIds(file)).toHaveLength(1);
  });

  it("picks up what another manager appended", async () => {
    const manager = await createWritten(box.dir);
    const other = await SessionManager.open(fileOf(manager));
    const id = other.appendMessage(userMessage("from the other"));
    await other.flush();
    await manager.setSessionFile(fileOf(manager));
    expect(manager.getEntries().map((entry) => entry.id)).toContain(id);
    expect(manager.getLeafId()).toBe(id);
  });

  it("picks up a file that was rewritten by hand", async () => {
    const file = writeLines(box.path("s.jsonl"), smallSession());
    const manager = await SessionManager.open(file);
    const old = manager.getEntries()[0];
    const changed = smallSession().map((line) => ({
      ...line,
      timestamp: "2026-05-05T05:05:05.000Z",
    }));
    writeLines(file, changed);
    await manager.setSessionFile(file);
    expect(manager.getEntries()).toEqual(changed.slice(1));
    expect(manager.getEntries()[0]).not.toBe(old);
    expect(loose(old).timestamp).not.toBe("2026-05-05T05:05:05.000Z");
  });
});

describe("title sources", () => {
  it.each(["auto", "user"] as const)("survive a round trip: %s", async (source) => {
    const manager = await createWritten(box.dir);
    await manager.setSessionName("A name", source);
    await manager.close();
    const again = await SessionManager.open(fileOf(manager));
    expect(again.getSessionName()).toBe("A name");
    expect(again.titleSource).toBe(source);
    expect(await again.setSessionName("Guess", "auto")).toBe(source === "auto");
  });
});
