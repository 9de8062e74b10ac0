/**
 * Builds the addon: `session-manager-native.<platform>.node` beside package.json. Cargo decides
 * what is stale, so building again costs about a second. `--debug` builds without optimisation.
 */

import path from "node:path";
import { pathToFileURL } from "node:url";

import { begin, root, run, step } from "./lib.mjs";
import { setup } from "./setup.mjs";

const cli = path.join(root, "node_modules/@napi-rs/cli/dist/cli.js");
const command = [cli, "build", "--platform", "--no-js", "--dts", "js/native.d.ts"];

/** Builds the addon for this machine. */
export function build({ debug = false } = {}) {
  setup();
  step(`Building the addon (${debug ? "debug" : "release; a first build takes minutes"})`);
  run(process.execPath, debug ? command : [...command, "--release"]);
}

/**
 * Begins a release build; the promise gives its exit code. Most of the time it links with one thread, so
 * something else may be compiled meanwhile.
 */
export function beginBuild() {
  step("Building the addon meanwhile (release; a first build takes minutes)");
  return begin(process.execPath, [...command, "--release"]);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  build({ debug: process.argv.includes("--debug") });
}
