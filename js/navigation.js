"use strict";

/**
 * Moving in the tree in two steps: a plan that changes nothing, and carrying it out. In between the
 * program asks its extensions and has a summary written.
 */

const { contentText } = require("./convert.js");
const { KINDS, ROLES, packedKind } = require("./entry-kinds.js");
const { invalidArgument, optionalObject, requireObject, requireString } = require("./validate.js");

const USER_MESSAGE = (KINDS.message << 3) | ROLES.user;

/** The kind of the entry in a slot, as its object says if there is one. */
function kindAt({ table }, slot) {
  const entry = table.objects[slot];
  return entry === undefined ? table.core.kinds(Uint32Array.of(slot))[0] : packedKind(entry);
}

/** What is said in the messages in some slots. Entries without object get none by being asked. */
function textsAt({ table }, slots) {
  const unseen = slots.filter((slot) => table.objects[slot] === undefined);
  const read = unseen.length > 0 ? JSON.parse(table.core.contentTexts(unseen)) : [];
  let next = 0;
  return Array.from(slots, (slot) => {
    const entry = table.objects[slot];
    return entry === undefined
      ? read[next++]
      : contentText(entry.type === "message" ? entry.message?.content : entry.content);
  });
}

const textAt = (state, slot) => textsAt(state, Uint32Array.of(slot))[0];

/** Id of the entry above the one in a slot; null when the way to the root ends there. */
function parentAt({ table }, slot) {
  const path = table.core.path(slot);
  return path.length < 2 ? null : table.core.idOf(path[path.length - 2]);
}

function collect({ table }, oldLeafId, targetId) {
  // As a place on the way, an id that cannot be one is like an unknown one.
  const idOf = (id) => (typeof id === "string" || typeof id === "number" ? id : "");
  if (!oldLeafId) {
    return { entryIds: [], commonAncestorId: null };
  }
  const [commonAncestorId, ...entryIds] = table.core.abandoned(idOf(oldLeafId), idOf(targetId));
  return { entryIds, commonAncestorId };
}

/** Name of a target's kind, as far as it decides where the leaf goes. */
function targetKind(kind) {
  if (kind === USER_MESSAGE) {
    return "user";
  }
  return kind >> 3 === KINDS.custom_message ? "custom_message" : "other";
}

/** The plan of a move to the entry in a slot that is not the leaf. */
function planMove(state, targetId, slot, wantSummary) {
  const oldLeafId = state.leafId;
  const { entryIds, commonAncestorId } = collect(state, oldLeafId, targetId);
  const kind = targetKind(kindAt(state, slot));
  const isPrompt = kind !== "other";
  const plan = {
    kind: "move",
    targetId,
    oldLeafId,
    commonAncestorId,
    entryIdsToSummarize: entryIds,
    userWantsSummary: wantSummary,
    newLeafId: isPrompt ? parentAt(state, slot) : targetId,
    targetKind: kind,
  };
  if (isPrompt) {
    plan.editorText = textAt(state, slot);
  }
  return plan;
}

/** Carries a plan out through the manager's own methods, which callers may have replaced. */
function commit(manager, plan, summary) {
  requireObject(plan, "plan");
  const { text = "", details, fromExtension } = optionalObject(summary, "summary");
  requireString(text, "summary.text");
  const { kind, newLeafId, oldLeafId } = plan;
  const isNoop = kind === "noop";
  if (!isNoop && newLeafId !== null && typeof newLeafId !== "number") {
    requireString(newLeafId, "plan.newLeafId");
  }
  if (oldLeafId !== undefined && oldLeafId !== manager.getLeafId()) {
    throw new Error("Session position changed");
  }
  let summaryEntryId;
  if (isNoop) {
    // The leaf is there already.
  } else if (text !== "") {
    summaryEntryId = manager.branchWithSummary(newLeafId, text, details, fromExtension);
  } else if (newLeafId === null) {
    manager.resetLeaf();
  } else {
    manager.branch(newLeafId);
  }
  const leafId = manager.getLeafId();
  return summaryEntryId === undefined ? { leafId } : { leafId, summaryEntryId };
}

/** What a new session that ends before a prompt begins with. */
function planBranch(state, entryId) {
  const slot = state.table.find(entryId);
  if (slot < 0 || kindAt(state, slot) !== USER_MESSAGE) {
    throw new Error("Invalid entry ID for branching");
  }
  return { selectedText: textAt(state, slot), branchFromId: parentAt(state, slot) };
}

/** The prompts of all branches, each id once, in the order of the file. */
function branchCandidates(state) {
  const slots = state.table.core.slotsOfKind(USER_MESSAGE);
  const texts = textsAt(state, slots);
  const candidates = [];
  slots.forEach((slot, at) => {
    if (texts[at] !== "") {
      candidates.push({ entryId: state.table.core.idOf(slot), text: texts[at] });
    }
  });
  return candidates;
}

/**
 * The entries that a move from `oldLeafId` to `targetId` leaves behind, as entries. Works with
 * everything that has `getBranch`.
 */
function collectEntriesForBranchSummary(session, oldLeafId, targetId) {
  if (typeof session?.getBranch !== "function") {
    throw invalidArgument("session", "an instance of SessionManager", session);
  }
  if (!oldLeafId) {
    return { entries: [], commonAncestorId: null };
  }
  const abandoned = session.getBranch(oldLeafId);
  const positions = new Map(abandoned.map((entry, at) => [entry.id, at]));
  // Without an id the way to the leaf would be meant.
  const target = targetId ? session.getBranch(targetId) : [];
  const ancestor = target.findLast((entry) => positions.has(entry.id));
  return {
    entries: ancestor ? abandoned.slice(positions.get(ancestor.id) + 1) : abandoned,
    commonAncestorId: ancestor?.id ?? null,
  };
}

module.exports = {
  branchCandidates,
  collect,
  collectEntriesForBranchSummary,
  commit,
  planBranch,
  planMove,
};
