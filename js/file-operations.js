"use strict";

/** Which files a conversation read and changed, as summaries carry it on. */

const { requireArray, requireObject, requireString } = require("./validate.js");

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

/** Sorted lists: files that were changed, and files that were only read. */
function computeFileLists(fileOps) {
  const { read, written, edited } = requireObject(fileOps, "fileOps");
  const modified = new Set([...edited, ...written]);
  return {
    readFiles: [...read].filter((path) => !modified.has(path)).sort(),
    modifiedFiles: [...modified].sort(),
  };
}

/** Sections of earlier lists, and the blanks behind them. */
const SECTIONS = /<(read-files|modified-files)>[\s\S]*?<\/\1>\s*/g;

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
  requireArray(readFiles, "readFiles");
  requireArray(modifiedFiles, "modifiedFiles");
  const text = summary.replace(SECTIONS, "").trimEnd();
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
