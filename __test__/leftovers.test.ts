import * as fs from "node:fs";
import * as path from "node:path";
import { describe, expect, it, vi } from "vitest";
import { SessionManager } from "../index.js";
import { createWritten, fileOf } from "./support/managers.js";
import { useSandbox } from "./support/sandbox.js";

const box = useSandbox();

const HOUR = 60 * 60;
const HASH = "0".repeat(64);

/** A file that was last written some hours ago. */
function leave(file: string, hours: number) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, "half of a session");
  const then = Date.now() / 1_000 - hours * HOUR;
  fs.utimesSync(file, then, then);
  return file;
}

describe("temporary files of killed processes", () => {
  it("go when a session beside them is opened, once they are older than a day", async () => {
    const manager = await createWritten(box.makeDir("s"), box.dir);
    await manager.close();
    const gone = [
      leave(box.path("s", ".other.jsonl.0123456789abcdef.tmp"), 25),
      leave(path.join(box.blobsDir, `.${HASH}.0123456789abcdef.tmp`), 25),
    ];
    const kept = [
      leave(box.path("s", ".other.jsonl.fedcba9876543210.tmp"), 23),
      leave(box.path("s", ".notes.tmp"), 25),
      leave(box.path("s", "other.jsonl.0123456789abcdef.tmp"), 25),
      leave(path.join(box.blobsDir, `.${HASH}.fedcba9876543210.tmp`), 23),
      leave(path.join(box.blobsDir, HASH), 25),
      fileOf(manager),
    ];
    const opened = await SessionManager.open(fileOf(manager));
    expect(opened.getEntries()).toHaveLength(manager.getEntries().length);
    await opened.close();
    // Behind everything else: opening does not wait for it.
    await vi.waitFor(() => expect(gone.filter((file) => fs.existsSync(file))).toEqual([]));
    expect(kept.filter((file) => !fs.existsSync(file))).toEqual([]);
  });

  it("are never taken for sessions", async () => {
    const manager = await createWritten(box.makeDir("s"), box.dir);
    await manager.close();
    const text = fs.readFileSync(fileOf(manager));
    const name = `.${path.basename(fileOf(manager))}.0123456789abcdef.tmp`;
    fs.writeFileSync(box.path("s", name), text);
    const sessions = await SessionManager.list(box.dir, box.path("s"));
    expect(sessions.map((session) => session.path)).toEqual([fileOf(manager)]);
  });
});
