"use strict";

/** What the user ran, as text for the model, with the notes that tools leave about their output. */

const { posix: path } = require("node:path");

const { requireObject } = require("./validate.js");
const { text, textOf } = require("./values.js");

const fenced = (content, language = "") => text`\`\`\`${language}\n${content}\n\`\`\``;

/** How a run ended, or nothing for a run that went well. */
function outcome(message, subject, failure) {
  if (message.cancelled) {
    return `\n\n(${subject} cancelled)`;
  }
  const code = message.exitCode ?? 0;
  return code === 0 ? "" : text`\n\n${failure} with code ${code}`;
}

function bashExecutionToText(message) {
  requireObject(message, "message");
  const output = message.output ? fenced(message.output) : "(no output)";
  const end = outcome(message, "command", "Command exited");
  return text`Ran \`${message.command}\`\n${output}${end}${formatOutputNotice(message.meta)}`;
}

function pythonExecutionToText(message) {
  requireObject(message, "message");
  const output = message.output ? `Output:\n${fenced(message.output)}` : "(no output)";
  const end = outcome(message, "execution", "Execution failed");
  const code = fenced(message.code, "python");
  return `Ran Python:\n${code}\n${output}${end}${formatOutputNotice(message.meta)}`;
}

/** What was left out of some output, and what was noticed in it; empty when there is nothing to say. */
function formatOutputNotice(meta) {
  const limits = meta?.limits;
  const parts = [
    meta?.truncation && truncationText(meta.truncation),
    limitText(limits?.matchLimit, "matches"),
    limitText(limits?.resultLimit, "results"),
    limitText(limits?.headLimit, "results"),
    limits?.columnTruncated &&
      text`Some lines truncated to ${limits.columnTruncated.maxColumn} chars`,
  ].filter(Boolean);
  const notice = parts.length > 0 ? `\n\n[${parts.join(". ")}]` : "";
  return notice + diagnosticsText(meta?.diagnostics);
}

function limitText(limit, what) {
  return (
    limit && text`${limit.reached} ${what} limit reached. Use limit=${limit.suggestion} for more`
  );
}

function truncationText(cut) {
  const { shownRange: shown } = cut;
  let notice =
    shown && shown.end >= shown.start
      ? text`Showing lines ${shown.start}-${shown.end} of ${cut.totalLines}`
      : text`Showing ${cut.outputLines} of ${cut.totalLines} lines`;
  if (cut.truncatedBy === "bytes") {
    notice += ` (${sizeText(cut.maxBytes ?? cut.outputBytes)} limit)`;
  }
  if (cut.nextOffset !== undefined && cut.nextOffset !== null) {
    notice += text`. Use sel=L${cut.nextOffset} to continue`;
  }
  if (cut.artifactId !== undefined && cut.artifactId !== null) {
    notice += text`. Read artifact://${cut.artifactId} for full output`;
  }
  return notice;
}

/** A number of bytes in the largest unit that gives at least 1. */
function sizeText(bytes) {
  if (typeof bytes !== "number" || bytes < 1024) {
    return text`${bytes}B`;
  }
  const [unit, factor] =
    bytes < 1024 ** 2 ? ["KB", 1024] : bytes < 1024 ** 3 ? ["MB", 1024 ** 2] : ["GB", 1024 ** 3];
  return `${(bytes / factor).toFixed(1)}${unit}`;
}

function diagnosticsText(diagnostics) {
  const messages = diagnostics?.messages;
  if (!Array.isArray(messages) || messages.length === 0) {
    return "";
  }
  return text`\n\nLSP Diagnostics (${diagnostics.summary}):\n${groupedDiagnostics(messages.map(textOf))}`;
}

/** `path:line:column message`; what follows the path is the diagnostic. */
const DIAGNOSTIC = /^(.+?):(\d+:\d+\s+.*)$/;

/** Diagnostics under headings for their folders and files, others behind them. */
function groupedDiagnostics(messages) {
  const folders = new Map();
  const others = [];
  for (const message of messages) {
    const match = DIAGNOSTIC.exec(message);
    if (match === null) {
      others.push(message);
      continue;
    }
    const file = match[1].replaceAll("\\", "/");
    const files = entryOf(folders, path.dirname(file), () => new Map());
    entryOf(files, file, () => []).push(`  ${match[2]}`);
  }
  const sections = [...folders].flatMap(([folder, files]) => folderSections(folder, files));
  if (others.length > 0) {
    sections.push(others.join("\n"));
  }
  return sections.join("\n\n");
}

/** Files without a folder have a section each, those in a folder share one. */
function folderSections(folder, files) {
  const section = (heading, file, found) => [`${heading}${path.basename(file)}`, ...found];
  if (folder === ".") {
    return Array.from(files, ([file, found]) => section("# ", file, found).join("\n"));
  }
  const lines = Array.from(files, ([file, found]) => section("## └─ ", file, found));
  return [[`# ${folder}`, ...lines.flat()].join("\n")];
}

/** The value of a key, made when there is none. */
function entryOf(map, key, make) {
  if (!map.has(key)) {
    map.set(key, make());
  }
  return map.get(key);
}

module.exports = { bashExecutionToText, formatOutputNotice, pythonExecutionToText };
