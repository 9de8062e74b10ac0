"use strict";

/** The public `SessionManager`. */

const path = require("node:path");

const { ArtifactManager } = require("./artifacts.js");
const { BlobStore } = require("./blob-store.js");
const { readBreadcrumb, writeBreadcrumb } = require("./breadcrumbs.js");
const { getBlobsDir, getDefaultSessionDir, moveTarget } = require("./directories.js");
const { KINDS, messageRole } = require("./entry-kinds.js");
const { linkOf } = require("./entry-table.js");
const { FileSessionStorage } = require("./file-session-storage.js");
const { flattenTree } = require("./flat-tree.js");
const lifecycle = require("./session-lifecycle.js");
const { Listeners } = require("./listeners.js");
const listing = require("./listing.js");
const { MemorySessionStorage } = require("./memory-session-storage.js");
const native = require("./native.js");
const navigation = require("./navigation.js");
const { findRecentSessionOf } = require("./recents.js");
const { stripReplayMetadata } = require("./replay-metadata.js");
const snapshots = require("./snapshots.js");
const { CALLS, isNativeStorage, requireStorage } = require("./storage-kind.js");
const { usageOfMessage } = require("./usage.js");
const {
  optionalBoolean,
  optionalObject,
  optionalString,
  requireArray,
  requireBytes,
  requireFunction,
  requireObject,
  requireString,
} = require("./validate.js");
const { text } = require("./values.js");

/** Control characters that titles must not have. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g;

/** Sync checks and defaults of the arguments that several factories share. */
function directoryFor(cwd, sessionDir, storage) {
  requireString(cwd, "cwd");
  requireStorage(storage, CALLS.session);
  return (
    optionalString(sessionDir, "sessionDir") ??
    SessionManager.getDefaultSessionDir(cwd, undefined, storage)
  );
}

