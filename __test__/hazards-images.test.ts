import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { SessionManager } from "../index.js";
import {
  type AnyEntry,
  fileOf,
  namesIn,
  recordsOf,
  startSession,
  toolResult,
  useSandbox,
} from "./support/fixtures.js";

const sandbox = useSandbox();
const sessions = () => join(sandbox(), "sessions");
const NOTICE = "[Session persistence truncated large content]";

/** Canonical base64 of `bytes` bytes that depend on `seed`. */
function base64(bytes: number, seed = 1): string {
  return Buffer.from(Array.from({ length: bytes }, (_, n) => (n * 31 + seed) % 251)).toString(
    "base64",
  );
}

function image(data: string) {
  return { type: "image", data, mimeType: "image/png" };
}

/** Appends one custom entry with `data`, writes and reopens; gives disk text and reloaded data. */
async function roundTrip(data: unknown): Promise<{ text: string; reloaded: unknown }> {
  const manager = await startSession(sessions());
  const before = JSON.stringify(data);
  manager.appendCustomEntry("test", data);
  await manager.flush();
  expect(JSON.stringify(data)).toBe(before);
  const text = readFileSync(fileOf(manager), "utf8");
  const again = await SessionManager.open(fileOf(manager));
  const last = again.getEntries().at(-1) as unknown as AnyEntry;
  return { text, reloaded: last.data };
}

describe("images outside content arrays", () => {
  const big = base64(600_000);
  const small = base64(3000);
  const shapes: [string, unknown][] = [
    ["under a key of their own", { preview: image(big) }],
    ["in an array under another key", { attachments: [image(big), image(small)] }],
    ["in nested arrays", { content: [[image(small)], [[image(big)]]] }],
    ["inside an object of a content array", { content: [{ type: "group", inner: image(big) }] }],
    ["as the content itself", { content: image(big) }],
    ["at the top", image(big)],
  ];

  for (const [what, data] of shapes) {
    it(`${what} are stored as blobs and come back whole`, async () => {
      const { text, reloaded } = await roundTrip(data);
      expect(text).not.toContain(NOTICE);
      expect(text).not.toContain(big.slice(0, 100));
      expect(text).toContain("blob:sha256:");
      expect(reloaded).toEqual(data);
    });
  }

  it("in tool result details are stored as blobs and come back whole", async () => {
    const manager = await startSession(sessions());
    const details = { screenshots: [image(big)], first: image(small) };
    manager.appendMessage({ ...toolResult("t"), details });
    await manager.flush();
    expect(readFileSync(fileOf(manager), "utf8")).not.toContain(NOTICE);
    const again = await SessionManager.open(fileOf(manager));
    const last = again.getEntries().at(-1) as unknown as { message: { details: unknown } };
    expect(last.message.details).toEqual(details);
  });

  it("as image URLs in arrays come back whole", async () => {
    const url = `data:image/png;base64,${small}`;
    const data = { image_url: [url, "https://example.org/x.png"], list: [{ image_url: url }] };
    const { text, reloaded } = await roundTrip(data);
    expect(text).not.toContain(small.slice(0, 100));
    expect(reloaded).toEqual(data);
  });
});

describe("image data that base64 decoding would change", () => {
  const canonical = base64(3000);
  for (const [what, data] of [
    ["in the URL-safe alphabet", Buffer.alloc(3000, 0xfb).toString("base64url")],
    ["with line breaks", canonical.replace(/(.{76})/g, "$1\n")],
    ["without padding", base64(3001).replace(/=+$/, "")],
    ["with stray bits in the last digit", `${base64(3001).slice(0, -3)}B==`],
    ["that is no base64 at all", "!".repeat(2000)],
    ["of text", "not an image ".repeat(200)],
  ] as const) {
    it(`(${what}) stays as it is`, async () => {
      const value = { content: [image(data)] };
      const { reloaded } = await roundTrip(value);
      expect(reloaded).toEqual(value);
    });
  }

  it("is not confused with canonical data, which becomes a blob", async () => {
    const value = { content: [image(canonical)] };
    const { text, reloaded } = await roundTrip(value);
    expect(text).toContain("blob:sha256:");
    expect(reloaded).toEqual(value);
    expect(namesIn(join(sandbox(), "agent", "blobs"))).toHaveLength(1);
  });
});

describe("opaque fields that are too long", () => {
  const opaque = "gAAAA".repeat(120_000);
  for (const [what, make] of [
    ["encrypted_content", (value: string) => ({ type: "reasoning", encrypted_content: value })],
    ["redacted thinking", (value: string) => ({ type: "redacted_thinking", data: value })],
    ["redactedThinking", (value: string) => ({ type: "redactedThinking", data: value })],
    ["thinkingSignature", (value: string) => ({ type: "thinking", thinkingSignature: value })],
  ] as const) {
    it(`(${what}) are cleared, never cut`, async () => {
      const { text, reloaded } = await roundTrip({ items: [make(opaque)] });
      expect(text).not.toContain(NOTICE);
      expect(text).not.toContain(opaque.slice(0, 100));
      expect(reloaded).toEqual({ items: [make("")] });
    });

    it(`(${what}) stay when they are short`, async () => {
      const value = { items: [make(opaque.slice(0, 5000))] };
      expect((await roundTrip(value)).reloaded).toEqual(value);
    });
  }
});

describe("a blob reference that is no digest", () => {
  for (const [what, hash] of [
    ["a path out of the blob directory", "../secret.txt"],
    ["an absolute path", "/etc/hostname"],
    ["a long way up", "../../../../../../etc/hostname"],
    ["upper-case digits", "A".repeat(64)],
    ["63 digits", "a".repeat(63)],
    ["65 digits", "a".repeat(65)],
    ["nothing", ""],
    ["a NUL", `${"a".repeat(63)}\0`],
  ] as const) {
    it(`(${what}) reads no file and stays in place`, async () => {
      const blobs = join(sandbox(), "agent", "blobs");
      mkdirSync(blobs, { recursive: true });
      writeFileSync(join(sandbox(), "agent", "secret.txt"), "top secret");
      for (const name of ["A".repeat(64), "a".repeat(63), "a".repeat(65)]) {
        writeFileSync(join(blobs, name), "planted");
      }
      const manager = await startSession(sessions());
      const ref = `blob:sha256:${hash}`;
      const content = [image(ref), { type: "input_image", image_url: ref }];
      manager.appendMessage({ ...toolResult("t"), content } as never);
      await manager.flush();
      const again = await SessionManager.open(fileOf(manager));
      const last = again.getEntries().at(-1) as unknown as { message: { content: unknown } };
      expect(last.message.content).toEqual(content);
      await again.rewriteEntries();
      const onDisk = recordsOf(fileOf(again)).at(-1) as { message?: { content?: unknown } };
      expect(onDisk.message?.content).toEqual(content);
    });
  }
});
