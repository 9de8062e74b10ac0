/** What the development commands share: where things are, running programs, saying what happens. */

import { spawn, spawnSync } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";

/** Root of the checkout. */
export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");

/** Scratch space of the commands; ignored by git. */
export const cacheDir = path.join(root, ".cache");

/** The JavaScript runtimes the package is tested in. */
export const runtimes = {
  node: { title: "Node", program: process.execPath, flags: [] },
  bun: {
    title: "Bun",
    program: path.join(root, "node_modules/@oven/bun-linux-x64/bin/bun"),
    flags: ["--bun"],
  },
  "bun-agent": {
    title: "Bun",
    program: path.join(root, "node_modules/bun-agent/bin/bun"),
    flags: ["--bun"],
  },
};

/** Name with version, for example `Bun 1.4.5`. */
export function describeRuntime({ title, program }) {
  const { stdout } = spawnSync(program, ["--version"], { encoding: "utf8" });
  return `${title} ${(stdout ?? "not installed").trim().replace(/^v/, "")}`;
}

/** Announces a step. Standard output, so that it stays in order with what the step prints. */
export function step(text) {
  process.stdout.write(`\n==> ${text}\n`);
}

/** Runs a program with its output shown; the process ends with the same code when it fails. */
export function run(program, args, options = {}) {
  const code = tryRun(program, args, options);
  if (code !== 0) {
    process.stderr.write(`\nFailed with exit code ${code}: ${program} ${args.join(" ")}\n`);
    process.exit(code);
  }
}

/** Runs a program with its output shown and returns the exit code. */
export function tryRun(program, args, options = {}) {
  const { status, signal, error } = spawnSync(program, args, {
    cwd: root,
    stdio: "inherit",
    ...options,
  });
  if (error) {
    process.stderr.write(`${program}: ${error.message}\n`);
    return 127;
  }
  if (signal) {
    process.stderr.write(`${program} was ended by ${signal}\n`);
  }
  return status ?? 1;
}

/** Starts a program with its output shown; the promise gives the exit code. */
export function begin(program, args, options = {}) {
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd: root, stdio: "inherit", ...options });
    child.on("error", (error) => {
      process.stderr.write(`${program}: ${error.message}\n`);
      resolve(127);
    });
    child.on("close", (code) => resolve(code ?? 1));
  });
}
