import * as fs from "node:fs";
import { describe, expect, it } from "vitest";
import * as api from "../index.js";
import { loose, unchecked } from "./support/loose.js";
import { createWritten, fileOf } from "./support/managers.js";
import { userMessage } from "./support/messages.js";
import { useSandbox } from "./support/sandbox.js";
import { entryIds } from "./support/session-files.js";

const { SessionManager } = api;
const box = useSandbox();

const statics = loose(SessionManager);
const functions = loose(api);

/** Values that are neither strings nor `undefined`. */
const NO_STRINGS = [null, 5, true, {}, [], () => undefined, Symbol("s"), 5n];

/** The error that a wrong argument must give: a TypeError that names it. */
function namesArgument(name: string) {
  return expect.objectContaining({
    name: "TypeError",
    code: "ERR_INVALID_ARG_TYPE",
    message: expect.stringContaining(`"${name}"`),
  });
}

/** Runs a call that must throw, and returns what it threw. */
function thrownBy(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    return error;
  }
  throw new Error("The call did not throw");
}

/** Runs a call that must give a promise that rejects, and returns the reason. */
async function rejectionOf(call: () => unknown): Promise<unknown> {
  const promise = call();
  expect(promise).toBeInstanceOf(Promise);
  return (promise as Promise<unknown>).then(
    () => {
      throw new Error("The promise did not reject");
    },
    (reason: unknown) => reason,
  );
}

function expectNamed(error: unknown, name: string) {
  expect(error).toBeInstanceOf(TypeError);
  expect(error).toEqual(namesArgument(name));
}

describe("synchronous calls throw a TypeError that names the argument", () => {
  it("create and getDefaultSessionDir", () => {
    for (const wrong of [undefined, ...NO_STRINGS]) {
      expectNamed(
        thrownBy(() => statics.create(wrong, box.dir)),
        "cwd",
      );
      expectNamed(
        thrownBy(() => statics.getDefaultSessionDir(wrong)),
        "cwd",
      );
    }
    for (const wrong of [5, true, {}, []]) {
      expectNamed(
        thrownBy(() => statics.create(box.dir, wrong)),
        "sessionDir",
      );
      expectNamed(
        thrownBy(() => statics.inMemory(wrong)),
        "cwd",
      );
    }
  });

  it("parseSessionEntries", () => {
    for (const wrong of [undefined, ...NO_STRINGS]) {
      expectNamed(
        thrownBy(() => functions.parseSessionEntries(wrong)),
        "content",
      );
    }
  });

  it("functions over entries", () => {
    for (const wrong of [undefined, null, 5, "text", {}]) {
      expectNamed(
        thrownBy(() => functions.buildSessionContext(wrong)),
        "entries",
      );
      expectNamed(
        thrownBy(() => functions.migrateSessionEntries(wrong)),
        "entries",
      );
      expectNamed(
        thrownBy(() => functions.getLatestCompactionEntry(wrong)),
        "entries",
      );
    }
  });

  it("appendMessage, without adding anything", () => {
    const manager = SessionManager.inMemory(box.dir);
    for (const wrong of [undefined, null, 5, "text"]) {
      expectNamed(
        thrownBy(() => manager.appendMessage(unchecked(wrong))),
        "message",
      );
    }
    expect(manager.getEntries()).toEqual([]);
    expect(manager.getLeafId()).toBeNull();
  });

  it("appends of lists and options, without adding anything", () => {
    const manager = SessionManager.inMemory(box.dir);
    for (const wrong of [undefined, null, 5, "text"]) {
      expectNamed(
        thrownBy(() => manager.appendMCPToolSelection(unchecked(wrong))),
        "selectedToolNames",
      );
      expectNamed(
        thrownBy(() => manager.appendTtsrInjection(unchecked(wrong))),
        "ruleNames",
      );
      expectNamed(
        thrownBy(() => manager.appendSessionInit(unchecked(wrong))),
        "init",
      );
    }
    expect(manager.getEntries()).toEqual([]);
  });

  it("restoreState, without changing anything", () => {
    const manager = SessionManager.inMemory(box.dir);
    manager.appendMessage(userMessage());
    for (const wrong of [undefined, null, 5, "text"]) {
      expectNamed(
        thrownBy(() => manager.restoreState(unchecked(wrong))),
        "snapshot",
      );
    }
    expect(manager.getEntries()).toHaveLength(1);
  });
});

