"use strict";

/**
 * When the entries of one session file are written.
 *
 * Nothing is written before the first reason to: an assistant message, or a caller that wants the
 * file. The first write is a rewrite of the whole file, later entries are appended. Objects are
 * turned into text in a microtask, all of one tick together, so that what the caller changes in the
 * tick of the append reaches the disk. No timers are used.
 *
 * The first error is latched: `append*` throw it, `flush` rejects with it. Every later operation
 * tries the whole backlog again, and success clears the latch. Whoever asked to be told of errors is
 * told in a microtask, once until everything is written.
 */

const { registerUnfinished, unregisterFinished } = require("./exit.js");
const native = require("./native.js");
const { asError, logPersistError } = require("./persist-error.js");
const { serialize } = require("./serialize.js");

const ignore = () => {};

class Persistence {
  #table;
  #backend;
  #header;
  /**
   * How many entries have been handed to the backend. Counted like the table's `addedCount`, so negative
   * when there were some before that.
   */
  #handedOver;
  #latch;
  #scheduled = false;
  #inFlight = new Set();
  /** A rewrite that waits for its turn, and one that runs. */
  #nextRewrite;
  #rewriting;
  /** Header changes that have not been answered. */
  #retitling = 0;
  /** Settles when the file has been moved; nothing is written until then. */
  #moving;
  /** For the end of the process: finishes a move that has begun. */
  #finishMove;
  #events;
  #ensured;
  /** The core said so once; entries are never taken out. */
  #hasAssistant = false;
  #backup;
  #withResidue;
  /** A rewrite failed and is to be tried again. */
  #owesRewrite = false;

  /** The file is believed to hold everything except what is queued for it. */
  flushed;
  /** The next persisted change must rewrite the file. */
  needsFullRewrite;

  /**
   * @param table entries of the session
   * @param backend writer of its file
   * @param header gives the header object
   * @param state `onDisk`: the file holds the entries; `needsFullRewrite`; `backup`: keep the file
   *   that the first rewrite replaces under this name; `withResidue`: damaged bytes of the file that
   *   was read belong into this one (by default when it is on disk); `events`: the listeners of the
   *   manager
   */
  constructor(table, backend, header, state = {}) {
    this.#table = table;
    this.#backend = backend;
    this.#header = header;
    this.#events = state.events;
    this.#watch(backend);
    if (state.onDisk) {
      backend.hasRead(table);
    }
    this.#ensured = state.onDisk ?? false;
    this.#backup = state.backup;
    this.#withResidue = state.withResidue ?? state.onDisk ?? false;
    this.flushed = state.onDisk ?? false;
    this.needsFullRewrite = state.needsFullRewrite ?? false;
    this.#handedOver = state.onDisk ? table.addedCount : table.addedCount - table.count;
  }

  get filePath() {
    return this.#backend.filePath;
  }

  /** The error because of which not everything is written, or undefined. */
  get error() {
    return this.#latch;
  }

  exists() {
    return this.#backend.exists();
  }

  /** To be called after each append. Throws the latched error, after having asked for a retry. */
  entryAdded() {
    if (this.#latch) {
      this.#schedule();
      throw this.#latch;
    }
    if (this.#isDue()) {
      this.#schedule();
    } else {
      this.flushed = false;
    }
  }

