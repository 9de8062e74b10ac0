/** The original from npm, and the Bun that runs it. */

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const compare = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const repository = path.resolve(compare, "../..");

function readJson(file) {
  return fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, "utf8")) : undefined;
}

/** Installs the original, unless that has been done. */
export function install() {
  // npm writes this file last.
  const installed = readJson(path.join(compare, "node_modules/.package-lock.json"))?.packages ?? {};
  const wanted = Object.entries(readJson(path.join(compare, "package.json")).dependencies);
  if (wanted.every(([name, v]) => installed[`node_modules/${name}`]?.version === v)) {
    return;
  }
  console.log("Installing the original from npm ...");
  const done = spawnSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], {
    cwd: compare,
    stdio: "inherit",
  });
  if (done.status !== 0) {
    throw new Error("npm ci failed");
  }
}

/** Path of Bun: the given one if there is one. */
export function findBun(given) {
  const candidates = [given, path.join(repository, "node_modules/@oven/bun-linux-x64/bin/bun")];
  const found = candidates.find((file) => file !== undefined && fs.existsSync(file));
  if (found === undefined) {
    throw new Error("Bun was not found; run `npm ci` in the repository or pass --bun FILE");
  }
  return found;
}
