"use strict";

/** Listing sessions, searching them, and finding one by a part of its id. */

const path = require("node:path");

const { readEnvironment } = require("./environment.js");
const { laterProperty } = require("./later.js");
const { log } = require("./logger.js");
const native = require("./native.js");
const { controlOf, readAll, runScan, throwIfAborted } = require("./scan.js");
const { CALLS, isNativeStorage, requireStorage } = require("./storage-kind.js");
const {
  invalidArgument,
  optionalObject,
  optionalOneOf,
  optionalString,
  requireString,
} = require("./validate.js");
const { dateOf } = require("./values.js");

const NO_MESSAGES = "(no messages)";

/** Where some things stand in a row; see `src/catalog/row.rs`. */
const MODIFIED = 5;
const FIRST_MESSAGE = 7;
const IS_CUT = 8;
/** A few milliseconds' work. */
const ROWS_AT_ONCE = 1000;

/** The class, whose members callers may have replaced; it requires this module itself. */
function sessionManager() {
  return require("./session-manager.js").SessionManager;
}

/** A row as `src/catalog/row.rs` describes it, as a `SessionInfo` without its long texts. */
function infoOfRow(row, modified) {
  return {
    path: row[0],
    id: row[1],
    cwd: row[3],
    title: row[2] ?? undefined,
    parentSessionPath: row[9],
    created: dateOf(row[4] ?? Number.NaN),
    modified,
    messageCount: row[6],
    firstMessage: row[FIRST_MESSAGE] ?? NO_MESSAGES,
  };
}

function reportFailures(failures) {
  for (const failure of failures) {
    log("warn", "Session could not be listed.", { err: failure });
  }
}

/** A session of a native listing, whose texts are still in the file. */
class Unread {
  constructor(listing, at, path, firstMessage) {
    this.listing = listing;
    this.at = at;
    this.path = path;
    this.firstMessage = firstMessage;
  }

  /** When the file is gone, what is known of a text has to do. */
  readOr(known, read) {
    try {
      return read(this.listing, this.at) ?? known;
    } catch (err) {
      log("warn", "Text of a listed session could not be read.", { path: this.path, err });
      return known;
    }
  }
}

const addFirstMessage = laterProperty("firstMessage", (unread) =>
  unread.readOr(unread.firstMessage, (listing, at) => listing.firstMessage(at)),
);

const addAllMessagesText = laterProperty("allMessagesText", (unread) =>
  unread.readOr(unread.firstMessage ?? "", (listing, at) => listing.text(at)),
);

/** The sessions of a native listing; `withTexts` says whether they have `allMessagesText`. */
async function toSessionInfos(listing, withTexts = true) {
  reportFailures(listing.failures);
  const { count } = listing;
  const infos = [];
  let text = listing.firstRows();
  while (infos.length < count) {
    // The next ones are prepared meanwhile. Making objects of all at once would hold up the program.
    const next = infos.length + ROWS_AT_ONCE;
    const coming = next < count ? listing.rows(next, ROWS_AT_ONCE) : undefined;
    for (const row of JSON.parse(text)) {
      const info = infoOfRow(row, new Date(row[MODIFIED]));
      const unread = new Unread(listing, infos.length, info.path, row[FIRST_MESSAGE]);
      if (row[IS_CUT]) {
        addFirstMessage(info, unread);
      }
      if (withTexts) {
        addAllMessagesText(info, unread);
      }
      infos.push(info);
    }
    text = await coming;
  }
  return infos;
}

/** Later modified first; of equally old files the one with the greater name. */
function newestFirst(left, right) {
  const [leftName, rightName] = [path.basename(left.path), path.basename(right.path)];
  return (
    right.modified - left.modified || (leftName < rightName ? 1 : leftName > rightName ? -1 : 0)
  );
}

/** Reads the sessions that `find` gives through a storage. What cannot be read is left out. */
async function describeThrough(storage, find, control) {
  const describe = async (file) => {
    try {
      const text = await storage.readText(file);
      const { mtime } = storage.statSync(file);
      const summary = await native.describeSessionText(file, text);
      if (!summary) {
        return undefined;
      }
      const { row, allMessagesText } = summary;
      return Object.assign(infoOfRow(JSON.parse(row), mtime), { allMessagesText });
    } catch (err) {
      reportFailures([err]);
      return undefined;
    }
  };
  const infos = await readAll(find, describe, control);
  return infos.filter(Boolean).sort(newestFirst);
}

/** Whether an error of a storage says that there is no such directory. */
function isMissing(error) {
  return error?.code === "ENOENT" || error?.code === "ENOTDIR";
}

/** The session files that a storage has in a directory. */
function filesThrough(storage, sessionDir) {
  try {
    return storage.listFilesSync(sessionDir, "*.jsonl");
  } catch (error) {
    if (isMissing(error)) {
      return [];
    }
    throw error;
  }
}

/** The sessions that a storage has in one directory, without those of another project. */
async function listFolderThrough(storage, cwd, dir, control) {
  const infos = await describeThrough(storage, () => filesThrough(storage, dir), control);
  const cwds = infos.map((info) => info.cwd || undefined);
  const owned = native.ownedSessions(readEnvironment(), cwd, dir, cwds);
  return infos.filter((_, at) => owned[at]);
}

