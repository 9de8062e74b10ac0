"use strict";

/** Listing sessions and finding one by a part of its id. */

const path = require("node:path");

const { readEnvironment } = require("./environment.js");
const { log } = require("./logger.js");
const native = require("./native.js");
const { mapBounded } = require("./bounded.js");
const { isNativeStorage } = require("./storage-kind.js");
const { optionalString, requireString } = require("./validate.js");
const { dateOf } = require("./values.js");

/** The class, whose members callers may have replaced; it requires this module itself. */
function sessionManager() {
  return require("./session-manager.js").SessionManager;
}

/** A `SessionInfo` of what the native code or a storage found out. */
function toSessionInfo(summary, modified) {
  const header = summary.header === undefined ? undefined : JSON.parse(summary.header);
  const title = summary.slotTitle === undefined ? header?.title : summary.slotTitle || undefined;
  return {
    path: summary.path,
    id: header?.id || summary.fallbackId,
    cwd: typeof header?.cwd === "string" ? header.cwd : "",
    title: title ?? summary.shortSummary,
    parentSessionPath: header?.parentSession,
    created: dateOf(header ? header.timestamp : summary.fallbackCreated),
    modified,
    messageCount: summary.messageCount,
    firstMessage: summary.firstMessage ?? "(no messages)",
    allMessagesText: summary.allMessagesText,
  };
}

function reportFailures(failures) {
  for (const failure of failures) {
    log("warn", "Session could not be listed.", { err: failure });
  }
}

function toSessionInfos({ sessions, failures }) {
  reportFailures(failures);
  return sessions.map((summary) => toSessionInfo(summary, new Date(summary.modified)));
}

/** Later modified first; of equally old files the one with the greater name. */
function newestFirst(left, right) {
  const [leftName, rightName] = [path.basename(left.path), path.basename(right.path)];
  return (
    right.modified - left.modified || (leftName < rightName ? 1 : leftName > rightName ? -1 : 0)
  );
}

/** Reads sessions through a storage. What cannot be read is left out. */
async function describeThrough(storage, files) {
  const infos = await mapBounded(files, async (file) => {
    try {
      const text = await storage.readText(file);
      const { mtime } = storage.statSync(file);
      const summary = await native.describeSessionText(file, text);
      return summary && toSessionInfo(summary, mtime);
    } catch (err) {
      reportFailures([err]);
      return undefined;
    }
  });
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

/** The sessions in one directory, without those of another project that shares its name. */
async function list(cwd, sessionDir, storage) {
  requireString(cwd, "cwd");
  optionalString(sessionDir, "sessionDir");
  const dir = sessionDir ?? sessionManager().getDefaultSessionDir(cwd, undefined, storage);
  if (!storage || isNativeStorage(storage)) {
    return toSessionInfos(await native.listSessions(readEnvironment(), cwd, dir));
  }
  const infos = await describeThrough(storage, filesThrough(storage, dir));
  const cwds = infos.map((info) => info.cwd || undefined);
  const owned = native.ownedSessions(readEnvironment(), cwd, dir, cwds);
  return infos.filter((_, at) => owned[at]);
}

/** The sessions of all projects. Directories are searched on disk, whatever the storage is. */
async function listAll(storage) {
  if (!storage || isNativeStorage(storage)) {
    return toSessionInfos(await native.listAllSessions(readEnvironment()));
  }
  const { files, failures } = await native.findAllSessionFiles(readEnvironment());
  reportFailures(failures);
  return describeThrough(storage, files);
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

module.exports = { list, listAll, resolveResumableSession };
