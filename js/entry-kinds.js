"use strict";

/**
 * Entry kinds and message roles as numbers, the way the native side knows them (`src/session/kind.rs`).
 */

const KINDS = Object.freeze({
  message: 1,
  thinking_level_change: 2,
  model_change: 3,
  context_change: 4,
  service_tier_change: 5,
  compaction: 6,
  branch_summary: 7,
  custom: 8,
  custom_message: 9,
  label: 10,
  ttsr_injection: 11,
  mcp_tool_selection: 12,
  session_init: 13,
  mode_change: 14,
});

const ROLES = Object.freeze({ user: 1, assistant: 2, toolResult: 3, hookMessage: 4 });
const NO_ROLE = 0;
const OTHER_ROLE = 5;

/** The number of an entry's kind; 0 for kinds that are not known. */
function kindOf(entry) {
  const type = entry?.type;
  return typeof type === "string" && Object.hasOwn(KINDS, type) ? KINDS[type] : 0;
}

/** The number of a message entry's role. */
function roleOf(entry) {
  return entry?.type === "message" ? messageRole(entry.message) : NO_ROLE;
}

/** The number of a message's role. */
function messageRole(message) {
  const role = message?.role;
  if (typeof role !== "string") {
    return NO_ROLE;
  }
  return Object.hasOwn(ROLES, role) ? ROLES[role] : OTHER_ROLE;
}

/** Kind and role in one byte, as the context planner takes them. */
function packedKind(entry) {
  return (kindOf(entry) << 3) | roleOf(entry);
}

module.exports = { KINDS, ROLES, kindOf, messageRole, packedKind, roleOf };
