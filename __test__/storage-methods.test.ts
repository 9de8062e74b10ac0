import * as fs from "node:fs";
import { describe, expect, it } from "vitest";
import {
  findMostRecentSession,
  getRecentSessions,
  loadEntriesFromFile,
  resolveResumableSession,
  SessionManager,
  searchSessions,
} from "../index.js";
import { type Loose, unchecked } from "./support/loose.js";
import { useSandbox } from "./support/sandbox.js";
import { STORAGE_CALLS } from "./support/storage-calls.js";

const box = useSandbox();

/** A storage whose methods must not be called, without one of them. */
function storageWithout(missing: string): Loose {
  const called = (name: string) => () => {
    throw new Error(`${name} was called`);
  };
  return Object.fromEntries(
    STORAGE_CALLS.filter((name) => name !== missing).map((name) => [name, called(name)]),
  );
}

const SESSION = [
  "ensureDirSync",
  "existsSync",
  "readText",
  "writeTextSync",
  "openWriter",
  "rename",
  "unlink",
];
const LIST = ["listFilesSync", "readText", "statSync"];
const RECENTS = ["listFilesSync", "readTextPrefix", "statSync"];

type Call = (storage: Loose) => unknown;

const OPERATIONS: [string, string[], Call][] = [
  ["create", SESSION, (s) => SessionManager.create(box.dir, box.dir, unchecked(s))],
  ["open", SESSION, (s) => SessionManager.open("/v/s.jsonl", undefined, unchecked(s))],
  [
    "continueRecent",
    [...SESSION, "readTextPrefix", "listFilesSync", "statSync"],
    (s) => SessionManager.continueRecent(box.dir, box.dir, unchecked(s)),
  ],
  ["forkFrom", SESSION, (s) => SessionManager.forkFrom("/v/s", "/v", "/v", unchecked(s))],
  ["list", LIST, (s) => SessionManager.list("/v", "/v", unchecked(s))],
  ["listAll", LIST, (s) => SessionManager.listAll(unchecked(s))],
  ["searchSessions", LIST, (s) => searchSessions("x", { storage: unchecked(s) })],
  ["findMostRecentSession", RECENTS, (s) => findMostRecentSession("/v", unchecked(s))],
  ["getRecentSessions", RECENTS, (s) => getRecentSessions("/v", 3, unchecked(s))],
  ["resolveResumableSession", LIST, (s) => resolveResumableSession("a", "/v", "/v", unchecked(s))],
  ["loadEntriesFromFile", ["readText"], (s) => loadEntriesFromFile("/v/s.jsonl", unchecked(s))],
];

const CASES = OPERATIONS.flatMap(([name, needed, call]) =>
  needed.map((missing): [string, string, Call] => [name, missing, call]),
);

describe("a storage object that lacks a method", () => {
  it.each(CASES)("%s names %s", async (_, missing, call) => {
    const outcome = await Promise.resolve()
      .then(() => call(storageWithout(missing)))
      .catch((error: unknown) => error);
    expect(outcome).toBeInstanceOf(TypeError);
    expect(outcome).toMatchObject({
      code: "ERR_INVALID_ARG_TYPE",
      message: `The "storage.${missing}" argument must be of type function. Received undefined`,
    });
  });

  it("creates nothing", () => {
    expect(() =>
      SessionManager.create(box.dir, box.path("new"), unchecked(storageWithout("rename"))),
    ).toThrow(TypeError);
    expect(fs.readdirSync(box.dir)).toEqual([]);
  });

  it.each(["text", 5, true, () => {}])("is refused when it is no object: %s", (value) => {
    expect(() => SessionManager.inMemory("/v", unchecked(value))).toThrow(
      /The "storage" argument must be of type object/,
    );
  });

  it("may lack methods that are not called", async () => {
    const text = '{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/v"}\n';
    const entries = await loadEntriesFromFile(
      "/v/s.jsonl",
      unchecked({ readText: async () => text }),
    );
    expect(entries).toHaveLength(1);
    const manager = SessionManager.inMemory("/v", unchecked({}));
    expect(manager.getEntries()).toEqual([]);
  });
});
