"use strict";

/** The store of event logs: arguments, order of calls, and objects of the core's texts. */

const path = require("node:path");

const { expandRow, isRow, linesOf } = require("./event-codec.js");
const { importEvent } = require("./event-import.js");
const { SessionPersistenceCorruptionError, rethrow } = require("./event-log-errors.js");
const { deepFreeze, isLossless } = require("./lossless.js");
const native = require("./native.js");
const { abortable, optionalSignal, throwIfAborted } = require("./scan.js");
const { SerialQueue } = require("./serial-queue.js");
const {
  optionalBoolean,
  optionalOneOf,
  requireArray,
  requireObject,
  requireString,
} = require("./validate.js");

/** Members of an object that names no values; its header as the core takes it. */
function headerOf(meta) {
  requireString(requireObject(meta, "meta").id, "meta.id");
  return JSON.stringify(meta);
}

function requireEvents(events, name = "events") {
  for (const event of requireArray(events, name)) {
    requireObject(event, `${name}[]`);
  }
  return events;
}

function isCount(value) {
  return Number.isSafeInteger(value) && value >= 0 && !Object.is(value, -0);
}

function optionalTypes(types) {
  if (types === undefined) {
    return undefined;
  }
  const names = requireArray(types, "options.knownEventTypes");
  return names.map((name) => requireString(name, "options.knownEventTypes[]"));
}

/**
 * The events of a log that the core has read. They are parsed in slices, so that other work gets its
 * turn in between.
 */
async function eventsOf(view, id, { signal, frozen = false, from = 0, asStored = false } = {}) {
  const events = [];
  while (view.hasMore) {
    const records = JSON.parse(await view.next());
    throwIfAborted(signal);
    const known = events.length;
    for (const record of records) {
      if (isRow(record)) {
        expandRow(record, events);
      } else {
        events.push(asStored ? record : importEvent(record, id, events));
      }
    }
    if (frozen) {
      for (let at = known; at < events.length; at += 1) {
        deepFreeze(events[at]);
      }
    }
  }
  // A row may begin before the first event that was asked for.
  const first = events.findIndex(({ seq }) => seq >= from);
  return first <= 0 ? events : events.slice(first);
}

/** Of `load` and `inspect`, where what must not be used is an error of its own. */
async function balancedSessionOf(view, id, options = {}) {
  try {
    return await sessionOf(view, { ...options, frozen: true });
  } catch (error) {
    if (error?.code !== "SESSION_EVENTS_REFUSED") {
      throw error;
    }
    const message = `stored session "${id}" failed validation: ${error}`;
    throw new SessionPersistenceCorruptionError(message, { cause: error });
  }
}

async function sessionOf(view, options = {}) {
  const meta = JSON.parse(view.header);
  const events = await eventsOf(view, meta.id, options);
  return { meta: options.frozen ? deepFreeze(meta) : meta, events };
}

class JsonlSessionPersistence {
  #logs;
  #root;
  #queue = new SerialQueue();
  #closed = false;

