"use strict";

/**
 * Session storage in files. Methods that return promises work off the JS thread, the others are
 * synchronous to the end.
 */

const path = require("node:path");

const { removeRecursively } = require("./host-fs.js");
const native = require("./native.js");
const {
  optionalBoolean,
  optionalFunction,
  optionalObject,
  optionalOneOf,
  requireNumber,
  requireString,
} = require("./validate.js");

const DEFAULT_OPTIONS = Object.freeze({
  migrateOnOpen: false,
  onInvalid: "fresh",
});

/** Options by storage; outside the objects, so that they stay plain for spies and subclasses. */
const optionsOf = new WeakMap();

/**
 * The policies a storage was made with; the defaults for storages that are not ours.
 *
 * @returns {{ migrateOnOpen: boolean, onInvalid: "fresh" | "error" }}
 */
function storageOptions(storage) {
  return optionsOf.get(storage) ?? DEFAULT_OPTIONS;
}

function checkedOptions(options) {
  const { migrateOnOpen, onInvalid } = optionalObject(options, "options");
  const { migrateOnOpen: migrate, onInvalid: invalid } = DEFAULT_OPTIONS;
  return Object.freeze({
    migrateOnOpen: optionalBoolean(migrateOnOpen, "options.migrateOnOpen") ?? migrate,
    onInvalid: optionalOneOf(onInvalid, ["fresh", "error"], "options.onInvalid") ?? invalid,
  });
}

/** A file that lines are written to; see `SessionStorageWriter`. */
class FileSessionStorageWriter {
  /** Closes its descriptor when it is collected. */
  #file;
  #closed = false;
  #error;
  #onError;

  constructor(filePath, flags, onError) {
    this.#file = new native.NativeTextWriter(filePath, flags === "w");
    this.#onError = onError;
  }

  /** Writes the text as it is, all of it before the call returns. */
  async writeLine(line) {
    requireString(line, "line");
    this.#requireUsable();
    try {
      this.#file.write(line);
    } catch (error) {
      throw this.#failed(error);
    }
  }

  /** Nothing is buffered; only reports an earlier failure. */
  async flush() {
    if (this.#error) {
      throw this.#error;
    }
  }

  async fsync() {
    this.#requireUsable();
    try {
      await this.#file.sync();
    } catch (error) {
      throw this.#failed(error);
    }
  }

  async close() {
    this.#closed = true;
    this.#file.close();
  }

  getError() {
    return this.#error;
  }

  #requireUsable() {
    if (this.#closed) {
      throw new Error("Writer closed");
    }
    if (this.#error) {
      throw this.#error;
    }
  }

  /** Keeps the first error, tells the owner, and gives the error back to be thrown. */
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

class FileSessionStorage {
  constructor(options) {
    optionsOf.set(this, checkedOptions(options));
  }

  ensureDirSync(dir) {
    native.storageEnsureDir(requireString(dir, "dir"));
  }

  existsSync(filePath) {
    // Like the host's function of that name: whatever goes wrong means no.
    return typeof filePath === "string" && native.storageExistsSync(filePath);
  }

  writeTextSync(filePath, content) {
    requireString(filePath, "path");
    requireString(content, "content");
    this.ensureDirSync(path.dirname(filePath));
    native.storageWriteTextSync(filePath, content);
  }

  statSync(filePath) {
    const { size, mtimeMs } = native.storageStat(requireString(filePath, "path"));
    return { size, mtimeMs, mtime: new Date(mtimeMs) };
  }

  listFilesSync(dir, pattern) {
    requireString(dir, "dir");
    requireString(pattern, "pattern");
    return native.storageListFiles(dir, pattern).map((file) => path.join(dir, file));
  }

  async exists(filePath) {
    return native.storageExists(requireString(filePath, "path"));
  }

  async readText(filePath) {
    return native.storageReadText(requireString(filePath, "path"));
  }

  async readTextPrefix(filePath, maxBytes) {
    requireString(filePath, "path");
    requireNumber(maxBytes, "maxBytes");
    return maxBytes > 0 ? native.storageReadTextPrefix(filePath, maxBytes) : "";
  }

  async writeText(filePath, content) {
    requireString(filePath, "path");
    requireString(content, "content");
    await native.storageWriteText(filePath, content);
  }

  async rename(filePath, nextPath) {
    requireString(filePath, "path");
    requireString(nextPath, "nextPath");
    await native.storageRename(filePath, nextPath);
  }

  async unlink(filePath) {
    await native.storageUnlink(requireString(filePath, "path"));
  }

  openWriter(filePath, options) {
    requireString(filePath, "path");
    const { flags, onError } = optionalObject(options, "options");
    optionalOneOf(flags, ["a", "w"], "options.flags");
    optionalFunction(onError, "options.onError");
    return new FileSessionStorageWriter(filePath, flags, onError);
  }

  /** Removes a session file and then the directory of its artifacts, if there is one. */
  async deleteSessionWithArtifacts(sessionPath) {
    requireString(sessionPath, "sessionPath");
    await this.unlink(sessionPath);
    const dir = native.artifactsDirOf(sessionPath);
    try {
      await removeRecursively(dir);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(
        `Session file deleted but failed to remove artifacts directory ${dir}: ${reason}`,
        { cause: error },
      );
    }
  }
}

module.exports = { FileSessionStorage, storageOptions };
