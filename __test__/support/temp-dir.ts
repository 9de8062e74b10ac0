import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";

/** A directory that is removed when the running test ends. */
export function makeTempDir(): string {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "session-manager-"));
  onTestFinished(() => fs.rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** Permission bits of a file or directory. */
export function modeOf(file: string): number {
  return fs.statSync(file).mode & 0o7777;
}
