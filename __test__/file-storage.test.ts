import { spawnSync } from "node:child_process";
import fs from "node:fs";
import fsp from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import v8 from "node:v8";
import vm from "node:vm";
import { describe, expect, it, vi } from "vitest";
import { expectInvalidArgument, expectSystemError, failureOf } from "./support/errors.ts";
import { makeTempDir, modeOf } from "./support/temp-dir.ts";
import { runUnprivileged } from "./support/unprivileged.ts";

const require = createRequire(import.meta.url);
const { FileSessionStorage, storageOptions } = require("../js/file-session-storage.js");

function setUp() {
  const dir = makeTempDir();
  const at = (name: string) => path.join(dir, name);
  return { dir, at, storage: new FileSessionStorage() };
}

describe("the class", () => {
  it("has ordinary prototype methods that can be replaced", () => {
    const names = Object.getOwnPropertyNames(FileSessionStorage.prototype).sort();
    expect(names).toEqual(
      [
        "constructor",
        "deleteSessionWithArtifacts",
        "ensureDirSync",
        "exists",
        "existsSync",
        "listFilesSync",
        "openWriter",
        "readText",
        "readTextPrefix",
        "rename",
        "statSync",
        "unlink",
        "writeText",
        "writeTextSync",
      ].sort(),
    );
    for (const name of names) {
      const property = Object.getOwnPropertyDescriptor(FileSessionStorage.prototype, name);
      expect(property).toMatchObject({ writable: true, configurable: true, enumerable: false });
    }
    expect(Object.keys(new FileSessionStorage())).toEqual([]);
  });

  it("takes its methods from the prototype at every call", async () => {
    const { storage, at } = setUp();
    const exists = vi.spyOn(FileSessionStorage.prototype, "exists").mockResolvedValue(true);
    expect(await storage.exists(at("missing"))).toBe(true);
    exists.mockRestore();
    expect(await storage.exists(at("missing"))).toBe(false);
  });

  it("keeps checked options", () => {
    const defaults = { migrateOnOpen: false, onInvalid: "fresh" };
    expect(storageOptions(new FileSessionStorage())).toEqual(defaults);
    expect(storageOptions(new FileSessionStorage(null))).toEqual(defaults);
    expect(storageOptions({})).toEqual(defaults);
    const options = { migrateOnOpen: true, onInvalid: "error" };
    class Derived extends FileSessionStorage {}
    expect(storageOptions(new Derived(options))).toEqual(options);
    expect(Object.isFrozen(storageOptions(new FileSessionStorage(options)))).toBe(true);
  });

  it.each([
    ["options", "text"],
    ["options.migrateOnOpen", { migrateOnOpen: 1 }],
    ["options.onInvalid", { onInvalid: "ignore" }],
  ])("rejects a wrong %s", async (name, options) => {
    expectInvalidArgument(await failureOf(() => new FileSessionStorage(options)), name);
  });
});

describe("argument types", () => {
  it.each([
    ["ensureDirSync", [1], "dir"],
    ["writeTextSync", [undefined, "x"], "path"],
    ["writeTextSync", ["/nowhere/x", 1], "content"],
    ["statSync", [{}], "path"],
    ["listFilesSync", [null, "*"], "dir"],
    ["listFilesSync", ["/nowhere"], "pattern"],
    ["exists", [], "path"],
    ["readText", [Buffer.from("x")], "path"],
    ["readTextPrefix", [[], 1], "path"],
    ["readTextPrefix", ["/nowhere", "1"], "maxBytes"],
    ["writeText", [Symbol("x"), "x"], "path"],
    ["writeText", ["/nowhere/x", null], "content"],
    ["rename", [() => 1, "x"], "path"],
    ["rename", ["/nowhere", undefined], "nextPath"],
    ["unlink", [true], "path"],
    ["openWriter", [1n], "path"],
    ["openWriter", ["/nowhere/x", "w"], "options"],
    ["openWriter", ["/nowhere/x", { flags: "r" }], "options.flags"],
    ["openWriter", ["/nowhere/x", { onError: 1 }], "options.onError"],
    ["deleteSessionWithArtifacts", [undefined], "sessionPath"],
  ])("%s checks its arguments, case %#", async (method, args, name) => {
    const storage = new FileSessionStorage();
    expectInvalidArgument(await failureOf(() => storage[method](...args)), name);
    expect(fs.existsSync("/nowhere")).toBe(false);
  });

  it.each(["exists", "readText", "unlink", "deleteSessionWithArtifacts"])(
    "%s rejects instead of throwing",
    async (method) => {
      const outcome = new FileSessionStorage()[method](undefined);
      expect(outcome).toBeInstanceOf(Promise);
      await expect(outcome).rejects.toThrow(TypeError);
    },
  );
});

