"use strict";

/** `doctor`: what is wrong with session files. */

const fs = require("node:fs/promises");
const path = require("node:path");

const { mapBounded } = require("../bounded.js");
const { getBlobsDir } = require("../directories.js");
const native = require("../native.js");
const { EXIT, oneLine } = require("./terminal.js");

/** Findings of one kind that are shown of one file. */
const SHOWN = 10;

const definition = {
  summary: "say what is wrong with session files",
  description: "Says what is wrong with session files, and in folders. Files are only read.",
  operands: "<file or folder>...",
  min: 1,
  max: Number.POSITIVE_INFINITY,
  options: {
    blobs: { type: "string", value: "folder", help: "where blobs are; default: the agent's" },
    "no-blobs": { type: "boolean", help: "do not look whether blobs are there" },
    verbose: { type: "boolean", short: "v", help: "show all findings, and files without any" },
  },
};

/** The session files that the operands mean, and what was left in the folders among them. */
async function filesOf(operands) {
  const found = { files: [], leftovers: [], failures: [] };
  for (const operand of operands) {
    const resolved = path.resolve(operand);
    try {
      if ((await fs.stat(resolved)).isDirectory()) {
        const folder = await native.examineFolder(resolved);
        found.files.push(...folder.files.map((file) => ({ file, beside: false })));
        found.leftovers.push(...JSON.parse(folder.leftovers));
        found.failures.push(...folder.failures.map((error) => ({ path: resolved, error })));
      } else {
        found.files.push({ file: resolved, beside: true });
      }
    } catch (error) {
      found.failures.push({ path: resolved, error: error.message });
    }
  }
  return found;
}

function blobsDirOf(values) {
  if (values["no-blobs"]) {
    return undefined;
  }
  return values.blobs === undefined ? getBlobsDir() : path.resolve(values.blobs);
}

async function examineFile(file, beside, blobsDir) {
  try {
    return { path: file, ...JSON.parse(await native.examineSession(file, blobsDir, beside)) };
  } catch (error) {
    return { path: file, error: error.message, findings: [] };
  }
}

/** Moves what was left beside examined files to their findings; gives the rest. */
function distribute(leftovers, files) {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const rest = [];
  for (const { session, ...finding } of leftovers) {
    (byPath.get(session)?.findings ?? rest).push(finding);
  }
  return rest;
}

async function run({ values, positionals, terminal }) {
  const blobsDir = blobsDirOf(values);
  const { files: wanted, leftovers, failures } = await filesOf(positionals);
  let done = 0;
  const files = await mapBounded(wanted, async ({ file, beside }) => {
    const result = await examineFile(file, beside, blobsDir);
    done += 1;
    terminal.progress("Examined", done, wanted.length);
    return result;
  });
  const others = distribute(leftovers, files);
  const report = { shape: 1, command: "doctor", files, leftovers: others, failures };
  report.summary = summaryOf(report);
  if (values.json) {
    await terminal.json(report);
  } else {
    await terminal.print(textOf(report, values.verbose === true, terminal));
  }
  return exitCodeOf(report.summary);
}

function summaryOf({ files, leftovers, failures }) {
  const findings = files.reduce((sum, file) => sum + file.findings.length, leftovers.length);
  return {
    files: files.length,
    filesWithFindings: files.filter((file) => file.findings.length > 0).length,
    findings,
    unreadable: failures.length + files.filter((file) => file.error !== undefined).length,
  };
}

function exitCodeOf({ findings, unreadable }) {
  if (unreadable > 0) {
    return EXIT.unreadable;
  }
  return findings > 0 ? EXIT.findings : EXIT.fine;
}

const counted = (count, one, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;

function textOf({ files, leftovers, failures, summary }, verbose, terminal) {
  const lines = [];
  for (const file of files) {
    if (file.error !== undefined) {
      lines.push(`${oneLine(file.path)}: ${terminal.styled("red", "cannot be read")}`);
      lines.push(`  ${oneLine(file.error)}`);
    } else if (file.findings.length > 0) {
      const many = terminal.styled("yellow", counted(file.findings.length, "finding"));
      lines.push(`${oneLine(file.path)}: ${counted(file.entries, "entry", "entries")}, ${many}`);
      lines.push(...findingLines(file.findings, verbose, terminal));
    } else if (verbose) {
      lines.push(`${oneLine(file.path)}: ${counted(file.entries, "entry", "entries")}, fine`);
    }
  }
  if (leftovers.length > 0) {
    lines.push("Beside no session file:", ...findingLines(leftovers, verbose, terminal));
  }
  for (const { path: where, error } of failures) {
    lines.push(`${oneLine(where)}: ${terminal.styled("red", "cannot be read")}`);
    lines.push(`  ${oneLine(error)}`);
  }
  lines.push(conclusion(summary, terminal));
  return `${lines.join("\n")}\n`;
}

function findingLines(findings, verbose, terminal) {
  const shown = new Map();
  const lines = [];
  for (const finding of findings) {
    const count = (shown.get(finding.kind) ?? 0) + 1;
    shown.set(finding.kind, count);
    if (verbose || count <= SHOWN) {
      lines.push(findingLine(finding, terminal));
    }
  }
  for (const [kind, count] of shown) {
    if (!verbose && count > SHOWN) {
      lines.push(`  … and ${count - SHOWN} more of kind ${kind} (--verbose shows all)`);
    }
  }
  return lines;
}

function findingLine({ kind, message, line, offset, path: where }, terminal) {
  const place = where ?? (line === undefined ? undefined : `line ${line}, byte ${offset}`);
  const text = place === undefined ? message : `${place}: ${message}`;
  return `  ${oneLine(text)} ${terminal.styled("dim", `[${kind}]`)}`;
}

function conclusion({ files, filesWithFindings, findings, unreadable }, terminal) {
  const parts = [counted(files, "file")];
  parts.push(
    findings === 0
      ? terminal.styled("green", "nothing wrong")
      : `${counted(findings, "finding")} in ${filesWithFindings}`,
  );
  if (unreadable > 0) {
    parts.push(terminal.styled("red", `${unreadable} could not be read`));
  }
  return `${parts.join(", ")}.`;
}

module.exports = { definition, run };
