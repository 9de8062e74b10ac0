import { createRequire } from "node:module";
import { describe, expect, it } from "vitest";
import * as api from "../index.js";
import { loose } from "./support/loose.js";
import { useSandbox } from "./support/sandbox.js";

const { SessionManager } = api;
const box = useSandbox();

const METHODS = [
  "captureState",
  "restoreState",
  "setSessionFile",
  "newSession",
  "fork",
  "moveTo",
  "rewriteEntries",
  "ensureOnDisk",
  "flush",
  "close",
  "onPersistenceError",
  "isPersisted",
  "setSessionName",
  "sanitizeLoadedOpenAIResponsesReplayMetadata",
  "putBlob",
  "getCwd",
  "getSessionDir",
  "getSessionId",
  "getSessionFile",
  "getSessionName",
  "getHeader",
  "getUsageStatistics",
  "getArtifactsDir",
  "allocateArtifactPath",
  "saveArtifact",
  "getArtifactPath",
  "_persist",
  "appendMessage",
  "appendThinkingLevelChange",
  "appendServiceTierChange",
  "appendModeChange",
  "appendModelChange",
  "appendContextChange",
  "appendSessionInit",
  "appendCompaction",
  "appendCustomEntry",
  "appendCustomMessageEntry",
  "appendMCPToolSelection",
  "appendTtsrInjection",
  "appendLabelChange",
  "getEntries",
  "getEntry",
  "getLeafId",
  "getLeafEntry",
  "getChildren",
  "getLabel",
  "getBranch",
  "getLastModelChangeRole",
  "getInjectedTtsrRules",
  "getTree",
  "buildSessionContext",
  "branch",
  "resetLeaf",
  "branchWithSummary",
  "createBranchedSession",
  "prepareTreeNavigation",
  "commitTreeNavigation",
  "prepareBranch",
  "getBranchCandidates",
  "collectEntriesForBranchSummary",
  "flattenTree",
];

const STATICS = [
  "getDefaultSessionDir",
  "create",
  "forkFrom",
  "open",
  "continueRecent",
  "inMemory",
  "list",
  "listAll",
  "searchSessions",
];

describe("module", () => {
  it("exports the session manager's names", () => {
    expect(api.CURRENT_SESSION_VERSION).toBe(3);
    for (const name of [
      "SessionManager",
      "buildSessionContext",
      "getLatestCompactionEntry",
      "migrateSessionEntries",
      "parseSessionEntries",
      "loadEntriesFromFile",
      "findMostRecentSession",
      "getRecentSessions",
      "resolveResumableSession",
      "searchSessions",
      "collectEntriesForBranchSummary",
      "renderTreePrefix",
    ]) {
      expect(typeof loose(api)[name], name).toBe("function");
    }
  });

  it("gives the same classes to import and require", () => {
    const required = createRequire(import.meta.url)("../index.js");
    expect(required.SessionManager).toBe(SessionManager);
    expect(required.FileSessionStorage).toBe(api.FileSessionStorage);
    expect(required.MemorySessionStorage).toBe(api.MemorySessionStorage);
  });
});

describe("SessionManager prototype", () => {
  it.each(METHODS)("has %s as a replaceable, hidden method", (name) => {
    const property = Object.getOwnPropertyDescriptor(SessionManager.prototype, name);
    expect(property).toMatchObject({ writable: true, configurable: true, enumerable: false });
    expect(typeof property?.value).toBe("function");
  });

  it("has titleSource as a read-only, hidden accessor", () => {
    const property = Object.getOwnPropertyDescriptor(SessionManager.prototype, "titleSource");
    expect(property).toMatchObject({ configurable: true, enumerable: false, set: undefined });
    expect(typeof property?.get).toBe("function");
    const manager = SessionManager.inMemory(box.dir);
    expect(() => {
      loose(manager).titleSource = "user";
    }).toThrow(TypeError);
  });

  it("shows nothing to for..in beside the instance properties", () => {
    const names: string[] = [];
    for (const name in SessionManager.inMemory(box.dir)) {
      names.push(name);
    }
    expect(names).toEqual(["cwd", "sessionDir", "persist", "storage"]);
  });
});

describe("SessionManager statics", () => {
  it.each(STATICS)("%s is an own, replaceable, hidden member", (name) => {
    const property = Object.getOwnPropertyDescriptor(SessionManager, name);
    expect(property).toMatchObject({ writable: true, configurable: true, enumerable: false });
    expect(typeof property?.value).toBe("function");
  });

  it("work detached from the class", async () => {
    const { create, forkFrom, getDefaultSessionDir, inMemory, list, listAll, open } =
      SessionManager;
    const cwd = box.makeDir("project");
    const sessions = box.makeDir("sessions");
    expect(inMemory(cwd)).toBeInstanceOf(SessionManager);
    expect(getDefaultSessionDir(cwd)).toBe(SessionManager.getDefaultSessionDir(cwd));
    const created = create(cwd, sessions);
    await created.ensureOnDisk();
    const file = String(created.getSessionFile());
    expect((await open(file)).getSessionId()).toBe(created.getSessionId());
    expect((await list(cwd, sessions)).map((info) => info.path)).toEqual([file]);
    expect(await listAll()).toEqual([]);
    expect((await forkFrom(file, cwd, sessions)).getHeader()?.parentSession).toBe(
      created.getSessionId(),
    );
    const { continueRecent } = SessionManager;
    expect(await continueRecent(cwd, box.makeDir("none"))).toBeInstanceOf(SessionManager);
  });

  it("build the base class when called through a subclass", async () => {
    class Derived extends SessionManager {}
    const derived = loose(Derived);
    const file = box.path("new.jsonl");
    expect(Object.getPrototypeOf(derived.inMemory(box.dir))).toBe(SessionManager.prototype);
    expect(Object.getPrototypeOf(derived.create(box.dir, box.dir))).toBe(SessionManager.prototype);
    expect(Object.getPrototypeOf(await derived.open(file))).toBe(SessionManager.prototype);
  });
});

describe("SessionManager instances", () => {
  it("have exactly four own properties, enumerable and in order", () => {
    const manager = SessionManager.create(box.dir, box.dir);
    expect(Object.getOwnPropertyNames(manager)).toEqual([
      "cwd",
      "sessionDir",
      "persist",
      "storage",
    ]);
    expect(Object.keys(manager)).toEqual(["cwd", "sessionDir", "persist", "storage"]);
    expect(Object.getOwnPropertySymbols(manager)).toEqual([]);
  });

  it("hold the factory's arguments in them", () => {
    const storage = new api.FileSessionStorage();
    const written = loose(SessionManager.create(box.dir, box.path("s"), storage));
    expect(written.cwd).toBe(box.dir);
    expect(written.sessionDir).toBe(box.path("s"));
    expect(written.persist).toBe(true);
    expect(written.storage).toBe(storage);
    const memory = loose(SessionManager.inMemory(box.dir));
    expect(memory.sessionDir).toBe("");
    expect(memory.persist).toBe(false);
    expect(memory.storage).toBeInstanceOf(api.MemorySessionStorage);
    expect(loose(SessionManager.create(box.dir, box.dir)).storage).toBeInstanceOf(
      api.FileSessionStorage,
    );
  });

  it("can have a method replaced on the instance and restored", () => {
    const manager = SessionManager.inMemory(box.dir);
    const replaced = loose(manager);
    replaced.getSessionId = () => "replaced";
    expect(manager.getSessionId()).toBe("replaced");
    delete replaced.getSessionId;
    expect(manager.getSessionId()).toMatch(/^[0-9a-f]{16}$/);
  });
});
