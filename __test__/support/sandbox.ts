import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { afterEach, beforeEach } from "vitest";

/** Variables that decide where the store reads and writes; none of the machine's own may leak in. */
const STORE_VARIABLES = [
  "PI_CODING_AGENT_DIR",
  "PI_CONFIG_DIR",
  "XDG_DATA_HOME",
  "XDG_STATE_HOME",
  "XDG_CACHE_HOME",
  "KITTY_WINDOW_ID",
  "TMUX_PANE",
  "TERM_SESSION_ID",
  "WT_SESSION",
];

/** A fresh directory for every test, with its own agent directory. */
export interface Sandbox {
  /** The directory of the running test; removed when it ends. */
  readonly dir: string;
  /** The agent directory (`PI_CODING_AGENT_DIR`) of the running test. */
  readonly agentDir: string;
  /** The blob directory that belongs to `agentDir`. */
  readonly blobsDir: string;
  /** A path below `dir`. */
  path(...parts: string[]): string;
  /** Creates a directory below `dir` and returns its path. */
  makeDir(...parts: string[]): string;
}

/** Registers the hooks that give every test of the calling file its own sandbox. */
export function useSandbox(): Sandbox {
  let dir = "";
  let saved: Record<string, string | undefined> = {};

  beforeEach(() => {
    dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "smn-test-")));
    saved = Object.fromEntries(STORE_VARIABLES.map((name) => [name, process.env[name]]));
    for (const name of STORE_VARIABLES) {
      delete process.env[name];
    }
    process.env.PI_CODING_AGENT_DIR = path.join(dir, "agent");
  });

  afterEach(() => {
    for (const [name, value] of Object.entries(saved)) {
      if (value === undefined) {
        delete process.env[name];
      } else {
        process.env[name] = value;
      }
    }
    fs.rmSync(dir, { recursive: true, force: true });
  });

  return {
    get dir() {
      return dir;
    },
    get agentDir() {
      return path.join(dir, "agent");
    },
    get blobsDir() {
      return path.join(dir, "agent", "blobs");
    },
    path: (...parts) => path.join(dir, ...parts),
    makeDir: (...parts) => {
      const made = path.join(dir, ...parts);
      fs.mkdirSync(made, { recursive: true });
      return made;
    },
  };
}
