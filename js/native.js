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

const { assertWholeBinary } = require("./binary-check.js");

const NAME = "session-manager-native";

/** True on Linux systems whose C library is musl. */
function usesMusl() {
  try {
    return fs.readFileSync("/usr/bin/ldd", "latin1").includes("musl");
  } catch {
    // No ldd, as in minimal containers. The report is slower to make, so it is asked second.
    return !process.report?.getReport?.()?.header?.glibcVersionRuntime;
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

/**
 * Loads the binary of a local build.
 *
 * Names of published platforms are spelled out as literals inside a `try`, because only then do
 * bundlers embed the file (`bun build --compile`) and tolerate its absence.
 */
function loadLocal(platform, file, failures) {
  try {
    assertWholeBinary(file);
    return platform === "linux-x64-gnu"
      ? require("../session-manager-native.linux-x64-gnu.node")
      : require(file);
  } catch (error) {
    failures.push({ tried: file, error });
    return undefined;
  }
}

/** Loads the binary of the installed platform package. Literals: see `loadLocal`. */
function loadInstalled(platform, packageName, failures) {
  try {
    checkInstalled(packageName);
    return platform === "linux-x64-gnu"
      ? require("session-manager-native-linux-x64-gnu")
      : require(packageName);
  } catch (error) {
    failures.push({ tried: packageName, error });
    return undefined;
  }
}

/** Refuses a platform package of another version, or whose binary is damaged. */
function checkInstalled(packageName) {
  let manifest;
  let binary;
  try {
    manifest = require(`${packageName}/package.json`);
    binary = require.resolve(packageName);
  } catch {
    // Not there, or part of a bundle: the load itself will tell.
    return;
  }
  const { version } = require("../package.json");
  if (manifest.version !== version) {
    throw new Error(`version ${manifest.version} is installed, version ${version} is needed`);
  }
  assertWholeBinary(binary);
}

function loadOverride(file, failures) {
  try {
    assertWholeBinary(file);
    return require(file);
  } catch (error) {
    failures.push({ tried: file, error });
    return undefined;
  }
}

function load() {
  const platform = platformName();
  const packageName = `${NAME}-${platform}`;
  const failures = [];
  const override = process.env.SESSION_MANAGER_NATIVE_PATH;
  const binding = override
    ? loadOverride(path.resolve(override), failures)
    : (loadLocal(platform, path.join(__dirname, "..", `${NAME}.${platform}.node`), failures) ??
      loadInstalled(platform, packageName, failures));
  if (binding === undefined) {
    throw notLoaded(platform, failures, override);
  }
  return binding;
}

function notLoaded(platform, failures, override) {
  // Only the first line of each message: the "require stack" below it names this file again.
  const tried = failures.map(
    ({ tried, error }) => `  ${tried}: ${String(error?.message ?? error).split("\n", 1)[0]}`,
  );
  const remedy = override
    ? "SESSION_MANAGER_NATIVE_PATH is set, so nothing else was tried."
    : `The binary comes with the optional dependency ${NAME}-${platform}; installing with optional dependencies left out, or from a lock file made on another platform, loses it.`;
  const failure = new Error(
    [
      `The native part of ${NAME} could not be loaded on ${platform}. Tried:`,
      ...tried,
      remedy,
    ].join("\n"),
    { cause: failures.at(-1)?.error },
  );
  failure.code = "ERR_NATIVE_ADDON_NOT_LOADED";
  return failure;
}

module.exports = load();
