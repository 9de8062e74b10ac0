"use strict";

/**
 * Contents kept once under their SHA-256, and the forms in which sessions refer to them.
 */

const crypto = require("node:crypto");
const path = require("node:path");

const { log } = require("./logger.js");
const native = require("./native.js");
const { requireBytes, requireObject, requireString } = require("./validate.js");

const PREFIX = "blob:sha256:";
const HASH = /^[0-9a-f]{64}$/;

class BlobStore {
  constructor(dir) {
    this.dir = requireString(dir, "dir");
  }

  /** Stores the bytes, durably when the promise resolves. */
  async put(data) {
    requireBytes(data, "data");
    // The same normalisation for the file and for the path that is handed out.
    const dir = path.join(this.dir);
    const hash = await native.blobPut(dir, data);
    return { hash, path: path.join(dir, hash), ref: `${PREFIX}${hash}` };
  }

  /** The bytes stored under the hash, or `null`. Names that lead out of the directory are missing. */
  async get(hash) {
    return native.blobGet(path.join(this.dir), requireString(hash, "hash"));
  }

  async has(hash) {
    return typeof hash === "string" && native.blobHas(path.join(this.dir), hash);
  }
}

/** Tells a store that reads our files from one that somebody made or replaced. */
const readsOurFiles = BlobStore.prototype.get;

function isBlobRef(data) {
  return requireString(data, "data").startsWith(PREFIX);
}

function parseBlobRef(data) {
  return isBlobRef(data) ? data.slice(PREFIX.length) : null;
}

function isImageDataUrl(data) {
  return requireString(data, "data").startsWith("data:image/") && data.includes(";base64,");
}

async function externalizeImageDataUrl(blobStore, dataUrl) {
  return externalize(blobStore, requireString(dataUrl, "dataUrl"), "utf8");
}

async function externalizeImageData(blobStore, base64) {
  return externalize(blobStore, requireString(base64, "base64"), "base64");
}

async function resolveImageDataUrl(blobStore, data) {
  return resolve(blobStore, data, "utf8", "Blob not found for persisted image data URL");
}

async function resolveImageData(blobStore, data) {
  return resolve(blobStore, data, "base64", "Blob not found for image reference");
}

async function externalize(blobStore, text, encoding) {
  if (isBlobRef(text)) {
    return text;
  }
  const { ref } = await requireObject(blobStore, "blobStore").put(Buffer.from(text, encoding));
  return ref;
}

async function resolve(blobStore, data, encoding, warning) {
  const hash = parseBlobRef(data);
  if (!hash) {
    return data;
  }
  const bytes = await read(blobStore, hash);
  if (!bytes) {
    log("warn", warning, { hash });
    return data;
  }
  return bytes.toString(encoding);
}

/**
 * What a reference means. Sessions come from anywhere, so from our own store only a hash and only
 * the content that has it are accepted; other stores answer for themselves.
 */
async function read(blobStore, hash) {
  const own = requireObject(blobStore, "blobStore").get === readsOurFiles;
  if (own && !HASH.test(hash)) {
    return null;
  }
  const content = await blobStore.get(hash);
  if (!content || (own && sha256(content) !== hash)) {
    return null;
  }
  return Buffer.from(content.buffer, content.byteOffset, content.byteLength);
}

function sha256(bytes) {
  return crypto.createHash("sha256").update(bytes).digest("hex");
}

module.exports = {
  BlobStore,
  externalizeImageData,
  externalizeImageDataUrl,
  isBlobRef,
  isImageDataUrl,
  parseBlobRef,
  resolveImageData,
  resolveImageDataUrl,
};
