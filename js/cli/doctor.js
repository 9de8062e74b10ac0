"use strict";

/** `doctor`: what is wrong with session files, and repaired copies. */

const fs = require("node:fs/promises");
const path = require("node:path");

const { mapBounded } = require("../bounded.js");
const { getBlobsDir } = require("../directories.js");
const { repairSession } = require("../doctor.js");
const native = require("../native.js");
const { UsageError } = require("./arguments.js");
const { EXIT, oneLine } = require("./terminal.js");

/** Findings of one kind that are shown of one file. */
const SHOWN = 10;

const definition = {
  summary: "say what is wrong with session files; write repaired copies",
  description:
    "Says what is wrong with session files, and in folders. Session files are only read:\n" +
    "a repair writes <name>.repaired.jsonl, unless there is such a file already.",
  operands: "<file or folder>...",
  min: 1,
  max: Number.POSITIVE_INFINITY,
  options: {
    blobs: { type: "string", value: "folder", help: "where blobs are; default: the agent's" },
    "no-blobs": { type: "boolean", help: "do not look whether blobs are there" },
    repair: { type: "boolean", help: "write repaired copies of files that can be mended" },
    output: { type: "string", value: "file", help: "name of the copy, for a single file" },
    cwd: { type: "string", value: "folder", help: "working directory for headers that are made" },
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

/** Writes a copy of a file in which something can be mended, and notes what became of it. */
async function repairFile(file, { output, cwd }) {
  if (!file.findings.some(({ repairable }) => repairable)) {
    return;
  }
  try {
    file.repair = await repairSession(file.path, output, { cwd });
  } catch (error) {
    file.repairError = error.message;
  }
}

/** Options that only make sense together. */
function checkRepair({ repair, output, cwd }, { files, failures }, positionals) {
  if (!repair && (output !== undefined || cwd !== undefined)) {
    throw new UsageError(`--${output === undefined ? "cwd" : "output"} needs --repair`);
  }
  const isOneFile = positionals.length === 1 && (failures.length > 0 || files[0]?.beside);
  if (output !== undefined && !isOneFile) {
    throw new UsageError("--output needs a single file");
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
  const found = await filesOf(positionals);
  checkRepair(values, found, positionals);
  const { files: wanted, leftovers, failures } = found;
  let done = 0;
  const files = await mapBounded(wanted, async ({ file, beside }) => {
    const result = await examineFile(file, beside, blobsDir);
    if (values.repair) {
      await repairFile(result, values);
    }
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
  const count = (matches) => files.filter(matches).length;
  const total = (each) => files.reduce((sum, file) => sum + each(file), 0);
  return {
    files: files.length,
    filesWithFindings: count(({ findings }) => findings.length > 0),
    findings: total(({ findings }) => findings.length) + leftovers.length,
    mended: total(({ repair, findings }) => (repair ? findings.filter(isRepairable).length : 0)),
    repaired: count(({ repair }) => repair !== undefined),
    notRepaired: count(({ repairError }) => repairError !== undefined),
    unreadable: failures.length + count(({ error }) => error !== undefined),
  };
}

const isRepairable = ({ repairable }) => repairable;

function exitCodeOf({ findings, mended, notRepaired, unreadable }) {
  if (unreadable + notRepaired > 0) {
    return EXIT.unreadable;
  }
  return findings > mended ? EXIT.findings : EXIT.fine;
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
      lines.push(...repairLines(file, terminal));
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

function repairLines({ repair, repairError }, terminal) {
  if (repairError !== undefined) {
    return [`  ${terminal.styled("red", "no repaired copy")}: ${oneLine(repairError)}`];
  }
  if (repair === undefined) {
    return [];
  }
  const parts = [counted(repair.entries, "entry", "entries")];
  const add = (number, text) => number > 0 && parts.push(`${number} ${text}`);
  add(repair.recoveredEntries, "recovered");
  add(repair.relinkedEntries, "with another parent");
  add(repair.renamedEntries, "with a new id");
  add(repair.duplicatesLeftOut, "left out as duplicates");
  add(repair.bytesLeftOut, "bytes left out");
  if (repair.headerMade) {
    parts.push("header made");
  }
  const done = terminal.styled("green", "repaired copy");
  return [`  ${done}: ${oneLine(repair.path)} (${parts.join(", ")})`];
}

function findingLine({ kind, message, line, offset, path: where }, terminal) {
  const place = where ?? (line === undefined ? undefined : `line ${line}, byte ${offset}`);
  const text = place === undefined ? message : `${place}: ${message}`;
  return `  ${oneLine(text)} ${terminal.styled("dim", `[${kind}]`)}`;
}

function conclusion(summary, terminal) {
  const { files, filesWithFindings, findings, mended, repaired, unreadable } = summary;
  const parts = [counted(files, "file")];
  parts.push(
    findings === 0
      ? terminal.styled("green", "nothing wrong")
      : `${counted(findings, "finding")} in ${counted(filesWithFindings, "file")}`,
  );
  if (repaired > 0) {
    parts.push(`${mended} of them mended in ${counted(repaired, "copy", "copies")}`);
  }
  if (unreadable > 0) {
    parts.push(terminal.styled("red", `${unreadable} could not be read`));
  }
  return `${parts.join(", ")}.`;
}

module.exports = { definition, run };
