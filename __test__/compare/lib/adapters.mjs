/**
 * The two implementations behind one shape. An adapter does two things only: it finds the exports, and it
 * bridges the few methods whose shape differs by generation (see differences.md).
 */

import { createRequire } from "node:module";

/** Title cleaning of the contract; the package from npm stores names as they come. */
function cleanName(name) {
  let out = "";
  for (const unit of name) {
    const code = unit.codePointAt(0);
    out += code < 0x20 || (code >= 0x7f && code <= 0x9f) ? " " : unit;
  }
  return out.replace(/ +/g, " ").trim();
}

/** Context without the two keys that the package from npm does not know; they must be undefined here. */
function withoutActiveContext(context) {
  const { activeContextName, activeContextTenant, ...rest } = context;
  const unexpected = activeContextName !== undefined || activeContextTenant !== undefined;
  return unexpected ? { unexpected: { activeContextName, activeContextTenant }, ...rest } : rest;
}

/** Puts the leaf where it was; the package from npm forgets it when it restores a snapshot. */
function restoreLeaf(manager, leaf) {
  if (leaf === null || leaf === undefined) {
    manager.resetLeaf();
  } else if (manager.getEntry(leaf) !== undefined) {
    manager.branch(leaf);
  }
}

/** The entries with those copied that have lost their parent, or undefined when there are none. */
function attached(entries, before) {
  const parents = new Map(before.map(({ id, parentId }) => [id, parentId]));
  const ids = new Set(entries.map(({ id }) => id));
  const isLost = ({ parentId }) => parents.has(parentId) && !ids.has(parentId);
  const known = (id) => (ids.has(id) ? id : ancestor(parents.get(id)));
  const ancestor = (id) => (parents.has(id) ? known(id) : null);
  const attach = (entry) =>
    isLost(entry) ? { ...entry, parentId: ancestor(entry.parentId) } : entry;
  return entries.some(isLost) ? entries.map(attach) : undefined;
}

/**
 * What a branch should look like: entries below labels that were left out hang, as copies, from what was
 * before the labels; the title is kept; the file is written like any other.
 */
async function finishBranchedSession(manager, source, before, lens) {
  const fileEntries = attached(manager.getEntries(), before);
  if (fileEntries !== undefined) {
    const usage = manager.getUsageStatistics();
    manager.restoreState({
      ...manager.captureState(),
      fileEntries: [manager.getHeader(), ...fileEntries],
    });
    lens.alias(usage, manager.getUsageStatistics());
  }
  const header = manager.getHeader();
  const name = manager.getSessionName();
  if (name !== undefined) {
    header.title = name;
  }
  if (source !== undefined) {
    header.titleSource = source;
  }
  await manager.rewriteEntries();
}

/**
 * Writes every later entry at once, as the contract asks for when the file exists. The package from npm
 * holds entries back until there is an answer of the model, and does so only when it believes that
 * something is missing from the file.
 */
async function writeFromNowOn(manager, lens) {
  const leaf = manager.getLeafId();
  const usage = manager.getUsageStatistics();
  manager.restoreState({ ...manager.captureState(), flushed: false });
  restoreLeaf(manager, leaf);
  lens.alias(usage, manager.getUsageStatistics());
  await manager.ensureOnDisk();
}

/** Keeps the title's source in the header of a copied session. */
async function finishFork(manager, source) {
  if (source !== undefined) {
    manager.getHeader().titleSource = source;
    await manager.rewriteEntries();
  }
}

/** The package from npm. `sources` holds the title source that the contract asks for. */
async function loadOriginal() {
  const sessions = await import("@oh-my-pi/pi-coding-agent/session/session-manager");
  const storage = await import("@oh-my-pi/pi-coding-agent/session/session-storage");
  const utils = await import("@oh-my-pi/pi-utils");
  const sources = new WeakMap();
  return {
    name: "original",
    ...sessions,
    ...storage,
    setAgentDir: (dir) => utils.setAgentDir(dir),
    titleSource: (manager) => sources.get(manager),
    noteTitleSource: (manager, source) => sources.set(manager, source),
    context: (context) => ({ ...context }),
    afterBranchedSession: (manager, before, lens) =>
      finishBranchedSession(manager, sources.get(manager), before, lens),
    afterFork: finishFork,
    writeFromNowOn,
    afterRestore: restoreLeaf,
    beforeLoad: (manager) => ({
      state: manager.captureState(),
      leaf: manager.getLeafId(),
      usage: manager.getUsageStatistics(),
    }),
    afterFailedLoad: (manager, { state, leaf, usage }, lens) => {
      try {
        manager.restoreState(state);
        restoreLeaf(manager, leaf);
        // The restored state counts anew; for the comparison it is the object that was there before.
        lens.alias(usage, manager.getUsageStatistics());
      } catch {
        // The original cannot index what it held before, for example a message without usage.
      }
    },
    setSessionName: async (manager, name, source = "auto") => {
      const clean = cleanName(name);
      if (clean === "" || (sources.get(manager) === "user" && source === "auto")) {
        return false;
      }
      sources.set(manager, source);
      const done = manager.setSessionName(clean);
      manager.getHeader().titleSource = source;
      await done;
      return true;
    },
  };
}

/** This repository's package. */
function loadOurs() {
  const ours = createRequire(import.meta.url)("../../../index.js");
  return {
    name: "ours",
    ...ours,
    setAgentDir: (dir) => {
      process.env.PI_CODING_AGENT_DIR = dir;
    },
    titleSource: (manager) => manager.titleSource,
    noteTitleSource: () => {},
    afterBranchedSession: () => {},
    afterFork: () => {},
    writeFromNowOn: undefined,
    afterRestore: () => {},
    beforeLoad: () => {},
    afterFailedLoad: () => {},
    context: withoutActiveContext,
    setSessionName: (manager, name, source) => manager.setSessionName(name, source),
  };
}

/** Loads the pair to compare; with `self` the original is compared with itself. */
export async function loadPair(self) {
  const left = await loadOriginal();
  return [left, self ? { ...left } : loadOurs()];
}
