"use strict";

/** `show`: one session as a tree, as text, or as the model gets it. Nothing is written. */

const path = require("node:path");

const { getBlobsDir } = require("../directories.js");
const { FileSessionStorage } = require("../file-session-storage.js");
const { flattenTree, renderTreePrefix } = require("../flat-tree.js");
const { createCompactionSummaryMessage, messageOf } = require("../message-constructors.js");
const native = require("../native.js");
const { formatSessionDumpText } = require("../session-dump.js");
const lifecycle = require("../session-lifecycle.js");
const { UsageError } = require("./arguments.js");
const { EXIT, cut, oneLine, printable } = require("./terminal.js");

/** Columns of a row's text where the output has no width. */
const WIDTH = 160;
/** Text that deep rows keep on narrow terminals. */
const NARROWEST = 20;

const VIEWS = ["tree", "branch", "context", "entries"];
const FILTERS = ["default", "no-tools", "user-only", "labeled-only", "all"];

const definition = {
  summary: "show a session",
  description: "Shows a session; without an option as a tree. Nothing is written.",
  operands: "<file>",
  min: 1,
  max: 1,
  options: {
    tree: { type: "boolean", help: "the whole tree, one row for each entry; * marks the leaf" },
    filter: { type: "string", value: "name", help: `rows of the tree: ${FILTERS.join(", ")}` },
    branch: { type: "boolean", help: "all messages on the way to the leaf, as text" },
    context: { type: "boolean", help: "the messages that a model is sent, as text" },
    entries: { type: "boolean", help: "all entries in the order of the file" },
  },
};

function viewOf(values) {
  const given = VIEWS.filter((view) => values[view]);
  if (given.length > 1) {
    throw new UsageError(`--${given.join(" and --")} exclude each other`);
  }
  const view = given[0] ?? "tree";
  if (values.filter !== undefined) {
    if (view !== "tree") {
      throw new UsageError("--filter is about the tree");
    }
    if (!FILTERS.includes(values.filter)) {
      throw new UsageError(`--filter needs one of ${FILTERS.join(", ")}`);
    }
  }
  return view;
}

/** The session in a file, connected with nothing that could write. */
async function load(file) {
  // Opening would also complete what an interrupted program left.
  const loaded = await native.SessionCore.look(file, Date.now());
  if (loaded.outcome !== "session") {
    const reason = loaded.outcome === "missing" ? "there is no such file" : "it holds no session";
    throw new Error(`${file}: ${reason}`);
  }
  const scope = {
    cwd: process.cwd(),
    sessionDir: path.dirname(file),
    persist: false,
    storage: new FileSessionStorage(),
    blobsDir: getBlobsDir(),
  };
  return lifecycle.openState(scope, file, loaded);
}

async function run({ values, positionals, terminal }) {
  const view = viewOf(values);
  const file = path.resolve(positionals[0]);
  const state = await load(file);
  if (values.json) {
    const { header, leafId, report: loadReport } = state;
    const content = jsonContent[view](state, values);
    const head = { shape: 1, command: "show", view, path: file };
    await terminal.json({ ...head, header, leafId, loadReport, ...content });
  } else {
    await terminal.print(`${text[view](state, values, terminal)}\n`);
  }
  return EXIT.fine;
}

const isObject = (value) => value !== null && typeof value === "object";

/** The messages of all entries on the way to the leaf, also of those that compactions left behind. */
function branchMessages(state) {
  const messages = state.table.many(state.path()).map((entry) => {
    return entry?.type === "compaction"
      ? createCompactionSummaryMessage(
          entry.summary,
          entry.tokensBefore,
          entry.timestamp,
          entry.shortSummary,
        )
      : messageOf(entry);
  });
  return messages.filter(isObject);
}

const rowsOf = (state, { filter }) => flattenTree(state, { filter }).rows();

const jsonContent = {
  tree: (state, values) => ({ rows: rowsOf(state, values) }),
  branch: (state) => ({ messages: branchMessages(state) }),
  context: (state) => state.context(),
  entries: (state) => ({ entries: state.table.all() }),
};

/** Messages as text, under the settings of the current branch. */
function dump(state, messages) {
  const { models, thinkingLevel } = state.context();
  const [, provider, id] = /^([^/]*)\/(.*)$/s.exec(String(models.default)) ?? [];
  const model = id === undefined ? undefined : { provider, id };
  return printable(
    formatSessionDumpText({ messages, model, thinkingLevel: String(thinkingLevel) }),
  );
}

const TONES = { user: "bold", error: "red", muted: "dim", dim: "dim", compaction: "yellow" };

function rowText(row, terminal) {
  const mark = row.isLeaf ? "*" : " ";
  const label = row.label === undefined ? "" : `[${row.label}] `;
  const said = row.lead + row.text;
  const line = oneLine(label + (said === "" ? row.type : said));
  const prefix = `${mark} ${renderTreePrefix(row)}`;
  const room = terminal.width === undefined ? WIDTH : terminal.width - prefix.length;
  const shown = cut(line, Math.max(NARROWEST, room));
  const tone = TONES[row.tone];
  return prefix + (tone ? terminal.styled(tone, shown) : shown);
}

function entryText(entry) {
  if (!isObject(entry)) {
    return oneLine(String(JSON.stringify(entry)));
  }
  const { id, parentId, timestamp, type, message } = entry;
  const kind = isObject(message) && message.role ? `${type} ${message.role}` : type;
  return oneLine(`${id}  ${parentId ?? "-"}  ${timestamp ?? "-"}  ${kind}`);
}

const text = {
  tree: (state, values, terminal) =>
    rowsOf(state, values)
      .map((row) => rowText(row, terminal))
      .join("\n"),
  branch: (state) => dump(state, branchMessages(state)),
  context: (state) => dump(state, state.context().messages),
  entries: (state) => state.table.all().map(entryText).join("\n"),
};

module.exports = { definition, run };
