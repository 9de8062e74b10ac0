"use strict";

/**
 * Making the states that a manager switches between: new sessions, sessions from files, forks and
 * branches. A `scope` is what all of them need to know of the manager: `cwd`, `sessionDir`,
 * `persist`, `storage`, `blobsDir`, `events`.
 */

const path = require("node:path");

const { backendFor } = require("./backends.js");
const { getBlobsDir } = require("./directories.js");
const { EntryTable } = require("./entry-table.js");
const { CURRENT_SESSION_VERSION } = require("./entries.js");
const { FileMove } = require("./file-move.js");
const { storageOptions } = require("./file-session-storage.js");
const { log } = require("./logger.js");
const native = require("./native.js");
const { Persistence } = require("./persistence.js");
const { SessionState } = require("./session-state.js");
const { isNativeStorage } = require("./storage-kind.js");

/** An error with a code and the path it is about. */
function codedError(message, code, filePath) {
  return Object.assign(new Error(message), { code, path: filePath });
}

/** Id, timestamp and header fields of a session that begins now. */
function newIdentity() {
  const now = new Date();
  return { id: native.nextSnowflake(now.getTime()), timestamp: now.toISOString() };
}

/** Where a session with this header is kept. */
function sessionFileOf(scope, { id, timestamp }) {
  return path.resolve(scope.sessionDir, `${timestamp.replace(/[:.]/g, "-")}_${id}.jsonl`);
}

/** Connects a state with its file. */
function attach(scope, state, file, options = {}) {
  state.file = file;
  if (!scope.persist) {
    const { onDisk = false, needsFullRewrite = false } = options;
    state.unwritten = { flushed: onDisk, needsFullRewrite };
  } else {
    const backend = backendFor(scope.storage, file, scope.blobsDir, options.isTorn);
    state.persistence = new Persistence(state.table, backend, () => state.header, {
      ...options,
      events: scope.events,
    });
  }
  return state;
}

/** A session without entries; nothing is written. */
function newState(scope, parentSession) {
  const { id, timestamp } = newIdentity();
  const header = {
    type: "session",
    version: CURRENT_SESSION_VERSION,
    id,
    timestamp,
    cwd: scope.cwd,
    parentSession,
  };
  const state = new SessionState(header, EntryTable.empty(scope.blobsDir));
  return scope.persist ? attach(scope, state, sessionFileOf(scope, header)) : state;
}

/** Directories that were looked through; once is enough, and a large one takes its time. */
const lookedThrough = new Set();

/** Removes what killed processes left in a directory, behind everything else. */
function removeLeftovers(dir, now) {
  if (!lookedThrough.has(dir)) {
    lookedThrough.add(dir);
    native.removeLeftovers(dir, now).catch(() => {});
  }
}

/** Reads a session through the scope's storage, without keeping anything of it. */
async function read(storage, filePath, how = "load") {
  const now = Date.now();
  if (isNativeStorage(storage)) {
    const loaded = await native.SessionCore[how](filePath, now);
    removeLeftovers(path.dirname(filePath), now);
    removeLeftovers(getBlobsDir(), now);
    return loaded;
  }
  try {
    return native.SessionCore.loadText(await storage.readText(filePath), filePath, now);
  } catch (error) {
    if (error instanceof Error && error.code === "ENOENT") {
      return { outcome: "missing" };
    }
    throw error;
  }
}

/** The same for a session that is to go on: of a long file only the end may be known at first. */
const readToOpen = (storage, filePath) => read(storage, filePath, "open");

/** The header object of a session that was read; made up when it was damaged. */
function headerOf(scope, loaded) {
  if (loaded.header !== null) {
    const header = JSON.parse(loaded.header);
    if (loaded.migrated) {
      header.version = CURRENT_SESSION_VERSION;
    }
    return header;
  }
  const { id, timestamp } = newIdentity();
  return {
    type: "session",
    version: CURRENT_SESSION_VERSION,
    id: loaded.idFromName ?? id,
    timestamp: loaded.firstTimestamp ?? timestamp,
    cwd: scope.cwd,
  };
}

/** The state of a session that was read from its file. */
function stateOf(scope, loaded, file) {
  const header = headerOf(scope, loaded);
  const state = new SessionState(header, EntryTable.loaded(loaded, scope.blobsDir));
  state.loaded = loaded;
  const { headerSalvaged, tornTail } = loaded.report;
  return attach(scope, state, file, {
    onDisk: true,
    isTorn: tornTail,
    needsFullRewrite: loaded.migrated || headerSalvaged,
    backup: headerSalvaged ? `${file}.bak-${native.nextSnowflake(Date.now())}` : undefined,
  });
}

/** A new session at a given path, written at once. */
async function initialise(scope, file, backup) {
  const state = newState(scope, undefined);
  attach(scope, state, file, { backup });
  await state.persistence?.rewrite();
  state.unwritten = { flushed: true, needsFullRewrite: false };
  return state;
}

/** Bytes that are no session: kept beside the fresh session, or refused. */
async function replaceInvalid(scope, file) {
  if (storageOptions(scope.storage).onInvalid === "error") {
    throw codedError(`Not a session file: ${file}`, "INVALID_SESSION_FILE", file);
  }
  const kept = `${file}.invalid-${native.nextSnowflake(Date.now())}`;
  if (!isNativeStorage(scope.storage)) {
    scope.storage.writeTextSync(kept, await scope.storage.readText(file));
  }
  log("warn", "File was no session and has been replaced by a new one.", { file, kept });
  return initialise(scope, file, isNativeStorage(scope.storage) ? kept : undefined);
}

