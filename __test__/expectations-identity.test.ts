import * as fs from "node:fs";
import { describe, expect, it } from "vitest";
import { SessionManager } from "../index.js";
import { type Loose, loose, unchecked } from "./support/loose.js";
import { createIn, createWritten, fileOf } from "./support/managers.js";
import { assistantMessage, toolResultMessage, userMessage } from "./support/messages.js";
import { useSandbox } from "./support/sandbox.js";
import {
  entryIds,
  headerLine,
  messageLine,
  readEntries,
  readSession,
  smallSession,
  writeLines,
} from "./support/session-files.js";

const box = useSandbox();

/** An object whose every access goes through traps, and that structured clone refuses. */
function proxied(target: Loose): Loose {
  return new Proxy(target, {});
}

describe("entries are live objects", () => {
  it.each(["appended", "loaded"])("the same from every query, %s", async (how) => {
    let manager = await createWritten(box.dir);
    if (how === "loaded") {
      manager = await SessionManager.open(fileOf(manager));
    }
    const [first, second] = manager.getEntries();
    const root = manager.getTree()[0];
    expect(manager.getEntry(String(first?.id))).toBe(first);
    expect(manager.getBranch()[0]).toBe(first);
    expect(manager.getBranch()[1]).toBe(second);
    expect(manager.getChildren(String(first?.id))[0]).toBe(second);
    expect(root?.entry).toBe(first);
    expect(root?.children[0]?.entry).toBe(second);
    expect(manager.getLeafEntry()).toBe(second);
    expect(loose(manager.captureState()).fileEntries[1]).toBe(first);
    expect(manager.buildSessionContext().messages[1]).toBe(loose(second).message);
    expect(manager.getEntries()[0]).toBe(first);
  });

  it("whose edits show in the context and reach the disk with rewriteEntries", async () => {
    const written = await createWritten(box.dir);
    written.appendMessage(toolResultMessage("a very long output"));
    await written.close();
    for (const manager of [written, await SessionManager.open(fileOf(written))]) {
      const entry = loose(manager.getBranch().at(-1));
      entry.message.content = [{ type: "text", text: `pruned by ${manager === written}` }];
      entry.message.prunedAt = 1234;
      await manager.rewriteEntries();
      const line = readEntries(fileOf(manager)).at(-1);
      expect(line?.message).toMatchObject({ content: entry.message.content, prunedAt: 1234 });
      expect(loose(manager.buildSessionContext().messages.at(-1)).prunedAt).toBe(1234);
    }
  });

  it("whose edits before the first answer are written with it", async () => {
    const manager = createIn(box.dir);
    const message = userMessage("draft");
    manager.appendMessage(message);
    message.content = "final";
    await manager.flush();
    loose(manager.getEntries()[0]).extra = "later";
    manager.appendMessage(assistantMessage());
    await manager.flush();
    expect(readEntries(fileOf(manager))[0]).toMatchObject({
      message: { content: "final" },
      extra: "later",
    });
  });

  it("whose edits do not reach the disk without a rewrite", async () => {
    const manager = await createWritten(box.dir);
    const before = fs.readFileSync(fileOf(manager), "utf8");
    loose(manager.getEntries()[0]).message.content = "edited";
    await manager.flush();
    expect(fs.readFileSync(fileOf(manager), "utf8")).toBe(before);
  });
});

describe("a message", () => {
  it("is stored as the object that was passed", () => {
    const manager = SessionManager.inMemory(box.dir);
    const message = assistantMessage();
    const id = manager.appendMessage(message);
    expect(loose(manager.getEntry(id)).message).toBe(message);
    expect(manager.buildSessionContext().messages[0]).toBe(message);
  });

  it("edited in the tick of its append reaches the disk edited", async () => {
    const manager = await createWritten(box.dir);
    const message = assistantMessage("first words");
    const id = manager.appendMessage(message);
    message.content[0].text = "last words";
    message.added = { later: true };
    const data = { value: "old" };
    manager.appendCustomEntry("ct", data);
    data.value = "new";
    await manager.flush();
    const lines = readEntries(fileOf(manager));
    expect(lines.find((line) => line.id === id)?.message).toMatchObject({
      content: [{ type: "text", text: "last words" }],
      added: { later: true },
    });
    expect(lines.at(-1)?.data).toEqual({ value: "new" });
  });

  it("edited after an append in the same tick as flush reaches the disk edited", async () => {
    const manager = await createWritten(box.dir);
    const message = userMessage("before");
    manager.appendMessage(message);
    message.content = "after";
    const flushed = manager.flush();
    message.content = "too late is allowed, torn is not";
    await flushed;
    expect(["after", "too late is allowed, torn is not"]).toContain(
      readEntries(fileOf(manager)).at(-1)?.message.content,
    );
  });
});

describe("details, data and content", () => {
  it("may be proxies and hold functions; capture and restore do not clone them", async () => {
    const manager = await createWritten(box.dir);
    const details = proxied({ list: [1, 2], run: () => 1 });
    const content = proxied([{ type: "text", text: "through a proxy" }]);
    const id = manager.appendCustomMessageEntry("ct", unchecked(content), true, details);
    const state = loose(manager.captureState());
    const captured = state.fileEntries.find((entry: Loose) => entry.id === id);
    expect(captured.details).toBe(details);
    expect(captured.details.list).toEqual([1, 2]);
    manager.restoreState(unchecked(state));
    expect(loose(manager.getEntry(id)).details).toBe(details);
    await manager.flush();
    expect(readEntries(fileOf(manager)).at(-1)).toMatchObject({
      content: [{ type: "text", text: "through a proxy" }],
      details: { list: [1, 2] },
    });
  });

  it("backed by a proxy do not hinder a reload of the same session", async () => {
    const manager = await createWritten(box.dir);
    manager.appendCustomMessageEntry("ct", "text", true, proxied({ a: 1 }));
    await manager.flush();
    await manager.setSessionFile(fileOf(manager));
    expect(loose(manager.getEntries().at(-1)).details).toEqual({ a: 1 });
  });
});

