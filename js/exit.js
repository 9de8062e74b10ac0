"use strict";

/**
 * What is still unwritten when the process ends is written by a listener of the `exit` event:
 * neither promises nor finalizers run any more at that point.
 */

/** Writers with unfinished work. */
const unfinished = new Set();
let listening = false;

function writeAll() {
  for (const writer of unfinished) {
    writer.writeBlocking();
  }
}

/** Asks for `writer.writeBlocking()` at the end of the process. */
function registerUnfinished(writer) {
  if (!listening) {
    listening = true;
    process.on("exit", writeAll);
  }
  unfinished.add(writer);
}

/** The writer has nothing left to do. */
function unregisterFinished(writer) {
  unfinished.delete(writer);
}

module.exports = { registerUnfinished, unregisterFinished };
