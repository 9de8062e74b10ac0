import { createHash } from "node:crypto";
import * as fs from "node:fs";
import * as path from "node:path";
import { describe, expect, it } from "vitest";
import { getBlobsDir, type SessionManager } from "../index.js";
import { type Loose, loose, unchecked } from "./support/loose.js";
import { createWritten, fileOf } from "./support/managers.js";
import { assistantMessage, userMessage } from "./support/messages.js";
import { useSandbox } from "./support/sandbox.js";
import { rawLines } from "./support/session-files.js";

const box = useSandbox();

/** Long strings go beside the text; small entries are written at once, large ones by another thread. */
const LENGTHS = [1_023, 1_024, 16_383, 16_384, 40_000, 65_600, 200_000];

/** Every class of character that JSON text treats in a way of its own. */
const ODD = [
  'quotes " and \\ backslashes / ',
  "\b\f\n\r\t\u0000\u0001\u001f\u007f\u0080\u00ff\u2028\u2029 ",
  "é日本語😀",
  "\ud800",
  "x\udc00\ud83d",
].join("");

function textOf(length: number, piece = "lorem ipsum "): string {
  return "".padEnd(length, piece);
}

/** Appends a message and tells its line and what `JSON.stringify` makes of the entry. */
async function written(manager: SessionManager, message: unknown): Promise<[unknown, unknown]> {
  const id = manager.appendMessage(unchecked(message));
  await manager.flush();
  return [rawLines(fileOf(manager)).at(-1), JSON.stringify(manager.getEntry(id))];
}

describe("long strings of new entries", () => {
  it.each(LENGTHS)("are written as JSON.stringify writes them: %d units", async (length) => {
    const manager = await createWritten(box.dir);
    for (const piece of ["lorem ipsum ", ODD, "\ud83d", "\n"]) {
      const text = textOf(length, piece);
      for (const message of [
        userMessage(text),
        userMessage([
          { type: "text", text },
          { type: "text", text: "short" },
          { type: "text", text },
        ]),
        assistantMessage("short", {
          thinking: text,
          content: [{ type: "thinking", thinking: text }],
        }),
      ]) {
        const [line, json] = await written(manager, message);
        expect(line === json, `${JSON.stringify(piece)}: ${String(line).slice(0, 300)}`).toBe(true);
      }
    }
  });

  it("are found wherever they stand, keys stay", async () => {
    const manager = await createWritten(box.dir);
    const text = textOf(80_000, ODD);
    const shared = { text, [text]: "a long key" };
    const [line, json] = await written(manager, {
      role: "custom",
      content: [{ type: "text", text }, shared, shared, [text, [text, 1, null, true]]],
      details: { deep: { deeper: [{ text }] } },
    });
    expect(line).toBe(json);
  });

  it("come from whatever JSON.stringify would have taken", async () => {
    const manager = await createWritten(box.dir);
    const text = textOf(70_000);
    const inherited = Object.create({ hidden: text }, { text: { value: text, enumerable: true } });
    const unusual: Loose[] = [
      { type: "text", text, toJSON: () => ({ type: "other", text: [text, "short"] }) },
      {
        type: "text",
        get text() {
          return text;
        },
      },
      { type: "text", text, boxed: new String(text), omitted: undefined, call: () => text },
      loose(new Proxy({ type: "text", text }, {})),
      loose(JSON.parse(`{"type":"text","text":"${text}","__proto__":"${text}"}`)),
      loose(inherited),
      { type: "text", text, holes: [undefined, Symbol("s"), () => 1, Number.NaN, -0, new Date(0)] },
    ];
    for (const block of unusual) {
      const [line, json] = await written(manager, userMessage([block]));
      expect(line === json, String(line).slice(0, 300)).toBe(true);
    }
    const [line, json] = await written(manager, {
      role: "user",
      content: text,
      toJSON: () => ({ role: "user", content: [text, ODD] }),
    });
    expect(line).toBe(json);
  });

  it("keep their place among short entries of the same and of later ticks", async () => {
    const manager = await createWritten(box.dir);
    const before = rawLines(fileOf(manager)).length;
    const expected: string[] = [];
    for (let at = 0; at < 60; at++) {
      const text = `${at} ${textOf([10, 20_000, 100_000][at % 3] ?? 0)}`;
      expected.push(text);
      manager.appendMessage(userMessage(text));
      if (at % 4 === 0) {
        await null;
      }
      if (at % 15 === 0) {
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    await manager.flush();
    const lines = rawLines(fileOf(manager)).slice(before);
    expect(lines.map((line) => JSON.parse(line).message.content)).toEqual(expected);
  });

  it("reach the disk as they were at the end of the tick", async () => {
    const manager = await createWritten(box.dir);
    const message = unchecked(userMessage([{ type: "text", text: textOf(90_000) }]));
    manager.appendMessage(message);
    message.content[0].text = `changed ${textOf(90_000)}`;
    await null;
    await null;
    message.content[0].text = "too late";
    await manager.flush();
    const line = JSON.parse(rawLines(fileOf(manager)).at(-1) ?? "");
    expect(line.message.content[0].text).toMatch(/^changed lorem/);
  });

  it("that cannot be written hold nothing else back for ever", async () => {
    const manager = await createWritten(box.dir);
    const content: unknown[] = [{ type: "text", text: textOf(90_000) }];
    content.push(content);
    manager.appendMessage(unchecked(userMessage(content)));
    await expect(manager.flush()).rejects.toThrow(TypeError);
    content.pop();
    await manager.flush();
    expect(JSON.parse(rawLines(fileOf(manager)).at(-1) ?? "").message.content).toHaveLength(1);
  });

  it("move to the blob store where they are images, and come back", async () => {
    const manager = await createWritten(box.dir);
    const bytes = Buffer.alloc(700_000, 7);
    const data = bytes.toString("base64");
    const id = manager.appendMessage(
      unchecked(userMessage([{ type: "image", mimeType: "image/png", data }])),
    );
    await manager.flush();
    const hash = createHash("sha256").update(bytes).digest("hex");
    const line = JSON.parse(rawLines(fileOf(manager)).at(-1) ?? "");
    expect(line.message.content[0].data).toBe(`blob:sha256:${hash}`);
    expect(fs.readFileSync(path.join(getBlobsDir(), hash)).equals(bytes)).toBe(true);
    expect(loose(manager.getEntry(id)).message.content[0].data).toBe(data);
    await manager.close();
  });
});
