/** Records about things that went wrong without an error for the caller. */

/** How bad it is. */
export type LogLevel = "debug" | "warn" | "error";

/**
 * Receives log records, on the JavaScript thread.
 *
 * @param message A fixed sentence, fit for grouping.
 * @param context The particulars, for example `sessionFile` or `hash`.
 */
export type Logger = (level: LogLevel, message: string, context: Record<string, unknown>) => void;

/**
 * Sends log records of this process to a function. Synchronous. Without a logger, and after `null` or
 * `undefined`, nothing is logged. An error thrown by the logger is ignored.
 */
export declare function setLogger(logger: Logger | null | undefined): void;
