import { spawnSync } from "node:child_process";
import path from "node:path";

const NOBODY = 65534;
const root = path.join(import.meta.dirname, "../..");

/**
 * Runs the body of an async function `(exports, argument)` in a process of the same runtime that
 * has no special rights, and gives back what it returned. `exports` are those of a module of the
 * package; it is loaded before the rights are given up, the checkout may be private.
 */
export function runUnprivileged<T>(module: string, body: string, argument: unknown): T {
  const script = `
    const exports = require(${JSON.stringify(path.join(root, module))});
    if (process.getuid() === 0) {
      process.setgid(${NOBODY});
      process.setuid(${NOBODY});
    }
    (async (exports, argument) => {${body}})(exports, ${JSON.stringify(argument)})
      .then((value) => console.log(JSON.stringify(value)));`;
  // Not every runtime hands changed variables on by itself.
  const env = { ...process.env };
  const child = spawnSync(process.execPath, ["-e", script], { encoding: "utf8", env });
  if (child.status !== 0) {
    throw new Error(`child failed: ${child.stderr}`);
  }
  return JSON.parse(child.stdout);
}
