/** Runs scripts of `support/scripts` in a process of the same runtime. */

import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

/** How a child process ended. */
export interface ChildResult {
  /** Exit code, `null` when a signal ended the process. */
  code: number | null;
  /** The signal that ended the process; `SIGKILL` also when the time limit passed. */
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  /** True when the process had to be killed because of the time limit. */
  timedOut: boolean;
}

/** Options of `runScript`. */
export interface ChildOptions {
  env?: Record<string, string>;
  limitMs?: number;
  /** Command in front of the runtime, for example a wrapper that sets a resource limit. */
  wrapper?: string[];
  /** Called with each piece of output, to talk to a running child. */
  onOutput?: (text: string, pid: number) => void;
}

/** Path of a script in `support/scripts`. */
export function scriptPath(name: string): string {
  return fileURLToPath(new URL(`./scripts/${name}`, import.meta.url));
}

/** Runs a script with arguments and waits for its end. Standard input is empty. */
export function runScript(
  name: string,
  args: string[],
  options: ChildOptions = {},
): Promise<ChildResult> {
  const { env = {}, limitMs = 20_000, wrapper = [], onOutput } = options;
  const [command, ...rest] = [...wrapper, process.execPath, scriptPath(name), ...args];
  return new Promise((resolve, reject) => {
    const child = spawn(command as string, rest, {
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stdout = "";
    let stderr = "";
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      child.kill("SIGKILL");
    }, limitMs);
    child.stdout.on("data", (piece: Buffer) => {
      stdout += piece;
      onOutput?.(piece.toString(), child.pid as number);
    });
    child.stderr.on("data", (piece: Buffer) => {
      stderr += piece;
    });
    child.on("error", reject);
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, stdout, stderr, timedOut });
    });
  });
}

/** Runs a script that prints one line of JSON last; throws when it ends any other way. */
export async function runForResult<Result>(
  name: string,
  args: string[],
  options: ChildOptions = {},
): Promise<Result> {
  const result = await runScript(name, args, options);
  const last = result.stdout.trim().split("\n").at(-1) ?? "";
  if (result.code !== 0 || result.timedOut || last === "") {
    const { code, signal, timedOut, stdout, stderr } = result;
    const how = timedOut ? "ran into the time limit" : `ended with ${code ?? signal}`;
    throw new Error(`${name} ${args.join(" ")} ${how}\n${stdout}\n${stderr}`);
  }
  return JSON.parse(last) as Result;
}
