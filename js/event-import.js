"use strict";

/**
 * Records of the time before turns had their present shape, as they are written today. They change in
 * memory only.
 */

function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

const has = (object, key) => Object.hasOwn(object, key);

/** Whether an object has exactly these keys, `optional` ones apart. */
function hasExactly(object, keys, optional = []) {
  return (
    isObject(object) &&
    keys.every((key) => has(object, key)) &&
    Object.keys(object).every((key) => keys.includes(key) || optional.includes(key))
  );
}

const isOrdinal = (value, least) => Number.isSafeInteger(value) && value >= least;
const isAbsentOr = (type, value) => value === undefined || typeof value === type;

/** Thrown where a record is neither old nor new; told apart by identity. */
const MALFORMED = Symbol("malformed");

function check(condition) {
  if (!condition) {
    throw MALFORMED;
  }
}

function turnStart(event) {
  if (!isObject(event.data) || !has(event.data, "trigger")) {
    return event;
  }
  const { turn, trigger } = event.data;
  check(hasExactly(event.data, ["turn", "trigger"]) && isOrdinal(turn, 1) && isObject(trigger));
  check(typeof trigger.kind === "string" && trigger.kind !== "");
  return { ...event, data: { turn } };
}

const FAILURE = ["message", "code"];
const FAILURE_OPTIONS = ["status", "providerRetryAfterMs", "requestId"];

function errorReason(reason) {
  if (has(reason, "error")) {
    return reason;
  }
  check(isOrdinal(reason.step, 0));
  if (has(reason, "failure")) {
    const { failure } = reason;
    check(hasExactly(reason, ["kind", "step", "failure"]));
    check(hasExactly(failure, FAILURE, FAILURE_OPTIONS));
    check(typeof failure.message === "string" && typeof failure.code === "string");
    check(isAbsentOr("number", failure.status));
    check(isAbsentOr("number", failure.providerRetryAfterMs));
    check(isAbsentOr("string", failure.requestId));
    return { kind: "error", error: failure };
  }
  const { message, code } = reason;
  check(hasExactly(reason, ["kind", "step", "message"], ["code"]));
  check(typeof message === "string" && isAbsentOr("string", code));
  return { kind: "error", error: { message, code: code ?? "UNKNOWN" } };
}

function turnEndReason(reason) {
  const isBare = Object.keys(reason).length === 1;
  switch (reason.kind) {
    case "completed":
    case "blocked":
    case "max-tokens":
    case "interrupted":
      check(isBare);
      return reason;
    case "aborted":
      check(isBare || has(reason, "reason"));
      return isBare ? { kind: "aborted", reason: { kind: "legacy" } } : reason;
    case "disposed":
      check(isBare);
      return { kind: "aborted", reason: { kind: "disposed" } };
    case "error":
      return errorReason(reason);
    default:
      return reason;
  }
}

function turnEnd(event) {
  const { data } = event;
  check(hasExactly(data, ["turn", "reason"]) && isOrdinal(data.turn, 1));
  check(isObject(data.reason) && typeof data.reason.kind === "string");
  const reason = turnEndReason(data.reason);
  return reason === data.reason ? event : { ...event, data: { turn: data.turn, reason } };
}

function steeringMessage(event, id) {
  const { data } = event;
  if (hasExactly(data, ["turn", "message"]) && isObject(data.message)) {
    return { ...event, type: "user/message", data: data.message };
  }
  check(hasExactly(data, ["turn", "content", "source"]));
  const { content, source } = data;
  return { ...event, type: "user/message", data: { content, source, id, role: "user" } };
}

function userMessage(event, id) {
  const { data } = event;
  const isOld =
    isObject(data) &&
    ["content", "source"].every((key) => has(data, key)) &&
    !["id", "role", "message"].some((key) => has(data, key));
  return isOld ? { ...event, data: { ...data, id, role: "user" } } : event;
}

/** Whether data has these keys and no message. */
function lacksMessage(data, keys) {
  return isObject(data) && keys.every((key) => has(data, key)) && !has(data, "message");
}

function assistantMessage(event, id) {
  if (!lacksMessage(event.data, ["content", "provenance"])) {
    return event;
  }
  const { content, provenance, ...rest } = event.data;
  const source = { ...provenance, kind: "model" };
  return { ...event, data: { ...rest, message: { id, role: "assistant", content, source } } };
}

function toolResult(event, id, events) {
  if (!lacksMessage(event.data, ["callId", "content", "isError"])) {
    return event;
  }
  const { callId, content, isError, ...rest } = event.data;
  const { op, start } = isObject(event.surfaceOp) ? event.surfaceOp : {};
  const replaced = op === "replace" ? events[start]?.data?.message?.id : undefined;
  const message = {
    id: replaced ?? id,
    role: "user",
    content: [{ type: "tool-result", toolCallId: callId, content, isError }],
    source: { kind: "tool", callId },
  };
  return { ...event, data: { ...rest, message } };
}

const IMPORTS = {
  __proto__: null,
  "turn/start": turnStart,
  "turn/end": turnEnd,
  "steering/message": steeringMessage,
  "user/message": userMessage,
  "assistant/message": assistantMessage,
  "tool/result": toolResult,
};

/**
 * The event in its present form: itself, unless it is an old one.
 *
 * @param events The events before it, by sequence number as far as they are known.
 * @throws If it is neither.
 */
function importEvent(event, sessionId, events) {
  const convert = IMPORTS[event.type];
  if (convert === undefined) {
    return event;
  }
  const { type, seq } = event;
  try {
    return convert(event, `legacy-message:${sessionId}:${seq}`, events);
  } catch (error) {
    if (error !== MALFORMED) {
      throw error;
    }
    const message = `session "${sessionId}" contains malformed pre-react-loop ${type} at seq ${seq}`;
    throw Object.assign(new Error(message), { code: "SESSION_EVENTS_REFUSED" });
  }
}

module.exports = { importEvent };
