import crypto from "node:crypto";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { expectInvalidArgument, expectSystemError, failureOf } from "./support/errors.ts";
import { makeTempDir, modeOf } from "./support/temp-dir.ts";
import { runUnprivileged } from "./support/unprivileged.ts";

const require = createRequire(import.meta.url);
const { setLogger } = require("../js/logger.js");
const {
  BlobStore,
  externalizeImageData,
  externalizeImageDataUrl,
  isBlobRef,
  isImageDataUrl,
  parseBlobRef,
  resolveImageData,
  resolveImageDataUrl,
} = require("../js/blob-store.js");

const sha256 = (data: string | Uint8Array) =>
  crypto.createHash("sha256").update(data).digest("hex");

function setUp() {
  const root = makeTempDir();
  const dir = path.join(root, "deep/blobs");
  return { root, dir, store: new BlobStore(dir) };
}

afterEach(() => setLogger(undefined));

describe("BlobStore", () => {
  it("has a directory and ordinary prototype methods", () => {
    const { store, dir } = setUp();
    expect(store.dir).toBe(dir);
    expect(fs.existsSync(dir)).toBe(false);
    for (const name of ["put", "get", "has"]) {
      const property = Object.getOwnPropertyDescriptor(BlobStore.prototype, name);
      expect(property).toMatchObject({ writable: true, configurable: true, enumerable: false });
    }
  });

  it.each([
    ["nothing", Buffer.alloc(0)],
    ["bytes", Buffer.from([0, 255, 10, 13])],
    ["a megabyte", Buffer.alloc(1_000_000, "x")],
    ["a view into a larger buffer", Buffer.from("abcdef").subarray(2, 4)],
    ["a plain Uint8Array", new Uint8Array([1, 2, 3])],
  ])("stores %s under its hash", async (_, data) => {
    const { store, dir } = setUp();
    const result = await store.put(data);
    const hash = sha256(data);
    expect({ ...result }).toEqual({
      hash,
      path: path.join(dir, hash),
      ref: `blob:sha256:${hash}`,
    });
    expect(Buffer.compare(fs.readFileSync(result.path), data)).toBe(0);
    expect(fs.readdirSync(dir)).toEqual([hash]);
    expect([modeOf(result.path), modeOf(dir)]).toEqual([0o600, 0o700]);
    const read = await store.get(hash);
    expect(Buffer.isBuffer(read)).toBe(true);
    expect(Buffer.compare(read, data)).toBe(0);
    expect(await store.has(hash)).toBe(true);
  });

  it("stores what the bytes were when it was called", async () => {
    const { store } = setUp();
    const data = Buffer.alloc(100_000, "a");
    const hash = sha256(data);
    const putting = store.put(data);
    data.fill("b");
    expect((await putting).hash).toBe(hash);
    expect(sha256(await store.get(hash))).toBe(hash);
  });

  it("normalises the directory in paths", async () => {
    const { store, dir } = setUp();
    const result = await new BlobStore(`${dir}/../blobs/`).put(Buffer.from("x"));
    expect(result.path).toBe(path.join(dir, result.hash));
    expect(await store.has(result.hash)).toBe(true);
  });

  it("stores the same content once, however often and concurrently it comes", async () => {
    const { store, dir } = setUp();
    const data = Buffer.alloc(300_000, "x");
    const results = await Promise.all(Array.from({ length: 20 }, () => store.put(data)));
    expect(new Set(results.map(({ hash }) => hash)).size).toBe(1);
    expect(fs.readdirSync(dir)).toEqual([sha256(data)]);
    const { ino } = fs.statSync(results[0].path);
    await store.put(data);
    expect(fs.statSync(results[0].path).ino).toBe(ino);
  });

  it("replaces a file that was cut short", async () => {
    const { store } = setUp();
    const { path: file } = await store.put(Buffer.from("content"));
    fs.truncateSync(file, 3);
    await store.put(Buffer.from("content"));
    expect(fs.readFileSync(file, "utf8")).toBe("content");
  });

  it("rejects when it cannot store", async () => {
    const { root } = setUp();
    fs.writeFileSync(path.join(root, "file"), "");
    const failing = new BlobStore(path.join(root, "file/blobs"));
    const error = await failureOf(() => failing.put(Buffer.from("x")));
    expect(error).toBeInstanceOf(Error);
    expect(error.code).toBe("ENOTDIR");
  });

  it("gives null for what is missing", async () => {
    const { store, dir } = setUp();
    expect(await store.get(sha256(""))).toBeNull();
    expect(await store.get("")).toBeNull();
    fs.mkdirSync(dir, { recursive: true });
    expect(await store.get(sha256(""))).toBeNull();
    expect(await store.has(sha256(""))).toBe(false);
  });

  it("gives the bytes of any name, and an error for the directory", async () => {
    const { store, dir } = setUp();
    fs.mkdirSync(dir, { recursive: true });
    fs.writeFileSync(path.join(dir, "name"), "bytes");
    expect((await store.get("name")).toString()).toBe("bytes");
    expect(await store.has("name")).toBe(true);
    expect(await store.has("")).toBe(true);
    expectSystemError(await failureOf(() => store.get("")), "EISDIR", "read", dir);
  });

  it("never leaves its directory", async () => {
    const { store, root, dir } = setUp();
    fs.mkdirSync(dir, { recursive: true });
    const secret = path.join(root, "secret");
    fs.writeFileSync(secret, "secret");
    for (const name of ["../../secret", "..", "./../../secret", secret, "a/../../../secret"]) {
      expect(await store.get(name)).toBeNull();
      expect(await store.has(name)).toBe(false);
    }
  });

  it("rejects reading without permission, while has says no", () => {
    const root = makeTempDir();
    fs.chmodSync(root, 0o755);
    const dir = path.join(root, "blobs");
    const hash = sha256("x");
    fs.mkdirSync(dir);
    fs.writeFileSync(path.join(dir, hash), "x");
    fs.chmodSync(dir, 0);
    const outcome = runUnprivileged(
      "js/blob-store.js",
      `const store = new exports.BlobStore(argument.dir);
       const { code, path } = await store.get(argument.hash).catch((error) => error);
       return { code, path, has: await store.has(argument.hash) };`,
      { dir, hash },
    );
    fs.chmodSync(dir, 0o700);
    expect(outcome).toEqual({ code: "EACCES", path: path.join(dir, hash), has: false });
  });

  it("checks argument types; only has never rejects", async () => {
    const { store } = setUp();
    expectInvalidArgument(await failureOf(() => new BlobStore(undefined)), "dir");
    for (const data of [undefined, "text", [1], new ArrayBuffer(1), new Uint16Array(1)]) {
      const outcome = store.put(data);
      expect(outcome).toBeInstanceOf(Promise);
      expectInvalidArgument(await failureOf(() => outcome), "data");
    }
    expectInvalidArgument(await failureOf(() => store.get(1)), "hash");
    expect(await store.has(undefined)).toBe(false);
  });
});

