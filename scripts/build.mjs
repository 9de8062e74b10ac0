/**
 * Builds the addon: `session-manager-native.<platform>.node` beside package.json. Cargo decides
 * what is stale, so building again costs about a second. `--debug` builds without optimisation.
 */

import path from "node:path";
import { pathToFileURL } from "node:url";

import { root, run, step } from "./lib.mjs";
import { setup } from "./setup.mjs";

/** Builds the addon for this machine. */
export function build({ debug = false } = {}) {
  setup();
  step(`Building the addon (${debug ? "debug" : "release; a first build takes minutes"})`);
  const profile = debug ? [] : ["--release"];
  const cli = path.join(root, "node_modules/@napi-rs/cli/dist/cli.js");
  const output = ["--platform", "--no-js", "--dts", "js/native.d.ts"];
  run(process.execPath, [cli, "build", ...output, ...profile]);
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  build({ debug: process.argv.includes("--debug") });
}
