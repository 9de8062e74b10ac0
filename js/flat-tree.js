"use strict";

/** The tree as a list of rows, and the lines before a row. */

const { home } = require("./environment.js");
const {
  invalidArgument,
  optionalNumber,
  optionalObject,
  optionalOneOf,
  optionalString,
  requireArray,
  requireObject,
} = require("./validate.js");

/** The numbers of filters are their positions here. */
const FILTERS = ["default", "no-tools", "user-only", "labeled-only", "all"];

/** Rows that are turned into objects at once. */
const ROWS_AT_ONCE = 1024;
/** Units of a text that are handed over; more than any row shows of it. */
const ENOUGH = 400;

/** An id that may be missing. */
function optionalId(value, name) {
  return typeof value === "number" ? value : (optionalString(value, name) ?? null);
}

function viewOptions(options) {
  const { filter, query, selectedId } = options;
  return {
    filter: optionalOneOf(filter, FILTERS, "options.filter"),
    query: optionalString(query, "options.query"),
    selectedId: selectedId === undefined ? undefined : optionalId(selectedId, "options.selectedId"),
  };
}

/** The beginning of a text, unless only its end shows that it is not blank. */
function beginning(text) {
  if (typeof text !== "string" || text.length <= ENOUGH) {
    return text;
  }
  const start = text.slice(0, ENOUGH);
  return start.trim() === "" ? text : start;
}

/** A block of a message's content without what no row shows; undefined for nothing. */
function briefBlock(block) {
  switch (block?.type) {
    case "text":
      return { type: "text", text: beginning(block.text) };
    case "toolCall":
      return { type: "toolCall", id: block.id, name: block.name, arguments: block.arguments };
    default:
      return null;
  }
}

function briefContent(content) {
  return Array.isArray(content) ? content.map(briefBlock) : beginning(content);
}

/** A message without what no row shows. */
function briefMessage(message) {
  if (message === null || typeof message !== "object") {
    return undefined;
  }
  const { role, content, stopReason, errorMessage, toolCallId, toolName, command } = message;
  return {
    role,
    content: briefContent(content),
    stopReason,
    errorMessage,
    toolCallId,
    toolName,
    command,
  };
}

/** An entry without what no row shows. */
function briefEntry(entry) {
  const { type, timestamp } = entry;
  if (type === "message") {
    return { type, timestamp, message: briefMessage(entry.message) };
  }
  const { content, customType, tokensBefore, summary, model, thinkingLevel, label } = entry;
  return {
    type,
    timestamp,
    content: type === "custom_message" ? content : undefined,
    customType,
    tokensBefore,
    summary,
    model,
    thinkingLevel,
    label,
  };
}

/** Levels from an entry down to the arguments of a tool call in its message. */
const LEVELS = 4;

/** A value without the members, so many levels down, that cannot be written as JSON. */
function writable(value, levels) {
  try {
    JSON.stringify(value);
    return value;
  } catch {
    if (levels === 0 || value === null || typeof value !== "object") {
      return undefined;
    }
  }
  if (Array.isArray(value)) {
    return value.map((member) => writable(member, levels - 1));
  }
  const members = Object.entries(value);
  return Object.fromEntries(members.map(([name, each]) => [name, writable(each, levels - 1)]));
}

/** JSON text of a brief entry; of one that refuses to be looked at, an empty one. */
function briefText(entry) {
  try {
    return JSON.stringify(writable(briefEntry(entry), LEVELS));
  } catch {
    return "{}";
  }
}

/** JSON array of entries that exist as objects, as far as rows show them. */
function briefTexts(entries) {
  try {
    return JSON.stringify(entries.map(briefEntry));
  } catch {
    return `[${entries.map(briefText).join(",")}]`;
  }
}

class FlatTree {
  #listing;
  #visible;
  #view;
  #selectedIndex;

