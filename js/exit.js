"use strict";

/**
 * What is still unwritten when the process ends is written by a listener of the `exit` event:
 * neither promises nor finalizers run any more at that point. Work that later listeners of the event
 * cause is done as soon as it is registered.
 */

const { isMainThread } = require("node:worker_threads");

const native = require("./native.js");

/** Writers with unfinished work. */
const unfinished = new Set();
/** Sessions whose file is still read: the process would wait for it. */
const reading = new Set();
let exiting = false;

function writeAll() {
  exiting = true;
  // Runs only if the process lives on, as when somebody emits the event to run its listeners.
  Promise.resolve().then(() => {
    exiting = false;
  });
  for (const writer of unfinished) {
    writer.writeBlocking();
  }
  for (const loaded of reading) {
    loaded.stopReading();
  }
}

// At once, not with the first work: a listener added while the event is emitted is not called.
process.on("exit", writeAll);

/** Bun before 1.4 frees a worker while the thread pool still works for it, and then crashes. */
const freesBusyWorkers = /^1\.[0-3]\./.test(process.versions.bun ?? "");

if (freesBusyWorkers && !isMainThread) {
  native.finishWorkAtEnd();
}

/** Asks for `writer.writeBlocking()` at the end of the process. */
function registerUnfinished(writer) {
  unfinished.add(writer);
  if (exiting) {
    writer.writeBlocking();
  }
}

/** The writer has nothing left to do. */
function unregisterFinished(writer) {
  unfinished.delete(writer);
}

/** Reads the rest of a session off-thread, or until the process ends. */
async function readRest(loaded) {
  reading.add(loaded);
  try {
    await loaded.readRest();
  } finally {
    reading.delete(loaded);
  }
}

module.exports = { readRest, registerUnfinished, unregisterFinished };
