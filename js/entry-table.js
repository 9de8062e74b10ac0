"use strict";

/**
 * The entries of one session as objects.
 *
 * The native core knows every entry by a slot; the object of a loaded entry is made from its text
 * when somebody asks for it, and kept from then on, so that the same entry is always the same
 * object. Objects of new entries are the ones that were appended.
 *
 * Of a long session only the last entries are known at first; `tail` is what they are good for.
 * Everything else waits until the whole session has been read.
 */

const native = require("./native.js");
const { kindOf, roleOf } = require("./entry-kinds.js");
const { readRest } = require("./exit.js");
const { log } = require("./logger.js");
const { outline } = require("./outline.js");
const { stripReplayMetadata } = require("./replay-metadata.js");
const { serialize } = require("./serialize.js");
const { usageOfMessage } = require("./usage.js");
const { dateOf, textOf } = require("./values.js");

/** Bytes of JSON that are turned into objects at once. */
const PARSE_BYTES = 16 << 20;

const parseJson = JSON.parse;

const MISSING_BLOB = {
  image: "Blob not found for image reference",
  imageUrl: "Blob not found for persisted image data URL",
};

class EntryTable {
  #core;
  #objects;
  /** How many entries there were when the table was made. */
  #before;
  /** Reads the whole session; undefined when that has been done. */
  #partial;
  #whenWhole = [];
  /** Slots of ids that were asked for: looking there again costs more than a map. */
  #slots = new Map();
  #reportedBlobs = new Set();
  /** Like `textOf`, with long strings beside the text; see `outline`. */
  outlines = {
    textOf: (slot) => {
      const entry = this.objects[slot];
      return entry === undefined ? this.core.storedText(slot) : outline(entry);
    },
  };

  constructor(core, objects, partial) {
    this.#core = core;
    this.#objects = objects;
    this.#before = objects.length;
    this.#partial = partial;
  }

  /** The table of a session without entries. */
  static empty(blobsDir) {
    return new EntryTable(new native.SessionCore(blobsDir), []);
  }

  /** The table of a session that was read. */
  static loaded(loaded, blobsDir) {
    const core = native.SessionCore.fromLoaded(loaded, blobsDir);
    const objects = new Array(core.count).fill(undefined);
    if (!loaded.isPartial) {
      return new EntryTable(core, objects);
    }
    const table = new EntryTable(core, objects, loaded);
    // Who needs the session before that reads it, and is told when it cannot be read.
    const done = () => table.readAll();
    readRest(loaded).then(done).catch(ignore);
    return table;
  }

  /** The table of entries that exist as objects. */
  static of(entries, blobsDir) {
    const table = EntryTable.empty(blobsDir);
    for (const entry of entries) {
      table.push(entry);
    }
    return table;
  }

  /**
   * A table of what the session's file holds now, and behind that of the entries here that it does not
   * hold. Entries that are known stay the same objects.
   *
   * @return the table, whose added entries are those that the file does not hold, and how many of the others
   *   are new
   */
  merged(loaded, blobsDir) {
    const table = EntryTable.loaded(loaded, blobsDir);
    const onDisk = table.count;
    const own = [];
    let known = 0;
    for (let slot = 0; slot < this.count; slot++) {
      const id = this.core.idOf(slot);
      const at = table.core.find(id);
      // The last of several entries with one id is the one that the id means.
      const isMeant = this.core.find(id) === slot;
      if (at < 0) {
        own.push(this.at(slot));
        continue;
      }
      known += 1;
      if (isMeant) {
        table.objects[at] = this.objects[slot];
      }
    }
    for (const entry of own) {
      table.push(entry);
    }
    return { table, arrived: Math.max(0, onDisk - known) };
  }

  /** A table of the same entries, to which others are added from now on. */
  copy() {
    return new EntryTable(this.core.copy(), this.objects.slice());
  }

  /** The native tree. */
  get core() {
    this.readAll();
    return this.#core;
  }

  /** Entry objects by slot; undefined where none was asked for. */
  get objects() {
    this.readAll();
    return this.#objects;
  }

  /** How many entries there are. */
  get count() {
    return this.objects.length;
  }

  /** How many entries were added since the table was made. */
  get addedCount() {
    return this.#objects.length - this.#before;
  }

  /** The slot of an entry that was added, counted from the first of them. */
  slotOfAdded(at) {
    return this.#before + at;
  }

