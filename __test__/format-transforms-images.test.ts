import { createHash } from "node:crypto";
import * as fs from "node:fs";
import * as path from "node:path";
import { describe, expect, it } from "vitest";
import { SessionManager } from "../index.js";
import { type Loose, loose } from "./support/loose.js";
import { createIn, fileOf } from "./support/managers.js";
import { assistantMessage, userMessage } from "./support/messages.js";
import { reopened, WAYS, written, writtenData, writtenMessage } from "./support/persisted.js";
import { useSandbox } from "./support/sandbox.js";
import { rawLines, readEntries } from "./support/session-files.js";

const box = useSandbox();

/** `length` bytes that differ from byte to byte. */
function bytesOf(length: number, seed = 1): Buffer {
  return Buffer.from(Array.from({ length }, (_, index) => (index * 31 + seed * 7) % 256));
}

const BYTES = bytesOf(900);
const BASE64 = BYTES.toString("base64");

function sha256(data: Buffer | string): string {
  return createHash("sha256").update(data).digest("hex");
}

function refOf(data: Buffer | string): string {
  return `blob:sha256:${sha256(data)}`;
}

function image(data = BASE64): Loose {
  return { type: "image", data, mimeType: "image/png" };
}

function blobFile(data: Buffer | string): string {
  return path.join(box.blobsDir, sha256(data));
}

describe.each(WAYS)("image blocks, after %s", (way) => {
  it("in a message are stored as blobs and come back on open", async () => {
    const message = userMessage([{ type: "text", text: "look" }, image()]);
    const result = await writtenMessage(box.dir, way, message);
    expect(result.line.message.content).toEqual([
      { type: "text", text: "look" },
      { type: "image", data: refOf(BYTES), mimeType: "image/png" },
    ]);
    expect(Object.keys(result.line.message.content[1])).toEqual(["type", "data", "mimeType"]);
    expect(fs.readFileSync(blobFile(BYTES)).equals(BYTES)).toBe(true);
    expect(message.content[1].data).toBe(BASE64);
    expect((await reopened(result)).message).toEqual(message);
  });

  it("in a custom message, data and details alike, at any depth", async () => {
    const details = {
      shots: [[image()], { content: [image()] }],
      content: image(),
      single: { picture: image() },
    };
    const result = await written(box.dir, way, (manager) =>
      manager.appendCustomMessageEntry("ct", [image() as never], true, details),
    );
    expect(result.line.content[0].data).toBe(refOf(BYTES));
    expect(JSON.stringify(result.line)).not.toContain(BASE64);
    expect(JSON.stringify(result.line).split(refOf(BYTES))).toHaveLength(6);
    const again = await reopened(result);
    expect(again.details).toEqual(details);
    expect(again.content).toEqual([image()]);
  });
});

describe("which images go to blobs", () => {
  const dataOf = async (block: Loose) =>
    (await writtenMessage(box.dir, "append", userMessage([block]))).line.message.content[0];

  it("those of 1024 units and more", async () => {
    const small = bytesOf(765).toString("base64");
    const large = bytesOf(768).toString("base64");
    expect([small.length, large.length]).toEqual([1020, 1024]);
    expect((await dataOf(image(small))).data).toBe(small);
    expect((await dataOf(image(large))).data).toBe(refOf(bytesOf(768)));
  });

  it.each([0, 1, 2])("with %i padding characters", async (padding) => {
    const bytes = bytesOf(900 - padding);
    expect(bytes.toString("base64").endsWith("=".repeat(padding))).toBe(true);
    expect((await dataOf(image(bytes.toString("base64")))).data).toBe(refOf(bytes));
    expect(fs.readFileSync(blobFile(bytes)).equals(bytes)).toBe(true);
  });

  it.each([
    ["no base64 at all", "!".repeat(2000)],
    ["the URL-safe alphabet", `${"-_".repeat(600)}`],
    ["white space inside", `${BASE64.slice(0, 76)}\n${BASE64.slice(76)}`],
    ["missing padding", bytesOf(901).toString("base64").replace(/=+$/, "")],
    ["too much padding", `${BASE64}====`],
    ["bits that decoding would lose", `${"A".repeat(1198)}B=`],
    ["a data URL", `data:image/png;base64,${BASE64}`],
  ])("not those whose text would not come back: %s", async (_what, data) => {
    const result = await writtenMessage(box.dir, "append", userMessage([image(data)]));
    expect(result.line.message.content[0].data).toBe(data);
    expect((await reopened(result)).message.content[0].data).toBe(data);
  });

  it("not blocks of other types, other fields or other shapes", async () => {
    const blocks = [
      { type: "Image", data: BASE64 },
      { type: "image", source: { type: "base64", data: BASE64 } },
      { type: "image", data: [BASE64] },
      { type: "image", data: { base64: BASE64 } },
      { data: BASE64 },
      { type: "text", text: BASE64 },
    ];
    const result = await writtenMessage(box.dir, "append", userMessage(blocks));
    expect(result.line.message.content).toEqual(blocks);
    expect(fs.existsSync(box.blobsDir)).toBe(false);
  });

  it("not those that are references already", async () => {
    const reference = refOf(BYTES);
    expect((await dataOf(image(reference))).data).toBe(reference);
  });

  it("whole, however large, without a notice", async () => {
    const bytes = bytesOf(450_000);
    const result = await writtenMessage(
      box.dir,
      "append",
      userMessage([image(bytes.toString("base64"))]),
    );
    expect(result.line.message.content[0].data).toBe(refOf(bytes));
    expect((await reopened(result)).message.content[0].data === bytes.toString("base64")).toBe(
      true,
    );
  });

  it("with the other fields of the block left alone", async () => {
    const block = {
      partialJson: 1,
      mimeType: "image/png",
      data: BASE64,
      note: { jsonlEvents: [2] },
      type: "image",
    };
    const found = await dataOf(block);
    expect(found).toEqual({ ...block, data: refOf(BYTES) });
    expect(Object.keys(found)).toEqual(Object.keys(block));
  });

  it("each content once, several in one entry, several times the same", async () => {
    const blocks = [1, 2, 1, 3].map((seed) => image(bytesOf(900, seed).toString("base64")));
    const result = await writtenMessage(box.dir, "append", userMessage(blocks));
    expect(result.line.message.content.map((block: Loose) => block.data)).toEqual(
      [1, 2, 1, 3].map((seed) => refOf(bytesOf(900, seed))),
    );
    expect(fs.readdirSync(box.blobsDir).sort()).toEqual(
      [1, 2, 3].map((seed) => sha256(bytesOf(900, seed))).sort(),
    );
  });
});