describe("recognising", () => {
  it.each([
    ["blob:sha256:abc", true, "abc"],
    ["blob:sha256:", true, ""],
    ["blob:sha1:abc", false, null],
    [" blob:sha256:abc", false, null],
    ["BLOB:SHA256:abc", false, null],
    ["", false, null],
  ])("references: %s", (text, isRef, hash) => {
    expect(isBlobRef(text)).toBe(isRef);
    expect(parseBlobRef(text)).toBe(hash);
  });

  it.each([
    ["data:image/png;base64,AAAA", true],
    ["data:image/svg+xml;charset=utf8;base64,", true],
    ["data:image/png,AAAA", false],
    ["data:text/plain;base64,AAAA", false],
    ["x data:image/png;base64,AAAA", false],
    ["", false],
  ])("image data URLs: %s", (text, expected) => {
    expect(isImageDataUrl(text)).toBe(expected);
  });

  it("checks argument types", async () => {
    for (const recognise of [isBlobRef, parseBlobRef, isImageDataUrl]) {
      expectInvalidArgument(await failureOf(() => recognise(undefined)), "data");
    }
  });
});

/** A store of the caller's own, as the helpers accept it. */
function fakeStore(content: Uint8Array | null = null) {
  return {
    put: vi.fn(async (_data: Buffer) => ({ hash: "h", path: "/p", ref: "blob:sha256:h" })),
    get: vi.fn(async (_hash: string) => content),
  };
}

describe("externalising", () => {
  it("stores the text of a data URL", async () => {
    const store = fakeStore();
    expect(await externalizeImageDataUrl(store, "data:image/é;base64,AA")).toBe("blob:sha256:h");
    expect(store.put.mock.calls).toEqual([[Buffer.from("data:image/é;base64,AA", "utf8")]]);
  });

  it.each(["AAEC/w==", "AAEC_w", " AA\nEC/w= junk", "A", "", "é!"])(
    "stores the bytes of base64 %j as the host decodes them",
    async (base64) => {
      const store = fakeStore();
      expect(await externalizeImageData(store, base64)).toBe("blob:sha256:h");
      expect(store.put.mock.calls).toEqual([[Buffer.from(base64, "base64")]]);
    },
  );

  it("leaves references alone", async () => {
    const store = fakeStore();
    for (const ref of ["blob:sha256:abc", "blob:sha256:"]) {
      expect(await externalizeImageDataUrl(store, ref)).toBe(ref);
      expect(await externalizeImageData(store, ref)).toBe(ref);
      expect(await externalizeImageData(undefined, ref)).toBe(ref);
    }
    expect(store.put).not.toHaveBeenCalled();
  });

  it("rejects when storing fails, and for wrong arguments", async () => {
    const store = fakeStore();
    store.put.mockRejectedValue(new Error("disk full"));
    await expect(externalizeImageData(store, "AA==")).rejects.toThrow("disk full");
    await expect(externalizeImageDataUrl(store, "data:")).rejects.toThrow("disk full");
    const checks = [
      [() => externalizeImageData(store, 1), "base64"],
      [() => externalizeImageDataUrl(store, null), "dataUrl"],
      [() => externalizeImageData(undefined, "AA=="), "blobStore"],
      [() => resolveImageData(store, undefined), "data"],
      [() => resolveImageDataUrl(1, "blob:sha256:abc"), "blobStore"],
    ] as const;
    for (const [call, name] of checks) {
      expectInvalidArgument(await failureOf(call), name);
    }
  });
});

