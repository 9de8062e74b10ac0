/** Tool output outside the session files, by number. */

/**
 * Tool output that is too long for the conversation, in numbered files beside the session file. The
 * directory is the path of the session file without `.jsonl`, or with `.artifacts` added when it ends
 * otherwise.
 */
export declare class ArtifactManager {
  /** Touches nothing on disk. */
  constructor(sessionFile: string);
  /** The directory of the artifacts. */
  get dir(): string;
  /** The next number, which is then taken. Synchronous; counts from 0 until the disk was looked at. */
  allocateId(): number;
  /**
   * Takes the next number and creates the directory, but not the file. Promise. Calls that run at the
   * same time get different numbers.
   *
   * @param toolType Becomes part of the file name: `<id>.<toolType>.log`.
   */
  allocatePath(toolType: string): Promise<{ id: string; path: string }>;
  /** Writes an artifact and gives its id. Promise; rejects with the error of the system. */
  save(content: string, toolType: string): Promise<string>;
  /** Whether an artifact with this id is there. Promise. */
  exists(id: string): Promise<boolean>;
  /** Names in the directory. Promise; `[]` when it cannot be read. */
  listFiles(): Promise<string[]>;
  /** Path of an artifact, or `null` when there is none. Promise. */
  getPath(id: string): Promise<string | null>;
}
