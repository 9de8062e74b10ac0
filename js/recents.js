"use strict";

/** The most recent sessions of a directory; see `src/catalog/recent.rs`. */

const { mapBounded } = require("./bounded.js");
const { readEnvironment } = require("./environment.js");
const { log } = require("./logger.js");
const native = require("./native.js");
const { CALLS, isNativeStorage, requireStorage } = require("./storage-kind.js");
const { requireNumber, requireString } = require("./validate.js");

const DEFAULT_LIMIT = 3;
/** Usually holds the header and the first prompt. */
const PREFIX_BYTES = 4096;
const LONGEST_NAME = 40;

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

function ageOf(mtime) {
  const age = Date.now() - mtime;
  if (age < MINUTE) {
    return "just now";
  }
  if (age < HOUR) {
    return `${Math.floor(age / MINUTE)}m ago`;
  }
  if (age < DAY) {
    return `${Math.floor(age / HOUR)}h ago`;
  }
  if (age < 7 * DAY) {
    return `${Math.floor(age / DAY)}d ago`;
  }
  return new Date(mtime).toLocaleDateString();
}

class RecentSessionInfo {
  path;
  mtime;
  #fullName;
  #name;
  #timeAgo;

  constructor(path, mtime, fullName) {
    this.path = path;
    this.mtime = mtime;
    this.#fullName = fullName;
  }

  get fullName() {
    return this.#fullName;
  }

  get name() {
    this.#name ??=
      this.#fullName.length > LONGEST_NAME
        ? `${this.#fullName.slice(0, LONGEST_NAME - 1)}…`
        : this.#fullName;
    return this.#name;
  }

  get timeAgo() {
    this.#timeAgo ??= ageOf(this.mtime);
    return this.#timeAgo;
  }
}

/** The beginning of a file: as much as is needed to tell what it is. */
async function readBeginning(storage, file) {
  let wanted = PREFIX_BYTES;
  for (;;) {
    const prefix = await storage.readTextPrefix(file, wanted);
    const longer = native.longerRecentPrefix(prefix, wanted);
    if (longer === null) {
      return prefix;
    }
    wanted = longer;
  }
}

/** The sessions that a storage has in a directory, newest first. */
async function recentThrough(storage, sessionDir) {
  const files = storage.listFilesSync(sessionDir, "*.jsonl");
  const sessions = await mapBounded(files, async (file) => {
    try {
      const beginning = native.describeRecentText(file, await readBeginning(storage, file));
      const { mtimeMs } = storage.statSync(file);
      return beginning && { ...beginning, path: file, mtime: mtimeMs };
    } catch {
      return undefined;
    }
  });
  const byAge = (left, right) =>
    right.mtime - left.mtime || (left.path < right.path ? 1 : left.path > right.path ? -1 : 0);
  return sessions.filter(Boolean).sort(byAge);
}

/** A directory that cannot be listed has no recent sessions. */
async function orNone(none, work) {
  try {
    return await work();
  } catch (err) {
    log("warn", "Recent sessions could not be listed.", { err });
    return none;
  }
}

/** The newest session; with `cwd` only of that project, if the directory is named after it. */
function mostRecent(sessionDir, cwd, storage) {
  return orNone(null, async () => {
    if (!storage || isNativeStorage(storage)) {
      return native.mostRecentSession(readEnvironment(), sessionDir, cwd);
    }
    const sessions = await recentThrough(storage, sessionDir);
    if (cwd === undefined) {
      return sessions[0]?.path ?? null;
    }
    const cwds = sessions.map((session) => session.cwd);
    const owned = native.ownedSessions(readEnvironment(), cwd, sessionDir, cwds);
    return sessions.find((_, at) => owned[at])?.path ?? null;
  });
}

async function findMostRecentSession(sessionDir, storage) {
  requireString(sessionDir, "sessionDir");
  requireStorage(storage, CALLS.recents);
  return mostRecent(sessionDir, undefined, storage);
}

/**
 * The session that "continue" means in `cwd`: the newest one in the directory that does not belong
 * to another project whose directory has the same name.
 *
 * @returns {Promise<string | null>}
 */
async function findRecentSessionOf(cwd, sessionDir, storage) {
  return mostRecent(sessionDir, String(cwd), storage);
}

async function getRecentSessions(sessionDir, limit = DEFAULT_LIMIT, storage = undefined) {
  requireString(sessionDir, "sessionDir");
  requireNumber(limit, "limit");
  requireStorage(storage, CALLS.recents);
  const sessions = await orNone([], () => {
    // Negative limits count from the end, so all are needed.
    const count = limit >= 0 ? limit : Number.POSITIVE_INFINITY;
    return !storage || isNativeStorage(storage)
      ? native.recentSessions(sessionDir, count)
      : recentThrough(storage, sessionDir);
  });
  return sessions
    .slice(0, limit)
    .map((session) => new RecentSessionInfo(session.path, session.mtime, session.fullName));
}

module.exports = { findMostRecentSession, findRecentSessionOf, getRecentSessions };