  /** Not for callers: use `flattenTree`. */
  constructor(listing, view) {
    this.#listing = listing;
    this.#view = view;
    this.#visible = listing.filter(FILTERS.indexOf(view.filter), view.query);
    this.#selectedIndex = listing.nearest(view.selectedId ?? undefined, this.#visible);
  }

  get length() {
    return this.#visible.length;
  }

  get total() {
    return this.#listing.total;
  }

  get multipleRoots() {
    return this.#listing.multipleRoots;
  }

  get selectedIndex() {
    return this.#selectedIndex;
  }

  ids() {
    return JSON.parse(this.#listing.ids(this.#visible));
  }

  rows(start, end) {
    optionalNumber(start, "start");
    optionalNumber(end, "end");
    const wanted = this.#visible.subarray(start, end);
    const rows = [];
    for (let from = 0; from < wanted.length; from += ROWS_AT_ONCE) {
      const some = wanted.subarray(from, from + ROWS_AT_ONCE);
      rows.push(...JSON.parse(this.#listing.rows(some)));
    }
    return rows;
  }

  refilter(options) {
    const wanted = viewOptions(optionalObject(options, "options"));
    const view = this.#view;
    return new FlatTree(this.#listing, {
      filter: wanted.filter ?? view.filter,
      query: wanted.query ?? view.query,
      selectedId: wanted.selectedId === undefined ? this.#selectedId() : wanted.selectedId,
    });
  }

  /** The id that is selected now; without rows, the one that was last. */
  #selectedId() {
    const at = this.#selectedIndex;
    return at < 0
      ? this.#view.selectedId
      : JSON.parse(this.#listing.ids(this.#visible.subarray(at, at + 1)))[0];
  }
}

/** The tree of a session as rows. */
function flattenTree(state, options) {
  const wanted = optionalObject(options, "options");
  const { filter = "default", query = "", selectedId } = viewOptions(wanted);
  const leafId =
    wanted.leafId === undefined ? state.leafId : optionalId(wanted.leafId, "options.leafId");
  const homeDir = optionalString(wanted.homeDir, "options.homeDir") ?? home();
  const { slots, entries } = state.table.live();
  const texts = briefTexts(entries);
  const listing = state.table.core.listTree(leafId ?? undefined, homeDir, slots, texts);
  return new FlatTree(listing, {
    filter,
    query,
    selectedId: selectedId === undefined ? leafId : selectedId,
  });
}

const SYMBOLS = { branch: "├─ ", last: "└─ ", vertical: "│" };
/** Columns of one level. */
const LEVEL = 3;

const CONNECTORS = ["none", "branch", "last"];

/** The checked members of a row that place it. */
function placeOf(row) {
  const { depth, connector, gutters } = requireObject(row, "row");
  if (!Number.isInteger(depth) || depth < 0) {
    throw invalidArgument("row.depth", "a non-negative integer", depth);
  }
  if (!CONNECTORS.includes(connector)) {
    throw invalidArgument("row.connector", '"none", "branch" or "last"', connector);
  }
  requireArray(gutters, "row.gutters").forEach((gutter, at) => {
    requireObject(gutter, `row.gutters[${at}]`);
  });
  return { depth, connector, gutters };
}

/**
 * The lines before a row's text.
 *
 * @param row a row of a flat tree
 * @param symbols up to three columns each
 */
function renderTreePrefix(row, symbols) {
  const { depth, connector, gutters } = placeOf(row);
  const given = optionalObject(symbols, "symbols");
  const symbol = (name) =>
    (optionalString(given[name], `symbols.${name}`) ?? SYMBOLS[name]).padEnd(LEVEL);
  const levels = new Array(depth).fill(" ".repeat(LEVEL));
  if (connector !== "none" && depth > 0) {
    levels[depth - 1] = symbol(connector);
  }
  for (const { position, show } of gutters) {
    if (position < depth) {
      levels[position] = show ? symbol("vertical") : " ".repeat(LEVEL);
    }
  }
  return levels.join("");
}

module.exports = { flattenTree, renderTreePrefix };
