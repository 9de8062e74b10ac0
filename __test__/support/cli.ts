/** Runs the command line in a process of the same runtime, or in this one with other streams. */

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const PROGRAM = fileURLToPath(new URL("../../bin/session-manager-native.js", import.meta.url));

/** How the program ended and what it said. */
export interface CliResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs the program with arguments; a relative path means one in `cwd`. */
export function runCli(
  args: string[],
  options: { cwd?: string; env?: Record<string, string>; closeStdout?: boolean } = {},
): Promise<CliResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [PROGRAM, ...args], {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stdout = "";
    let stderr = "";
    if (options.closeStdout) {
      child.stdout.destroy();
    }
    child.stdout.on("data", (piece: Buffer) => {
      stdout += piece;
    });
    child.stderr.on("data", (piece: Buffer) => {
      stderr += piece;
    });
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, stdout, stderr }));
  });
}

/** A stream that remembers what was written, as a terminal or not. */
export function memoryStream(isTTY: boolean) {
  return {
    isTTY,
    text: "",
    write(piece: string, done?: () => void) {
      this.text += piece;
      done?.();
      return true;
    },
  };
}
