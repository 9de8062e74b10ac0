"use strict";

/**
 * Tells storages whose work can be done natively from those that must be called.
 *
 * A file storage is native as long as all its methods are ours: a subclass or a test that replaces
 * one expects it to be called.
 */

const { FileSessionStorage } = require("./file-session-storage.js");

const METHODS = [
  "ensureDirSync",
  "existsSync",
  "writeTextSync",
  "statSync",
  "listFilesSync",
  "exists",
  "readText",
  "readTextPrefix",
  "writeText",
  "rename",
  "unlink",
  "openWriter",
];

const ours = new Map(METHODS.map((name) => [name, FileSessionStorage.prototype[name]]));

/** Whether the core may do this storage's work itself. */
function isNativeStorage(storage) {
  return (
    storage instanceof FileSessionStorage &&
    METHODS.every((name) => storage[name] === ours.get(name))
  );
}

module.exports = { isNativeStorage };
