import { spawn } from "node:child_process";
import * as path from "node:path";

/** How a child process ended and what it said. */
export interface ChildResult {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  /** Milliseconds from start to end. */
  elapsed: number;
}

/** Options of {@link runChild}. */
export interface ChildOptions {
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  /** Milliseconds after which the child is killed; default 30,000. */
  timeout?: number;
}

/** Runs `support/children/<script>` in the runtime that runs the test. */
export function runChild(
  script: string,
  args: readonly string[] = [],
  options: ChildOptions = {},
): Promise<ChildResult> {
  const file = path.join(import.meta.dirname, "children", script);
  const started = performance.now();
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [file, ...args], {
      cwd: options.cwd,
      env: { ...process.env, NODE_OPTIONS: "", ...options.env },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: options.timeout ?? 30_000,
      killSignal: "SIGKILL",
    });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      stdout += chunk;
    });
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      stderr += chunk;
    });
    child.on("error", reject);
    child.on("close", (code, signal) => {
      resolve({ code, signal, stdout, stderr, elapsed: performance.now() - started });
    });
  });
}
