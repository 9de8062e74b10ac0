#!/usr/bin/env node
"use strict";

/** The command line; see `docs/command-line.md`. */

const { run } = require("../js/cli/main.js");

// A reader that has seen enough, `head` for example, ends the program without a complaint.
process.stdout.on("error", (error) => {
  if (error.code !== "EPIPE") {
    throw error;
  }
  process.exit();
});

run(process.argv.slice(2), process).then((code) => {
  process.exitCode = code;
});
