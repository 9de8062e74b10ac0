/** Where session files are kept: the interface, and its two implementations. */

/** Facts about a stored file. */
export interface SessionStorageStat {
  /** Bytes; UTF-16 units in {@link MemorySessionStorage}. */
  size: number;
  /** Modification time, milliseconds since the epoch; can have a fraction. */
  mtimeMs: number;
  mtime: Date;
}

/** How {@link SessionStorage.openWriter} opens a file. */
export interface SessionStorageWriterOptions {
  /** Add to the file (`a`, the default) or empty it first (`w`). */
  flags?: "a" | "w" | undefined;
  /** Called with each error that a write or sync meets, before the promise rejects. */
  onError?: ((err: Error) => void) | undefined;
}

/** An open file that lines are written to. Operations run in the order they are called. */
export interface SessionStorageWriter {
  /**
   * Writes the text as it is; the caller brings the line feed. Promise.
   *
   * @throws (rejects) `Writer closed` after {@link close}, or the first error of this writer.
   */
  writeLine(line: string): Promise<void>;
  /** Hands everything to the system. Promise; rejects with the first error of this writer. */
  flush(): Promise<void>;
  /** Makes written lines survive a power failure. Promise; rejects like {@link writeLine}. */
  fsync(): Promise<void>;
  /** Closes the file. Promise; a second call resolves too. */
  close(): Promise<void>;
  /** First error of this writer. Synchronous; `undefined` when there was none. */
  getError(): Error | undefined;
}

/**
 * The file operations of session managers. Any object with these members can stand in for the file
 * system; they are looked up on the object at each use and called as its methods. A read of a missing
 * file should fail with an `Error` whose `code` is `ENOENT`.
 */
export interface SessionStorage {
  /** Creates a directory and its parents unless it exists. Synchronous. */
  ensureDirSync(dir: string): void;
  /** Whether something is at the path. Synchronous, never throws. */
  existsSync(path: string): boolean;
  /** Replaces the content of a file. Synchronous. */
  writeTextSync(path: string, content: string): void;
  /** Size and times of a file. Synchronous; throws when there is none. */
  statSync(path: string): SessionStorageStat;
  /** Full paths of the files in a directory whose name fits a glob pattern. Synchronous. */
  listFilesSync(dir: string, pattern: string): string[];
  /** Whether something is at the path. Promise. */
  exists(path: string): Promise<boolean>;
  /** The whole file as text. Promise; rejects when there is none. */
  readText(path: string): Promise<string>;
  /** The start of a file as text. Promise; rejects when there is none. */
  readTextPrefix(path: string, maxBytes: number): Promise<string>;
  /** Replaces the content of a file. Promise. */
  writeText(path: string, content: string): Promise<void>;
  /** Gives a file another path, replacing what is there. Promise. */
  rename(path: string, nextPath: string): Promise<void>;
  /** Removes a file. Promise. */
  unlink(path: string): Promise<void>;
  /** Opens a file for writing. Synchronous. */
  openWriter(path: string, options?: SessionStorageWriterOptions): SessionStorageWriter;
}

/** Choices for {@link FileSessionStorage}; each holds for the managers that use the instance. */
export interface FileSessionStorageOptions {
  /**
   * Rewrite files of an older version as soon as they are opened. By default a migration stays in
   * memory until the first change is written, so that opening never touches a file.
   */
  migrateOnOpen?: boolean | undefined;
  /**
   * What opening a non-empty file without a single readable record does. `fresh` (the default) starts
   * a new session at that path and keeps the old bytes beside it as `<base>.invalid-<id>`. `error`
   * rejects with code `INVALID_SESSION_FILE` and leaves the file alone.
   */
  onInvalid?: "fresh" | "error" | undefined;
}

/**
 * Sessions on the file system. New files get mode 0600, new directories 0700. Errors of the system
 * are `Error` objects with `code`, `errno`, `syscall` and `path`.
 */
