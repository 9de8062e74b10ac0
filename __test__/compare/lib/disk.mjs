/** What a run leaves on disk, or in a memory storage, told as changes since the last look. */

import fs from "node:fs";
import path from "node:path";

/** Modification times are set to this plus a day per step, so that lists sort the same in every run. */
const EPOCH = Date.UTC(2026, 0, 1) / 1000;
const DAY = 86_400;

function* walk(dir) {
  let items;
  try {
    items = fs.readdirSync(dir, { withFileTypes: true });
  } catch {
    return;
  }
  for (const item of items) {
    const full = path.join(dir, item.name);
    if (item.isDirectory()) {
      yield* walk(full);
    } else {
      yield full;
    }
  }
}

function shown(file, bytes) {
  if (!file.endsWith(".jsonl") && bytes.length > 200) {
    return { size: bytes.length, hash: Bun.hash(bytes).toString(36) };
  }
  return { text: bytes.toString("utf8") };
}

/** Bytes without the spaces at the end of the first line: they are no change. */
function unpadded(bytes) {
  const feed = bytes.indexOf(0x0a);
  const rest = feed < 0 ? bytes.length : feed;
  let end = rest;
  while (end > 0 && bytes[end - 1] === 0x20) {
    end -= 1;
  }
  return Buffer.concat([bytes.subarray(0, end), bytes.subarray(rest)]);
}

/** Follows the files below one directory. */
export class Disk {
  #root;
  #known = new Map();

  constructor(root) {
    this.#root = root;
  }

  /** Files that appeared, changed or went since the last call, in order of name. */
  changes(step) {
    const out = {};
    const present = new Set();
    for (const file of [...walk(this.#root)].sort()) {
      present.add(file);
      this.#look(file, step, out);
    }
    for (const file of this.#known.keys()) {
      if (!present.has(file)) {
        this.#known.delete(file);
        out[file] = null;
      }
    }
    return out;
  }

  #look(file, step, out) {
    const stat = fs.statSync(file, { throwIfNoEntry: false });
    const known = this.#known.get(file);
    if (stat === undefined) {
      // A temporary file of a breadcrumb, which nobody waits for.
      return;
    }
    const stamp = `${stat.ino}:${stat.size}:${stat.mtimeMs}`;
    if (known?.stamp === stamp) {
      return;
    }
    const bytes = fs.readFileSync(file);
    const same = known !== undefined && unpadded(known.bytes).equals(unpadded(bytes));
    this.#known.set(file, { stamp, bytes, step: same ? known.step : step });
    if (!same) {
      out[file] = shown(file, bytes);
    }
  }

  /** Gives every file a modification time that tells in which step it last changed. */
  settleTimes() {
    let order = 0;
    for (const [file, known] of this.#known) {
      order += file.endsWith(".jsonl") ? 1 : 0;
      const time = EPOCH + known.step * DAY + (order % 1000);
      fs.utimesSync(file, time, time);
      const stat = fs.statSync(file);
      known.stamp = `${stat.ino}:${stat.size}:${stat.mtimeMs}`;
    }
  }

  /** Whole text of a file as last seen, or undefined. */
  text(file) {
    return this.#known.get(file)?.bytes.toString("utf8");
  }
}

/** The same for a memory storage, which can only be asked directory by directory. */
export class MemoryDisk {
  #storage;
  #dirs;
  #known = new Map();

  constructor(storage, dirs) {
    this.#storage = storage;
    this.#dirs = dirs;
  }

  async changes() {
    const out = {};
    const present = new Set();
    for (const dir of this.#dirs) {
      for (const file of this.#storage.listFilesSync(dir, "*")) {
        present.add(file);
        const text = await this.#storage.readText(file);
        if (this.#known.get(file) !== text) {
          this.#known.set(file, text);
          out[file] = { text };
        }
      }
    }
    for (const file of [...this.#known.keys()]) {
      if (!present.has(file)) {
        this.#known.delete(file);
        out[file] = null;
      }
    }
    return out;
  }

  settleTimes() {}

  text(file) {
    return this.#known.get(file);
  }
}
