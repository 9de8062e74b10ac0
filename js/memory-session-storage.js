"use strict";

/**
 * Session storage in memory: a map from path to text. Paths are compared as strings, there are no
 * directories; sizes and prefixes count UTF-16 units.
 */

const {
  optionalFunction,
  optionalObject,
  optionalOneOf,
  requireNumber,
  requireString,
} = require("./validate.js");

/** Appends lines to one path of a storage; see `SessionStorageWriter`. */
class MemorySessionStorageWriter {
  #storage;
  #path;
  #read;
  #closed = false;
  #error;
  #onError;

  constructor(storage, filePath, read, { flags, onError }) {
    this.#storage = storage;
    this.#path = filePath;
    this.#read = read;
    this.#onError = onError;
    if (flags === "w") {
      storage.writeTextSync(filePath, "");
    }
  }

  /** Reads and writes within the call, so that concurrent writers cannot lose each other's lines. */
  async writeLine(line) {
    requireString(line, "line");
    if (this.#closed) {
      throw new Error("Writer closed");
    }
    if (this.#error) {
      throw this.#error;
    }
    try {
      this.#storage.writeTextSync(this.#path, this.#read(this.#path) + line);
    } catch (error) {
      throw this.#failed(error);
    }
  }

  async flush() {}

  async fsync() {}

  async close() {
    this.#closed = true;
  }

  getError() {
    return this.#error;
  }

  #failed(error) {
    this.#error ??= error;
    try {
      this.#onError?.(error);
    } catch {
      // The writer's own error is the one to report.
    }
    return error;
  }
}

class MemorySessionStorage {
  /** @type {Map<string, { content: string, mtime: number }>} */
  #files = new Map();

  ensureDirSync() {}

  existsSync(filePath) {
    return this.#files.has(filePath);
  }

  writeTextSync(filePath, content) {
    requireString(filePath, "path");
    requireString(content, "content");
    this.#files.set(filePath, { content, mtime: Date.now() });
  }

  statSync(filePath) {
    const { content, mtime } = this.#get(filePath);
    return { size: content.length, mtimeMs: mtime, mtime: new Date(mtime) };
  }

  /** Supports `*`, `*.<ending>` and plain names; only what is directly in the directory matches. */
  listFilesSync(dir, pattern) {
    requireString(dir, "dir");
    requireString(pattern, "pattern");
    const prefix = dir.endsWith("/") ? dir : `${dir}/`;
    return [...this.#files.keys()].filter((file) => {
      const name = file.slice(prefix.length);
      return file.startsWith(prefix) && !/[/\\]/.test(name) && matches(name, pattern);
    });
  }

  async exists(filePath) {
    return this.existsSync(filePath);
  }

  async readText(filePath) {
    return this.#get(filePath).content;
  }

  async readTextPrefix(filePath, maxBytes) {
    requireNumber(maxBytes, "maxBytes");
    return this.#get(filePath).content.slice(0, maxBytes);
  }

  async writeText(filePath, content) {
    this.writeTextSync(filePath, content);
  }

  async rename(filePath, nextPath) {
    requireString(nextPath, "nextPath");
    const file = this.#get(filePath);
    this.#files.delete(filePath);
    this.#files.set(nextPath, file);
  }

  async unlink(filePath) {
    this.#files.delete(requireString(filePath, "path"));
  }

  openWriter(filePath, options) {
    requireString(filePath, "path");
    const { flags, onError } = optionalObject(options, "options");
    optionalOneOf(flags, ["a", "w"], "options.flags");
    optionalFunction(onError, "options.onError");
    const read = (file) => this.#files.get(file)?.content ?? "";
    return new MemorySessionStorageWriter(this, filePath, read, { flags, onError });
  }

  #get(filePath) {
    const file = this.#files.get(requireString(filePath, "path"));
    if (!file) {
      throw new Error(`File not found: ${filePath}`);
    }
    return file;
  }
}

function matches(name, pattern) {
  if (pattern === "*") {
    return true;
  }
  return pattern.startsWith("*.") ? name.endsWith(pattern.slice(1)) : name === pattern;
}

module.exports = { MemorySessionStorage };
