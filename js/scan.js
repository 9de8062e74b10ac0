"use strict";

/**
 * Reading many session files: progress, and cancelling.
 *
 * A call may be given an `AbortSignal` and a function that is told how far it is. Files are read in
 * batches and the function is called in between, so progress needs neither timers nor calls from
 * other threads.
 */

const { mapBounded } = require("./bounded.js");
const { log } = require("./logger.js");
const { invalidArgument, optionalFunction, optionalObject } = require("./validate.js");

/** A call that tells progress does so about this often. */
const STEPS = 50;
/** Fewer files at a time would leave threads without work. */
const SMALLEST_BATCH = 8;

/** Checks a `signal`; anything that behaves like an `AbortSignal` will do. */
function optionalSignal(value, name) {
  if (value === undefined || value === null) {
    return undefined;
  }
  if (typeof value !== "object" || typeof value.addEventListener !== "function") {
    throw invalidArgument(name, "an instance of AbortSignal", value);
  }
  return value;
}

/** The checked members of the argument that controls a call. */
function controlOf(options, name = "options") {
  const { signal, onProgress } = optionalObject(options, name);
  return {
    signal: optionalSignal(signal, `${name}.signal`),
    onProgress: optionalFunction(onProgress, `${name}.onProgress`),
  };
}

/** What a callback throws or rejects with must not cost the result. */
function tell(onProgress, done, total) {
  const failed = (err) => log("warn", "Progress callback failed.", { err });
  try {
    const result = onProgress?.(done, total);
    if (typeof result?.then === "function") {
      result.then(undefined, failed);
    }
  } catch (err) {
    failed(err);
  }
}

/** Why a signal was aborted. Some implementations do not tell; no reason may be `undefined`. */
function reasonOf(signal) {
  return signal.reason === undefined
    ? new DOMException("This operation was aborted", "AbortError")
    : signal.reason;
}

/** Throws the reason of a signal that is aborted. */
function throwIfAborted(signal) {
  if (signal?.aborted) {
    throw reasonOf(signal);
  }
}

/**
 * Does work that ends early when the signal says so: the promise then rejects at once with the
 * signal's reason, and `cancel` is called. A signal that is aborted already does not even begin it.
 *
 * @template T
 * @param {AbortSignal | undefined} signal
 * @param {() => Promise<T>} work
 * @param {() => void} cancel
 * @returns {Promise<T>}
 */
async function abortable(signal, work, cancel) {
  if (signal === undefined) {
    return work();
  }
  throwIfAborted(signal);
  let onAbort;
  const aborted = new Promise((_, reject) => {
    onAbort = () => {
      cancel();
      reject(reasonOf(signal));
    };
    signal.addEventListener("abort", onAbort, { once: true });
  });
  try {
    return await Promise.race([work(), aborted]);
  } finally {
    signal.removeEventListener?.("abort", onAbort);
  }
}

/** Tells progress of work that goes on; throws if it has been aborted, by the callback perhaps. */
function report({ signal, onProgress }, done, total) {
  throwIfAborted(signal);
  tell(onProgress, done, total);
  throwIfAborted(signal);
}

/**
 * Reads all files of a native scan; gives what `finish` makes of the listing of the first `limit`
 * sessions. Asks for `rows` rows of it.
 */
function runScan(scan, control, rows, finish, limit = Number.POSITIVE_INFINITY) {
  const work = async () => {
    if (!control.onProgress) {
      const listing = await scan.run(limit, rows);
      throwIfAborted(control.signal);
      return finish(listing);
    }
    const total = await scan.find();
    const batch = Math.max(SMALLEST_BATCH, Math.ceil(total / STEPS));
    report(control, 0, total);
    for (let done = 0; done < total; ) {
      done = await scan.read(batch);
      report(control, done, total);
    }
    return finish(await scan.take(limit, rows));
  };
  return abortable(control.signal, work, () => scan.cancel());
}

/**
 * The results of `read` for each file that `find` gives; the last file's progress is told before this
 * resolves.
 *
 * @template F, T
 * @param {() => F[] | Promise<F[]>} find
 * @param {(file: F) => Promise<T>} read
 */
function readAll(find, read, control) {
  let done = 0;
  let files;
  const readOne = async (file) => {
    throwIfAborted(control.signal);
    const result = await read(file);
    done += 1;
    report(control, done, files.length);
    return result;
  };
  const work = async () => {
    files = await find();
    report(control, 0, files.length);
    return mapBounded(files, readOne);
  };
  return abortable(control.signal, work, () => {});
}

module.exports = { abortable, controlOf, optionalSignal, readAll, runScan, throwIfAborted };