export declare class FileSessionStorage implements SessionStorage {
  constructor(options?: FileSessionStorageOptions);
  /** Creates a directory and its parents. Synchronous; something else at the path is accepted. */
  ensureDirSync(dir: string): void;
  /** Whether the path can be reached, through links as well. Synchronous, never throws. */
  existsSync(path: string): boolean;
  /** Replaces the content of a file, creating its directory. Synchronous. */
  writeTextSync(path: string, content: string): void;
  /** Size in bytes and times of a file. Synchronous; throws `ENOENT` when there is none. */
  statSync(path: string): SessionStorageStat;
  /**
   * Full paths of the regular files below a directory that fit a glob pattern, in no certain order.
   * Synchronous. `*` stops at `/`, `**` does not; links and hidden names are left out; a directory
   * that does not exist has no files.
   */
  listFilesSync(dir: string, pattern: string): string[];
  /** Whether the path exists. Promise; rejects when the system cannot tell, for example `EACCES`. */
  exists(path: string): Promise<boolean>;
  /**
   * The whole file, decoded as UTF-8 without a byte-order mark; bytes that are no UTF-8 become
   * U+FFFD. Promise; rejects with `ENOENT`, `EACCES`, `EISDIR`, ….
   */
  readText(path: string): Promise<string>;
  /**
   * At most `maxBytes` bytes from the start, decoded likewise. Promise; rejects with `ENOENT`. Zero or
   * less gives an empty text without touching the file.
   */
  readTextPrefix(path: string, maxBytes: number): Promise<string>;
  /** Replaces the content of a file, creating its directory. Promise. */
  writeText(path: string, content: string): Promise<void>;
  /** Renames a file, replacing what is at the new path. Promise. */
  rename(path: string, nextPath: string): Promise<void>;
  /** Removes a file. Promise; rejects with `ENOENT` when there is none. */
  unlink(path: string): Promise<void>;
  /** Opens a file for writing and creates its directory. Synchronous; throws what opening throws. */
  openWriter(path: string, options?: SessionStorageWriterOptions): SessionStorageWriter;
  /**
   * Removes a session file, then its artifact directory. Promise. Blobs stay, other sessions may use
   * them.
   *
   * @throws (rejects) The error of removing the file, in which case nothing was removed. If only the
   *   directory could not be removed: an `Error` that says so, with the reason as `cause`.
   */
  deleteSessionWithArtifacts(sessionPath: string): Promise<void>;
}

/**
 * Sessions in a map from path to text, for tests and for conversations that must not be kept. Paths
 * are plain keys: nothing is normalised and there are no directories.
 */
export declare class MemorySessionStorage implements SessionStorage {
  constructor();
  /** Does nothing. Synchronous. */
  ensureDirSync(dir: string): void;
  /** Whether the path is a key. Synchronous. */
  existsSync(path: string): boolean;
  /** Sets the text of a path. Synchronous. */
  writeTextSync(path: string, content: string): void;
  /** Size in UTF-16 units and time of the last write. Synchronous; throws `File not found: <path>`. */
  statSync(path: string): SessionStorageStat;
  /**
   * Paths directly below `dir` in order of creation. Synchronous. The pattern is `*`, `*.` with an
   * ending, or a whole name.
   */
  listFilesSync(dir: string, pattern: string): string[];
  /** Whether the path is a key. Promise. */
  exists(path: string): Promise<boolean>;
  /** The text of a path. Promise; rejects with `File not found: <path>`, an error without `code`. */
  readText(path: string): Promise<string>;
  /** The first `maxBytes` UTF-16 units of a text. Promise; rejects like {@link readText}. */
  readTextPrefix(path: string, maxBytes: number): Promise<string>;
  /** Sets the text of a path, before the promise is returned. Promise. */
  writeText(path: string, content: string): Promise<void>;
  /** Moves a text to another path. Promise; rejects like {@link readText}. */
  rename(path: string, nextPath: string): Promise<void>;
  /** Removes a path, which need not exist. Promise. */
  unlink(path: string): Promise<void>;
  /** A writer that adds to the text of a path. Synchronous. */
  openWriter(path: string, options?: SessionStorageWriterOptions): SessionStorageWriter;
}
