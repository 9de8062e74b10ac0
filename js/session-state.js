"use strict";

/**
 * One session in memory: its header, entries, leaf, statistics and, if it is kept in a file, the
 * persistence of that file. A manager that switches to another session gets another state, so that
 * a switch that fails changes nothing and work that is queued for the old file stays with it.
 */

const { assembleContext, emptyContext } = require("./context.js");
const { contextOfTail } = require("./tail-context.js");
const { addUsage, noUsage, usageFrom } = require("./usage.js");

/** What a load reports when nothing was loaded. */
const NOTHING_LOADED = Object.freeze({
  entries: 0,
  skippedLines: 0,
  skippedBytes: 0,
  recoveredEntries: 0,
  headerSalvaged: false,
  tornTail: false,
});

class SessionState {
  sessionId;
  name;
  titleSource;
  /** Absolute path, or undefined. */
  file;
  /** The live header object. */
  header;
  table;
  /** Id of the entry that the next one is attached to; null for none. */
  leafId;
  /** What a snapshot tells of the persistence when there is none. */
  unwritten = { flushed: false, needsFullRewrite: false };
  /** Writes to `file`; undefined when nothing is to be written. */
  persistence;
  /** What reading the file gave, if it was read. */
  loaded;
  #usage;
  /** A snapshot refers to this state, which may come back. */
  isCaptured = false;
  #context;

  constructor(header, table) {
    this.header = header;
    this.table = table;
    this.sessionId = header.id;
    this.name = header.title;
    this.titleSource = header.titleSource;
    this.leafId = table.leafId;
    if (!table.tail) {
      this.#usage = this.leafId === null ? noUsage() : usageFrom(table.core.usage());
    }
  }

  /** The live statistics object. */
  get usage() {
    this.#usage ??= usageFrom(this.table.core.usage());
    return this.#usage;
  }

  set usage(usage) {
    this.#usage = usage;
  }

  /** What the load met. */
  get report() {
    this.table.readAll();
    return this.loaded?.report ?? NOTHING_LOADED;
  }

  /**
   * Adds an entry below the leaf.
   *
   * @param kind number of its kind
   * @param role number of its message's role
   * @param usage six numbers if it counts
   * @param make gives the entry for an id, a parent id and a timestamp
   */
  append(kind, role, usage, make) {
    const now = new Date();
    const id = this.table.core.append(kind, role, now.getTime(), usage);
    const entry = make(id, this.leafId, now.toISOString());
    this.table.added(entry);
    this.#added(id, usage);
    return id;
  }

  /**
   * Takes in what the session's file holds now; leaf and entry objects stay. Returns the new table, how
   * many of its entries are in the file and how many of those are new.
   *
   * @param loaded what reading the file gave
   * @param header the header in the file, if it decides the title
   */
  takeIn(loaded, header, blobsDir) {
    const old = this.table;
    const merged = old.merged(loaded, blobsDir);
    this.table = merged.table;
    this.setLeaf(this.table.find(this.leafId));
    Object.assign(this.usage, usageFrom(this.table.core.usage()));
    this.loaded = loaded;
    this.#context = undefined;
    if (header) {
      for (const [field, value] of Object.entries({
        title: header.title,
        titleSource: header.titleSource,
      })) {
        if (value === undefined) {
          delete this.header[field];
        } else {
          this.header[field] = value;
        }
      }
      this.name = header.title;
      this.titleSource = header.titleSource;
    }
    if (!this.isCaptured) {
      old.core.giveBack();
    }
    return merged;
  }

  /** Adds an entry that was made in full. */
  appendWhole(entry) {
    const usage = this.table.push(entry);
    this.#added(entry.id, usage);
    return entry.id;
  }

  /** Sets or clears a label. */
  setLabel(targetId, label) {
    this.table.core.setLabel(targetId, typeof label === "string" ? label : undefined);
  }

  /** Moves the leaf to the entry in a slot; -1 for before everything. */
  setLeaf(slot) {
    this.table.core.leaf = slot;
    this.leafId = slot < 0 ? null : this.table.core.idOf(slot);
  }

  /** Slots from the root to an entry, the leaf by default. */
  path(fromId = this.leafId) {
    const slot = this.table.find(fromId);
    return slot < 0 ? new Uint32Array() : this.table.core.path(slot);
  }

  /** Entries of one kind on the way from the root to the leaf. */
  onPath(kind) {
    const path = this.path();
    const kinds = this.table.core.kinds(path);
    return this.table.many(path.filter((_, at) => kinds[at] >> 3 === kind));
  }

  /** The tree as new node objects. */
  tree() {
    const pairs = this.table.core.forest();
    const slots = pairs.filter((_, at) => at % 2 === 0);
    const labels = this.#labels();
    const roots = [];
    const nodes = this.table.many(slots).map((entry) => ({
      entry,
      children: [],
      label: labels.get(entry.id),
    }));
    nodes.forEach((node, at) => {
      const parent = pairs[2 * at + 1];
      (parent === 0 ? roots : nodes[parent - 1].children).push(node);
    });
    return roots;
  }

  /** The context for the model at the leaf. */
  context() {
    const early = this.table.tail && contextOfTail(this.table, this.leafId);
    return early ?? this.#contextOfAll();
  }

  #contextOfAll() {
    const slot = this.table.find(this.leafId);
    if (slot < 0) {
      return emptyContext();
    }
    const { path, kinds } = this.#pathTo(slot);
    return assembleContext(
      kinds,
      (positions) => this.table.many(Uint32Array.from(positions, (at) => path[at])),
      (id) => path.indexOf(this.table.find(id)),
    );
  }

  /** All labels, by id. */
  #labels() {
    const flat = this.table.core.labels();
    const labels = new Map();
    for (let at = 0; at < flat.length; at += 2) {
      labels.set(flat[at], flat[at + 1]);
    }
    return labels;
  }

  /** Paths are asked for again and again while nothing changes. */
  #pathTo(slot) {
    const known = this.#context;
    if (known?.slot === slot && known.count === this.table.count) {
      return known;
    }
    const path = this.table.core.path(slot);
    this.#context = {
      slot,
      count: this.table.count,
      path,
      kinds: this.table.core.kinds(path),
    };
    return this.#context;
  }

  /**
   * To be called when the manager has gone on to another state. Descriptors are given back at once,
   * not when the engine collects this object: a program may branch a thousand times in one turn.
   */
  left() {
    if (!this.isCaptured && (this.persistence?.closeNow() ?? true)) {
      this.table.giveBack();
    }
  }

  #added(id, usage) {
    this.leafId = id;
    // Statistics that nobody has asked for are made of what the core counts.
    if (usage && this.#usage) {
      addUsage(this.#usage, usage);
    }
    this.persistence?.entryAdded();
  }
}

module.exports = { SessionState };
