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

/** What a session says about itself. */
export interface SessionLogHeader {
  /** Version of the format: 0. */
  version: number;
  id: string;
  /** Milliseconds since 1970. */
  createdAt: number;
  cwd?: string;
  /** Id of the session that this one was forked from. */
  parentSession?: string;
  /** Number of inherited events at the beginning. */
  seedLength?: number;
  origin?: "subagent";
  /** Default: 0. */
  delegationDepth?: number;
  agentPreset?: string;
}

/** A session with its events. */
export interface LoggedSession {
  meta: SessionLogHeader;
  events: SessionLogEvent[];
}

/** What a crash has left at the end of a log. */
export interface TornMarker {
  /** Length of the file without it. */
  truncateTo: number;
  /** The events that could be decoded from it, also part of the session's events. */
  recoveredEvents: SessionLogEvent[];
}

/** A session as it is stored. */
export interface StoredPrefix extends LoggedSession {
  /** Identity and state of the file; equal revisions mean an unchanged log. */
  revision: string;
  tornMarker?: TornMarker;
}

/** The text of a log. */
export interface RawSessionLog {
  meta: SessionLogHeader;
  filename: "session.jsonl";
  content: string;
}

/** A session in a list. */
export interface SessionLogSnapshot {
  header: SessionLogHeader;
  /** As in {@link StoredPrefix}. */
  revision: string;
}

/** Options of {@link JsonlSessionPersistence}. */
export interface JsonlSessionPersistenceOptions {
  /** Directory of all logs, made absolute at once. It is created by the first append. */
  root: string;
  /** Store runs of streamed chunks as one row. Reading does not depend on it. Default: `true`. */
  packChunks?: boolean;
  /** Encoding of every log below `root`. Default: `"zstd"`. */
  compression?: "zstd" | "none";
  /**
   * Types of events that `load`, `inspect` and `readFrom` accept; others are refused unless they are
   * marked `ignorable`. Default: all types.
   */
  knownEventTypes?: readonly string[];
}

/**
 * Event logs of sessions on disk, one directory per session, interchangeable with those of the npm
 * package `@deepseek-ai/dsh-session-persistence-jsonl` 0.1.0-rc.8.
 *
 * Calls about one session are carried out in the order in which they were made. Errors have a `code`:
 * `SESSION_NOT_FOUND`, `SESSION_EXISTS`, `SESSION_CORRUPT`, `SESSION_FORMAT_UNSUPPORTED`,
 * `SESSION_VALIDATION_FAILED`, `SESSION_LAYOUT_CONFLICT`, `SESSION_DUPLICATE`,
 * `SESSION_EVENTS_REFUSED`, `SESSION_NAME_INVALID`, `SESSION_ROLLBACK_FAILED`, or the system's. A call
 * with a signal that is aborted rejects with its reason.
 */
export class JsonlSessionPersistence {
  /**
   * @throws If `root` exists and cannot be listed; `TypeError` for options of the wrong type.
   */
  constructor(options: JsonlSessionPersistenceOptions);
  /** Name of the service in the host of the original. */
  readonly name: "session-persistence-jsonl";
  /** {@link readRaw} is there. */
  readonly supportsRawArtifacts: true;
  /** Absolute path. */
  readonly root: string;
  /** Where the log of a session is, or would be. Synchronous. */
  locate(meta: SessionLogHeader): { kind: "jsonl"; path: string };
  /** Registers a new session. Promise. Writes nothing; the first append does. */
  create(meta: SessionLogHeader): Promise<void>;
  /**
   * Adds events. Promise; resolves when they are on disk. After a failure none of them is, and the same
   * events may be given again. A session that is not in use here is loaded first.
   */
  append(id: string, events: readonly SessionLogEvent[]): Promise<void>;
  /**
   * Opens a session. Promise. A torn tail is cut off, and a turn that was interrupted is closed, on
   * disk. The result is frozen.
   */
  load(id: string): Promise<LoggedSession>;
  /** The same without touching the disk. Promise. The result is frozen. */
  inspect(id: string, signal?: AbortSignal): Promise<LoggedSession>;
  /** The stored events from a sequence number on. Promise. */
  readFrom(id: string, fromSeq: number, signal?: AbortSignal): Promise<LoggedSession>;
  /** A session as it is stored, unchecked. Promise; `undefined` if there is none. */
  loadStored(id: string, signal?: AbortSignal): Promise<StoredPrefix | undefined>;
  /** Identity and state of a log. Promise; `undefined` if there is none. */
  readStoredRevision(id: string, signal?: AbortSignal): Promise<string | undefined>;
  /** The text of a log. Promise; `undefined` if there is none. */
  readRaw(id: string, signal?: AbortSignal): Promise<RawSessionLog | undefined>;
  /** Stores a batch, as the first or as a later one, without any check. Promise. */
  appendBatch(
    meta: SessionLogHeader,
    events: readonly SessionLogEvent[],
    isMaterialized: boolean,
  ): Promise<void>;
  /** Cuts off a torn tail and stores what was recovered from it and more events. Promise. */
  commitRepair(
    meta: SessionLogHeader,
    tornMarker: TornMarker | undefined,
    closers: readonly SessionLogEvent[],
  ): Promise<void>;
  /** The headers of all sessions, in no order. Promise. */
  list(signal?: AbortSignal): Promise<SessionLogHeader[]>;
  /** The headers of all sessions with the revisions of their logs. Promise. */
  listSnapshots(signal?: AbortSignal): Promise<SessionLogSnapshot[]>;
  /** Waits for everything that was called before, about one session or all of them. Promise. */
  flush(id?: string): Promise<void>;
  /** The same for all sessions; what is called afterwards about a session is refused. Promise. */
  close(): Promise<void>;
  /** The same as {@link close}. Promise. */
  dispose(): Promise<void>;
}

/** A log of another version, or with events of unknown types. */
export class SessionFormatUnsupportedError extends Error {
  constructor(message: string, location: { kind: "jsonl"; path: string });
  /** Stable. */
  readonly code: "SESSION_FORMAT_UNSUPPORTED";
  /** Where the log is. */
  readonly location: { kind: "jsonl"; path: string };
}

/** A log that can be read and must not be used; `cause` says why. */
export class SessionPersistenceCorruptionError extends Error {
  constructor(message: string, options?: ErrorOptions);
  /** Stable. */
  readonly code: "SESSION_VALIDATION_FAILED";
}

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