/**
 * The session in a file; a new one for a path where there is none.
 *
 * @param loaded what reading the file gave, if it was read already
 */
async function openState(scope, file, loaded) {
  const read_ = loaded ?? (await readToOpen(scope.storage, file));
  switch (read_.outcome) {
    case "session": {
      const state = stateOf(scope, read_, file);
      if (state.persistence?.needsFullRewrite && storageOptions(scope.storage).migrateOnOpen) {
        await state.persistence.rewrite();
      }
      return state;
    }
    case "invalid":
      return scope.persist ? replaceInvalid(scope, file) : initialise(scope, file);
    default:
      return initialise(scope, file);
  }
}

/** A copy of a session file as a new session, written at once. */
async function forkFile(scope, sourcePath) {
  const loaded = await read(scope.storage, sourcePath);
  if (loaded.outcome === "missing") {
    throw codedError(`Session not found: ${sourcePath}`, "SESSION_NOT_FOUND", sourcePath);
  }
  if (loaded.outcome !== "session") {
    throw codedError(`Not a session file: ${sourcePath}`, "INVALID_SESSION_FILE", sourcePath);
  }
  const source = headerOf(scope, loaded);
  const { id, timestamp } = newIdentity();
  const header = {
    type: "session",
    version: CURRENT_SESSION_VERSION,
    id,
    timestamp,
    cwd: scope.cwd,
    parentSession: source.id,
    title: source.title,
    titleSource: source.titleSource,
  };
  const state = new SessionState(header, EntryTable.loaded(loaded, scope.blobsDir));
  attach(scope, state, sessionFileOf(scope, header));
  await state.persistence.rewrite();
  return state;
}

/** The same session under a new id, to be written to a file of its own. */
function forkState(scope, old) {
  const { id, timestamp } = newIdentity();
  const header = {
    type: "session",
    version: CURRENT_SESSION_VERSION,
    id,
    title: old.header.title ?? old.name,
    titleSource: old.header.titleSource ?? old.titleSource,
    timestamp,
    cwd: scope.cwd,
    parentSession: old.sessionId,
  };
  const state = new SessionState(header, old.table.copy());
  state.leafId = old.leafId;
  state.usage = old.usage;
  state.name = old.name;
  state.titleSource = old.titleSource;
  return attach(scope, state, sessionFileOf(scope, header));
}

/** Entries of a branch; those that hung from a label hang from what was before it, as copies. */
function branchTable(old, slot) {
  const plan = old.table.core.branchPlan(slot);
  const slots = plan.subarray(1, 1 + plan[0]);
  const core = old.table.core.branch(slot);
  const table = new EntryTable(
    core,
    Array.from(slots, (from) => old.table.objects[from]),
  );
  for (const position of plan.subarray(1 + plan[0])) {
    const parentId = position === 0 ? null : core.idOf(position - 1);
    table.objects[position] = { ...old.table.at(slots[position]), parentId };
  }
  return table;
}

/** Labels of the entries that a branch kept, as new entries at its end. */
function addLabels(table, timestamp) {
  const labels = table.core.labels();
  for (let at = 0; at < labels.length; at += 2) {
    const leaf = table.core.leaf;
    table.push({
      type: "label",
      id: table.core.freshId(Date.now()),
      parentId: leaf < 0 ? null : table.core.idOf(leaf),
      timestamp,
      targetId: labels[at],
      label: labels[at + 1],
    });
  }
}

/** The path to an entry as a session of its own; written before this returns. */
function branchState(scope, old, slot) {
  const { id, timestamp } = newIdentity();
  const header = {
    type: "session",
    version: CURRENT_SESSION_VERSION,
    id,
    timestamp,
    cwd: scope.cwd,
    parentSession: scope.persist ? old.file : undefined,
  };
  if (old.name !== undefined) {
    header.title = old.name;
  }
  if (old.titleSource !== undefined) {
    header.titleSource = old.titleSource;
  }
  const table = branchTable(old, slot);
  addLabels(table, timestamp);
  const state = new SessionState(header, table);
  if (!scope.persist) {
    state.file = old.file;
    state.unwritten = old.unwritten;
    return state;
  }
  attach(scope, state, sessionFileOf(scope, header));
  state.persistence.createNow();
  return state;
}

/** Moves a session to a directory; its persistence goes on there. */
async function moveState(scope, state, target, arrive) {
  const move = new FileMove(scope.storage, state.file, target, arrive);
  const backend = backendFor(scope.storage, move.destination, scope.blobsDir);
  await state.persistence.relocate(backend, move);
}

/** Takes in what others wrote to a session's file; gives how many entries have arrived. */
async function reloadState(scope, state) {
  const takeIn = (loaded, hasHeader) => {
    if (loaded.outcome !== "session") {
      return undefined;
    }
    const header = hasHeader && loaded.header !== null ? JSON.parse(loaded.header) : undefined;
    return state.takeIn(loaded, header, scope.blobsDir);
  };
  return state.persistence.reload(() => read(scope.storage, state.file), takeIn);
}

module.exports = {
  attach,
  branchState,
  forkFile,
  forkState,
  moveState,
  newState,
  openState,
  read,
  reloadState,
  readToOpen,
  sessionFileOf,
};
