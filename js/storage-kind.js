"use strict";

/**
 * Tells storages whose work can be done natively from those that must be called.
 *
 * A file storage is native as long as all its methods are ours: a subclass or a test that replaces
 * one expects it to be called.
 */

const { FileSessionStorage } = require("./file-session-storage.js");
const { invalidArgument, requireObject } = require("./validate.js");

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

/** The methods that each kind of work calls. */
const CALLS = {
  directory: ["ensureDirSync"],
  entries: ["readText"],
  list: ["listFilesSync", "readText", "statSync"],
  recents: ["listFilesSync", "readTextPrefix", "statSync"],
  session: [
    "ensureDirSync",
    "existsSync",
    "readText",
    "writeTextSync",
    "openWriter",
    "rename",
    "unlink",
  ],
};

/**
 * Refuses what cannot stand in for the file system before anything is done with it.
 *
 * @param storage undefined and null mean the file system
 * @param calls names of the methods that will be called
 */
function requireStorage(storage, calls) {
  if (storage === undefined || storage === null || isNativeStorage(storage)) {
    return;
  }
  requireObject(storage, "storage");
  for (const name of calls) {
    if (typeof storage[name] !== "function") {
      throw invalidArgument(`storage.${name}`, "of type function", storage[name]);
    }
  }
}

module.exports = { CALLS, isNativeStorage, requireStorage };
