"use strict";

/** Where things are kept. Everything is worked out at each call; see `src/catalog/dirs.rs`. */

const path = require("node:path");

const { readEnvironment } = require("./environment.js");
const { log } = require("./logger.js");
const native = require("./native.js");
const { CALLS, isNativeStorage, requireStorage } = require("./storage-kind.js");
const { optionalString, requireString } = require("./validate.js");
const { textOf } = require("./values.js");

function getAgentDir() {
  return native.agentDir(readEnvironment());
}

/** Writes the variable that everything else reads. A relative path is fixed to what it means now. */
function setAgentDir(dir) {
  requireString(dir, "dir");
  process.env.PI_CODING_AGENT_DIR = dir === "" || path.isAbsolute(dir) ? dir : path.resolve(dir);
}

function getSessionsDir(agentDir) {
  return native.sessionsDir(readEnvironment(), optionalString(agentDir, "agentDir"));
}

function getBlobsDir(agentDir) {
  return native.blobsDir(readEnvironment(), optionalString(agentDir, "agentDir"));
}

function getTerminalSessionsDir(agentDir) {
  return native.terminalSessionsDir(readEnvironment(), optionalString(agentDir, "agentDir"));
}

function getHistoryDbPath(agentDir) {
  return native.historyDbPath(readEnvironment(), optionalString(agentDir, "agentDir"));
}

function getTerminalId() {
  return native.terminalId(readEnvironment());
}

/**
 * The session directory of a project. Moves its sessions there from directories with earlier names,
 * which always lie on the real file system, and creates the directory through the storage.
 */
function getDefaultSessionDir(cwd, agentDir, storage) {
  requireString(cwd, "cwd");
  optionalString(agentDir, "agentDir");
  return prepare(storage, (create) =>
    native.prepareSessionDir(readEnvironment(), cwd, agentDir ?? undefined, create),
  );
}

/**
 * The directory that a session in `sessionDir` moves to when its project moves from `oldCwd` to
 * `newCwd`; otherwise like `getDefaultSessionDir`. The old one is what a file's header says, which
 * need not be text.
 */
function moveTarget(sessionDir, oldCwd, newCwd, storage) {
  return prepare(storage, (create) =>
    native.prepareMoveTarget(readEnvironment(), sessionDir, textOf(oldCwd), newCwd, create),
  );
}

function prepare(storage, work) {
  requireStorage(storage, CALLS.directory);
  const isNative = !storage || isNativeStorage(storage);
  const { path: dir, failures } = work(isNative);
  for (const failure of failures) {
    log("warn", "Session stays in a directory with an earlier name.", { err: failure });
  }
  if (!isNative) {
    storage.ensureDirSync(dir);
  }
  return dir;
}

module.exports = {
  getAgentDir,
  getBlobsDir,
  getDefaultSessionDir,
  getHistoryDbPath,
  getSessionsDir,
  getTerminalId,
  getTerminalSessionsDir,
  moveTarget,
  setAgentDir,
};