describe("ensureDirSync", () => {
  it("creates the directory and its parents, private to their owner", () => {
    const { storage, at } = setUp();
    expect(storage.ensureDirSync(at("a/b/c"))).toBeUndefined();
    expect([at("a"), at("a/b"), at("a/b/c")].map(modeOf)).toEqual([0o700, 0o700, 0o700]);
  });

  it("accepts what exists, even a file", () => {
    const { storage, dir, at } = setUp();
    fs.writeFileSync(at("file"), "x");
    storage.ensureDirSync(dir);
    storage.ensureDirSync(at("file"));
    expect(fs.readFileSync(at("file"), "utf8")).toBe("x");
  });

  it("throws the system's error", async () => {
    const { storage, at } = setUp();
    fs.writeFileSync(at("file"), "x");
    const error = await failureOf(() => storage.ensureDirSync(at("file/below")));
    expectSystemError(error, "ENOTDIR", "mkdir", at("file/below"));
  });
});

describe("existsSync and exists", () => {
  it("follow links and find directories", async () => {
    const { storage, dir, at } = setUp();
    fs.writeFileSync(at("file"), "");
    fs.symlinkSync("file", at("link"));
    fs.symlinkSync("nowhere", at("dangling"));
    for (const [name, expected] of [
      [dir, true],
      [at("file"), true],
      [at("link"), true],
      [at("dangling"), false],
      [at("missing"), false],
    ] as const) {
      expect(storage.existsSync(name)).toBe(expected);
      expect(await storage.exists(name)).toBe(expected);
    }
  });

  it("differ when it cannot be told: false, or the error", async () => {
    const { storage, at } = setUp();
    fs.writeFileSync(at("file"), "");
    expect(storage.existsSync(at("file/below"))).toBe(false);
    expect(storage.existsSync(undefined)).toBe(false);
    const error = await failureOf(() => storage.exists(at("file/below")));
    expectSystemError(error, "ENOTDIR", "stat", at("file/below"));
  });

  it("without permission: false, or the error", () => {
    const { at } = setUp();
    fs.chmodSync(at("."), 0o755);
    fs.mkdirSync(at("closed"), { mode: 0o700 });
    fs.writeFileSync(at("closed/file"), "x");
    fs.writeFileSync(at("secret"), "x");
    fs.chmodSync(at("secret"), 0);
    fs.chmodSync(at("closed"), 0);
    const outcome = runUnprivileged<Record<string, unknown>>(
      "js/file-session-storage.js",
      `const storage = new exports.FileSessionStorage();
       const shape = (e) => ({ error: e instanceof Error, code: e.code, syscall: e.syscall, path: e.path });
       const attempt = async (f) => { try { return await f(); } catch (e) { return shape(e); } };
       return {
         existsSync: storage.existsSync(argument.file),
         exists: await attempt(() => storage.exists(argument.file)),
         readText: await attempt(() => storage.readText(argument.secret)),
         list: await attempt(() => storage.listFilesSync(argument.closed, "*")),
         write: await attempt(() => storage.writeTextSync(argument.secret, "y")),
         open: await attempt(() => storage.openWriter(argument.secret)),
       };`,
      { file: at("closed/file"), secret: at("secret"), closed: at("closed") },
    );
    fs.chmodSync(at("closed"), 0o700);
    const denied = (syscall: string, file: string) => {
      return { error: true, code: "EACCES", syscall, path: file };
    };
    const expected = {
      existsSync: false,
      exists: denied("stat", at("closed/file")),
      readText: denied("open", at("secret")),
      list: denied("scandir", at("closed")),
      write: denied("open", at("secret")),
      open: denied("open", at("secret")),
    };
    expect(outcome).toEqual(expected);
  });
});

