"use strict";

/**
 * The context for the model. Which entries count is decided natively from their kinds; here the
 * values are read from the entry objects, whatever the caller made of them in the meantime.
 */

const native = require("./native.js");
const { packedKind } = require("./entry-kinds.js");
const { createCompactionSummaryMessage, messageOf } = require("./message-constructors.js");
const { invalidArgument, requireArray } = require("./validate.js");
const { textOf } = require("./values.js");

/** The context of a session without entries, or with the leaf before all of them. */
function emptyContext() {
  return {
    messages: [],
    thinkingLevel: "off",
    serviceTier: undefined,
    models: {},
    injectedTtsrRules: [],
    selectedMCPToolNames: [],
    hasPersistedMCPToolSelection: false,
    mode: "none",
  };
}

/** What a provider kept of the conversation before a compaction; undefined for nothing usable. */
function remoteCompaction(compaction) {
  const kept = compaction.preserveData?.openaiRemoteCompaction;
  if (kept === null || typeof kept !== "object") {
    return undefined;
  }
  const { provider, replacementHistory } = kept;
  if (typeof provider !== "string" || provider === "" || !Array.isArray(replacementHistory)) {
    return undefined;
  }
  return { type: "openaiResponsesHistory", provider, items: replacementHistory };
}

function summaryMessage(compaction, providerPayload) {
  return createCompactionSummaryMessage(
    compaction.summary,
    compaction.tokensBefore,
    compaction.timestamp,
    compaction.shortSummary,
    providerPayload,
  );
}

/** Whether an entry says something; summaries of nothing do not. */
const isShown = (entry) => entry.type !== "branch_summary" || Boolean(entry.summary);

/** Names of models with the role that each is for, in the order in which they were chosen. */
function modelChoices(entries) {
  const choices = [];
  for (const entry of entries) {
    if (entry.type === "model_change") {
      if (entry.model) {
        choices.push([textOf(entry.role ?? "default"), entry.model]);
      }
    } else {
      const { provider, model } = entry.message ?? {};
      choices.push(["default", `${textOf(provider)}/${textOf(model)}`]);
    }
  }
  return choices;
}

/** Names of models by role; later choices override earlier ones. */
function modelsOf(choices) {
  const models = {};
  for (const [role, model] of choices) {
    models[role] = model;
  }
  return models;
}

/** Files may hold values that are no entries. */
const isObject = (value) => value !== null && typeof value === "object";

const listOf = (value) => (Array.isArray(value) ? value : []);

const injectedRules = (entries) => entries.flatMap((entry) => listOf(entry.injectedRules));

/** What decides the settings, by place in the plan that the core makes. */
const DECIDING = ["thinking", "tier", "context", "tools", "mode", "compaction"];

/** The entries that decide the settings, by the names in `wanted`; undefined where there is none. */
function decidingEntries(plan, wanted, entriesAt) {
  const names = wanted.filter((name) => plan[DECIDING.indexOf(name)] > 0);
  const entries = entriesAt(names.map((name) => plan[DECIDING.indexOf(name)] - 1));
  return Object.fromEntries(names.map((name, at) => [name, entries[at]]));
}

/** Positions of the entries that choose models, and of those that inject rules. */
function positionsOf(plan) {
  const count = plan[6];
  return { models: plan.subarray(7, 7 + count), injections: plan.subarray(7 + count) };
}

/**
 * The messages of a context.
 *
 * @param kinds packed kinds of the path's entries, root first
 * @param at position of the compaction, or -1
 * @param compaction the entry there
 */
function messagesOf(kinds, at, compaction, entriesAt, positionOf) {
  const messages = [];
  let firstKept = -1;
  if (compaction) {
    const providerPayload = remoteCompaction(compaction);
    messages.push(summaryMessage(compaction, providerPayload));
    firstKept = providerPayload ? -1 : positionOf(compaction.firstKeptEntryId);
  }
  for (const entry of entriesAt(native.planContextMessages(kinds, at, firstKept))) {
    const message = isShown(entry) ? messageOf(entry) : undefined;
    if (message !== undefined) {
      messages.push(message);
    }
  }
  return messages;
}

/** The settings of a context, of what decides them. */
function settingsOf({ thinking, tier, context, tools, mode, choices, rules }) {
  return {
    thinkingLevel: thinking ? (thinking.thinkingLevel ?? "off") : "off",
    serviceTier: tier?.serviceTier ?? undefined,
    models: modelsOf(choices),
    activeContextName: context?.contextName,
    activeContextTenant: context?.tenant,
    injectedTtsrRules: [...new Set(rules)],
    selectedMCPToolNames: tools ? [...listOf(tools.selectedToolNames)] : [],
    hasPersistedMCPToolSelection: tools !== undefined,
    mode: mode ? mode.mode : "none",
    modeData: mode?.data,
  };
}

/**
 * Builds a context.
 *
 * @param kinds packed kinds of the path's entries, root first
 * @param entriesAt gives the entries at some positions of the path
 * @param positionOf gives the position of an id on the path, or -1
 */
function assembleContext(kinds, entriesAt, positionOf) {
  const plan = native.planContextSettings(kinds);
  const deciding = decidingEntries(plan, DECIDING, entriesAt);
  const messages = messagesOf(kinds, plan[5] - 1, deciding.compaction, entriesAt, positionOf);
  const { models, injections } = positionsOf(plan);
  const choices = modelChoices(entriesAt(models));
  const rules = injectedRules(entriesAt(injections));
  return { messages, ...settingsOf({ ...deciding, choices, rules }) };
}

/** The path from the root to an entry through an index; ends at the first repeated entry. */
function pathThrough(byId, leaf) {
  const path = [];
  const seen = new Set();
  for (let entry = leaf; entry && !seen.has(entry); ) {
    seen.add(entry);
    path.push(entry);
    entry = entry.parentId ? byId.get(entry.parentId) : undefined;
  }
  return path.reverse();
}

/** The caller's index of entries by id, or one that is made here. */
function indexOf(entries, byId) {
  if (byId === undefined || byId === null) {
    return new Map(entries.filter(isObject).map((entry) => [entry.id, entry]));
  }
  if (typeof byId.get !== "function") {
    throw invalidArgument("byId", "an instance of Map", byId);
  }
  return byId;
}

/**
 * The context of a list of entries, without a manager.
 *
 * @param entries session entries (no header)
 * @param leafId where the path ends; null for the empty context, the last entry by default
 * @param byId index to follow instead of one made of `entries`
 */
function buildSessionContext(entries, leafId, byId) {
  requireArray(entries, "entries");
  const index = indexOf(entries, byId);
  if (leafId === null) {
    return emptyContext();
  }
  const leaf = (leafId ? index.get(leafId) : undefined) ?? entries.findLast(isObject);
  if (!leaf) {
    return emptyContext();
  }
  const path = pathThrough(index, leaf);
  return assembleContext(
    Uint8Array.from(path, packedKind),
    (positions) => Array.from(positions, (at) => path[at]),
    (id) => path.findIndex((entry) => entry.id === id),
  );
}

/** The last compaction in a list of entries, or null. */
function getLatestCompactionEntry(entries) {
  requireArray(entries, "entries");
  return entries.findLast((entry) => entry?.type === "compaction") ?? null;
}

module.exports = {
  DECIDING,
  assembleContext,
  buildSessionContext,
  decidingEntries,
  emptyContext,
  getLatestCompactionEntry,
  injectedRules,
  messagesOf,
  modelChoices,
  positionsOf,
  remoteCompaction,
  settingsOf,
};
