// Run by Bun's own test runner, the only one that can replace members of a module namespace.
import { expect, it, vi } from "bun:test";
import fs from "node:fs";
import * as fsp from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import storageModule from "../../js/file-session-storage.js";

it("calls the replaced function, and the host's once it is restored", async () => {
  const storage = new storageModule.FileSessionStorage();
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "session-manager-"));
  const session = path.join(dir, "session.jsonl");
  const artifacts = path.join(dir, "session");
  fs.mkdirSync(artifacts);
  fs.writeFileSync(session, "");
  const rm = vi.spyOn(fsp, "rm").mockImplementation(async () => {
    throw new Error("refused");
  });
  await expect(storage.deleteSessionWithArtifacts(session)).rejects.toThrow(
    `${artifacts}: refused`,
  );
  expect(rm.mock.calls).toEqual([[artifacts, { recursive: true, force: true }]]);
  rm.mockRestore();
  fs.writeFileSync(session, "");
  await storage.deleteSessionWithArtifacts(session);
  expect(fs.readdirSync(dir)).toEqual([]);
  fs.rmSync(dir, { recursive: true });
});
