/**
 * A storage as a caller might bring it: a plain object over `node:fs` with exactly the documented members.
 * Both implementations get the same code.
 */

import fs from "node:fs";
import path from "node:path";

function writer(file, { flags = "a", onError } = {}) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  let fd = fs.openSync(file, flags);
  let failure;
  const guard = async (work) => {
    if (fd === undefined) {
      throw new Error("Writer closed");
    }
    try {
      work();
    } catch (error) {
      failure ??= error;
      onError?.(error);
      throw error;
    }
  };
  return {
    writeLine: (line) => guard(() => fs.writeSync(fd, line)),
    flush: async () => {},
    fsync: () => guard(() => fs.fsyncSync(fd)),
    close: async () => {
      if (fd !== undefined) {
        fs.closeSync(fd);
        fd = undefined;
      }
    },
    getError: () => failure,
  };
}

/** The suffix that a pattern like `*.jsonl` asks for. */
const suffixOf = (pattern) => pattern.replace(/^\*+\/?\*?/, "");

export function customStorage() {
  const storage = {
    ensureDirSync: (dir) => void fs.mkdirSync(dir, { recursive: true }),
    existsSync: (file) => fs.existsSync(file),
    writeTextSync: (file, text) => {
      storage.ensureDirSync(path.dirname(file));
      fs.writeFileSync(file, text);
    },
    statSync: (file) => {
      const { size, mtimeMs, mtime } = fs.statSync(file);
      return { size, mtimeMs, mtime };
    },
    listFilesSync: (dir, pattern) => {
      const items = fs.existsSync(dir) ? fs.readdirSync(dir, { withFileTypes: true }) : [];
      return items
        .filter(
          (item) =>
            item.isFile() && !item.name.startsWith(".") && item.name.endsWith(suffixOf(pattern)),
        )
        .map((item) => path.join(dir, item.name));
    },
    exists: async (file) => fs.existsSync(file),
    readText: async (file) => fs.readFileSync(file, "utf8").replace(/^\ufeff/, ""),
    readTextPrefix: async (file, maxBytes) =>
      fs
        .readFileSync(file)
        .subarray(0, maxBytes)
        .toString("utf8")
        .replace(/^\ufeff/, ""),
    writeText: async (file, text) => storage.writeTextSync(file, text),
    rename: async (from, to) => fs.renameSync(from, to),
    unlink: async (file) => fs.unlinkSync(file),
    openWriter: (file, options) => writer(file, options),
  };
  return storage;
}
