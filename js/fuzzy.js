"use strict";

/** Fuzzy matching for pickers; the rules are in `src/catalog/fuzzy.rs`. */

const native = require("./native.js");
const { invalidArgument, requireArray, requireString } = require("./validate.js");

/** How well a text matches a query that is taken as one word; a lower score is better. */
function fuzzyMatch(query, text) {
  const score = native.fuzzyScore(requireString(query, "query"), requireString(text, "text"));
  return score === null ? { matches: false, score: 0 } : { matches: true, score };
}

/**
 * The items that match every word of a query, best first; equally good ones stay in their order.
 *
 * @template T
 * @param {readonly T[]} items
 * @param {string} query
 * @param {(item: T) => string} getText
 * @returns {T[]}
 */
function fuzzyFilter(items, query, getText) {
  requireArray(items, "items");
  requireString(query, "query");
  if (typeof getText !== "function") {
    throw invalidArgument("getText", "of type function", getText);
  }
  if (query.trim() === "") {
    return items;
  }
  const ranked = native.fuzzyRank(
    query,
    items.map((item) => requireString(getText(item), "getText(item)")),
  );
  return ranked.filter((_, at) => at % 2 === 0).map((at) => items[at]);
}

module.exports = { fuzzyFilter, fuzzyMatch };