describe("image URLs", () => {
  const url = `data:image/png;base64,${BASE64}`;

  it.each(WAYS)("go to blobs as text, at any depth and length, after %s", async (way) => {
    const short = "data:image/gif;base64,R0lG";
    const data = { image_url: url, deep: [{ image_url: short }], list: { image_url: [url, "x"] } };
    const result = await writtenData(box.dir, way, data);
    expect(result.line.data).toEqual({
      image_url: refOf(url),
      deep: [{ image_url: refOf(short) }],
      list: { image_url: [refOf(url), "x"] },
    });
    expect(fs.readFileSync(blobFile(url), "utf8")).toBe(url);
    expect(fs.readFileSync(blobFile(short), "utf8")).toBe(short);
    expect((await reopened(result)).data).toEqual(data);
  });

  it("stay when they are anything else", async () => {
    const data = {
      image_url: "https://example.test/x.png",
      a: { image_url: "DATA:image/png;base64,AAAA" },
      b: { image_url: "data:text/plain;base64,AAAA" },
      c: { image_url: "data:image/svg+xml,<svg/>" },
      d: { imageUrl: url },
      e: { url },
      f: { image_url: { url } },
      g: { image_url: null },
    };
    const result = await writtenData(box.dir, "append", data);
    expect(result.line.data).toEqual(data);
    expect(fs.existsSync(box.blobsDir)).toBe(false);
  });

  it("longer than any text may be are kept whole", async () => {
    const huge = `data:image/png;base64,${"QUJD".repeat(150_000)}`;
    const result = await writtenData(box.dir, "append", { image_url: huge });
    expect(result.line.data.image_url).toBe(refOf(huge));
    expect((await reopened(result)).data.image_url === huge).toBe(true);
  });
});

describe("references in a file", () => {
  it("whose blob is missing stay as they are", async () => {
    const result = await writtenMessage(box.dir, "append", userMessage([image()]));
    fs.unlinkSync(blobFile(BYTES));
    const entry = await reopened(result);
    expect(entry.message.content[0]).toEqual(image(refOf(BYTES)));
  });

  it("are written back as references, looked at or not", async () => {
    const result = await writtenMessage(box.dir, "append", userMessage([image()]));
    await result.manager.close();
    const before = rawLines(result.file);
    for (const look of [false, true]) {
      const manager = await SessionManager.open(result.file);
      if (look) {
        expect(loose(manager.getEntries().at(-1)).message.content[0].data).toBe(BASE64);
      }
      await manager.rewriteEntries();
      expect(rawLines(result.file)).toEqual(before);
      const fork = await manager.fork();
      expect(rawLines(String(fork?.newSessionFile)).slice(1)).toEqual(before.slice(1));
      await manager.close();
    }
  });

  it("are shared by a copy in another session, which shows the images", async () => {
    const result = await writtenMessage(box.dir, "append", userMessage([image()]));
    const copy = await SessionManager.forkFrom(result.file, box.dir, box.makeDir("copy"));
    expect(readEntries(fileOf(copy)).at(-1)?.message.content[0].data).toBe(refOf(BYTES));
    expect(loose(copy.buildSessionContext().messages.at(-1)).content[0].data).toBe(BASE64);
  });

  it("never name a blob that was not written first", async () => {
    const manager = createIn(box.dir);
    manager.appendMessage(assistantMessage());
    await manager.flush();
    for (let seed = 0; seed < 20; seed += 1) {
      manager.appendMessage(userMessage([image(bytesOf(3000, seed).toString("base64"))]));
      if (seed % 4 === 0) {
        await new Promise((resolve) => setImmediate(resolve));
      }
      const seen = fs.readFileSync(fileOf(manager), "utf8").matchAll(/blob:sha256:([0-9a-f]{64})/g);
      for (const [, hash] of seen) {
        expect(fs.existsSync(path.join(box.blobsDir, String(hash)))).toBe(true);
      }
    }
    await manager.flush();
    expect(readEntries(fileOf(manager))).toHaveLength(21);
  });
});
