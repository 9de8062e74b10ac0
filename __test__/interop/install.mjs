/** The original of the store of event logs, installed from npm into `.cache`. */

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { cacheDir } from "../../scripts/lib.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
/** Where it is. */
export const home = path.join(cacheDir, "event-logs-original");
const VERSION = "0.1.0-rc.8";
const PACKAGES = ["dsh-session-persistence-jsonl", "dsh-session-persistence", "dsh-session"];

/** Installs it unless it is there, and copies scripts of this folder or of elsewhere beside it. */
export function install(...scripts) {
  const dependencies = Object.fromEntries(PACKAGES.map((it) => [`@deepseek-ai/${it}`, VERSION]));
  const manifest = JSON.stringify({ private: true, type: "module", dependencies });
  const file = path.join(home, "package.json");
  const isThere =
    fs.existsSync(path.join(home, "node_modules/@deepseek-ai/cordis")) &&
    fs.readFileSync(file, "utf8") === manifest;
  if (!isThere) {
    fs.mkdirSync(home, { recursive: true });
    fs.writeFileSync(file, manifest);
    const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    execFileSync("npm", ["install", ...flags], { cwd: home, stdio: "inherit" });
  }
  for (const script of scripts) {
    fs.copyFileSync(path.resolve(here, script), path.join(home, path.basename(script)));
  }
}
