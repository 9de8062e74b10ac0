// Run by Bun's own test runner, the only one that can replace members of a module namespace.
import { expect, it, vi } from "bun:test";
import * as os from "node:os";
import path from "node:path";
import directories from "../../js/directories.js";

it("asks the replaced functions, and the host's once they are restored", async () => {
  const before = directories.getAgentDir();
  const homedir = vi.spyOn(os, "homedir").mockReturnValue("/spied/home");
  expect(directories.getAgentDir()).toBe(path.join("/spied/home", ".xcsh", "agent"));
  homedir.mockRestore();
  expect(directories.getAgentDir()).toBe(before);
});