describe("writeTextSync and writeText", () => {
  it.each(["writeTextSync", "writeText"])("%s creates directories and truncates", async (write) => {
    const { storage, at } = setUp();
    expect(await storage[write](at("a/b/file"), "a long first content")).toBeUndefined();
    await storage[write](at("a/b/file"), "é€😀");
    expect(fs.readFileSync(at("a/b/file"))).toEqual(Buffer.from("é€😀"));
    expect([modeOf(at("a/b/file")), modeOf(at("a"))]).toEqual([0o600, 0o700]);
  });

  it.each(["writeTextSync", "writeText"])("%s keeps mode and links", async (write) => {
    const { storage, at } = setUp();
    fs.writeFileSync(at("file"), "old", { mode: 0o640 });
    fs.symlinkSync("file", at("link"));
    await storage[write](at("link"), "new");
    expect(fs.lstatSync(at("link")).isSymbolicLink()).toBe(true);
    expect(fs.readFileSync(at("file"), "utf8")).toBe("new");
    expect(modeOf(at("file"))).toBe(0o640);
  });

  it.each(["writeTextSync", "writeText"])("%s writes lone surrogates as U+FFFD", async (write) => {
    const { storage, at } = setUp();
    await storage[write](at("file"), "a\ud800b");
    expect(fs.readFileSync(at("file"), "utf8")).toBe("a\ufffdb");
  });

  it("writeTextSync is done when it returns and goes through ensureDirSync", () => {
    const { storage, at } = setUp();
    const ensureDirSync = vi.spyOn(storage, "ensureDirSync");
    storage.writeTextSync(at("a/file"), "x");
    expect(fs.readFileSync(at("a/file"), "utf8")).toBe("x");
    expect(ensureDirSync.mock.calls).toEqual([[at("a")]]);
  });

  it.each(["writeTextSync", "writeText"])("%s reports a directory in the way", async (write) => {
    const { storage, dir } = setUp();
    const error = await failureOf(() => storage[write](dir, "x"));
    expectSystemError(error, "EISDIR", "open", dir);
  });
});

describe("statSync", () => {
  it("gives bytes and the time with its fraction, as the host does", () => {
    const { storage, at } = setUp();
    for (const time of [1_700_000_000.123456, 1_600_000_000, 12.9996]) {
      fs.writeFileSync(at("file"), "é");
      fs.utimesSync(at("file"), time, time);
      const stat = storage.statSync(at("file"));
      expect(Object.keys(stat)).toEqual(["size", "mtimeMs", "mtime"]);
      expect(stat.size).toBe(2);
      expect(stat.mtimeMs).toBe(fs.statSync(at("file")).mtimeMs);
      expect(stat.mtime).toEqual(new Date(stat.mtimeMs));
    }
    const now = fs.statSync(at("file")).mtimeMs;
    expect(storage.statSync(at("file")).mtimeMs).toBe(now);
  });

  it("throws the system's error for a missing file", async () => {
    const { storage, at } = setUp();
    const error = await failureOf(() => storage.statSync(at("missing")));
    expectSystemError(error, "ENOENT", "stat", at("missing"));
    expect(error.message).toBe(`ENOENT: no such file or directory, stat '${at("missing")}'`);
  });
});