describe("asynchronous calls reject with a TypeError that names the argument", () => {
  it("statics of the class", async () => {
    for (const wrong of [undefined, ...NO_STRINGS]) {
      expectNamed(await rejectionOf(() => statics.open(wrong)), "filePath");
      expectNamed(await rejectionOf(() => statics.continueRecent(wrong, box.dir)), "cwd");
      expectNamed(await rejectionOf(() => statics.forkFrom(wrong, box.dir, box.dir)), "sourcePath");
      expectNamed(await rejectionOf(() => statics.list(wrong, box.dir)), "cwd");
    }
    const file = fileOf(await createWritten(box.dir));
    for (const wrong of [5, true, {}, []]) {
      expectNamed(await rejectionOf(() => statics.open(file, wrong)), "sessionDir");
      expectNamed(await rejectionOf(() => statics.continueRecent(box.dir, wrong)), "sessionDir");
      expectNamed(await rejectionOf(() => statics.forkFrom(file, 5, box.dir)), "cwd");
      expectNamed(await rejectionOf(() => statics.forkFrom(file, box.dir, wrong)), "sessionDir");
      expectNamed(await rejectionOf(() => statics.list(box.dir, wrong)), "sessionDir");
    }
  });

  it("functions of the module", async () => {
    for (const wrong of [undefined, ...NO_STRINGS]) {
      expectNamed(await rejectionOf(() => functions.loadEntriesFromFile(wrong)), "filePath");
      expectNamed(await rejectionOf(() => functions.findMostRecentSession(wrong)), "sessionDir");
      expectNamed(await rejectionOf(() => functions.getRecentSessions(wrong)), "sessionDir");
      expectNamed(
        await rejectionOf(() => functions.resolveResumableSession(wrong, box.dir, box.dir)),
        "sessionArg",
      );
      expectNamed(
        await rejectionOf(() => functions.resolveResumableSession("x", wrong, box.dir)),
        "cwd",
      );
    }
  });

  it("methods, leaving the session as it is", async () => {
    const manager = await createWritten(box.dir);
    const methods = loose(manager);
    const file = fileOf(manager);
    for (const wrong of [undefined, ...NO_STRINGS]) {
      expectNamed(await rejectionOf(() => methods.setSessionFile(wrong)), "sessionFile");
      expectNamed(await rejectionOf(() => methods.moveTo(wrong)), "newCwd");
      expectNamed(await rejectionOf(() => methods.setSessionName(wrong)), "name");
      expectNamed(await rejectionOf(() => methods.saveArtifact(wrong, "bash")), "content");
      expectNamed(await rejectionOf(() => methods.saveArtifact("x", wrong)), "toolType");
      expectNamed(await rejectionOf(() => methods.allocateArtifactPath(wrong)), "toolType");
      expectNamed(await rejectionOf(() => methods.getArtifactPath(wrong)), "id");
    }
    for (const wrong of [undefined, null, 5, "text"]) {
      expectNamed(await rejectionOf(() => methods.putBlob(wrong)), "data");
    }
    expect(manager.getSessionFile()).toBe(file);
    expect(manager.getCwd()).toBe(box.dir);
    expect(manager.getSessionName()).toBeUndefined();
    const id = manager.appendMessage(userMessage("goes on"));
    await manager.flush();
    expect(entryIds(file).at(-1)).toBe(id);
  });
});

describe("null where undefined is meant", () => {
  it("counts as a missing session directory", async () => {
    const cwd = box.makeDir("project");
    const expected = SessionManager.getDefaultSessionDir(cwd);
    expect(SessionManager.create(cwd, unchecked(null)).getSessionDir()).toBe(expected);
    expect((await SessionManager.continueRecent(cwd, unchecked(null))).getSessionDir()).toBe(
      expected,
    );
    expect(await SessionManager.list(cwd, unchecked(null))).toEqual([]);
  });
});

describe("system errors", () => {
  it("are the host's Error objects with code, path and syscall", async () => {
    const error = await rejectionOf(() => SessionManager.open(box.makeDir("folder")));
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ code: "EISDIR", message: expect.stringContaining("EISDIR") });
    expect(loose(error).syscall).toEqual(expect.any(String));
    expect(loose(error).errno).toBe(-21);
    expect(Object.prototype.toString.call(error)).toBe("[object Error]");
    expect(loose(error).stack).toEqual(expect.any(String));
  });

  it("have the system's code when a directory cannot be created", () => {
    const blocked = box.path("file", "below");
    fs.writeFileSync(box.path("file"), "");
    const error = loose(thrownBy(() => SessionManager.create(box.dir, blocked)));
    expect(error).toBeInstanceOf(Error);
    expect(["ENOTDIR", "EEXIST"]).toContain(error.code);
  });

  it("say which entry is unknown", () => {
    const manager = SessionManager.inMemory(box.dir);
    for (const call of [
      () => manager.branch("nope"),
      () => manager.branchWithSummary("nope", "s"),
      () => manager.appendLabelChange("nope", "l"),
      () => manager.createBranchedSession("nope"),
    ]) {
      const error = thrownBy(call);
      expect(error).toBeInstanceOf(Error);
      expect(loose(error).message).toBe("Entry nope not found");
      expect(loose(error).code).toBe("ENTRY_NOT_FOUND");
      expect(loose(error).constructor).toBe(Error);
    }
  });
});
