import { describe, expect, it } from "vitest";
import { fileOf } from "./support/managers.js";
import { assistantMessage } from "./support/messages.js";
import { reopened, WAYS, written, writtenData, writtenMessage } from "./support/persisted.js";
import { useSandbox } from "./support/sandbox.js";
import { readEntries } from "./support/session-files.js";

const box = useSandbox();

const LIMIT = 500_000;
const NOTICE = "\n\n[Session persistence truncated large content]";

/** What is left of a text that is too long; the cut does not split a surrogate pair. */
function shortened(text: string): string {
  const cut = LIMIT - NOTICE.length;
  const code = text.charCodeAt(cut - 1);
  return text.slice(0, code >= 0xd800 && code <= 0xdbff ? cut - 1 : cut) + NOTICE;
}

describe.each(WAYS)("long texts, after %s", (way) => {
  it("are cut at 500,000 UTF-16 units, with a notice", async () => {
    const text = "a".repeat(LIMIT + 1);
    const { line } = await writtenData(box.dir, way, { text });
    expect(NOTICE).toHaveLength(47);
    expect(line.data.text).toHaveLength(LIMIT);
    expect(line.data.text === shortened(text)).toBe(true);
  });

  it("of exactly the limit stay", async () => {
    const text = "a".repeat(LIMIT);
    const { line } = await writtenData(box.dir, way, { text });
    expect(line.data.text === text).toBe(true);
  });

  it("are cut in messages, lists and nested objects alike", async () => {
    const text = "b".repeat(LIMIT + 10);
    const { line } = await writtenMessage(box.dir, way, {
      role: "toolResult",
      toolName: "bash",
      content: [
        { type: "text", text },
        { type: "text", text: "short" },
      ],
      details: { deep: [[{ output: text }]] },
    });
    expect(line.message.content[0].text === shortened(text)).toBe(true);
    expect(line.message.content[1].text).toBe("short");
    expect(line.message.details.deep[0][0].output === shortened(text)).toBe(true);
  });
});

describe("the length of a text", () => {
  it.each([
    ["line feeds, two bytes each on disk", "\n"],
    ["controls, six bytes each on disk", "\u0001"],
    ["quotes", '"'],
    ["three-byte characters", "日"],
    ["lone surrogates", "\ud800"],
  ])("is counted in UTF-16 units: %s", async (_what, unit) => {
    const fits = unit.repeat(LIMIT);
    const kept = await writtenData(box.dir, "append", fits);
    expect(kept.line.data === fits).toBe(true);
    const cut = await writtenData(box.dir, "append", `${fits}${unit}`);
    expect(cut.line.data === shortened(`${fits}${unit}`)).toBe(true);
  });

  it("counts an emoji as two", async () => {
    const fits = "😀".repeat(LIMIT / 2);
    const kept = await writtenData(box.dir, "append", fits);
    expect(kept.line.data === fits).toBe(true);
    const cut = await writtenData(box.dir, "append", `${fits}😀`);
    expect(cut.line.data).toHaveLength(LIMIT - 1);
    expect(cut.line.data === shortened(`${fits}😀`)).toBe(true);
  });

  it("is one unit less when the cut would split a pair, and only then", async () => {
    for (const offset of [0, 1, 2]) {
      const text = "x".repeat(offset) + "😀".repeat(LIMIT / 2 + 5);
      const { line } = await writtenData(box.dir, "append", text);
      expect(line.data === shortened(text), `${offset}`).toBe(true);
      expect(/[\ud800-\udbff](?![\udc00-\udfff])/.test(line.data)).toBe(false);
    }
  });

  it("does not matter for keys", async () => {
    const key = "k".repeat(LIMIT + 1);
    const { line } = await writtenData(box.dir, "append", { [key]: 1 });
    expect(Object.keys(line.data)[0] === key).toBe(true);
  });
});

describe.each(["append", "first write"] as const)("opaque provider data, after %s", (way) => {
  const huge = "c2ln".repeat(LIMIT / 4 + 1);

  it.each(["thinkingSignature", "thoughtSignature", "textSignature", "encrypted_content"])(
    "that is too long is cleared, not cut: %s",
    async (key) => {
      const { line } = await writtenMessage(
        box.dir,
        way,
        assistantMessage("a", { content: [{ type: "thinking", thinking: "t", [key]: huge }] }),
      );
      expect(line.message.content[0]).toEqual({ type: "thinking", thinking: "t", [key]: "" });
    },
  );

  it.each(["redactedThinking", "redacted_thinking"])(
    "of a %s block that is too long is cleared",
    async (type) => {
      const { line } = await writtenMessage(
        box.dir,
        way,
        assistantMessage("a", { content: [{ type, data: huge }] }),
      );
      expect(line.message.content[0]).toEqual({ type, data: "" });
    },
  );

  it("of the usual length stays, and so do empty ones", async () => {
    const fits = "s".repeat(LIMIT);
    const content = [
      { type: "thinking", thinking: "t", thinkingSignature: fits },
      { type: "text", text: "t", textSignature: "" },
      { type: "redactedThinking", data: "abc" },
    ];
    const { line } = await writtenMessage(box.dir, way, assistantMessage("a", { content }));
    expect(JSON.stringify(line.message.content) === JSON.stringify(content)).toBe(true);
  });

  it("in a list under such a key counts as such", async () => {
    const { line } = await writtenData(box.dir, way, { thinkingSignature: ["ok", huge] });
    expect(line.data).toEqual({ thinkingSignature: ["ok", ""] });
  });
});