describe("listFilesSync", () => {
  function list(pattern: string) {
    const { storage, dir, at } = setUp();
    const names = ["a.jsonl", "b.JSONL", ".h.jsonl", "x.txt", "sub/c.jsonl", "sub/deep/d.jsonl"];
    for (const name of [...names, ".dot/e.jsonl", "dir.jsonl/in.jsonl", "sub/.dot/f.jsonl"]) {
      fs.mkdirSync(path.dirname(at(name)), { recursive: true });
      fs.writeFileSync(at(name), "");
    }
    fs.symlinkSync("a.jsonl", at("link.jsonl"));
    fs.symlinkSync("sub", at("linked"));
    const found: string[] = storage.listFilesSync(`${dir}/./`, pattern);
    expect(found.every((file) => file === path.normalize(file))).toBe(true);
    return found.map((file) => path.relative(dir, file)).sort();
  }

  it.each([
    ["*.jsonl", ["a.jsonl"]],
    ["**/*.jsonl", ["a.jsonl", "dir.jsonl/in.jsonl", "sub/c.jsonl", "sub/deep/d.jsonl"]],
    ["*/*.jsonl", ["dir.jsonl/in.jsonl", "sub/c.jsonl"]],
    ["*", ["a.jsonl", "b.JSONL", "x.txt"]],
    [".*", []],
    ["*.JSONL", ["b.JSONL"]],
    ["?.{jsonl,txt}", ["a.jsonl", "x.txt"]],
    ["[", []],
  ])("%s", (pattern, expected) => {
    expect(list(pattern)).toEqual(expected);
  });

  it("gives nothing for what is no directory", () => {
    const { storage, at } = setUp();
    fs.writeFileSync(at("file"), "");
    expect(storage.listFilesSync(at("missing"), "*")).toEqual([]);
    expect(storage.listFilesSync(at("file"), "*")).toEqual([]);
  });
});

describe("readText and readTextPrefix", () => {
  it.each([
    ["plain", Buffer.from("text\n"), "text\n"],
    ["a byte order mark", Buffer.from("\ufefftext"), "text"],
    ["two byte order marks", Buffer.from("\ufeff\ufefftext"), "\ufefftext"],
    [
      "invalid bytes",
      Buffer.from([0x61, 0xff, 0xc3, 0x62, 0xf0, 0x9f, 0x98]),
      "a\ufffd\ufffdb\ufffd",
    ],
    ["an encoded surrogate", Buffer.from([0xed, 0xa0, 0x80]), "\ufffd\ufffd\ufffd"],
    ["NUL and characters outside the plane", Buffer.from("\0😀"), "\0😀"],
    ["nothing", Buffer.alloc(0), ""],
  ])("decode %s", async (_, bytes, text) => {
    const { storage, at } = setUp();
    fs.writeFileSync(at("file"), bytes);
    expect(await storage.readText(at("file"))).toBe(text);
    expect(await storage.readTextPrefix(at("file"), 1000)).toBe(text);
    expect(new TextDecoder().decode(bytes)).toBe(text);
  });

  it("stop after the given number of bytes", async () => {
    const { storage, at } = setUp();
    fs.writeFileSync(at("file"), "\ufeffaé€z");
    const prefixes = [1, 2, 3, 4, 5, 6, 7.9, 9, Number.POSITIVE_INFINITY].map((maxBytes) =>
      storage.readTextPrefix(at("file"), maxBytes),
    );
    expect(await Promise.all(prefixes)).toEqual([
      "\ufffd",
      "\ufffd",
      "",
      "a",
      "a\ufffd",
      "aé",
      "aé\ufffd",
      "aé€",
      "aé€z",
    ]);
  });

  it.each([0, -1, Number.NaN, Number.NEGATIVE_INFINITY])(
    "give nothing for %d bytes without touching the file",
    async (maxBytes) => {
      const { storage, at } = setUp();
      expect(await storage.readTextPrefix(at("missing"), maxBytes)).toBe("");
    },
  );

  it("reject with the system's errors", async () => {
    const { storage, dir, at } = setUp();
    for (const read of [
      (file: string) => storage.readText(file),
      (file: string) => storage.readTextPrefix(file, 1),
    ]) {
      expectSystemError(await failureOf(() => read(at("no"))), "ENOENT", "open", at("no"));
      expectSystemError(await failureOf(() => read(dir)), "EISDIR", "read", dir);
      fs.writeFileSync(at("file"), "");
      const below = at("file/below");
      expectSystemError(await failureOf(() => read(below)), "ENOTDIR", "open", below);
    }
  });

  it("leave the JS thread free", async () => {
    const { storage, at } = setUp();
    fs.writeFileSync(at("file"), "x".repeat(20_000_000));
    let settled = false;
    const reading = storage.readText(at("file")).finally(() => {
      settled = true;
    });
    await Promise.resolve();
    expect(settled).toBe(false);
    expect(await reading).toHaveLength(20_000_000);
  });
});

