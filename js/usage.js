"use strict";

/** Token and cost statistics. Missing numbers count as 0. */

const FIELDS = ["input", "output", "cacheRead", "cacheWrite", "premiumRequests", "cost"];

/** A statistics object with all numbers 0. */
function noUsage() {
  return {
    input: 0,
    output: 0,
    cacheRead: 0,
    cacheWrite: 0,
    premiumRequests: 0,
    cost: 0,
  };
}

/** A statistics object of six numbers in their public order. */
function usageFrom(numbers) {
  const usage = noUsage();
  FIELDS.forEach((field, at) => {
    usage[field] = numbers[at];
  });
  return usage;
}

const number = (value) => (typeof value === "number" ? value : 0);

/** The six numbers that a message counts for, or undefined when it counts for nothing. */
function usageOfMessage(message) {
  const usage = countedUsage(message);
  if (usage === null || typeof usage !== "object") {
    return undefined;
  }
  return Float64Array.of(
    number(usage.input),
    number(usage.output),
    number(usage.cacheRead),
    number(usage.cacheWrite),
    number(usage.premiumRequests),
    number(usage.cost?.total),
  );
}

/** Assistant messages carry usage; results of the task tool carry that of the subagent. */
function countedUsage(message) {
  if (message?.role === "assistant") {
    return message.usage;
  }
  if (message?.role === "toolResult" && message.toolName === "task") {
    return message.details?.usage;
  }
  return undefined;
}

/** Adds six numbers to a statistics object, in place. */
function addUsage(usage, numbers) {
  FIELDS.forEach((field, at) => {
    usage[field] += numbers[at];
  });
}

module.exports = { addUsage, noUsage, usageFrom, usageOfMessage };