  constructor(options) {
    const { root, packChunks, compression, knownEventTypes } = requireObject(options, "options");
    this.#root = path.resolve(requireString(root, "options.root"));
    optionalOneOf(compression, ["zstd", "none"], "options.compression");
    this.#logs = new native.EventLogs(
      this.#root,
      compression !== "none",
      optionalBoolean(packChunks, "options.packChunks") ?? true,
      optionalTypes(knownEventTypes),
    );
  }

  get name() {
    return "session-persistence-jsonl";
  }

  get supportsRawArtifacts() {
    return true;
  }

  get root() {
    return this.#root;
  }

  locate(meta) {
    return { kind: "jsonl", path: this.#logs.locate(headerOf(meta)) };
  }

  async create(meta) {
    if (!isLossless(requireObject(meta, "meta"))) {
      throw new TypeError("session metadata must be losslessly JSON-serializable");
    }
    const header = headerOf(meta);
    if (!isCount(meta.createdAt)) {
      throw new TypeError("session metadata createdAt must be a non-negative safe integer");
    }
    return this.#inOrder(meta.id, () => this.#logs.create(header));
  }

  async append(id, events) {
    requireString(id, "id");
    requireArray(events, "events");
    if (!isLossless(events)) {
      throw new TypeError(
        "session event batch is not losslessly JSON-serializable because it contains non-JSON-serializable data",
      );
    }
    const lines = linesOf(requireEvents(events));
    return lines === "" ? undefined : this.#inOrder(id, () => this.#logs.append(id, lines));
  }

  async load(id) {
    requireString(id, "id");
    const view = await this.#inOrder(id, () => this.#logs.load(id));
    return balancedSessionOf(view, id);
  }

  async inspect(id, signal) {
    requireString(id, "id");
    return this.#reading(signal, async (cancel) => {
      const view = await this.#inOrder(id, () => this.#logs.inspect(id, cancel), signal);
      return balancedSessionOf(view, id, { signal });
    });
  }

  async readFrom(id, fromSeq, signal) {
    requireString(id, "id");
    if (!Number.isSafeInteger(fromSeq) || fromSeq < 0) {
      throw new TypeError(
        `readFrom fromSeq must be a non-negative safe integer, got ${String(fromSeq)}`,
      );
    }
    return this.#reading(signal, async (cancel) => {
      const view = await this.#inOrder(id, () => this.#logs.readFrom(id, fromSeq, cancel), signal);
      return sessionOf(view, { signal, from: fromSeq });
    });
  }

  async loadStored(id, signal) {
    requireString(id, "id");
    return this.#reading(signal, async (cancel) => {
      const view = await this.#logs.loadStored(id, cancel);
      if (view === null) {
        return undefined;
      }
      const { truncateTo, recoveredFrom, revision } = view;
      const { meta, events } = await sessionOf(view, { signal, asStored: true });
      const stored = { meta, events, revision };
      if (truncateTo !== null) {
        stored.tornMarker = { truncateTo, recoveredEvents: events.slice(recoveredFrom) };
      }
      return stored;
    });
  }

  async readStoredRevision(id, signal) {
    requireString(id, "id");
    const read = async (cancel) => (await this.#logs.revision(id, cancel)) ?? undefined;
    return this.#reading(signal, read);
  }

  async readRaw(id, signal) {
    requireString(id, "id");
    return this.#reading(signal, async (cancel) => {
      const raw = await this.#logs.raw(id, cancel);
      if (raw === null) {
        return undefined;
      }
      let content = "";
      while (raw.hasMore) {
        content += await raw.next();
      }
      return { meta: JSON.parse(raw.header), filename: "session.jsonl", content };
    });
  }

  async appendBatch(meta, events, isMaterialized) {
    const header = headerOf(meta);
    const lines = linesOf(requireEvents(events));
    return this.#inOrder(meta.id, () =>
      this.#logs.appendBatch(header, lines, Boolean(isMaterialized)),
    );
  }

  async commitRepair(meta, tornMarker, closers) {
    const header = headerOf(meta);
    const recovered = requireEvents(
      tornMarker?.recoveredEvents ?? [],
      "tornMarker.recoveredEvents",
    );
    const lines = linesOf([...recovered, ...requireEvents(closers, "closers")]);
    return this.#inOrder(meta.id, () =>
      this.#logs.commitRepair(header, tornMarker?.truncateTo, lines),
    );
  }

  async list(signal) {
    return this.#reading(signal, async (cancel) => JSON.parse(await this.#logs.list(cancel)));
  }

  async listSnapshots(signal) {
    return this.#reading(signal, async (cancel) =>
      JSON.parse(await this.#logs.listSnapshots(cancel)),
    );
  }

  async flush(id) {
    await this.#queue.idle(id === undefined ? undefined : requireString(id, "id"));
  }

  async close() {
    this.#closed = true;
    await this.#queue.idle();
  }

  async dispose() {
    return this.close();
  }

  /** Calls about one session come one after the other, in the order in which they were made. */
  #inOrder(id, work, signal) {
    if (this.#closed) {
      throw Object.assign(new Error("session persistence is closed"), { code: "WRITER_CLOSED" });
    }
    return this.#queue
      .run(id, () => {
        throwIfAborted(signal);
        return work();
      })
      .catch(rethrow);
  }

  /** Reading that ends early when the signal says so, with its reason. */
  async #reading(signal, read) {
    optionalSignal(signal, "signal");
    const cancel = new native.EventLogCancel();
    try {
      const result = await abortable(
        signal,
        () => read(cancel),
        () => cancel.cancel(),
      );
      throwIfAborted(signal);
      return result;
    } catch (error) {
      // Aborting counts for more than what failed because of it.
      throwIfAborted(signal);
      return rethrow(error);
    }
  }
}

module.exports = { JsonlSessionPersistence };
