/** Installs the npm packages when they are missing or the lock file has changed since. */

import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { root, run, step } from "./lib.mjs";

const modules = path.join(root, "node_modules");
const stamp = path.join(modules, ".installed-lock");

/** Identifies what should be installed. */
function wanted() {
  const hash = createHash("sha256");
  for (const file of ["package.json", "package-lock.json"]) {
    hash.update(fs.readFileSync(path.join(root, file)));
  }
  return hash.digest("hex");
}

function isLink() {
  return fs.lstatSync(modules, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
}

function installed() {
  try {
    return fs.readFileSync(stamp, "utf8");
  } catch {
    return undefined;
  }
}

/** Makes `node_modules` agree with the lock file. */
export function setup() {
  // A linked node_modules belongs to another checkout.
  if (isLink() || installed() === wanted()) {
    return;
  }
  step("Installing npm packages (npm ci)");
  run("npm", ["ci", "--loglevel=error"]);
  fs.writeFileSync(stamp, wanted());
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  setup();
}
