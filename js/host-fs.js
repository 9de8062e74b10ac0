"use strict";

/** Functions of the host's file system module that programs and tests may have replaced. */

const originalRm = require("node:fs/promises").rm;

/**
 * The host's `rm` of `node:fs/promises`, as it is at this moment.
 *
 * Replacing it on the module object is seen through `require`. In Bun, `import * as` gives an
 * object whose members can be replaced too, on their own; so a member that differs there counts.
 */
async function currentRm() {
  if (process.versions.bun) {
    const namespace = await import("node:fs/promises");
    if (namespace.rm !== originalRm) {
      return namespace.rm;
    }
  }
  return require("node:fs/promises").rm;
}

/** Removes a directory with all it holds; a missing one is fine. */
async function removeRecursively(dir) {
  const rm = await currentRm();
  await rm(dir, { recursive: true, force: true });
}

module.exports = { removeRecursively };
