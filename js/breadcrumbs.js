"use strict";

/** Breadcrumbs: which session this terminal worked on last; see `src/catalog/breadcrumb.rs`. */

const { readEnvironment } = require("./environment.js");
const { log } = require("./logger.js");
const native = require("./native.js");

/** The last write that was begun. Writes follow each other, so that the last one stays. */
let pending = Promise.resolve();

/**
 * Notes a session. Nobody waits for it, and a breadcrumb that cannot be written is no loss.
 *
 * @param {string} cwd
 * @param {string} sessionFile
 */
function writeBreadcrumb(cwd, sessionFile) {
  try {
    const environment = readEnvironment();
    pending = pending
      .then(() => native.writeBreadcrumb(environment, String(cwd), sessionFile))
      .catch(() => {});
  } catch {
    // Without an environment there is no terminal to remember anything for.
  }
}

/**
 * The session of this terminal, if it was left in `cwd` and its file exists.
 *
 * @param {string} cwd
 * @returns {Promise<string | undefined>}
 */
async function readBreadcrumb(cwd) {
  await pending;
  try {
    return (await native.readBreadcrumb(readEnvironment(), String(cwd))) ?? undefined;
  } catch (err) {
    log("debug", "Terminal breadcrumb read failed", { err });
    return undefined;
  }
}

module.exports = { readBreadcrumb, writeBreadcrumb };