describe("rename", () => {
  it("moves and overwrites", async () => {
    const { storage, at } = setUp();
    fs.writeFileSync(at("a"), "a");
    fs.writeFileSync(at("b"), "b");
    expect(await storage.rename(at("a"), at("b"))).toBeUndefined();
    expect(fs.readFileSync(at("b"), "utf8")).toBe("a");
    expect(fs.existsSync(at("a"))).toBe(false);
  });

  it("counts a missing source or target directory as success", async () => {
    const { storage, at } = setUp();
    fs.writeFileSync(at("a"), "a");
    await storage.rename(at("missing"), at("b"));
    await storage.rename(at("a"), at("missing/b"));
    expect(fs.readdirSync(at("."))).toEqual(["a"]);
  });

  it("rejects with other errors, naming both paths", async () => {
    const { storage, at } = setUp();
    fs.writeFileSync(at("a"), "a");
    fs.mkdirSync(at("dir/child"), { recursive: true });
    const error = await failureOf(() => storage.rename(at("a"), at("dir")));
    expectSystemError(error, "EISDIR", "rename", at("a"));
    expect(error.dest).toBe(at("dir"));
    expect(error.message).toMatch(/ -> '.*\/dir'$/);
  });
});

describe("unlink", () => {
  it("removes, and rejects for a missing file", async () => {
    const { storage, at } = setUp();
    fs.writeFileSync(at("a"), "a");
    expect(await storage.unlink(at("a"))).toBeUndefined();
    expect(fs.existsSync(at("a"))).toBe(false);
    const error = await failureOf(() => storage.unlink(at("a")));
    expectSystemError(error, "ENOENT", "unlink", at("a"));
  });
});