  /**
   * The last entries, while the others are not known: tree, slots and objects. Their slots change
   * when the others become known, so none may be kept.
   */
  get tail() {
    if (this.#partial === undefined) {
      return undefined;
    }
    const find = (id) => (isId(id) ? this.#core.find(id) : -1);
    return { core: this.#core, find, many: (slots) => this.#many(slots) };
  }

  /** Makes sure that all entries are known. Blocks. */
  readAll() {
    if (this.#partial === undefined) {
      return;
    }
    this.#core.complete(this.#partial);
    this.#partial = undefined;
    const unknown = this.#core.count - this.#objects.length;
    this.#objects = new Array(unknown).fill(undefined).concat(this.#objects);
    this.#before = this.#objects.length;
    for (const callback of this.#whenWhole.splice(0)) {
      callback();
    }
  }

  /** Gives back the descriptor of the file, unless the file is still to be read. */
  giveBack() {
    if (this.#partial === undefined) {
      this.#core.giveBack();
    } else {
      this.#partial.stopReading();
    }
  }

  /** Calls back when all entries are known; at once if they are. */
  whenWhole(callback) {
    if (this.#partial === undefined) {
      callback();
    } else {
      this.#whenWhole.push(callback);
    }
  }

  /** Id of the leaf; null without one. */
  get leafId() {
    const { leaf } = this.#core;
    return leaf < 0 ? null : this.#core.idOf(leaf);
  }

  /** Adds an entry that has its id; gives its usage numbers, if it counts. */
  push(entry) {
    const usage = entry.type === "message" ? usageOfMessage(entry.message) : undefined;
    const timestamp = dateOf(entry.timestamp).getTime();
    const kind = kindOf(entry);
    const id = idOf(entry.id);
    this.core.push(id, linkOf(entry.parentId), kind, roleOf(entry), timestamp, usage);
    this.objects.push(entry);
    // The id may be that of an earlier entry; it means this one from now on.
    this.#slots.delete(id);
    if (entry.type === "label") {
      this.core.setLabel(idOf(entry.targetId), labelOf(entry.label));
    }
    return usage;
  }

  /** Adds the object of an entry that the core gave a new id of its own. */
  added(entry) {
    this.objects.push(entry);
  }

  /** The slot of an id, or -1. */
  find(id) {
    const known = this.#slots.get(id);
    if (known !== undefined) {
      return known;
    }
    const slot = isId(id) ? this.core.find(id) : -1;
    if (slot >= 0) {
      this.#slots.set(id, slot);
    }
    return slot;
  }

  /** The entry with an id, or undefined. */
  entry(id) {
    const { tail } = this;
    const known = tail?.find(id) ?? -1;
    if (known >= 0) {
      return tail.many(Uint32Array.of(known))[0];
    }
    const slot = this.find(id);
    return slot < 0 ? undefined : this.at(slot);
  }

  /** The object in a slot. */
  at(slot) {
    const objects = this.objects;
    if (objects[slot] === undefined) {
      this.#materialize(Uint32Array.of(slot));
    }
    return objects[slot];
  }

  /** The objects in some slots. */
  many(slots) {
    this.readAll();
    return this.#many(slots);
  }

  #many(slots) {
    this.#materialize(slots);
    const objects = this.#objects;
    const entries = new Array(slots.length);
    for (let at = 0; at < slots.length; at++) {
      entries[at] = objects[slots[at]];
    }
    return entries;
  }

  /** All entries, or the first `count`, as a new array. */
  all(count = this.count) {
    const objects = this.objects;
    const missing = [];
    for (let slot = 0; slot < count; slot++) {
      if (objects[slot] === undefined) {
        missing.push(slot);
      }
    }
    this.#materialize(Uint32Array.from(missing));
    return objects.slice(0, count);
  }

  /** JSON texts of the entries whose object exists: they may have been changed. */
  editedTexts() {
    const edited = [];
    const texts = [];
    this.objects.forEach((entry, slot) => {
      if (entry !== undefined) {
        edited.push(slot);
        texts.push(serialize(entry));
      }
    });
    return { edited, texts };
  }

  /** True when the entry's object exists, so that its text may differ from what is on disk. */
  isEdited(slot) {
    return this.objects[slot] !== undefined;
  }

  /** Slots, ascending, and objects of the entries whose object exists. */
  live() {
    const slots = [];
    const entries = [];
    this.objects.forEach((entry, slot) => {
      if (entry !== undefined) {
        slots.push(slot);
        entries.push(entry);
      }
    });
    return { slots: Uint32Array.from(slots), entries };
  }

  /** The JSON text that belongs on disk for a slot. */
  textOf(slot) {
    const entry = this.objects[slot];
    return entry === undefined ? this.core.storedText(slot) : serialize(entry);
  }

  #materialize(slots) {
    const objects = this.#objects;
    const missing = [];
    for (let at = 0; at < slots.length; at++) {
      if (objects[slots[at]] === undefined) {
        missing.push(slots[at]);
      }
    }
    if (missing.length === 0) {
      return;
    }
    const wanted = Uint32Array.from(missing);
    for (let from = 0; from < wanted.length; ) {
      const entries = parseJson(this.#core.readTexts(wanted, from, PARSE_BYTES));
      stripReplayMetadata(entries);
      entries.forEach((entry, at) => {
        // A slot may be asked for twice in one list; the first object stays.
        objects[wanted[from + at]] ??= entry;
      });
      from = this.#core.nextText;
    }
    this.#reportMissingBlobs();
  }

  /** One warning for each blob that is not there. */
  #reportMissingBlobs() {
    const missing = this.#core.takeMissingBlobs();
    for (let at = 0; at < missing.length; at += 2) {
      const hash = missing[at + 1];
      if (!this.#reportedBlobs.has(hash)) {
        this.#reportedBlobs.add(hash);
        log("warn", MISSING_BLOB[missing[at]], { hash });
      }
    }
  }
}

const ignore = () => {};

const isId = (id) => typeof id === "string" || typeof id === "number";

/** An id as the core takes it; values that cannot identify anything become text. */
function idOf(id) {
  return typeof id === "number" ? id : textOf(id);
}

/** A parent link as the core takes it: undefined for values that link to nothing. */
function linkOf(parentId) {
  const links = parentId === null || typeof parentId === "string" || typeof parentId === "number";
  return links ? parentId : undefined;
}

/** A label as the core takes it. */
function labelOf(label) {
  return typeof label === "string" ? label : undefined;
}

module.exports = { EntryTable, linkOf };
