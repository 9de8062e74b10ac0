"use strict";

/**
 * Argument checks shared by the public classes. All throw a `TypeError` that names the argument;
 * inside `async` functions that becomes a rejection.
 */

/** Describes a value for an error message, in the host's wording. */
function received(value) {
  if (value === null || value === undefined) {
    return `${value}`;
  }
  if (typeof value === "function") {
    return `function ${value.name}`;
  }
  if (typeof value === "object") {
    const name = value.constructor?.name;
    return name ? `an instance of ${name}` : "an object";
  }
  return `type ${typeof value} (${String(value).slice(0, 25)})`;
}

/** Makes the error for a wrong argument; `expected` reads like "of type string". */
function invalidArgument(name, expected, value) {
  const error = new TypeError(
    `The "${name}" argument must be ${expected}. Received ${received(value)}`,
  );
  error.code = "ERR_INVALID_ARG_TYPE";
  return error;
}

/** Returns the string, or throws. */
function requireString(value, name) {
  if (typeof value !== "string") {
    throw invalidArgument(name, "of type string", value);
  }
  return value;
}

/** Returns the string or `undefined` (for `undefined` and `null`), or throws. */
function optionalString(value, name) {
  return value === undefined || value === null ? undefined : requireString(value, name);
}

/** Returns the object, or throws; functions do not count as objects here. */
function requireObject(value, name) {
  if (value === null || typeof value !== "object") {
    throw invalidArgument(name, "of type object", value);
  }
  return value;
}

/** Returns the array, or throws. */
function requireArray(value, name) {
  if (!Array.isArray(value)) {
    throw invalidArgument(name, "an instance of Array", value);
  }
  return value;
}

module.exports = { invalidArgument, optionalString, requireArray, requireObject, requireString };
