"use strict";

/**
 * The two ways in which the lines of one session file get written: natively, or through the
 * methods of a storage object. Both keep what could not be written and try it again first.
 *
 * Operations resolve (or return) `true` when the file must be rewritten as a whole.
 */

const fs = require("node:fs");
const path = require("node:path");

const native = require("./native.js");
const { MARKER } = require("./outline.js");
const { isNativeStorage } = require("./storage-kind.js");

const ignore = () => {};

/** Longest text (UTF-16 units) that is looked at on the JavaScript thread before it is written. */
const DIRECT_LENGTH = 1 << 16;

/** Writes natively. */
class NativeBackend {
  #journal;
  /** Settles with the operation that was waited for last; the next one is waited for after it. */
  #tail = Promise.resolve();
  /** Called with `appended` or `replaced` when others were seen to have changed the file. */
  onChange = ignore;

  constructor(filePath, blobsDir) {
    this.filePath = filePath;
    this.#journal = new native.SessionJournal(filePath, blobsDir);
  }

  get isOpen() {
    return this.#journal.isOpen;
  }

  exists() {
    return fs.existsSync(this.filePath);
  }

  /** Where what `append` takes for entries comes from. */
  texts(table) {
    return table.outlines;
  }

  append(texts) {
    const strings = [];
    const outlines = texts.map((text) => {
      if (typeof text === "string") {
        return text;
      }
      strings.push(...text.strings);
      return text.text;
    });
    const outcome =
      strings.length === 0
        ? this.#journal.append(outlines)
        : this.#journal.appendOutlined(outlines, strings, MARKER);
    if (typeof outcome !== "boolean") {
      return this.#wait(outcome);
    }
    this.#tellOfChange();
    return outcome;
  }

  /** The session has just read the file, or its end: what is before that follows. */
  hasRead(table) {
    table.whenWhole(() => {
      this.#journal.hasRead(table.core);
      this.#journal.takeChange();
    });
  }

  async rewrite(table, options) {
    const ticket = this.#journal.rewrite(table.core, { ...options, ...table.editedTexts() });
    return this.#wait(ticket);
  }

  rewriteNow(table, options) {
    this.#journal.rewriteNow(table.core, { ...options, ...table.editedTexts() });
  }

  /** Changes the header line only. */
  replaceHeader(header, id) {
    return this.#wait(this.#journal.replaceHeader(header, id));
  }

  sync() {
    return this.#wait(this.#journal.sync());
  }

  close() {
    return this.#wait(this.#journal.close());
  }

  /** Closes before it returns if nothing is to be done; tells whether it did. */
  closeNow() {
    return this.#journal.closeNow();
  }

  /** Appends at the end of the process. */
  appendBlocking(texts) {
    return this.#journal.appendBlocking(texts);
  }

  #wait(ticket) {
    const outcome = this.#tail.then(() => this.#journal.wait(ticket));
    const tell = () => this.#tellOfChange();
    this.#tail = outcome.then(tell, tell);
    return outcome;
  }

  #tellOfChange() {
    const change = this.#journal.takeChange();
    if (change > 0) {
      this.onChange(change === 1 ? "appended" : "replaced");
    }
  }
}

/** Writes through a storage object, one call after the other. Storages do not tell what others do. */
class StorageBackend {
  #storage;
  #blobsDir;
  #tail = Promise.resolve();
  #writer;
  #backlog = [];
  /** Operations that have not ended. */
  #pending = 0;
  /** The new file while it is being renamed. */
  #renaming;
  /** Whether the file ends in the middle of a line; undefined when that is not known. */
  #isTorn;
  /** How often everything was written at once; what was asked for before that is done by it. */
  #generation = 0;

  constructor(storage, filePath, blobsDir, isTorn) {
    this.filePath = filePath;
    this.#storage = storage;
    this.#blobsDir = blobsDir;
    this.#isTorn = isTorn;
  }

  get isOpen() {
    return this.#writer !== undefined;
  }

  hasRead() {}

  exists() {
    return this.#storage.existsSync(this.filePath);
  }

  texts(table) {
    return table;
  }

