"use strict";

/** Pure functions of event logs, on objects. The core works on their texts. */

const native = require("./native.js");
const { requireArray, requireString } = require("./validate.js");

/** One line per event, as the core takes them. */
function linesOf(events) {
  return events.map((event) => JSON.stringify(event)).join("\n");
}

/** The objects of lines. */
function parseLines(lines) {
  return lines === "" ? [] : lines.split("\n").map((line) => JSON.parse(line));
}

function encodeSegment(id) {
  return native.eventLogSegment(requireString(id, "id"));
}

function projectKey(cwd) {
  return native.eventLogProject(requireString(cwd, "cwd"));
}

function packChunkRuns(events) {
  requireArray(events, "events");
  const records = [];
  let at = 0;
  for (const { first, count, row } of native.packEventRuns(linesOf(events))) {
    records.push(...events.slice(at, first), JSON.parse(row));
    at = first + count;
  }
  return [...records, ...events.slice(at)];
}

const CHUNK_TYPES = {
  __proto__: null,
  "text-chunks": "text-delta",
  "reasoning-chunks": "reasoning-delta",
  "tool-call-chunks": "tool-call-delta",
};

/** Whether a record, which must be an object, is a row. */
function isRow(record) {
  return typeof record.type === "string" && record.type in CHUNK_TYPES;
}

/** Adds the events that a valid row stands for. The order of the keys is part of the contract. */
function expandRow({ type: tag, seq0, time0, data }, events) {
  const { turn, step, index, dt, id, name } = data;
  const type = CHUNK_TYPES[tag];
  let time = time0;
  const add = (at, chunk) => {
    events.push({ type: "assistant/chunk", seq: seq0 + at, time, data: { turn, step, chunk } });
    time += dt[at];
  };
  if (tag !== "tool-call-chunks") {
    data.texts.forEach((text, at) => {
      add(at, { type, index, text });
    });
  } else if (name === undefined) {
    data.args.forEach((argumentsDelta, at) => {
      add(at, { type, index, id, argumentsDelta });
    });
  } else {
    data.args.forEach((argumentsDelta, at) => {
      add(at, { type, index, id, name, argumentsDelta });
    });
  }
}

function decodeStorageRecord(value) {
  if (value === null || typeof value !== "object" || !isRow(value)) {
    return [value];
  }
  native.checkEventRow(value.type, JSON.stringify(value));
  const events = [];
  expandRow(value, events);
  return events;
}

function interruptedTurnClosers(events) {
  return parseLines(native.eventClosers(linesOf(requireArray(events, "events"))));
}

module.exports = {
  decodeStorageRecord,
  encodeSegment,
  expandRow,
  interruptedTurnClosers,
  isRow,
  linesOf,
  packChunkRuns,
  parseLines,
  projectKey,
};
