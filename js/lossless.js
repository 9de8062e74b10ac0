"use strict";

/** Whether values survive JSON, and making them immutable. Neither recurses: values may be deep. */

/** True for objects without a class; those of other realms count. */
function isPlain(object) {
  const prototype = Object.getPrototypeOf(object);
  return (
    prototype === null ||
    prototype === Object.prototype ||
    Object.getPrototypeOf(prototype) === null
  );
}

/** True if every own key is an enumerable string, apart from `hidden` ones. */
function hasPlainKeys(object, keys, hidden) {
  return (
    Object.getOwnPropertyNames(object).length === keys.length + hidden &&
    Object.getOwnPropertySymbols(object).length === 0
  );
}

function isLosslessScalar(value) {
  switch (typeof value) {
    case "string":
    case "boolean":
      return true;
    case "number":
      return Number.isFinite(value) && !Object.is(value, -0);
    default:
      return value === null;
  }
}

/** The values in an object or array; `undefined` if JSON would lose something of it. */
function childrenOf(object) {
  const keys = Object.keys(object);
  if (Array.isArray(object)) {
    // The length is the key that is hidden; as many keys as elements means no holes.
    return keys.length === object.length && hasPlainKeys(object, keys, 1) ? object : undefined;
  }
  if (!isPlain(object) || !hasPlainKeys(object, keys, 0)) {
    return undefined;
  }
  return keys.map((key) => object[key]);
}

/** Whether `JSON.parse(JSON.stringify(value))` gives the same value. */
function isLossless(value) {
  if (value === null || typeof value !== "object") {
    return isLosslessScalar(value);
  }
  // Objects from the root to the one at hand, each with its children and how many were looked at.
  const path = [];
  const onPath = new Set();
  const enter = (object) => {
    const children = onPath.has(object) ? undefined : childrenOf(object);
    if (children !== undefined) {
      onPath.add(object);
      path.push({ object, children, next: 0 });
    }
    return children !== undefined;
  };
  if (!enter(value)) {
    return false;
  }
  while (path.length > 0) {
    const frame = path[path.length - 1];
    if (frame.next === frame.children.length) {
      onPath.delete(frame.object);
      path.pop();
      continue;
    }
    const child = frame.children[frame.next];
    frame.next += 1;
    const isFine =
      child !== null && typeof child === "object" ? enter(child) : isLosslessScalar(child);
    if (!isFine) {
      return false;
    }
  }
  return true;
}

/** Freezes a value made by `JSON.parse` with everything in it, and returns it. */
function deepFreeze(value) {
  const open = [value];
  while (open.length > 0) {
    const object = open.pop();
    Object.freeze(object);
    for (const key in object) {
      const child = object[key];
      if (child !== null && typeof child === "object") {
        open.push(child);
      }
    }
  }
  return value;
}

module.exports = { deepFreeze, isLossless };