/** All sessions, through a storage. Directories are searched on disk, whatever the storage is. */
async function listAllThrough(storage, control) {
  const find = async () => {
    const { files, failures } = await native.findAllSessionFiles(readEnvironment());
    reportFailures(failures);
    return files;
  };
  return describeThrough(storage, find, control);
}

const isNative = (storage) => !storage || isNativeStorage(storage);

/** The session directory of a call that may name none. */
function directoryOf(cwd, sessionDir, storage) {
  return sessionDir ?? sessionManager().getDefaultSessionDir(cwd, undefined, storage);
}

/** The sessions in one directory, without those of another project that shares its name. */
async function list(cwd, sessionDir, storage, options) {
  requireString(cwd, "cwd");
  optionalString(sessionDir, "sessionDir");
  requireStorage(storage, CALLS.list);
  const control = controlOf(options);
  // Before the directory is looked for, because that creates it.
  throwIfAborted(control.signal);
  const dir = directoryOf(cwd, sessionDir, storage);
  if (!isNative(storage)) {
    return listFolderThrough(storage, cwd, dir, control);
  }
  const scan = native.SessionScan.ofFolder(readEnvironment(), cwd, dir);
  return runScan(scan, control, ROWS_AT_ONCE, toSessionInfos);
}

/** The sessions of all projects. */
async function listAll(storage, options) {
  requireStorage(storage, CALLS.list);
  const control = controlOf(options);
  throwIfAborted(control.signal);
  if (!isNative(storage)) {
    return listAllThrough(storage, control);
  }
  const scan = native.SessionScan.ofAll(readEnvironment());
  return runScan(scan, control, ROWS_AT_ONCE, toSessionInfos);
}

/** Checks the options of a search. */
function searchOptions(options) {
  const { scope, cwd, sessionDir, storage, limit } = optionalObject(options, "options");
  optionalOneOf(scope, ["folder", "all"], "options.scope");
  requireStorage(storage, CALLS.list);
  if (limit !== undefined && (typeof limit !== "number" || Number.isNaN(limit))) {
    throw invalidArgument("options.limit", "of type number", limit);
  }
  return {
    isGlobal: scope === "all",
    cwd: optionalString(cwd, "options.cwd"),
    sessionDir: optionalString(sessionDir, "options.sessionDir"),
    storage,
    limit: Math.max(0, limit ?? Number.POSITIVE_INFINITY),
    control: controlOf(options),
  };
}

/** The project and the directory in which a search looks. */
function folderOf({ cwd = process.cwd(), sessionDir, storage }) {
  return { cwd, dir: directoryOf(cwd, sessionDir, storage) };
}

/** A search's view of a session: how well it matches in place of what was said. */
function toHit({ allMessagesText: _, ...info }, score) {
  return { ...info, score };
}

async function searchThrough(query, folder, { storage, limit, control }) {
  const infos = folder
    ? await listFolderThrough(storage, folder.cwd, folder.dir, control)
    : await listAllThrough(storage, control);
  const texts = infos.map((info) => {
    const { id, title, cwd, firstMessage, allMessagesText, path } = info;
    return [id, title, cwd, firstMessage, allMessagesText, path].filter(Boolean).join(" ");
  });
  const ranked = native.fuzzyRank(query, texts);
  const hits = [];
  for (let at = 0; at < ranked.length && hits.length < limit; at += 2) {
    hits.push(toHit(infos[ranked[at]], ranked[at + 1]));
  }
  return hits;
}

/**
 * The sessions that match every word of a query, best first; with a blank query all of them, newest
 * first.
 */
async function searchSessions(query, options) {
  requireString(query, "query");
  const search = searchOptions(options);
  throwIfAborted(search.control.signal);
  const folder = search.isGlobal ? undefined : folderOf(search);
  if (!isNative(search.storage)) {
    return searchThrough(query, folder, search);
  }
  const environment = readEnvironment();
  const scan = folder
    ? native.SessionScan.ofFolder(environment, folder.cwd, folder.dir, query)
    : native.SessionScan.ofAll(environment, query);
  const toHits = async (listing) => {
    const { scores } = listing;
    const infos = await toSessionInfos(listing, false);
    return infos.map((info, at) => Object.assign(info, { score: scores[at] }));
  };
  return runScan(scan, search.control, ROWS_AT_ONCE, toHits, search.limit);
}

function findMatch(sessionArg, infos) {
  const ids = infos.map(({ id }) => (typeof id === "string" ? id : undefined));
  const paths = infos.map((info) => info.path);
  return infos[native.matchSession(sessionArg, ids, paths)];
}

async function resolveResumableSession(sessionArg, cwd, sessionDir, storage) {
  requireString(sessionArg, "sessionArg");
  requireString(cwd, "cwd");
  optionalString(sessionDir, "sessionDir");
  if (sessionArg === "") {
    return undefined;
  }
  const manager = sessionManager();
  const dir = sessionDir ?? manager.getDefaultSessionDir(cwd, undefined, storage);
  const local = findMatch(sessionArg, await manager.list(cwd, dir, storage));
  if (local) {
    return { session: local, scope: "local" };
  }
  if (sessionDir !== undefined && sessionDir !== null) {
    return undefined;
  }
  const session = findMatch(sessionArg, await manager.listAll(storage));
  return session && { session, scope: "global" };
}

module.exports = { list, listAll, resolveResumableSession, searchSessions };
