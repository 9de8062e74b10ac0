"use strict";

/** Doing the same with many things at once, but not with all. */

/** Storages may be remote; more than this at a time gains nothing and costs memory. */
const AT_ONCE = 16;

/**
 * The results of `work` for every item, in the order of the items; at most sixteen are in progress.
 *
 * @template T, R
 * @param {readonly T[]} items
 * @param {(item: T) => Promise<R>} work
 * @returns {Promise<R[]>}
 */
async function mapBounded(items, work) {
  const results = new Array(items.length);
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      const at = next++;
      results[at] = await work(items[at]);
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, worker));
  return results;
}

module.exports = { mapBounded };