  /** Rewrites the file with everything that the session holds when its turn comes. */
  rewrite() {
    this.#nextRewrite ??= Promise.allSettled([this.#rewriting, this.#moving]).then(() => {
      this.#nextRewrite = undefined;
      this.#rewriting = this.#rewriteNow();
      return this.#rewriting;
    });
    registerUnfinished(this);
    return this.#nextRewrite;
  }

  /** Writes the header; in place if possible. */
  async writeHeader() {
    if (this.needsFullRewrite || !this.flushed || this.#isReplacing) {
      return this.rewrite();
    }
    this.#retitling += 1;
    try {
      const header = this.#header();
      const tooLong = await this.#track(
        this.#backend.replaceHeader(serialize(header), String(header.id)),
      );
      return tooLong ? this.rewrite() : undefined;
    } catch (error) {
      throw this.#failToRewrite(error);
    } finally {
      this.#retitling -= 1;
    }
  }

  /**
   * Goes on with another file once this one has been moved there. What is added in the meantime is
   * written to where the file is then. A failed move changes nothing.
   *
   * @param backend writer of the other file
   * @param move see `FileMove`
   */
  async relocate(backend, move) {
    const earlier = Promise.allSettled(this.#underWay());
    const moving = earlier.then(() => this.#relocateNow(backend, move));
    this.#moving = moving;
    registerUnfinished(this);
    try {
      if ((await moving) || this.#table.core.hasAssistant) {
        await this.writeHeader();
      }
    } finally {
      this.#schedule();
    }
  }

  async #relocateNow(backend, move) {
    try {
      const incomplete = await this.#backend.close().catch(() => true);
      this.#finishMove = () => {
        if (move.finishNow()) {
          this.#backend = backend;
          this.#watch(backend);
        }
      };
      const existed = await move.run();
      this.#backend = backend;
      this.#watch(backend);
      this.flushed &&= existed;
      this.needsFullRewrite ||= incomplete || this.#latch !== undefined;
      this.#latch = undefined;
      return existed;
    } finally {
      this.#moving = undefined;
      this.#finishMove = undefined;
    }
  }

  /**
   * Lets the session take in what others wrote to its file; nothing is written meanwhile. Returns how
   * many entries have arrived.
   *
   * @param read reads the file
   * @param takeIn gives the new table for what was read, undefined if it was no session; is told
   *   whether the header in the file is up to date
   */
  async reload(read, takeIn) {
    if (this.needsFullRewrite) {
      // Entries of old files have their ids in the file only after this.
      await this.rewrite();
    }
    const earlier = Promise.allSettled(this.#underWay());
    const reloading = earlier.then(() => this.#reloadNow(read, takeIn));
    this.#moving = reloading;
    registerUnfinished(this);
    try {
      return await reloading;
    } finally {
      this.#schedule();
    }
  }

  async #reloadNow(read, takeIn) {
    try {
      const loaded = await read();
      const merged = takeIn(loaded, this.flushed && !this.needsFullRewrite);
      if (!merged) {
        return 0;
      }
      this.#table = merged.table;
      this.#backend.hasRead(merged.table);
      this.#handedOver = 0;
      if (this.#latch) {
        // The backend holds lines that are counted as not handed over now.
        this.#owesRewrite = true;
        this.needsFullRewrite = true;
      }
      return merged.arrived;
    } finally {
      this.#moving = undefined;
    }
  }

  /** Makes sure that the file exists and that every later entry is written at once. */
  async ensureOnDisk() {
    if (this.flushed && !this.needsFullRewrite && this.#ensured) {
      return;
    }
    if (this.flushed && !this.needsFullRewrite) {
      this.#ensured = true;
      this.#schedule();
      return;
    }
    await this.rewrite();
  }

  /** Writes what is due and makes it durable. */
  async flush() {
    await this.#settle();
    const isAsked = this.#events?.externalChanges.isEmpty === false;
    if (this.#backend.isOpen || this.#latch || isAsked) {
      await this.#finish(() => this.#backend.sync());
    }
    if (this.#latch) {
      throw this.#latch;
    }
  }

  /** Writes what is due and gives the descriptor back. */
  async close() {
    await this.#settle();
    const wasOpen = this.#backend.isOpen;
    await this.#finish(() => this.#backend.close());
    if (this.#latch && wasOpen) {
      throw this.#latch;
    }
  }

  /** Gives the descriptor back before it returns if all is written; tells whether it did. */
  closeNow() {
    const isIdle = !this.#isBusy && !this.#scheduled && !this.#latch && !this.#hasWork();
    return isIdle && this.#backend.closeNow();
  }

  /** For the end of the process: writes what is left before it returns. */
  writeBlocking() {
    try {
      this.#finishMove?.();
      const isRewriting = this.#isReplacing || this.#retitling > 0;
      if (!this.#hasWork() && !isRewriting && !this.#latch && this.#inFlight.size === 0) {
        return;
      }
      const mustRewrite = isRewriting || this.needsFullRewrite || !this.flushed;
      if (mustRewrite || this.#backend.appendBlocking(this.#takeTexts(this.#table))) {
        this.#backend.rewriteNow(this.#table, this.#rewriteOptions());
        this.#handedOver = this.#table.addedCount;
        this.flushed = true;
      }
    } catch (error) {
      // No microtask comes after this.
      this.#events?.persistenceErrors.tell(this.#fail(error));
    }
  }

  /** Writes a whole new file before it returns. */
  createNow() {
    this.#backend.rewriteNow(this.#table, { ...this.#rewriteOptions(), noClobber: true });
    this.#wrote(this.#table.addedCount);
  }

  /** Passes on what the backend sees of others. */
  #watch(backend) {
    backend.onChange = (kind) => this.#events?.externalChanges.tellSoon({ kind });
  }

  /** Whether the file is being replaced or moved, or about to be. */
  get #isReplacing() {
    return Boolean(this.#rewriting || this.#nextRewrite || this.#moving);
  }

  get #isBusy() {
    return this.#inFlight.size > 0 || this.#isReplacing;
  }

  #underWay() {
    return [...this.#inFlight, this.#nextRewrite, this.#rewriting, this.#moving];
  }

  /** Whether an entry that was added now would be written. */
  #isDue() {
    if (!this.#ensured) {
      this.#hasAssistant ||= this.#table.core.hasAssistant;
    }
    return this.#ensured || this.#hasAssistant;
  }

  #schedule() {
    if (!this.#scheduled) {
      this.#scheduled = true;
      // Not `queueMicrotask`: it can be faked together with the timers.
      Promise.resolve().then(() => this.#commit());
    }
    registerUnfinished(this);
  }

  /** Hands over what is due. Errors are latched, never thrown. */
  #commit() {
    this.#scheduled = false;
    if (this.#isReplacing) {
      // A coming rewrite takes in everything; after a running one, or a move, this is called again.
      return;
    }
    if (this.#hasWork() && (this.needsFullRewrite || !this.flushed)) {
      this.rewrite().catch(ignore);
      return;
    }
    const texts = this.#hasWork() ? this.#takeTexts(this.#backend.texts(this.#table)) : [];
    if (texts.length > 0 || this.#latch) {
      this.#append(texts);
    } else {
      this.#unregisterIfFinished();
    }
  }

  #append(texts) {
    let outcome;
    try {
      outcome = this.#backend.append(texts);
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (typeof outcome === "boolean") {
      this.#appended(outcome);
      return;
    }
    this.#track(outcome).then(
      (missing) => this.#appended(missing),
      (error) => this.#fail(error),
    );
  }

  #appended(missing) {
    if (missing) {
      this.needsFullRewrite = true;
      this.rewrite().catch(ignore);
      return;
    }
    this.#succeeded();
  }

  /**
   * Texts of the entries that have not been handed over; stops at one that cannot be written.
   *
   * @param source has `textOf`, which gives the text of a slot
   */
  #takeTexts(source) {
    const texts = [];
    try {
      while (this.#handedOver < this.#table.addedCount) {
        texts.push(source.textOf(this.#table.slotOfAdded(this.#handedOver)));
        this.#handedOver += 1;
      }
    } catch (error) {
      this.#fail(error);
    }
    return texts;
  }

  async #rewriteNow() {
    const covered = this.#table.addedCount;
    try {
      await this.#track(this.#backend.rewrite(this.#table, this.#rewriteOptions()));
    } catch (error) {
      this.#rewriting = undefined;
      throw this.#failToRewrite(error);
    }
    this.#rewriting = undefined;
    this.#wrote(covered);
    this.#commit();
  }

  #wrote(covered) {
    this.#handedOver = Math.max(covered, Math.min(this.#handedOver, this.#table.addedCount));
    this.flushed = true;
    this.needsFullRewrite = false;
    this.#ensured = true;
    this.#owesRewrite = false;
    this.#backup = undefined;
    this.#withResidue = true;
    this.#succeeded();
  }

  #rewriteOptions() {
    return {
      header: serialize(this.#header()),
      tempSuffix: native.nextSnowflake(Date.now()),
      backup: this.#backup,
      withResidue: this.#withResidue,
    };
  }

  /** Waits until everything due has been handed over and answered. */
  async #settle() {
    do {
      this.#commit();
      await Promise.allSettled(this.#underWay());
    } while ((this.#isBusy || this.#hasWork()) && !this.#latch);
  }

  #hasWork() {
    return this.#owesRewrite || (this.#isDue() && this.#handedOver < this.#table.addedCount);
  }

  /** Last step of `flush` and `close`: the backend writes its backlog first. */
  async #finish(operation) {
    if (this.#latch && this.#owesRewrite) {
      // The retry has just failed.
      return;
    }
    try {
      if (await this.#track(operation())) {
        this.needsFullRewrite = true;
        await this.rewrite();
      } else if (!this.#hasWork()) {
        this.#succeeded();
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Notes work that has been handed to the backend until it is answered. */
  #track(promise) {
    this.#inFlight.add(promise);
    registerUnfinished(this);
    promise.then(
      () => {
        this.#inFlight.delete(promise);
        this.#unregisterIfFinished();
      },
      // Work that failed is unfinished.
      () => this.#inFlight.delete(promise),
    );
    return promise;
  }

  #unregisterIfFinished() {
    if (!this.#isBusy && !this.#scheduled && !this.#latch && !this.#hasWork()) {
      unregisterFinished(this);
    }
  }

  #succeeded() {
    if (this.#handedOver === this.#table.addedCount) {
      this.#latch = undefined;
      this.#unregisterIfFinished();
    }
  }

  /** Like `#fail`; whatever was to be written, the whole file must be now. */
  #failToRewrite(error) {
    this.#owesRewrite = true;
    this.needsFullRewrite = true;
    return this.#fail(error);
  }

  /** Latches the first error; gives back the error to be thrown. */
  #fail(error) {
    const failure = asError(error);
    if (!this.#latch) {
      this.#latch = failure;
      logPersistError(this.filePath, failure);
      this.#events?.persistenceErrors.tellSoon(failure);
    }
    return failure;
  }
}

module.exports = { Persistence };
