/** The files that are measured. They are made once and kept. */

import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { writeFolder, writeSession } from "./generate.mjs";
import { logNormal, randomFrom } from "./random.mjs";

const KB = 1024;
const MB = 1024 * KB;

/** Where the data is. */
export const dataDir = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../.data");

/** Working directory that the sessions name. */
export const cwd = "/home/somebody/project";

/** Makes something under its final name, so that an interrupted run leaves nothing half made. */
export function once(name, make) {
  const file = path.join(dataDir, name);
  if (!fs.existsSync(file)) {
    process.stderr.write(`making ${name} ...\n`);
    fs.mkdirSync(dataDir, { recursive: true });
    const partial = `${file}.partial`;
    fs.rmSync(partial, { recursive: true, force: true });
    make(partial);
    fs.renameSync(partial, file);
  }
  return file;
}

/** A session of some megabytes. */
export function session(megabytes, seed = 11) {
  return once(`session-${megabytes}mb-${seed}.jsonl`, (file) =>
    writeSession(file, { bytes: megabytes * MB, cwd, seed }),
  );
}

/** A session in which the agent never compacts: all of it is context. */
export function uncompacted(megabytes, seed = 12) {
  return once(`uncompacted-${megabytes}mb-${seed}.jsonl`, (file) =>
    writeSession(file, { bytes: megabytes * MB, cwd, seed, compact: false }),
  );
}

/** A folder of sessions of log-normal size, 150 KB on average. */
export function folder(count) {
  const random = randomFrom(count);
  return once(`folder-${count}`, (directory) =>
    writeFolder(directory, {
      count,
      cwd,
      seed: 10_000,
      sizeOf: () => Math.min(Math.max(logNormal(random, 80 * KB, 1.1), 4 * KB), 5 * MB),
    }),
  );
}

/** A folder of sessions of one size. */
export function evenFolder(count, kilobytes) {
  return once(`folder-${count}x${kilobytes}kb`, (directory) =>
    writeFolder(directory, { count, cwd, seed: 50_000, sizeOf: () => kilobytes * KB }),
  );
}

/** A copy to be written to, in a scratch folder; its pages are in memory afterwards. */
export function copyOf(file, scratch) {
  const copy = path.join(scratch, `2026-01-05T08-00-00-000Z_${path.basename(file)}`);
  fs.copyFileSync(file, copy, fs.constants.COPYFILE_FICLONE);
  return copy;
}

/** Reads files once, so that everybody finds them in memory. */
export function warm(target) {
  const files = fs.statSync(target).isDirectory()
    ? fs.readdirSync(target).map((name) => path.join(target, name))
    : [target];
  const buffer = Buffer.allocUnsafe(4 * MB);
  for (const file of files) {
    const descriptor = fs.openSync(file);
    while (fs.readSync(descriptor, buffer) > 0);
    fs.closeSync(descriptor);
  }
}
