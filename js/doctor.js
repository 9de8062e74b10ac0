"use strict";

/** What is wrong with a session file, and a copy without it, for programs. */

const path = require("node:path");

const { getBlobsDir } = require("./directories.js");
const native = require("./native.js");
const { optionalObject, optionalString, requireString } = require("./validate.js");

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

/** Where a repaired copy goes unless the caller says otherwise: beside the file. */
function repairedPathOf(filePath) {
  return `${filePath.replace(/\.jsonl$/, "")}.repaired.jsonl`;
}

/**
 * Writes a repaired copy of a session file; the file itself is only read.
 *
 * @param {string} filePath
 * @param {string} [output]
 * @param {{ cwd?: string }} [options]
 */
async function repairSession(filePath, output, options) {
  const source = path.resolve(requireString(filePath, "filePath"));
  const target = path.resolve(optionalString(output, "output") ?? repairedPathOf(source));
  const { cwd } = optionalObject(options, "options");
  const now = new Date();
  const done = await native.repairSession(
    source,
    target,
    optionalString(cwd, "options.cwd") ?? process.cwd(),
    now.getTime(),
    now.toISOString(),
  );
  return { path: target, ...JSON.parse(done) };
}

module.exports = { examineSession, repairSession };