describe.each(WAYS)("transient keys, after %s", (way) => {
  it("are dropped at every depth", async () => {
    const { line } = await writtenData(box.dir, way, {
      partialJson: "{",
      kept: { jsonlEvents: [1], deeper: [{ partialJson: { a: 1 }, x: 1 }, "partialJson"] },
      jsonlEvents: null,
      last: true,
    });
    expect(line.data).toEqual({ kept: { deeper: [{ x: 1 }, "partialJson"] }, last: true });
    expect(Object.keys(line.data)).toEqual(["kept", "last"]);
  });

  it("are dropped in tool calls and at the top of an entry", async () => {
    const message = assistantMessage("a", {
      content: [{ type: "toolCall", id: "c", name: "n", arguments: { a: 1 }, partialJson: '{"a"' }],
    });
    const { line } = await written(box.dir, way, (manager) => {
      const id = manager.appendMessage(message);
      Object.assign(manager.getEntry(id) ?? {}, { jsonlEvents: [1] });
      return id;
    });
    expect("jsonlEvents" in line).toBe(false);
    expect(line.message.content[0]).toEqual({
      type: "toolCall",
      id: "c",
      name: "n",
      arguments: { a: 1 },
    });
    expect(message.content[0].partialJson).toBe('{"a"');
  });

  it("with other spelling stay", async () => {
    const data = { partialJSON: 1, PartialJson: 2, jsonlEvent: 3, "partialJson ": 4 };
    expect((await writtenData(box.dir, way, data)).line.data).toEqual(data);
  });
});

describe("lineCount", () => {
  const long = `${"l".repeat(LIMIT)}\n\n\n\n\n`;

  it("follows the content when that was cut", async () => {
    const { line } = await writtenData(box.dir, "append", {
      path: "f",
      content: long,
      lineCount: 6,
    });
    expect(line.data.content === shortened(long)).toBe(true);
    expect(line.data.lineCount).toBe(3);
    expect(Object.keys(line.data)).toEqual(["path", "content", "lineCount"]);
  });

  it("is counted anew when anything else in the object changed", async () => {
    const count = async (content: string) => {
      const data = { lineCount: 99, content, inner: { partialJson: 1 } };
      return (await writtenData(box.dir, "append", data)).line.data.lineCount;
    };
    expect(await count("no line feed")).toBe(1);
    expect(await count("one\n")).toBe(2);
    expect(await count("a\r\nb\nc")).toBe(3);
    expect(await count("")).toBe(1);
  });

  it("stays when nothing changed, or is no number, or the content is no text", async () => {
    const unchanged = { lineCount: 99, content: "one" };
    const noNumber = { lineCount: "99", content: "one", partialJson: 1 };
    const noText = { lineCount: 99, content: ["one"], partialJson: 1 };
    const list = (await writtenData(box.dir, "append", [unchanged, noNumber, noText])).line.data;
    expect(list).toEqual([
      { lineCount: 99, content: "one" },
      { lineCount: "99", content: "one" },
      { lineCount: 99, content: ["one"] },
    ]);
  });
});

describe("objects in memory", () => {
  it("never change by being written, and what did not need changing is as it was", async () => {
    const text = "t".repeat(LIMIT + 1);
    const data = {
      text,
      partialJson: "{",
      when: new Date("2026-01-02T03:04:05.678Z"),
      list: [{ thinkingSignature: text }],
    };
    const copy = structuredClone(data);
    for (const way of WAYS) {
      const { line } = await writtenData(box.dir, way, data);
      expect(data).toEqual(copy);
      expect(line.data.when).toBe("2026-01-02T03:04:05.678Z");
      expect(line.data.list).toEqual([{ thinkingSignature: "" }]);
    }
  });

  it("of a reopened session are what the file says", async () => {
    const result = await writtenData(box.dir, "append", { text: "t".repeat(LIMIT + 1) });
    expect((await reopened(result)).data.text).toHaveLength(LIMIT);
    await result.manager.rewriteEntries();
    expect(readEntries(fileOf(result.manager)).at(-1)?.data.text).toHaveLength(LIMIT);
  });
});
