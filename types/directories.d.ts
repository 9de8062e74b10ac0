/**
 * Where things are kept. All of it is worked out at each call, from `process.env` and the host's home
 * directory; nothing here creates a directory.
 *
 * The agent directory is `$PI_CODING_AGENT_DIR`, or `agent` in the configuration directory of the
 * user's home. While the agent directory is the default one, `$XDG_DATA_HOME` and `$XDG_STATE_HOME`
 * redirect data and state if they hold a directory of the program; an explicit `agentDir` that differs
 * from the current one is taken as it is.
 */

/** The agent directory. Synchronous; an absolute path. */
export declare function getAgentDir(): string;

/**
 * Makes another directory the agent directory for the rest of the process, also for child processes:
 * it is written to `process.env.PI_CODING_AGENT_DIR`. Synchronous. Existing managers and stores keep
 * what they were made with.
 */
export declare function setAgentDir(dir: string): void;

/** Directory that holds one directory of sessions per working directory. Synchronous. */
export declare function getSessionsDir(agentDir?: string): string;

/** Directory of the blob store. Synchronous. */
export declare function getBlobsDir(agentDir?: string): string;

/** Directory of the files that remember the last session of each terminal. Synchronous. */
export declare function getTerminalSessionsDir(agentDir?: string): string;

/** Path of the prompt history database. Synchronous. */
export declare function getHistoryDbPath(agentDir?: string): string;

/**
 * Name of the terminal that the process runs in, or `null` when it has none. Synchronous. Taken from
 * the device on standard input, else from the variables that terminal programs set.
 */
export declare function getTerminalId(): string | null;