class SessionManager {
  #state;
  #blobsDir;
  #artifacts;
  #memoryArtifacts = [];
  #refusedToLeave = false;
  #events = {
    persistenceErrors: new Listeners("onPersistenceError"),
    externalChanges: new Listeners("onExternalChange"),
  };
  /** Files that were left while work for them was under way. */
  #leaving = new Set();
  /** Settles with the move that was asked for last. */
  #moving = Promise.resolve();

  /** Not for callers: use the static methods. */
  constructor(cwd, sessionDir, persist, storage) {
    this.cwd = cwd;
    this.sessionDir = sessionDir;
    this.persist = persist;
    this.storage = storage;
    this.#blobsDir = getBlobsDir();
    if (persist && sessionDir) {
      storage.ensureDirSync(sessionDir);
    }
  }

  static getDefaultSessionDir(cwd, agentDir, storage) {
    return getDefaultSessionDir(cwd, agentDir, storage);
  }

  static create(cwd, sessionDir, storage = new FileSessionStorage()) {
    const directory = directoryFor(cwd, sessionDir, storage);
    const manager = new SessionManager(cwd, directory, true, storage);
    manager.#enter(lifecycle.newState(manager.#scope()));
    return manager;
  }

  static async open(filePath, sessionDir, storage = new FileSessionStorage()) {
    requireString(filePath, "filePath");
    requireStorage(storage, CALLS.session);
    const file = path.resolve(filePath);
    const directory = optionalString(sessionDir, "sessionDir") ?? path.dirname(file);
    const loaded = await lifecycle.readToOpen(storage, file);
    const header = loaded.header ? JSON.parse(loaded.header) : undefined;
    const cwd = header?.cwd ?? process.cwd();
    const manager = new SessionManager(cwd, directory, true, storage);
    // Storages that are called see the file read again, as part of switching to it.
    const known = isNativeStorage(storage) ? loaded : undefined;
    manager.#enter(await lifecycle.openState(manager.#scope(), file, known));
    return manager;
  }

  static async continueRecent(cwd, sessionDir, storage = new FileSessionStorage()) {
    const directory = directoryFor(cwd, sessionDir, storage);
    requireStorage(storage, CALLS.recents);
    const candidate =
      (await readBreadcrumb(cwd)) ?? (await findRecentSessionOf(cwd, directory, storage));
    const manager = new SessionManager(cwd, directory, true, storage);
    const state = candidate
      ? await lifecycle.openState(manager.#scope(), path.resolve(candidate))
      : lifecycle.newState(manager.#scope());
    manager.#enter(state);
    return manager;
  }

  static async forkFrom(sourcePath, cwd, sessionDir, storage = new FileSessionStorage()) {
    requireString(sourcePath, "sourcePath");
    const directory = directoryFor(cwd, sessionDir, storage);
    const manager = new SessionManager(cwd, directory, true, storage);
    manager.#enter(await lifecycle.forkFile(manager.#scope(), sourcePath));
    return manager;
  }

  static inMemory(cwd = process.cwd(), storage = new MemorySessionStorage()) {
    requireStorage(storage, []);
    const manager = new SessionManager(requireString(cwd, "cwd"), "", false, storage);
    manager.#enter(lifecycle.newState(manager.#scope()));
    return manager;
  }

  static async list(cwd, sessionDir, storage, options) {
    return listing.list(cwd, sessionDir, storage, options);
  }

  static async listAll(storage, options) {
    return listing.listAll(storage, options);
  }

  static async searchSessions(query, options) {
    return listing.searchSessions(query, options);
  }

  // Life cycle

  captureState() {
    return snapshots.capture(this.#state);
  }

  restoreState(snapshot) {
    requireObject(snapshot, "snapshot");
    const abandoned = this.#state;
    this.#switchTo(snapshots.restore(this.#scope(), snapshot));
    if (abandoned.persistence !== this.#state.persistence) {
      this.#finishElsewhere(abandoned);
    }
    this.#leaveBreadcrumb();
  }

  async setSessionFile(sessionFile) {
    const file = path.resolve(requireString(sessionFile, "sessionFile"));
    await this.#leave();
    const current = this.#state;
    const isOwn = current.persistence && file === current.file && current.table.count > 0;
    if (isOwn && !current.persistence.exists()) {
      // Reloading a session whose file is not there must not empty it.
      await current.persistence.rewrite();
      return;
    }
    this.#enter(await lifecycle.openState(this.#scope(), file));
  }

  async newSession(options) {
    const parentSession = options?.parentSession;
    await this.#leave();
    const file = this.persist ? undefined : this.#state.file;
    this.#memoryArtifacts = [];
    const state = lifecycle.newState(this.#scope(), parentSession);
    state.file ??= file;
    this.#enter(state);
    return state.file;
  }

  async fork() {
    const oldSessionFile = this.#state.file;
    if (!this.persist || oldSessionFile === undefined) {
      return undefined;
    }
    await this.#leave();
    this.#enter(lifecycle.forkState(this.#scope(), this.#state));
    await this.#state.persistence.rewrite();
    return { oldSessionFile, newSessionFile: this.#state.file };
  }

  async moveTo(newCwd) {
    const cwd = path.resolve(requireString(newCwd, "newCwd"));
    const earlier = this.#moving;
    const moving = earlier.then(() => this.#moveTo(cwd));
    this.#moving = moving.catch(() => {});
    await moving;
  }

  async rewriteEntries() {
    await this.#state.persistence?.rewrite();
  }

  async ensureOnDisk() {
    await this.#state.persistence?.ensureOnDisk();
  }

  async flush() {
    await Promise.all(this.#leaving);
    await this.#state.persistence?.flush();
  }

  async close() {
    await Promise.all(this.#leaving);
    await this.#state.persistence?.close();
  }

  onExternalChange(callback) {
    requireFunction(callback, "callback");
    return this.#events.externalChanges.add(callback);
  }

  async reload() {
    const state = this.#state;
    return state.persistence ? lifecycle.reloadState(this.#scope(), state) : 0;
  }

  onPersistenceError(callback) {
    requireFunction(callback, "callback");
    const latched = () => this.#state.persistence?.error;
    return this.#events.persistenceErrors.add(callback, latched);
  }

  isPersisted() {
    return this.persist;
  }

  async setSessionName(name, source = "auto") {
    requireString(name, "name");
    requireString(source, "source");
    const state = this.#state;
    const title = name.replace(CONTROL, " ").replace(/ +/g, " ").trim();
    if (title === "" || (state.titleSource === "user" && source === "auto")) {
      return false;
    }
    state.name = title;
    state.titleSource = source;
    state.header.title = title;
    state.header.titleSource = source;
    if (state.persistence?.exists()) {
      await state.persistence.writeHeader();
    }
    return true;
  }

  sanitizeLoadedOpenAIResponsesReplayMetadata() {
    // Loaded entries whose object does not exist yet never have the metadata.
    return stripReplayMetadata(this.#state.table.objects);
  }

  getLoadReport() {
    return { ...this.#state.report };
  }

  // Identity

  getCwd() {
    return this.cwd;
  }

  getSessionDir() {
    return this.sessionDir;
  }

  getSessionId() {
    return this.#state.sessionId;
  }

  getSessionFile() {
    return this.#state.file;
  }

  getSessionName() {
    return this.#state.name;
  }

  get titleSource() {
    return this.#state.titleSource;
  }

  getHeader() {
    return this.#state.header;
  }

  getUsageStatistics() {
    return this.#state.usage;
  }

  // Appending

  appendMessage(message) {
    requireObject(message, "message");
    const usage = usageOfMessage(message);
    return this.#append(KINDS.message, messageRole(message), usage, (id, parentId, timestamp) => ({
      type: "message",
      id,
      parentId,
      timestamp,
      message,
    }));
  }

  appendThinkingLevelChange(thinkingLevel) {
    return this.#appendKind("thinking_level_change", { thinkingLevel: thinkingLevel ?? null });
  }

  appendServiceTierChange(serviceTier) {
    return this.#appendKind("service_tier_change", { serviceTier });
  }

  appendModeChange(mode, data) {
    return this.#appendKind("mode_change", { mode, data });
  }

  appendModelChange(model, role) {
    return this.#appendKind("model_change", { model, role });
  }

  appendContextChange(contextName, tenant, namespace) {
    return this.#appendKind("context_change", { contextName, tenant, namespace });
  }

  appendSessionInit(init) {
    requireObject(init, "init");
    const now = new Date();
    const entry = {
      type: "session_init",
      id: this.#state.table.core.freshId(now.getTime()),
      parentId: this.#state.leafId,
      timestamp: now.toISOString(),
      ...init,
    };
    return this.#state.appendWhole(entry);
  }

  appendCompaction(
    summary,
    shortSummary,
    firstKeptEntryId,
    tokensBefore,
    details,
    fromExtension,
    preserveData,
  ) {
    return this.#appendKind("compaction", {
      summary,
      shortSummary,
      firstKeptEntryId,
      tokensBefore,
      details,
      fromExtension,
      preserveData,
    });
  }

  appendCustomEntry(customType, data) {
    return this.#append(KINDS.custom, 0, undefined, (id, parentId, timestamp) => ({
      type: "custom",
      customType,
      data,
      id,
      parentId,
      timestamp,
    }));
  }

  appendCustomMessageEntry(customType, content, display, details, attribution = "agent") {
    return this.#append(KINDS.custom_message, 0, undefined, (id, parentId, timestamp) => ({
      type: "custom_message",
      customType,
      content,
      display,
      details,
      attribution,
      id,
      parentId,
      timestamp,
    }));
  }

  appendMCPToolSelection(selectedToolNames) {
    requireArray(selectedToolNames, "selectedToolNames");
    return this.#appendKind("mcp_tool_selection", { selectedToolNames: [...selectedToolNames] });
  }

  appendTtsrInjection(ruleNames) {
    requireArray(ruleNames, "ruleNames");
    return this.#appendKind("ttsr_injection", { injectedRules: ruleNames });
  }

  appendLabelChange(targetId, label) {
    this.#requireSlot(targetId);
    const make = (id, parentId, timestamp) => {
      this.#state.setLabel(targetId, label);
      return { type: "label", id, parentId, timestamp, targetId, label };
    };
    return this.#append(KINDS.label, 0, undefined, make);
  }

  // The tree

  getEntries() {
    return this.#state.table.all();
  }

  getEntry(id) {
    return this.#state.table.entry(id);
  }

  getLeafId() {
    return this.#state.leafId;
  }

  getLeafEntry() {
    return this.getEntry(this.#state.leafId);
  }

  getChildren(parentId) {
    const { table } = this.#state;
    return table.many(table.core.children(linkOf(parentId)));
  }

  getLabel(id) {
    const known = typeof id === "string" || typeof id === "number";
    return known ? (this.#state.table.core.label(id) ?? undefined) : undefined;
  }

  getBranch(fromId) {
    const state = this.#state;
    return state.table.many(state.path(fromId ?? state.leafId));
  }

  getLastModelChangeRole() {
    const change = this.#state.onPath(KINDS.model_change).at(-1);
    return change && (change.role ?? "default");
  }

  getInjectedTtsrRules() {
    const injections = this.#state.onPath(KINDS.ttsr_injection);
    return [...new Set(injections.flatMap((entry) => entry.injectedRules ?? []))];
  }

  getTree() {
    return this.#state.tree();
  }

  buildSessionContext() {
    return this.#state.context();
  }

  // Branching

  branch(branchFromId) {
    this.#state.setLeaf(this.#requireSlot(branchFromId));
  }

  resetLeaf() {
    this.#state.setLeaf(-1);
  }

  branchWithSummary(branchFromId, summary, details, fromExtension) {
    this.#state.setLeaf(branchFromId === null ? -1 : this.#requireSlot(branchFromId));
    return this.#appendKind("branch_summary", {
      fromId: branchFromId ?? "root",
      summary,
      details,
      fromExtension,
    });
  }

  createBranchedSession(leafId) {
    const old = this.#state;
    const slot = this.#requireSlot(leafId ?? old.leafId);
    this.#enter(lifecycle.branchState(this.#scope(), old, slot));
    this.#finishElsewhere(old);
    return this.persist ? this.#state.file : undefined;
  }

  // Navigation

  prepareTreeNavigation(targetId, options) {
    const { wantSummary } = optionalObject(options, "options");
    const wanted = optionalBoolean(wantSummary, "options.wantSummary") ?? false;
    const { leafId } = this.#state;
    if (targetId === leafId && leafId !== null) {
      return { kind: "noop", targetId, oldLeafId: leafId };
    }
    return navigation.planMove(this.#state, targetId, this.#requireSlot(targetId), wanted);
  }

  commitTreeNavigation(plan, summary) {
    return navigation.commit(this, plan, summary);
  }

  prepareBranch(entryId) {
    return navigation.planBranch(this.#state, entryId);
  }

  getBranchCandidates() {
    return navigation.branchCandidates(this.#state);
  }

  collectEntriesForBranchSummary(oldLeafId, targetId) {
    return navigation.collect(this.#state, oldLeafId, targetId);
  }

  flattenTree(options) {
    return flattenTree(this.#state, options);
  }

  // Artifacts and blobs

  getArtifactsDir() {
    const { file } = this.#state;
    return file === undefined ? null : native.artifactsDirOf(file);
  }

  async allocateArtifactPath(toolType) {
    requireString(toolType, "toolType");
    return this.#artifactManager()?.allocatePath(toolType) ?? {};
  }

  async saveArtifact(content, toolType) {
    requireString(content, "content");
    requireString(toolType, "toolType");
    const artifacts = this.#artifactManager();
    if (artifacts) {
      return artifacts.save(content, toolType);
    }
    return String(this.#memoryArtifacts.push(content) - 1);
  }

  async getArtifactPath(id) {
    requireString(id, "id");
    return this.#artifactManager()?.getPath(id) ?? null;
  }

  async putBlob(data) {
    requireBytes(data, "data");
    return new BlobStore(this.#blobsDir).put(data);
  }

  /** Kept for programs that call it: the entry is in the session already and will be written. */
  _persist() {
    this.#state.persistence?.entryAdded();
  }

  #scope() {
    const { cwd, sessionDir, persist, storage } = this;
    return { cwd, sessionDir, persist, storage, blobsDir: this.#blobsDir, events: this.#events };
  }

  #append(kind, role, usage, make) {
    return this.#state.append(kind, role, usage, make);
  }

  /** Appends an entry whose fields follow the common ones. */
  #appendKind(type, fields) {
    return this.#append(KINDS[type], 0, undefined, (id, parentId, timestamp) => ({
      type,
      id,
      parentId,
      timestamp,
      ...fields,
    }));
  }

  #requireSlot(id) {
    const slot = this.#state.table.find(id);
    if (slot < 0) {
      throw Object.assign(new Error(text`Entry ${id} not found`), { code: "ENTRY_NOT_FOUND" });
    }
    return slot;
  }

  #switchTo(state) {
    const old = this.#state;
    this.#state = state;
    this.#artifacts = undefined;
    this.#refusedToLeave = false;
    if (old !== state) {
      old?.left();
    }
  }

  /** Switches to a session that this terminal works on from now on. */
  #enter(state) {
    this.#switchTo(state);
    this.#leaveBreadcrumb();
  }

  #leaveBreadcrumb() {
    if (this.persist && this.#state.file !== undefined) {
      writeBreadcrumb(this.cwd, this.#state.file);
    }
  }

  /** What was appended to a session before the switch is still written to its own file. */
  #finishElsewhere(state) {
    const done = state.persistence?.close().catch(() => {});
    if (done) {
      this.#leaving.add(done);
      done.then(() => {
        this.#leaving.delete(done);
        state.left();
      });
    }
  }

  /** Lets all earlier work on the current file finish. Refuses once when that fails. */
  async #leave() {
    try {
      await this.#state.persistence?.close();
    } catch (error) {
      if (!this.#refusedToLeave) {
        this.#refusedToLeave = true;
        throw error;
      }
    }
  }

  async #moveTo(cwd) {
    if (cwd === this.cwd) {
      return;
    }
    const target = moveTarget(this.sessionDir, this.cwd, cwd, this.storage);
    const state = this.#state;
    const arrive = (file) => {
      this.cwd = cwd;
      this.sessionDir = target;
      state.header.cwd = cwd;
      state.file = file;
      this.#artifacts = undefined;
    };
    if (state.persistence) {
      await this.#leave();
      await lifecycle.moveState(this.#scope(), state, target, arrive);
    } else {
      arrive(state.file);
    }
    this.#leaveBreadcrumb();
  }

  #artifactManager() {
    const { file } = this.#state;
    if (file === undefined) {
      return undefined;
    }
    this.#artifacts ??= new ArtifactManager(file);
    return this.#artifacts;
  }
}

module.exports = { SessionManager };
