/** Prompts that were entered, for recall and search. */

/** A stored prompt. */
export interface HistoryEntry {
  id: number;
  /** Without white space around it. */
  prompt: string;
  /** Time of storing, seconds since the epoch. */
  created_at: number;
  /** Working directory that was given with the prompt. */
  cwd?: string | undefined;
}

/**
 * The prompt history, an SQLite database that several processes and programs may use at the same
 * time. There is one instance per thread of the program; use {@link open}.
 *
 * Reading is synchronous. It waits at most five seconds for a lock of another process, which in the
 * usual mode of the database (a write-ahead log) readers do not need.
 */
export declare class HistoryStorage {
  private constructor(dbPath: string);
  /**
   * The instance. The first call opens or creates the database, with its directories, and brings it to
   * the current schema; later calls give the same instance, whatever path they name. Synchronous.
   *
   * @param dbPath Default: {@link getHistoryDbPath}. `:memory:` keeps the history in memory.
   * @throws If the database cannot be used, an error with the name of the SQLite result as `code`
   *   (`SQLITE_NOTADB`, `SQLITE_CORRUPT`, `SQLITE_CANTOPEN`, `SQLITE_READONLY`, `SQLITE_BUSY`, …) or a
   *   code of the system, and `path`. The file is left as it was; nothing else of the package is
   *   affected, and the next call tries again.
   */
  static open(dbPath?: string): HistoryStorage;
  /** Forgets the instance, for tests. Synchronous. It keeps working for who holds it. */
  static resetInstance(): void;
  /**
   * Stores a prompt, without white space around it. Promise; resolves when it is in the database.
   * Nothing is stored for an empty prompt, nor for one that equals the prompt before it: the last one
   * added here, or the newest when the database was opened.
   *
   * Prompts are written together, off the JavaScript thread, in the order of the calls; those of one
   * batch get the same promise. What is still unwritten when the process exits is written then; while
   * another process keeps the database locked, that can take up to ten seconds.
   *
   * @throws `TypeError`, synchronously, for an argument of the wrong type.
   * @throws (rejects) When a prompt of the batch could not be stored, with `code` and `path` as
   *   {@link open}. It may then be added again.
   */
  add(prompt: string, cwd?: string | null): Promise<void>;
  /**
   * The newest prompts: by time, then by id, descending. Synchronous. An error of the database is
   * logged and gives `[]`.
   *
   * @param limit Rounded down, at most 1000; `[]` for less than 1 and for what is not finite.
   */
  getRecent(limit: number): HistoryEntry[];
  /**
   * The newest prompts that contain every word of the query, in the order of {@link getRecent}.
   * Synchronous; errors as there. No character of the query has a special meaning.
   *
   * A word is found at the beginning of a word, whatever its case and accents. If that finds nothing,
   * it is looked for inside words. In Chinese, Japanese, Korean, Thai, Lao, Burmese and Khmer it
   * is always looked for anywhere. Punctuation alone finds nothing.
   */
  search(query: string, limit: number): HistoryEntry[];
}
