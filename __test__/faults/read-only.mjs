/** A disk that can only be read for a while, as after an error of the hardware. */

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";

import { checkDirectory, checkSession, makeSession, operations } from "./sessions.mjs";

export function onReadOnlyDisk(disk, remount) {
  return Object.entries(operations).map(([name, operation]) => [
    `${name} on a read-only disk`,
    async () => {
      const dir = path.join(disk, "sessions");
      fs.rmSync(dir, { recursive: true, force: true });
      const manager = await makeSession(dir);
      // A file system with descriptors open for writing cannot be made read-only.
      await manager.close();
      remount("ro");
      try {
        const error = await Promise.resolve(operation(manager)).then(
          () => undefined,
          (reason) => reason,
        );
        // A branch throws at the call and leaves nothing to be flushed.
        assert.equal(error?.code, name === "a branch" ? undefined : "EROFS");
      } finally {
        remount("rw");
      }
      await checkSession(manager);
      await checkDirectory(dir);
    },
  ]);
}