describe("resolving", () => {
  const MISSING_DATA = "Blob not found for image reference";
  const MISSING_URL = "Blob not found for persisted image data URL";

  it("gives content as text or as base64", async () => {
    const content = Buffer.from([0xff, 0xd8, 0x00]);
    const store = fakeStore(content);
    expect(await resolveImageData(store, "blob:sha256:h")).toBe("/9gA");
    expect(await resolveImageDataUrl(store, "blob:sha256:h")).toBe(content.toString("utf8"));
    expect(store.get.mock.calls).toEqual([["h"], ["h"]]);
  });

  it("accepts a plain Uint8Array from another store", async () => {
    const store = fakeStore(new Uint8Array([0, 104, 105]).subarray(1));
    expect(await resolveImageDataUrl(store, "blob:sha256:h")).toBe("hi");
    expect(await resolveImageData(store, "blob:sha256:h")).toBe("aGk=");
  });

  it("leaves alone what is no reference or has no hash, silently", async () => {
    const logger = vi.fn();
    setLogger(logger);
    const store = fakeStore();
    for (const data of ["AAAA", "data:image/png;base64,AA", "", "blob:sha256:"]) {
      expect(await resolveImageData(store, data)).toBe(data);
      expect(await resolveImageDataUrl(store, data)).toBe(data);
    }
    expect(store.get).not.toHaveBeenCalled();
    expect(logger).not.toHaveBeenCalled();
  });

  it.each([
    [resolveImageData, MISSING_DATA],
    [resolveImageDataUrl, MISSING_URL],
  ])("keeps the reference of a missing blob and warns, case %#", async (resolve, warning) => {
    const logger = vi.fn();
    setLogger(logger);
    expect(await resolve(fakeStore(), "blob:sha256:gone")).toBe("blob:sha256:gone");
    const { store } = setUp();
    const ref = `blob:sha256:${sha256("never stored")}`;
    expect(await resolve(store, ref)).toBe(ref);
    expect(logger.mock.calls).toEqual([
      ["warn", warning, { hash: "gone" }],
      ["warn", warning, { hash: sha256("never stored") }],
    ]);
  });

  it("restores what was externalised, byte for byte", async () => {
    const { store } = setUp();
    const base64 = crypto.randomBytes(3000).toString("base64");
    const dataRef = await externalizeImageData(store, base64);
    expect(dataRef).toBe(`blob:sha256:${sha256(Buffer.from(base64, "base64"))}`);
    expect(await resolveImageData(store, dataRef)).toBe(base64);
    const url = `data:image/png;base64,${base64}\ufeffé`;
    const urlRef = await externalizeImageDataUrl(store, url);
    expect(await resolveImageDataUrl(store, urlRef)).toBe(url);
  });

  it("takes a damaged blob for missing", async () => {
    const logger = vi.fn();
    setLogger(logger);
    const { store } = setUp();
    const { ref, path: file } = await store.put(Buffer.from("content"));
    for (const damaged of ["", "conten", "Content"]) {
      fs.writeFileSync(file, damaged);
      expect(await resolveImageData(store, ref)).toBe(ref);
      expect(await resolveImageDataUrl(store, ref)).toBe(ref);
    }
    expect(logger).toHaveBeenCalledTimes(6);
  });

  it("reads nothing but blobs from our own store", async () => {
    const { store, root, dir } = setUp();
    await store.put(Buffer.from("x"));
    fs.writeFileSync(path.join(root, "secret"), "secret");
    fs.writeFileSync(path.join(dir, "name"), "content");
    for (const hash of ["../../secret", "name", ".", sha256("x").toUpperCase()]) {
      const ref = `blob:sha256:${hash}`;
      expect(await resolveImageData(store, ref)).toBe(ref);
      expect(await resolveImageDataUrl(store, ref)).toBe(ref);
    }
  });

  it("asks a replaced get and believes it", async () => {
    const { store } = setUp();
    const get = vi.spyOn(store, "get").mockResolvedValue(Buffer.from("hi"));
    expect(await resolveImageData(store, "blob:sha256:h")).toBe("aGk=");
    expect(get.mock.calls).toEqual([["h"]]);
  });

  it("rejects with the store's error", async () => {
    const store = fakeStore();
    store.get.mockRejectedValue(new Error("unreadable"));
    await expect(resolveImageData(store, "blob:sha256:h")).rejects.toThrow("unreadable");
    await expect(resolveImageDataUrl(store, "blob:sha256:h")).rejects.toThrow("unreadable");
  });
});