describe("openWriter", () => {
  it("opens at once, creating directories and a private file", () => {
    const { storage, at } = setUp();
    storage.openWriter(at("a/b/file"));
    expect(fs.readFileSync(at("a/b/file"), "utf8")).toBe("");
    expect([modeOf(at("a/b/file")), modeOf(at("a"))]).toEqual([0o600, 0o700]);
  });

  it.each([
    [undefined, "old\nnew"],
    [{}, "old\nnew"],
    [{ flags: "a" }, "old\nnew"],
    [{ flags: "w" }, "new"],
  ])("with %j writes the text as it is", async (options, expected) => {
    const { storage, at } = setUp();
    fs.writeFileSync(at("file"), "old\n");
    const writer = storage.openWriter(at("file"), options);
    expect(await writer.writeLine("new")).toBeUndefined();
    expect(fs.readFileSync(at("file"), "utf8")).toBe(expected);
    await writer.close();
  });

  it("throws opening errors", async () => {
    const { storage, dir, at } = setUp();
    expectSystemError(await failureOf(() => storage.openWriter(dir)), "EISDIR", "open", dir);
    fs.writeFileSync(at("file"), "");
    const below = at("file/below");
    const error = await failureOf(() => storage.openWriter(below));
    expectSystemError(error, "ENOTDIR", "open", below);
  });

  it("writes before writeLine returns, in order, after whatever others appended", async () => {
    const { storage, at } = setUp();
    const writer = storage.openWriter(at("file"));
    const lines = ["1\n", "é😀\n", "3\n"].map((line) => writer.writeLine(line));
    expect(fs.readFileSync(at("file"), "utf8")).toBe("1\né😀\n3\n");
    fs.appendFileSync(at("file"), "other\n");
    await Promise.all(lines);
    await writer.writeLine("4\n");
    expect(fs.readFileSync(at("file"), "utf8")).toBe("1\né😀\n3\nother\n4\n");
    await writer.close();
  });

  it("refuses writing and syncing after close, but not flushing and closing", async () => {
    const { storage, at } = setUp();
    const onError = vi.fn();
    const writer = storage.openWriter(at("file"), { onError });
    await writer.writeLine("x");
    await writer.fsync();
    expect(await writer.close()).toBeUndefined();
    expect(await writer.close()).toBeUndefined();
    expect(await writer.flush()).toBeUndefined();
    for (const call of [() => writer.writeLine("y"), () => writer.fsync()]) {
      const error = await failureOf(call);
      expect(error).toBeInstanceOf(Error);
      expect(error.message).toBe("Writer closed");
    }
    expect(writer.getError()).toBeUndefined();
    expect(onError).not.toHaveBeenCalled();
    expect(fs.readFileSync(at("file"), "utf8")).toBe("x");
  });

  it("lets a sync under way finish when it is closed", async () => {
    const { storage, at } = setUp();
    const writer = storage.openWriter(at("file"));
    const syncing = writer.fsync();
    await writer.close();
    expect(await syncing).toBeUndefined();
  });

  it("keeps the first failure and reports it", async () => {
    const { storage } = setUp();
    const onError = vi.fn();
    const writer = storage.openWriter("/dev/full", { onError });
    expect(writer.getError()).toBeUndefined();
    const error = await failureOf(() => writer.writeLine("x"));
    expectSystemError(error, "ENOSPC", "write", "/dev/full");
    expect(writer.getError()).toBe(error);
    expect(onError.mock.calls).toEqual([[error]]);
    for (const call of [() => writer.writeLine("y"), () => writer.fsync(), () => writer.flush()]) {
      expect(await failureOf(call)).toBe(error);
    }
    expect(onError).toHaveBeenCalledTimes(1);
    expect(await writer.close()).toBeUndefined();
    expect(await failureOf(() => writer.flush())).toBe(error);
    expect((await failureOf(() => writer.writeLine("z"))).message).toBe("Writer closed");
  });

  it("records a failed sync like a failed write", async () => {
    const { storage } = setUp();
    const onError = vi.fn();
    // Character devices cannot be synced.
    const writer = storage.openWriter("/dev/null", { onError });
    const error = await failureOf(() => writer.fsync());
    expectSystemError(error, "EINVAL", "fsync", "/dev/null");
    expect(writer.getError()).toBe(error);
    expect(onError.mock.calls).toEqual([[error]]);
    await writer.close();
  });

  it("survives an onError that throws", async () => {
    const { storage } = setUp();
    const onError = () => {
      throw new Error("from onError");
    };
    const writer = storage.openWriter("/dev/full", { onError });
    const error = await failureOf(() => writer.writeLine("x"));
    expect(error.code).toBe("ENOSPC");
    expect(writer.getError()).toBe(error);
  });

  it("rejects a line that is no string and goes on", async () => {
    const { storage, at } = setUp();
    const writer = storage.openWriter(at("file"));
    expectInvalidArgument(await failureOf(() => writer.writeLine(1)), "line");
    await writer.writeLine("x");
    expect(fs.readFileSync(at("file"), "utf8")).toBe("x");
  });

  it("gives the descriptor back when abandoned", async () => {
    const { storage, at } = setUp();
    const open = () => {
      const links = fs.readdirSync("/proc/self/fd").map((fd) => {
        try {
          return fs.readlinkSync(`/proc/self/fd/${fd}`);
        } catch {
          return "";
        }
      });
      return links.filter((link) => link === at("file")).length;
    };
    (() => {
      for (let count = 0; count < 50; count += 1) {
        storage.openWriter(at("file"));
      }
    })();
    expect(open()).toBe(50);
    // The collector may keep what the stack happens to mention.
    await expect.poll(() => (collectGarbage(), open()), { timeout: 10_000 }).toBeLessThan(5);
    const closed = storage.openWriter(at("file"));
    const before = open();
    await closed.close();
    expect(open()).toBe(before - 1);
  });
});

function collectGarbage(): void {
  const bun = (globalThis as { Bun?: { gc(sync: boolean): void } }).Bun;
  if (bun) {
    bun.gc(true);
    return;
  }
  v8.setFlagsFromString("--expose-gc");
  vm.runInNewContext("gc")();
}

