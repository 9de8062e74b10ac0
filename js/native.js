"use strict";

/**
 * Finds and loads the addon's binary.
 *
 * A binary beside the package (a local build) wins over the installed platform package; the
 * environment variable SESSION_MANAGER_NATIVE_PATH overrides both. When nothing loads, the error
 * names every path tried together with the loader's own words, because "not installed", "wrong
 * libc" and "damaged file" need different remedies.
 */

const fs = require("node:fs");
const path = require("node:path");

const BINARY_NAME = "session-manager-native";

/** True on Linux systems whose C library is musl. */
function usesMusl() {
  const report = process.report?.getReport?.();
  if (report?.header) {
    return !report.header.glibcVersionRuntime;
  }
  try {
    return fs.readFileSync("/usr/bin/ldd", "latin1").includes("musl");
  } catch {
    return false;
  }
}

/** The platform part of binary and package names, for example `linux-x64-gnu`. */
function platformName() {
  const base = `${process.platform}-${process.arch}`;
  if (process.platform === "linux") {
    return `${base}-${usesMusl() ? "musl" : "gnu"}`;
  }
  return process.platform === "win32" ? `${base}-msvc` : base;
}

function candidates() {
  const override = process.env.SESSION_MANAGER_NATIVE_PATH;
  if (override) {
    return [override];
  }
  const platform = platformName();
  return [
    path.join(__dirname, "..", `${BINARY_NAME}.${platform}.node`),
    `${BINARY_NAME}-${platform}`,
  ];
}

function load() {
  const failures = [];
  for (const candidate of candidates()) {
    try {
      return require(candidate);
    } catch (error) {
      failures.push({ candidate, error });
    }
  }
  const tried = failures.map(({ candidate, error }) => `  ${candidate}: ${error?.message ?? error}`);
  const failure = new Error(
    `The native part of ${BINARY_NAME} could not be loaded on ${platformName()}. Tried:\n${tried.join("\n")}`,
    { cause: failures.at(-1)?.error },
  );
  failure.code = "ERR_NATIVE_ADDON_NOT_LOADED";
  throw failure;
}

module.exports = load();
