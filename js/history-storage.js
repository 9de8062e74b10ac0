"use strict";

/** The prompt history. */

const path = require("node:path");

const { getHistoryDbPath } = require("./directories.js");
const { registerUnfinished, unregisterFinished } = require("./exit.js");
const { log } = require("./logger.js");
const native = require("./native.js");
const { optionalString, requireNumber, requireString } = require("./validate.js");

/** Databases that are not in a file. */
const IN_MEMORY = new Set(["", ":memory:"]);

/** Rows cross the boundary as one JSON text, which is quicker than one object after the other. */
function entriesOf(rows) {
  return JSON.parse(rows).map(([id, prompt, createdAt, cwd]) => ({
    id,
    prompt,
    created_at: createdAt,
    cwd: cwd ?? undefined,
  }));
}

/** A promise with the functions that settle it. */
function deferred() {
  const made = {};
  made.promise = new Promise((resolve, reject) => {
    Object.assign(made, { resolve, reject });
  });
  return made;
}

class HistoryStorage {
  static #instance;

  #core;
  /** Promises of the batches that are not on disk, by number, oldest first. */
  #batches = new Map();
  #writing = false;
  #exitWriter = { writeBlocking: () => this.#writeBlocking() };

  /** Not for callers: use `open`. */
  constructor(dbPath) {
    requireString(dbPath, "dbPath");
    this.#core = native.PromptHistory.open(IN_MEMORY.has(dbPath) ? dbPath : path.resolve(dbPath));
    const error = this.#core.takeWarning();
    if (error !== null) {
      log("warn", "HistoryStorage FTS rebuild failed", { error });
    }
  }

  static open(dbPath = getHistoryDbPath()) {
    HistoryStorage.#instance ??= new HistoryStorage(dbPath);
    return HistoryStorage.#instance;
  }

  static resetInstance() {
    HistoryStorage.#instance = undefined;
  }

  /** Not `async`: prompts that are written together share one promise. */
  add(prompt, cwd) {
    requireString(prompt, "prompt");
    const batch = this.#core.add(prompt, optionalString(cwd, "cwd"));
    return batch === 0 ? Promise.resolve() : this.#onDisk(batch);
  }

  getRecent(limit) {
    requireNumber(limit, "limit");
    try {
      return entriesOf(this.#core.recent(limit));
    } catch (error) {
      log("error", "HistoryStorage getRecent failed", { error });
      return [];
    }
  }

  search(query, limit) {
    requireString(query, "query");
    requireNumber(limit, "limit");
    try {
      const { rows, indexFailure } = this.#core.search(query, limit);
      if (indexFailure !== undefined) {
        log("error", "HistoryStorage search failed", { error: indexFailure });
      }
      return entriesOf(rows);
    } catch (error) {
      log("error", "HistoryStorage search failed", { error });
      return [];
    }
  }

  #onDisk(batch) {
    let waiting = this.#batches.get(batch);
    if (!waiting) {
      waiting = deferred();
      this.#batches.set(batch, waiting);
      if (!this.#writing) {
        this.#writing = true;
        // Later, so that everything that this tick adds is written together.
        queueMicrotask(() => this.#writeBatches());
      }
      registerUnfinished(this.#exitWriter);
    }
    return waiting.promise;
  }

  /** One after the other: a database that is locked must not occupy several threads of the pool. */
  async #writeBatches() {
    for (const [batch, { resolve, reject }] of this.#batches) {
      await this.#core.finish(batch).then(resolve, reject);
      this.#batches.delete(batch);
    }
    this.#writing = false;
    unregisterFinished(this.#exitWriter);
  }

  #writeBlocking() {
    const error = this.#core.writeBlocking();
    if (error !== null) {
      log("error", "Prompts could not be written at the end of the process.", { error });
    }
  }
}

module.exports = { HistoryStorage };
