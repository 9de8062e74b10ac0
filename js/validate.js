"use strict";

/**
 * Argument checks shared by the public classes. All throw a `TypeError` that names the argument;
 * inside `async` functions that becomes a rejection.
 */

/** Describes a value for an error message, in the host's wording. */
function received(value) {
  try {
    return described(value);
  } catch {
    // Objects may refuse to tell anything about themselves.
    return "an object";
  }
}

function described(value) {
  if (value === null || value === undefined) {
    return `${value}`;
  }
  if (typeof value === "function") {
    return `function ${value.name}`;
  }
  if (typeof value === "object") {
    const name = value.constructor?.name;
    return typeof name === "string" && name ? `an instance of ${name}` : "an object";
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

/** Returns the number (NaN and infinities included), or throws. */
function requireNumber(value, name) {
  if (typeof value !== "number") {
    throw invalidArgument(name, "of type number", value);
  }
  return value;
}

/** Returns the number or `undefined`, or throws. */
function optionalNumber(value, name) {
  return value === undefined ? undefined : requireNumber(value, name);
}

/** Returns the boolean or `undefined`, or throws. */
function optionalBoolean(value, name) {
  if (value !== undefined && typeof value !== "boolean") {
    throw invalidArgument(name, "of type boolean", value);
  }
  return value;
}

/** Returns the function, or throws. */
function requireFunction(value, name) {
  if (typeof value !== "function") {
    throw invalidArgument(name, "of type function", value);
  }
  return value;
}

/** Returns the function or `undefined` (for `undefined` and `null`), or throws. */
function optionalFunction(value, name) {
  if (value !== undefined && value !== null && typeof value !== "function") {
    throw invalidArgument(name, "of type function", value);
  }
  return value ?? undefined;
}

/** Returns the object, an empty one for `undefined` and `null`, or throws. */
function optionalObject(value, name) {
  return value === undefined || value === null ? {} : requireObject(value, name);
}

/**
 * Returns a copy of the object with defaults for what it leaves out, or throws. A member that is given
 * must be of the type of its default.
 */
function optionsWith(defaults, value, name) {
  const options = { ...optionalObject(value, name) };
  for (const [key, fallback] of Object.entries(defaults)) {
    options[key] ??= fallback;
    if (Array.isArray(fallback)) {
      requireArray(options[key], `${name}.${key}`);
    } else if (typeof options[key] !== typeof fallback) {
      throw invalidArgument(`${name}.${key}`, `of type ${typeof fallback}`, options[key]);
    }
  }
  return options;
}

/** Returns one of the allowed strings or `undefined`, or throws. */
function optionalOneOf(value, allowed, name) {
  if (value !== undefined && !allowed.includes(value)) {
    const choices = allowed.map((choice) => `"${choice}"`).join(" or ");
    throw invalidArgument(name, choices, value);
  }
  return value;
}

/** Returns the bytes (a `Buffer` or another `Uint8Array`), or throws. */
function requireBytes(value, name) {
  if (!(value instanceof Uint8Array)) {
    throw invalidArgument(name, "an instance of Buffer or Uint8Array", value);
  }
  return value;
}

module.exports = {
  invalidArgument,
  optionalBoolean,
  optionalFunction,
  optionalNumber,
  optionalObject,
  optionalOneOf,
  optionalString,
  optionsWith,
  requireArray,
  requireBytes,
  requireFunction,
  requireNumber,
  requireObject,
  requireString,
};
