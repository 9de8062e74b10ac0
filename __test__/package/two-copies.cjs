"use strict";

// Two installed copies of the package in one process: each works, neither sees the other's state.

const one = require("session-manager-native");
const two = require(process.argv[2]);

const first = one.SessionManager.inMemory("/one");
const second = two.SessionManager.inMemory("/two");
first.appendMessage({ role: "user", content: "to the first", timestamp: 1 });

console.log(
  JSON.stringify({
    distinct: one.SessionManager !== two.SessionManager,
    entries: [first.getEntries().length, second.getEntries().length],
  }),
);
