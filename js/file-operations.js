"use strict";

/** Which files a conversation read and changed, as summaries carry it on. */

const { invalidArgument, requireArray, requireObject, requireString } = require("./validate.js");

/** How many files a section of a summary names. */
const LISTED_FILES = 20;

/** The set that a tool's files go into. */
const SETS = Object.freeze({ read: "read", write: "written", edit: "edited" });

/** Three empty sets of paths. */
function noFileOperations() {
  return { read: new Set(), written: new Set(), edited: new Set() };
}

/** Adds the files that an assistant message reads and changes. */
function addToolCalls(operations, message) {
  if (message?.role !== "assistant" || !Array.isArray(message.content)) {
    return;
  }
  for (const block of message.content) {
    const path = block?.type === "toolCall" ? block.arguments?.path : undefined;
    if (typeof path === "string" && path !== "" && Object.hasOwn(SETS, block.name)) {
      operations[SETS[block.name]].add(path);
    }
  }
}

/** Adds the files that an earlier summary names, unless an extension wrote it. */
function addSummarized(operations, { details, fromExtension }) {
  if (fromExtension) {
    return;
  }
  for (const [list, files] of [
    [details?.readFiles, operations.read],
    [details?.modifiedFiles, operations.edited],
  ]) {
    for (const path of Array.isArray(list) ? list : []) {
      if (typeof path === "string") {
        files.add(path);
      }
    }
  }
}

/** Returns the set of paths, or throws; anything that can be gone through will do. */
function pathsOf(value, name) {
  if (typeof value?.[Symbol.iterator] !== "function") {
    throw invalidArgument(name, "an instance of Set", value);
  }
  return value;
}

/** Returns the list of paths, or throws. */
function requirePaths(value, name) {
  requireArray(value, name).forEach((path, at) => {
    requireString(path, `${name}[${at}]`);
  });
}

/** Sorted lists: files that were changed, and files that were only read. */
function computeFileLists(fileOps) {
  requireObject(fileOps, "fileOps");
  const [read, written, edited] = ["read", "written", "edited"].map((name) =>
    pathsOf(fileOps[name], `fileOps.${name}`),
  );
  const modified = new Set([...edited, ...written]);
  return {
    readFiles: [...read].filter((path) => !modified.has(path)).sort(),
    modifiedFiles: [...modified].sort(),
  };
}

/** Tags at the beginning of sections of earlier lists. */
const OPENING = /<(read-files|modified-files)>/g;

/** A summary without sections of earlier lists and the blanks behind them. */
function withoutSections(summary) {
  const parts = [];
  let from = 0;
  // Tags behind the last end of their kind are not looked at: each would search the whole rest.
  const lastEnd = (name) => summary.lastIndexOf(`</${name}>`);
  const ends = { "read-files": lastEnd("read-files"), "modified-files": lastEnd("modified-files") };
  for (const { index, 0: tag, 1: name } of summary.matchAll(OPENING)) {
    if (index < from || ends[name] < index) {
      continue;
    }
    const end = summary.indexOf(`</${name}>`, index + tag.length) + tag.length + 1;
    parts.push(summary.slice(from, index));
    from = end + blanksAt(summary, end);
  }
  return parts.join("") + summary.slice(from);
}

const BLANKS = /\s*/y;

/** How many units of white space there are at a position. */
function blanksAt(text, position) {
  BLANKS.lastIndex = position;
  return BLANKS.exec(text)[0].length;
}

function section(name, files) {
  if (files.length === 0) {
    return [];
  }
  const omitted = files.length - LISTED_FILES;
  const shown = files.slice(0, LISTED_FILES);
  if (omitted > 0) {
    shown.push(`… (${omitted} more files omitted)`);
  }
  return [`<${name}>`, ...shown, `</${name}>`];
}

/** A summary with lists of files at its end, in place of those that it had. */
function upsertFileOperations(summary, readFiles, modifiedFiles) {
  requireString(summary, "summary");
  requirePaths(readFiles, "readFiles");
  requirePaths(modifiedFiles, "modifiedFiles");
  const text = withoutSections(summary).trimEnd();
  const lists = [...section("read-files", readFiles), ...section("modified-files", modifiedFiles)];
  const parts = [text, lists.join("\n")];
  return parts.filter((part) => part !== "").join("\n\n");
}

module.exports = {
  addSummarized,
  addToolCalls,
  computeFileLists,
  noFileOperations,
  upsertFileOperations,
};
