"use strict";

/** `list`: the sessions of a project, of a folder, or all. */

const fs = require("node:fs/promises");
const path = require("node:path");

const { readEnvironment } = require("../environment.js");
const { searchSessions } = require("../listing.js");
const native = require("../native.js");
const { UsageError } = require("./arguments.js");
const { EXIT, cut, oneLine } = require("./terminal.js");

/** Columns of a title or first message. */
const TITLE = 80;

const definition = {
  summary: "list sessions, newest first",
  description: "Lists the sessions of the current folder's project, of another one, or all.",
  operands: "[folder with session files]",
  min: 0,
  max: 1,
  options: {
    cwd: { type: "string", value: "folder", help: "the project in this folder" },
    all: { type: "boolean", help: "sessions of all projects" },
    search: { type: "string", value: "words", help: "only sessions that match, the best first" },
    limit: { type: "string", value: "number", help: "how many at most" },
  },
};

function limitOf({ limit }) {
  if (limit === undefined) {
    return undefined;
  }
  if (!/^\d+$/.test(limit)) {
    throw new UsageError(`--limit needs a number, not ${JSON.stringify(limit)}`);
  }
  return Number(limit);
}

/** What to search. Names of one place only make sense. */
async function scopeOf({ cwd, all }, [folder]) {
  if ([folder, cwd, all].filter((given) => given !== undefined).length > 1) {
    throw new UsageError("a folder, --cwd and --all exclude each other");
  }
  if (all) {
    return { scope: "all" };
  }
  if (folder !== undefined) {
    const sessionDir = path.resolve(folder);
    // A missing folder would be taken for an empty one.
    await fs.readdir(sessionDir);
    return { cwd: sessionDir, sessionDir };
  }
  const project = path.resolve(cwd ?? ".");
  const { path: sessionDir } = native.prepareSessionDir(
    readEnvironment(),
    project,
    undefined,
    false,
  );
  return { cwd: project, sessionDir };
}

async function run({ values, positionals, terminal }) {
  const limit = limitOf(values);
  const scope = await scopeOf(values, positionals);
  const onProgress = (done, total) => terminal.progress("Read", done, total);
  const sessions = await searchSessions(values.search ?? "", { ...scope, limit, onProgress });
  if (values.json) {
    await terminal.json({ shape: 1, command: "list", sessions: sessions.map(jsonOf) });
  } else {
    await terminal.print(textOf(sessions, values.all === true, terminal));
  }
  return EXIT.fine;
}

/** A time as text; `null` for one that cannot be read. */
const isoOf = (date) => (Number.isNaN(date.getTime()) ? null : date.toISOString());

function jsonOf({ parentSessionPath, created, modified, score: _, ...session }) {
  return {
    ...session,
    parentSession: parentSessionPath,
    created: isoOf(created),
    modified: isoOf(modified),
  };
}

/** Local time to the minute. */
function minuteOf(date) {
  const two = (number) => String(number).padStart(2, "0");
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join("-");
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

function textOf(sessions, withCwd, terminal) {
  if (sessions.length === 0) {
    return "No sessions.\n";
  }
  const lines = sessions.map(({ id, modified, messageCount, title, firstMessage, cwd }) => {
    const name = cut(oneLine(title ?? firstMessage), TITLE);
    const columns = [
      minuteOf(modified),
      String(messageCount).padStart(5),
      terminal.styled("dim", oneLine(String(id))),
      terminal.styled("bold", name),
    ];
    return [...columns, ...(withCwd ? [oneLine(cwd)] : [])].join("  ");
  });
  return `${lines.join("\n")}\n`;
}

module.exports = { definition, run };