describe("captured states", () => {
  it("hold the real entries, header first, readable without reading the disk", async () => {
    const file = writeLines(box.path("s.jsonl"), smallSession());
    const manager = await SessionManager.open(file);
    const state = loose(manager.captureState());
    expect(state.fileEntries[0]).toBe(manager.getHeader());
    expect(state.fileEntries[0].type).toBe("session");
    expect(state.fileEntries.slice(1)).toEqual(smallSession().slice(1));
    expect(state.fileEntries[2]).toBe(manager.getEntry("aaaaaaa2"));
  });

  it("bring back the same objects after a failed switch", async () => {
    const manager = await createWritten(box.dir);
    const message = userMessage("kept");
    const id = manager.appendMessage(message);
    const state = manager.captureState();
    await expect(manager.setSessionFile(box.makeDir("folder"))).rejects.toThrow();
    manager.restoreState(state);
    expect(loose(manager.getEntry(id)).message).toBe(message);
    await manager.flush();
    expect(entryIds(fileOf(manager)).at(-1)).toBe(id);
  });
});

describe("the header", () => {
  it("is live: names and moves show through it, edits are written", async () => {
    const manager = createIn(box.dir);
    const header = loose(manager.getHeader());
    await manager.setSessionName("Title", "user");
    expect(header).toMatchObject({ title: "Title", titleSource: "user" });
    await manager.moveTo(box.makeDir("elsewhere"));
    expect(header.cwd).toBe(box.path("elsewhere"));
    expect(manager.getHeader()).toBe(header);
    header.extra = "mine";
    await manager.rewriteEntries();
    expect(readSession(fileOf(manager))[0]).toMatchObject({ extra: "mine", title: "Title" });
  });
});

describe("returned arrays", () => {
  it("are fresh, plain and the caller's to change", async () => {
    const manager = await createWritten(box.dir);
    for (const query of [
      () => manager.getEntries(),
      () => manager.getBranch(),
      () => manager.getTree(),
      () => manager.getChildren(String(manager.getEntries()[0]?.id)),
      () => manager.buildSessionContext().messages,
    ]) {
      const list: unknown[] = query();
      const length = list.length;
      expect(Array.isArray(list)).toBe(true);
      expect(Object.getPrototypeOf(list)).toBe(Array.prototype);
      list.sort().reverse().push("mine");
      list.length = 0;
      expect(query()).toHaveLength(length);
      expect(query()).not.toBe(query());
    }
  });

  it("of entries mark positions: their length is where later appends start", () => {
    const manager = SessionManager.inMemory(box.dir);
    manager.appendMessage(userMessage());
    const mark = manager.getEntries().length;
    const ids = [manager.appendModelChange("a/b"), manager.appendMessage(assistantMessage())];
    expect(
      manager
        .getEntries()
        .slice(mark)
        .map((entry) => entry.id),
    ).toEqual(ids);
    expect(manager.getEntries().at(-1)?.id).toBe(ids[1]);
  });
});

describe("values in results", () => {
  it("of replay data that is dropped at load read as undefined", async () => {
    const file = writeLines(box.path("s.jsonl"), [
      headerLine(),
      messageLine("m1", null, userMessage()),
      messageLine(
        "m2",
        "m1",
        assistantMessage("a", {
          providerPayload: { type: "openaiResponsesHistory", items: [] },
          content: [
            { type: "thinking", thinking: "t", thinkingSignature: "sig" },
            { type: "text", text: "a", textSignature: "kept" },
          ],
        }),
      ),
    ]);
    const { message } = loose((await SessionManager.open(file)).getEntry("m2"));
    expect(message).toStrictEqual({
      ...assistantMessage("a"),
      providerPayload: undefined,
      content: [
        { type: "thinking", thinking: "t", thinkingSignature: undefined },
        { type: "text", text: "a", textSignature: "kept" },
      ],
    });
  });

  it("are real dates in listings", async () => {
    await createWritten(box.dir);
    const [info] = await SessionManager.list(box.dir, box.dir);
    expect(info?.created).toBeInstanceOf(Date);
    expect(info?.modified).toBeInstanceOf(Date);
    expect(Math.abs(Number(info?.modified.getTime()) - Date.now())).toBeLessThan(60_000);
  });

  it("are a plain object of six numbers for usage", () => {
    const manager = SessionManager.inMemory(box.dir);
    manager.appendMessage(assistantMessage());
    const copy = { ...manager.getUsageStatistics() };
    manager.appendMessage(assistantMessage());
    expect(copy.input).toBe(10);
    expect(Object.values(copy).every((value) => typeof value === "number")).toBe(true);
    expect(Object.keys(copy)).toHaveLength(6);
  });

  it("are trees whose nodes all have children to walk", () => {
    const manager = SessionManager.inMemory(box.dir);
    manager.appendMessage(userMessage());
    const leaf = manager.getTree()[0];
    expect(leaf?.children).toEqual([]);
    leaf?.children.push(unchecked({}));
    expect(manager.getTree()[0]?.children).toEqual([]);
  });
});
