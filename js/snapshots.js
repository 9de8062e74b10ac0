"use strict";

/**
 * Snapshots of a manager's session. A snapshot refers to the session itself, so taking one costs
 * nothing and restoring it brings back the very same entry objects; its list of entries is made
 * when somebody looks at it.
 */

const lifecycle = require("./session-lifecycle.js");
const { EntryTable } = require("./entry-table.js");
const { SessionState } = require("./session-state.js");
const { usageFrom } = require("./usage.js");

/** What a snapshot refers to. Snapshots that callers made themselves have no entry here. */
const memory = new WeakMap();

/** A snapshot of a state. */
function capture(state) {
  const { table, header } = state;
  const count = table.count;
  const { flushed, needsFullRewrite } = state.persistence ?? state.unwritten;
  let fileEntries;
  const snapshot = {
    sessionId: state.sessionId,
    sessionName: state.name,
    titleSource: state.titleSource,
    sessionFile: state.file,
    flushed,
    needsFullRewriteOnNextPersist: needsFullRewrite,
    get fileEntries() {
      fileEntries ??= [header, ...table.all(count)];
      return fileEntries;
    },
    set fileEntries(entries) {
      fileEntries = entries;
      memory.delete(snapshot);
    },
  };
  state.isCaptured = true;
  memory.set(snapshot, { state, table, count, leafId: state.leafId, leaf: table.core.leaf });
  return snapshot;
}

/** The state that a snapshot describes. */
function restore(scope, snapshot) {
  const known = memory.get(snapshot);
  if (known && known.table.count === known.count && known.state.file === snapshot.sessionFile) {
    known.state.setLeaf(known.leaf);
    // Whoever holds the old statistics keeps those of the session that was left.
    known.state.usage = usageFrom(known.table.core.usage());
    return describe(known.state, snapshot);
  }
  const { fileEntries = [] } = snapshot;
  const isHeader = (entry) => entry?.type === "session";
  const header = fileEntries.find(isHeader) ?? { type: "session", id: snapshot.sessionId };
  const entries = fileEntries.filter((entry) => !isHeader(entry));
  const state = new SessionState(header, EntryTable.of(entries, scope.blobsDir));
  if (snapshot.sessionFile !== undefined) {
    lifecycle.attach(scope, state, snapshot.sessionFile, {
      onDisk: snapshot.flushed,
      needsFullRewrite: snapshot.needsFullRewriteOnNextPersist,
    });
  }
  if (known) {
    state.setLeaf(state.table.find(known.leafId));
  }
  return describe(state, snapshot);
}

function describe(state, snapshot) {
  state.sessionId = snapshot.sessionId;
  state.name = snapshot.sessionName;
  state.titleSource = snapshot.titleSource;
  return state;
}

module.exports = { capture, restore };
