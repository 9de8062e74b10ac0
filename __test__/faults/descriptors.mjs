/** A process that may not open any more files, or only a few. */

import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";

import { checkDirectory, checkSession, makeSession, operations } from "./sessions.mjs";

/** Descriptors that are left for the operation. */
const FREE = [0, 1, 2];

/** Uses up descriptors until only some are free; gives what to close. */
function useUp(free) {
  const held = [];
  try {
    for (;;) {
      held.push(fs.openSync("/dev/null", "r"));
    }
  } catch (error) {
    assert.equal(error.code, "EMFILE");
  }
  for (const descriptor of held.splice(0, free)) {
    fs.closeSync(descriptor);
  }
  return held;
}

export function withoutDescriptors(base) {
  const cases = [];
  let failures = 0;
  for (const [name, operation] of Object.entries(operations)) {
    for (const free of FREE) {
      for (const closed of [false, true]) {
        cases.push([
          `${name} with ${free} descriptors${closed ? " and the file closed" : ""}`,
          async () => {
            const dir = path.join(base, "descriptors");
            fs.rmSync(dir, { recursive: true, force: true });
            const manager = await makeSession(dir);
            if (closed) {
              await manager.close();
            }
            const held = useUp(free);
            try {
              await operation(manager);
            } catch (error) {
              assert.equal(error.code, "EMFILE");
              failures += 1;
            } finally {
              held.forEach(fs.closeSync);
            }
            await checkSession(manager);
            await checkDirectory(dir);
          },
        ]);
      }
    }
  }
  cases.push(["operations did fail", () => assert.ok(failures > 10, `only ${failures}`)]);
  return cases;
}
