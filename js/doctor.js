"use strict";

/** What is wrong with a session file, for programs. */

const { getBlobsDir } = require("./directories.js");
const native = require("./native.js");
const { optionalObject, requireString } = require("./validate.js");

/** Where to look for blobs: the agent's directory, another one, or (with `null`) nowhere. */
function blobsDirOf({ blobsDir = getBlobsDir() }) {
  return blobsDir === null ? undefined : requireString(blobsDir, "options.blobsDir");
}

/**
 * Examines a session file. Nothing is changed.
 *
 * @param {string} filePath
 * @param {{ blobsDir?: string | null }} [options]
 */
async function examineSession(filePath, options) {
  requireString(filePath, "filePath");
  const blobsDir = blobsDirOf(optionalObject(options, "options"));
  return JSON.parse(await native.examineSession(filePath, blobsDir, true));
}

module.exports = { examineSession };
