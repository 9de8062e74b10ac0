/** An event of a log. `seq` is its position. */
export interface SessionLogEvent {
  type: string;
  seq: number;
  /** Milliseconds since 1970. */
  time: number;
  data?: unknown;
  surfaceOp?: unknown;
  sourceEventSeqs?: number[];
  ignorable?: true;
}

/** A line of a log: an event, or a row that stands for a run of streamed chunks. */
export type StorageRecord = SessionLogEvent | Record<string, unknown>;

/**
 * The directory of a session, from its id. Synchronous. Different ids have different directories, also
 * on the pieces of surrogate pairs.
 *
 * @throws For an empty id; `code` is `SESSION_NAME_INVALID`.
 */
export function encodeSegment(id: string): string;
/**
 * The directory of a project, from its working directory. Synchronous. Several can share one.
 *
 * @throws For an empty path; `code` is `SESSION_NAME_INVALID`.
 */
export function projectKey(cwd: string): string;
/**
 * What a batch of events is stored as. Synchronous. Three or more chunks in a row that differ in text
 * and time only become one row; all other events are passed on as the same objects.
 */
export function packChunkRuns(events: readonly SessionLogEvent[]): StorageRecord[];
/**
 * The events that a stored value stands for: those of a row, or else the value itself. Synchronous.
 *
 * @throws If a row is malformed; `code` is `SESSION_CORRUPT`.
 */
export function decodeStorageRecord(value: unknown): SessionLogEvent[];
/** The events that end a turn which was interrupted after these; none if no turn is open. Synchronous. */
export function interruptedTurnClosers(events: readonly SessionLogEvent[]): SessionLogEvent[];
