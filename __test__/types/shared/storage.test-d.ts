// Storages, blobs, artifacts, directories, logging.

import {
  ArtifactManager,
  type BlobPutResult,
  BlobStore,
  externalizeImageData,
  externalizeImageDataUrl,
  FileSessionStorage,
  getAgentDir,
  getBlobsDir,
  getHistoryDbPath,
  getSessionsDir,
  getTerminalId,
  getTerminalSessionsDir,
  isBlobRef,
  isImageDataUrl,
  type LoadReport,
  type Logger,
  type LogLevel,
  MemorySessionStorage,
  type parseBlobRef,
  resolveImageData,
  resolveImageDataUrl,
  SessionManager,
  type SessionStorage,
  type SessionStorageStat,
  type SessionStorageWriter,
  setAgentDir,
  setLogger,
} from "session-manager-native";
import { expectAssignable, expectSame } from "./expect.js";

// Both storages fit the interface and every place that takes one.
expectAssignable<SessionStorage, FileSessionStorage>();
expectAssignable<SessionStorage, MemorySessionStorage>();
void SessionManager.listAll(new FileSessionStorage());
SessionManager.inMemory("/p", new MemorySessionStorage());

// Options: all, some, none, explicitly undefined.
new FileSessionStorage({ migrateOnOpen: true, onInvalid: "error" });
new FileSessionStorage({});
new FileSessionStorage(undefined);
new FileSessionStorage({ migrateOnOpen: undefined, onInvalid: undefined });
// @ts-expect-error one of two words
new FileSessionStorage({ onInvalid: "ignore" });
// @ts-expect-error an option that does not exist
new FileSessionStorage({ migrate: true });
// @ts-expect-error no arguments
new MemorySessionStorage({});

// Results.
type StorageResults = { [K in keyof SessionStorage]: ReturnType<SessionStorage[K]> };
expectSame<
  StorageResults,
  {
    ensureDirSync: void;
    existsSync: boolean;
    writeTextSync: void;
    statSync: SessionStorageStat;
    listFilesSync: string[];
    exists: Promise<boolean>;
    readText: Promise<string>;
    readTextPrefix: Promise<string>;
    writeText: Promise<void>;
    rename: Promise<void>;
    unlink: Promise<void>;
    openWriter: SessionStorageWriter;
  }
>();
expectSame<keyof MemorySessionStorage, keyof SessionStorage>();
expectSame<Exclude<keyof FileSessionStorage, keyof SessionStorage>, "deleteSessionWithArtifacts">();
expectSame<ReturnType<FileSessionStorage["deleteSessionWithArtifacts"]>, Promise<void>>();
expectSame<ReturnType<SessionStorageWriter["getError"]>, Error | undefined>();

// A storage of one's own, and one that changes a single method.
class Recorder implements SessionStorage {
  readonly calls: string[] = [];
  readonly #inner = new MemorySessionStorage();
  ensureDirSync(dir: string): void {
    this.calls.push(dir);
  }
  existsSync(path: string): boolean {
    return this.#inner.existsSync(path);
  }
  writeTextSync(path: string, content: string): void {
    this.#inner.writeTextSync(path, content);
  }
  statSync(): SessionStorageStat {
    return { size: 0, mtimeMs: 0, mtime: new Date(0) };
  }
  listFilesSync(): string[] {
    return [];
  }
  async exists(): Promise<boolean> {
    return false;
  }
  async readText(): Promise<string> {
    return "";
  }
  async readTextPrefix(path: string, maxBytes: number): Promise<string> {
    return path.slice(0, maxBytes);
  }
  async writeText(): Promise<void> {}
  async rename(): Promise<void> {}
  async unlink(): Promise<void> {}
  openWriter(
    path: string,
    options?: { flags?: "a" | "w"; onError?: (err: Error) => void },
  ): SessionStorageWriter {
    const error = new Error(path);
    return {
      writeLine: async () => options?.onError?.(error),
      flush: async () => {},
      fsync: async () => {},
      close: async () => {},
      getError: () => (options?.flags === "w" ? error : undefined),
    };
  }
}
SessionManager.create("/p", "/d", new Recorder());
class Failing extends FileSessionStorage {
  override async exists(path: string): Promise<boolean> {
    return (await super.exists(path)) && this.existsSync(path);
  }
}
SessionManager.create("/p", "/d", new Failing({ migrateOnOpen: false }));
const writer = new FileSessionStorage().openWriter("/f", {
  flags: "a",
  onError: (err) => err.message,
});
void writer.writeLine("{}\n").then(() => writer.fsync());
// @ts-expect-error a storage has all members
SessionManager.create("/p", "/d", { existsSync: () => true });

// Blobs.
const blobs = new BlobStore(getBlobsDir());
export async function roundTrip(): Promise<Buffer | null> {
  const put: BlobPutResult = await blobs.put(Buffer.from("x"));
  await blobs.put(new Uint8Array(1));
  const has: boolean = await blobs.has(put.hash);
  const bytes = await blobs.get(put.hash);
  return has && bytes ? bytes.subarray(0, 1) : null;
}
expectSame<Awaited<ReturnType<BlobStore["get"]>>, Buffer | null>();
expectSame<ReturnType<typeof parseBlobRef>, string | null>();
export const flags: boolean = isBlobRef("x") || isImageDataUrl("x");
// The helpers need only the method they call.
const onlyPut = { put: async () => ({ hash: "h", path: "/p", ref: "blob:sha256:h" }) };
const onlyGet = { get: async () => null };
void externalizeImageData(onlyPut, "AAAA").then((ref) => ref.length);
void externalizeImageDataUrl(blobs, "data:image/png;base64,AAAA");
void resolveImageData(onlyGet, "blob:sha256:h").then((data) => data.length);
void resolveImageDataUrl(blobs, "blob:sha256:h");
// @ts-expect-error the directory is fixed
blobs.dir = "/d";

// Artifacts.
const artifacts = new ArtifactManager("/d/s.jsonl");
type ArtifactResults = {
  [K in keyof ArtifactManager]: ArtifactManager[K] extends (...args: never[]) => unknown
    ? ReturnType<ArtifactManager[K]>
    : ArtifactManager[K];
};
expectSame<
  ArtifactResults,
  {
    readonly dir: string;
    allocateId: number;
    allocatePath: Promise<{ id: string; path: string }>;
    save: Promise<string>;
    exists: Promise<boolean>;
    listFiles: Promise<string[]>;
    getPath: Promise<string | null>;
  }
>();
export const next: number = artifacts.allocateId();

// Directories.
declare const maybe: string | undefined;
setAgentDir("/a");
export const paths: string[] = [
  getAgentDir(),
  getSessionsDir(maybe),
  getBlobsDir(maybe),
  getTerminalSessionsDir(maybe),
  getHistoryDbPath(maybe),
];
export const terminal: string | null = getTerminalId();
// @ts-expect-error no terminal is null, not undefined
export const notUndefined: string | undefined = getTerminalId();

// Logging: any function that can take a record, and none.
setLogger((level, message, context) => console[level](message, context));
setLogger(() => {});
setLogger(null);
setLogger(undefined);
const logger: Logger = (level) => {
  expectSame<typeof level, LogLevel>();
};
setLogger(logger);
expectSame<LogLevel, "debug" | "warn" | "error">();
// @ts-expect-error a name is no logger
setLogger("console");

// The report of a load.
expectSame<
  LoadReport,
  {
    entries: number;
    skippedLines: number;
    skippedBytes: number;
    recoveredEntries: number;
    headerSalvaged: boolean;
    tornTail: boolean;
  }
>();
