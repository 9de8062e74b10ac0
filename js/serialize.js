"use strict";

/**
 * JSON text of entries. `JSON.stringify` does the work; engines recurse in it, so values that are
 * nested more deeply than their stack allows are written by a loop instead.
 */

/** The JSON text of an entry. Throws what `JSON.stringify` throws for bigints and cycles. */
function serialize(value) {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof RangeError) {
      return serializeDeep(value);
    }
    throw error;
  }
}

/** What `JSON.stringify` would take instead of a value: result of `toJSON`, unboxed primitives. */
function prepared(value, key) {
  let result = value;
  if (result !== null && typeof result === "object" && typeof result.toJSON === "function") {
    result = result.toJSON(key);
  }
  const boxed = result instanceof Number || result instanceof String || result instanceof Boolean;
  return boxed ? result.valueOf() : result;
}

/** True for values that objects leave out and arrays write as `null`. */
function isOmitted(value) {
  return value === undefined || typeof value === "function" || typeof value === "symbol";
}

/** An open bracket: the values still to be written. */
function frameOf(value) {
  const isArray = Array.isArray(value);
  return { value, isArray, keys: isArray ? undefined : Object.keys(value), next: 0, wrote: false };
}

/** A loop with a stack of its own in place of recursion. */
function serializeDeep(root) {
  const out = [];
  const stack = [];
  const open = new Set();
  const write = (value) => {
    if (value === null || typeof value !== "object") {
      out.push(JSON.stringify(value));
      return;
    }
    if (open.has(value)) {
      throw new TypeError("Converting circular structure to JSON");
    }
    open.add(value);
    out.push(Array.isArray(value) ? "[" : "{");
    stack.push(frameOf(value));
  };
  write(prepared(root, ""));
  while (stack.length > 0) {
    const frame = stack.at(-1);
    const count = frame.isArray ? frame.value.length : frame.keys.length;
    if (frame.next === count) {
      out.push(frame.isArray ? "]" : "}");
      open.delete(frame.value);
      stack.pop();
      continue;
    }
    const key = frame.isArray ? frame.next : frame.keys[frame.next];
    frame.next += 1;
    const member = prepared(frame.value[key], String(key));
    if (isOmitted(member) && !frame.isArray) {
      continue;
    }
    out.push(frame.wrote ? "," : "");
    frame.wrote = true;
    if (!frame.isArray) {
      out.push(JSON.stringify(key), ":");
    }
    write(isOmitted(member) ? null : member);
  }
  return out.join("");
}

module.exports = { serialize };
