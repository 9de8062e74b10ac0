/**
 * Makes the npm tarballs of the main package and of this machine's platform package in
 * `.cache/packages`, exactly as they would be published.
 */

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { build } from "./build.mjs";
import { cacheDir, root, step } from "./lib.mjs";

const PLATFORM = "linux-x64-gnu";

/** Where the tarballs go. */
export const packagesDir = path.join(cacheDir, "packages");

/** Folder of the platform package. */
export const platformDir = path.join(root, "npm", PLATFORM);

/** The binary, as `build` leaves it. */
export const binary = path.join(root, `session-manager-native.${PLATFORM}.node`);

function readManifest(dir) {
  return JSON.parse(fs.readFileSync(path.join(dir, "package.json"), "utf8"));
}

/** All packages carry one version, and the main package asks for exactly that one. */
function checkVersions() {
  const main = readManifest(root);
  const platform = readManifest(platformDir);
  const asked = main.optionalDependencies[platform.name];
  if (platform.version !== main.version || asked !== main.version) {
    throw new Error(
      `Versions differ: main ${main.version}, platform ${platform.version}, asked for ${asked}`,
    );
  }
}

/** Packs one folder; returns `{ file, name, files, manifest }`. */
function pack(dir) {
  const output = execFileSync("npm", ["pack", "--json", "--pack-destination", packagesDir], {
    cwd: dir,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  const parsed = JSON.parse(output);
  const packed = Array.isArray(parsed) ? parsed[0] : Object.values(parsed)[0];
  return {
    file: path.join(packagesDir, packed.filename),
    name: packed.name,
    files: packed.files.map((file) => file.path).sort(),
    manifest: readManifest(dir),
  };
}

/** Builds and packs; returns both packages. */
export function packAll() {
  build();
  checkVersions();
  step("Packing");
  fs.rmSync(packagesDir, { recursive: true, force: true });
  fs.mkdirSync(packagesDir, { recursive: true });
  fs.copyFileSync(binary, path.join(platformDir, path.basename(binary)));
  fs.copyFileSync(path.join(root, "LICENSE"), path.join(platformDir, "LICENSE"));
  const packages = { main: pack(root), platform: pack(platformDir) };
  for (const { file, files } of Object.values(packages)) {
    console.log(`${path.basename(file)}: ${fs.statSync(file).size} bytes, ${files.length} files`);
  }
  return packages;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  packAll();
}
