"use strict";

/** Functions on plain lists of file entries: reading and bringing up to date. */

const native = require("./native.js");
const { CALLS, isNativeStorage, requireStorage } = require("./storage-kind.js");
const { FileSessionStorage } = require("./file-session-storage.js");
const { requireArray, requireString } = require("./validate.js");

const CURRENT_SESSION_VERSION = native.currentSessionVersion();

/** All values of arrays given as JSON texts. */
function parsedGroups(groups) {
  return groups.length === 1 ? JSON.parse(groups[0]) : groups.flatMap((group) => JSON.parse(group));
}

/**
 * Reads every JSON value of a session's text, leniently: what cannot be read is passed over.
 *
 * @param {string} content
 */
function parseSessionEntries(content) {
  return parsedGroups(native.readTextValues(requireString(content, "content")));
}

/** A list of entries that begins with a header, or nothing. */
function withHeader(entries) {
  const header = entries[0];
  const valid =
    header !== null &&
    typeof header === "object" &&
    header.type === "session" &&
    typeof header.id === "string";
  return valid ? entries : [];
}

/**
 * Reads a session file as it is: no migration, no blobs. Missing files and files without a header
 * give an empty list; other failures reject.
 */
async function loadEntriesFromFile(filePath, storage = new FileSessionStorage()) {
  requireString(filePath, "filePath");
  requireStorage(storage, CALLS.entries);
  if (isNativeStorage(storage)) {
    const groups = await native.readFileValues(filePath);
    return groups === null ? [] : withHeader(parsedGroups(groups));
  }
  try {
    return withHeader(parseSessionEntries(await storage.readText(filePath)));
  } catch (error) {
    if (error instanceof Error && error.code === "ENOENT") {
      return [];
    }
    throw error;
  }
}

const isObject = (value) => value !== null && typeof value === "object";

/** Version 1 entries form a list; from version 2 on they are linked by ids. */
function linkEntries(entries) {
  let parentId = null;
  for (const entry of entries) {
    if (!isObject(entry)) {
      continue;
    }
    if (entry.type === "session") {
      entry.version = 2;
      continue;
    }
    entry.id = native.nextEntryId(Date.now());
    entry.parentId = parentId;
    parentId = entry.id;
    if (entry.type === "compaction" && "firstKeptEntryIndex" in entry) {
      const kept = entries[entry.firstKeptEntryIndex];
      if (typeof entry.firstKeptEntryIndex === "number" && isObject(kept)) {
        if (kept.type !== "session") {
          entry.firstKeptEntryId = kept.id;
        }
      }
      delete entry.firstKeptEntryIndex;
    }
  }
}

/** Version 3 calls the messages of extensions `custom`. */
function renameHookMessages(entries) {
  for (const entry of entries) {
    if (entry?.type === "session") {
      entry.version = CURRENT_SESSION_VERSION;
    } else if (entry?.type === "message" && entry.message?.role === "hookMessage") {
      entry.message.role = "custom";
    }
  }
}

/**
 * Brings entries of older versions up to date, in place.
 *
 * @param {object[]} entries header and entries
 */
function migrateSessionEntries(entries) {
  requireArray(entries, "entries");
  const version = entries.find((entry) => entry?.type === "session")?.version ?? 1;
  if (version < 2) {
    linkEntries(entries);
  }
  if (version < CURRENT_SESSION_VERSION) {
    renameHookMessages(entries);
  }
}

module.exports = {
  CURRENT_SESSION_VERSION,
  loadEntriesFromFile,
  migrateSessionEntries,
  parseSessionEntries,
};
