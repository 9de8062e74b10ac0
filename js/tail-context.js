"use strict";

/**
 * The context for the model while only the last entries of a session are known.
 *
 * Its messages follow from these entries, or there is none yet. A setting is what was said last, so
 * one of which they say nothing, and those that add up over the whole way to the root, must be looked
 * for before them: such a setting is read from the file when somebody asks for it, and becomes an
 * ordinary property as soon as everything has been read. Either way its value is the one at the time
 * when the context was asked for.
 */

const {
  DECIDING,
  assembleContext,
  decidingEntries,
  injectedRules,
  messagesOf,
  modelChoices,
  positionsOf,
  remoteCompaction,
  settingsOf,
} = require("./context.js");
const native = require("./native.js");

/** The settings that each entry decides. */
const DECIDED = {
  thinking: ["thinkingLevel"],
  tier: ["serviceTier"],
  context: ["activeContextName", "activeContextTenant"],
  tools: ["selectedMCPToolNames", "hasPersistedMCPToolSelection"],
  mode: ["mode", "modeData"],
};

/** The settings to which every entry adds. */
const ADDED_UP = ["models", "injectedTtsrRules"];

/** Whether the messages follow from entries behind an unknown one. */
function isDecided(compaction, positionOf) {
  if (!compaction) {
    return false;
  }
  const { firstKeptEntryId } = compaction;
  const isId = typeof firstKeptEntryId === "string" || typeof firstKeptEntryId === "number";
  return !isId || positionOf(firstKeptEntryId) >= 0 || remoteCompaction(compaction) !== undefined;
}

/** Makes a property that reads its value when it is asked for, and can be set like any other. */
function defineLazily(object, name, read) {
  Object.defineProperty(object, name, {
    configurable: true,
    enumerable: true,
    get: read,
    set(value) {
      defineValue(this, name, value);
    },
  });
}

function defineValue(object, name, value) {
  Object.defineProperty(object, name, {
    configurable: true,
    enumerable: true,
    writable: true,
    value,
  });
}

/**
 * The settings that are still to be decided, as properties of a context.
 *
 * @param context gets the properties
 * @param names names of the settings
 * @param readAll reads the whole session and thereby calls the function that this one gives
 * @returns takes a function that gives all settings
 */
function openSettings(context, names, readAll) {
  let settings;
  const read = (name) => () => {
    readAll();
    return settings()[name];
  };
  const readers = names.map((name) => {
    const reader = read(name);
    defineLazily(context, name, reader);
    return [name, reader];
  });
  return (decide) => {
    try {
      const decided = decide();
      settings = () => decided;
    } catch (error) {
      settings = () => {
        throw error;
      };
      return;
    }
    for (const [name, reader] of readers) {
      const property = Object.getOwnPropertyDescriptor(context, name);
      // Unless the caller put something in its place.
      if (property?.get === reader && property.configurable) {
        defineValue(context, name, settings()[name]);
      }
    }
  };
}

/**
 * The context at an entry, if the last entries of the session decide its messages; undefined
 * otherwise.
 *
 * @param table entries of the session
 * @param leafId id of the entry
 */
function contextOfTail(table, leafId) {
  const { tail } = table;
  const leaf = tail.find(leafId);
  if (leaf < 0) {
    return undefined;
  }
  const path = tail.core.path(leaf);
  const kinds = tail.core.kinds(path);
  const entriesAt = (positions) => tail.many(Uint32Array.from(positions, (at) => path[at]));
  const positionOf = (id) => path.indexOf(tail.find(id));
  if (!tail.core.isOrphan(path[0])) {
    return assembleContext(kinds, entriesAt, positionOf);
  }

  const plan = native.planContextSettings(kinds);
  const deciding = decidingEntries(plan, DECIDING, entriesAt);
  if (!isDecided(deciding.compaction, positionOf)) {
    return undefined;
  }
  const messages = messagesOf(kinds, plan[5] - 1, deciding.compaction, entriesAt, positionOf);
  const { models, injections } = positionsOf(plan);
  const choices = modelChoices(entriesAt(models));
  const rules = injectedRules(entriesAt(injections));
  const context = { messages, ...settingsOf({ ...deciding, choices, rules }) };

  const undecided = Object.keys(DECIDED).filter((name) => deciding[name] === undefined);
  const open = [...undecided.flatMap((name) => DECIDED[name]), ...ADDED_UP];
  const settle = openSettings(context, open, () => table.readAll());
  table.whenWhole(() =>
    settle(() => {
      const whole = table.core.path(table.find(leafId));
      const before = whole.length - path.length;
      const wholePlan = native.planContextSettings(table.core.kinds(whole));
      const wholeAt = (positions) => table.many(Uint32Array.from(positions, (at) => whole[at]));
      const added = positionsOf(wholePlan);
      const isBefore = (at) => at < before;
      return settingsOf({
        ...deciding,
        ...decidingEntries(wholePlan, undecided, wholeAt),
        choices: [...modelChoices(wholeAt(added.models.filter(isBefore))), ...choices],
        rules: [...injectedRules(wholeAt(added.injections.filter(isBefore))), ...rules],
      });
    }),
  );
  return context;
}

module.exports = { contextOfTail };