  append(texts) {
    const generation = this.#generation;
    return this.#queue(async () => {
      if (generation === this.#generation) {
        this.#backlog.push(...texts);
      }
      await this.#writeBacklog();
      return false;
    });
  }

  rewrite(table, options) {
    const header = options.header;
    const texts = Array.from({ length: table.count }, (_, slot) => table.textOf(slot));
    // What nobody asked for is on disk in its final form already.
    const edited = texts.map((_, slot) => table.isEdited(slot));
    const generation = this.#generation;
    return this.#queue(async () => {
      await this.#closeWriter();
      const lines = await Promise.all(
        texts.map((text, slot) => (edited[slot] ? this.#persistable(text) : text)),
      );
      await this.#replace(await this.#headerLine(header), lines, options.tempSuffix, generation);
      this.#isTorn = false;
      this.#backlog.length = 0;
      return false;
    });
  }

  rewriteNow(table, options) {
    const persistable = (text) => native.persistableTextNow(text, this.#blobsDir);
    const lines = [native.paddedHeader(persistable(options.header))];
    for (let slot = 0; slot < table.count; slot++) {
      const text = table.textOf(slot);
      lines.push(table.isEdited(slot) ? persistable(text) : text);
    }
    const content = `${lines.join("\n")}\n`;
    // A rename that is under way may be carried out after this: then, too, everything must be there.
    if (this.#renaming !== undefined && this.#storage.existsSync(this.#renaming)) {
      this.#storage.writeTextSync(this.#renaming, content);
    }
    this.#storage.writeTextSync(this.filePath, content);
    this.#generation += 1;
    this.#isTorn = false;
    this.#backlog.length = 0;
  }

  /** Storages have no way to write in place. */
  async replaceHeader() {
    return true;
  }

  sync() {
    return this.#queue(async () => {
      await this.#writeBacklog();
      await this.#writer?.flush();
      await this.#writer?.fsync();
      return false;
    });
  }

  close() {
    return this.#queue(async () => {
      await this.#writeBacklog();
      await this.#closeWriter();
      return false;
    });
  }

  closeNow() {
    return this.#writer === undefined && this.#pending === 0;
  }

  /** A storage's promises cannot be waited for at the end of a process: what is left is rewritten. */
  appendBlocking(texts) {
    return texts.length > 0 || this.#backlog.length > 0 || this.#pending > 0;
  }

  #queue(work) {
    this.#pending += 1;
    const result = this.#tail.then(work);
    const done = () => {
      this.#pending -= 1;
    };
    this.#tail = result.then(done, done);
    return result;
  }

  /** Short texts that stay as they are need no other thread, so they are written in the same turn. */
  async #persistable(text) {
    if (text.length <= DIRECT_LENGTH && !native.mayChange(text)) {
      return text;
    }
    return native.persistableText(text, this.#blobsDir);
  }

  async #headerLine(header) {
    return native.paddedHeader(await this.#persistable(header));
  }

  async #writeBacklog() {
    while (this.#backlog.length > 0) {
      const generation = this.#generation;
      const text = await this.#persistable(this.#backlog[0]);
      if (generation !== this.#generation) {
        continue;
      }
      this.#writer ??= this.#storage.openWriter(this.filePath, { flags: "a", onError: ignore });
      try {
        if (this.#isTorn === undefined) {
          this.#isTorn = await this.#endsInLine();
          continue;
        }
        if (this.#isTorn) {
          await this.#writer.writeLine("\n");
          this.#isTorn = false;
          continue;
        }
        await this.#writer.writeLine(`${text}\n`);
      } catch (error) {
        this.#isTorn = undefined;
        await this.#abandonWriter();
        throw error;
      }
      if (generation === this.#generation) {
        this.#backlog.shift();
      }
    }
  }

  /** After a failed write: whether a part of its line is in the file. */
  async #endsInLine() {
    const text = await this.#storage.readText(this.filePath);
    return text !== "" && !text.endsWith("\n");
  }

  async #closeWriter() {
    const writer = this.#writer;
    this.#writer = undefined;
    if (writer) {
      await writer.flush();
      await writer.close();
    }
  }

  /** A writer that failed once fails for ever: the next try needs a new one. */
  async #abandonWriter() {
    const writer = this.#writer;
    this.#writer = undefined;
    try {
      await writer?.close();
    } catch {
      // The write's own error is the one to report.
    }
  }

  async #replace(header, lines, suffix, generation) {
    const directory = path.dirname(this.filePath);
    const temp = path.join(directory, `.${path.basename(this.filePath)}.${suffix}.tmp`);
    let writer;
    try {
      writer = this.#storage.openWriter(temp, { flags: "w", onError: ignore });
      for (const line of [header, ...lines]) {
        await writer.writeLine(`${line}\n`);
      }
      await writer.flush();
      await writer.fsync();
      await writer.flush();
      await writer.close();
      writer = undefined;
      if (generation !== this.#generation) {
        await this.#cleanUp(undefined, temp);
        return;
      }
      this.#renaming = temp;
      await this.#storage.rename(temp, this.filePath);
    } catch (error) {
      await this.#cleanUp(writer, temp);
      throw error;
    } finally {
      this.#renaming = undefined;
    }
  }

  async #cleanUp(writer, temp) {
    for (const step of [() => writer?.close(), () => this.#storage.unlink(temp)]) {
      try {
        await step();
      } catch {
        // The error that led here is the one to report.
      }
    }
  }
}

/**
 * The backend for a file in a storage.
 *
 * @param isTorn the file was read and does not end with a line feed
 */
function backendFor(storage, filePath, blobsDir, isTorn = false) {
  return isNativeStorage(storage)
    ? new NativeBackend(filePath, blobsDir)
    : new StorageBackend(storage, filePath, blobsDir, isTorn);
}

module.exports = { backendFor };