describe("deleteSessionWithArtifacts", () => {
  function withSession(name = "session.jsonl") {
    const context = setUp();
    fs.mkdirSync(context.at("s/other"), { recursive: true });
    fs.writeFileSync(context.at("s/bystander"), "");
    fs.writeFileSync(context.at(`s/${name}`), "");
    return { ...context, session: context.at(`s/${name}`) };
  }

  it("removes the file and its directory", async () => {
    const { storage, at, session } = withSession();
    fs.mkdirSync(at("s/session/deep"), { recursive: true });
    fs.writeFileSync(at("s/session/0.bash.log"), "x");
    expect(await storage.deleteSessionWithArtifacts(session)).toBeUndefined();
    expect(fs.readdirSync(at("s"))).toEqual(["bystander", "other"]);
  });

  it("does not need a directory", async () => {
    const { storage, at, session } = withSession();
    expect(await storage.deleteSessionWithArtifacts(session)).toBeUndefined();
    expect(fs.readdirSync(at("s"))).toEqual(["bystander", "other"]);
  });

  it("uses the host's rm", async () => {
    const { storage, at, session } = withSession();
    const rm = vi.spyOn(fsp, "rm").mockResolvedValue(undefined);
    await storage.deleteSessionWithArtifacts(session);
    expect(rm.mock.calls).toEqual([[at("s/session"), { recursive: true, force: true }]]);
    rm.mockRestore();
  });

  it("reports a failed removal after the file is gone", async () => {
    const { storage, at, session } = withSession();
    fs.mkdirSync(at("s/session"));
    const cause = new Error("device busy");
    const rm = vi.spyOn(fsp, "rm").mockRejectedValue(cause);
    const error = await failureOf(() => storage.deleteSessionWithArtifacts(session));
    rm.mockRestore();
    expect(error).toBeInstanceOf(Error);
    expect(error.message).toBe(
      `Session file deleted but failed to remove artifacts directory ${at("s/session")}: device busy`,
    );
    expect(error.cause).toBe(cause);
    expect(fs.existsSync(session)).toBe(false);
    expect(fs.existsSync(at("s/session"))).toBe(true);
  });

  it.each(["node_modules/@oven/bun-linux-x64/bin/bun", "node_modules/bun-agent/bin/bun"])(
    "sees an rm replaced on the namespace object in %s",
    (binary) => {
      const root = path.join(import.meta.dirname, "..");
      const script = path.join(root, "__test__/support/namespace-spy.bun.ts");
      const child = spawnSync(path.join(root, binary), ["test", script], { encoding: "utf8" });
      expect(child.stderr).toContain(" 1 pass");
      expect(child.status).toBe(0);
    },
  );

  it("removes nothing when the file cannot be removed", async () => {
    const { storage, at, session } = withSession();
    fs.rmSync(session);
    fs.mkdirSync(at("s/session"));
    const rm = vi.spyOn(fsp, "rm");
    const error = await failureOf(() => storage.deleteSessionWithArtifacts(session));
    expectSystemError(error, "ENOENT", "unlink", session);
    expect(rm).not.toHaveBeenCalled();
    rm.mockRestore();
    expect(fs.existsSync(at("s/session"))).toBe(true);
  });

  it("goes through unlink", async () => {
    const { storage, session } = withSession();
    const unlink = vi.spyOn(storage, "unlink").mockRejectedValue(new Error("refused"));
    await expect(storage.deleteSessionWithArtifacts(session)).rejects.toThrow("refused");
    expect(unlink.mock.calls).toEqual([[session]]);
    expect(fs.existsSync(session)).toBe(true);
  });

  it.each(["noext", "abc.txt", ".jsonl", "..jsonl", "...jsonl", "other.JSONL"])(
    "never touches anybody else's directory for %s",
    async (name) => {
      const { storage, at, session } = withSession(name);
      await storage.deleteSessionWithArtifacts(session);
      expect(fs.readdirSync(at("s"))).toEqual(["bystander", "other"]);
    },
  );
});
