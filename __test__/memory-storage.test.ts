import { createRequire } from "node:module";
import { describe, expect, it, vi } from "vitest";
import { expectInvalidArgument, failureOf } from "./support/errors.ts";

const require = createRequire(import.meta.url);
const { MemorySessionStorage } = require("../js/memory-session-storage.js");

function storageWith(files: Record<string, string>) {
  const storage = new MemorySessionStorage();
  for (const [file, content] of Object.entries(files)) {
    storage.writeTextSync(file, content);
  }
  return storage;
}

/** An error of this storage has a text and, unlike the system's, no code. */
async function expectNotFound(action: () => unknown, file: string): Promise<void> {
  const error = await failureOf(action);
  expect(error).toBeInstanceOf(Error);
  expect(error.message).toBe(`File not found: ${file}`);
  expect("code" in error).toBe(false);
}

describe("the class", () => {
  it("has ordinary prototype methods", () => {
    const names = Object.getOwnPropertyNames(MemorySessionStorage.prototype);
    expect(names.sort()).toEqual([
      "constructor",
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
    ]);
    for (const name of names) {
      const property = Object.getOwnPropertyDescriptor(MemorySessionStorage.prototype, name);
      expect(property).toMatchObject({ writable: true, configurable: true, enumerable: false });
    }
  });

  it("keeps storages apart", () => {
    storageWith({ "/a": "x" });
    expect(new MemorySessionStorage().existsSync("/a")).toBe(false);
  });
});

describe("argument types", () => {
  it.each([
    ["writeTextSync", [1, "x"], "path"],
    ["writeTextSync", ["/a", undefined], "content"],
    ["writeText", ["/a", 5], "content"],
    ["statSync", [undefined], "path"],
    ["listFilesSync", [undefined, "*"], "dir"],
    ["listFilesSync", ["/", undefined], "pattern"],
    ["readText", [null], "path"],
    ["readTextPrefix", ["/a", "1"], "maxBytes"],
    ["rename", [1, "/b"], "path"],
    ["rename", ["/a", 1], "nextPath"],
    ["unlink", [1], "path"],
    ["openWriter", [1], "path"],
    ["openWriter", ["/a", 1], "options"],
    ["openWriter", ["/a", { flags: "x" }], "options.flags"],
    ["openWriter", ["/a", { onError: {} }], "options.onError"],
  ])("%s checks its arguments, case %#", async (method, args, name) => {
    const storage = storageWith({ "/a": "kept" });
    expectInvalidArgument(await failureOf(() => storage[method](...args)), name);
    expect(await storage.readText("/a")).toBe("kept");
  });

  it.each(["writeText", "readText", "readTextPrefix", "rename", "unlink"])(
    "%s rejects instead of throwing",
    async (method) => {
      const outcome = new MemorySessionStorage()[method](undefined);
      expect(outcome).toBeInstanceOf(Promise);
      await expect(outcome).rejects.toThrow(TypeError);
    },
  );
});

describe("files", () => {
  it("are found by the very string", async () => {
    const storage = storageWith({ "/d/a": "x" });
    storage.ensureDirSync("/d");
    for (const [file, expected] of [
      ["/d/a", true],
      ["/d//a", false],
      ["/d/./a", false],
      ["d/a", false],
      ["/d", false],
    ] as const) {
      expect(storage.existsSync(file)).toBe(expected);
      expect(await storage.exists(file)).toBe(expected);
    }
  });

  it("hold text exactly, lone surrogates included", async () => {
    const text = "\ufeffa\ud800b\0😀";
    const storage = storageWith({ "/a": text });
    expect(await storage.readText("/a")).toBe(text);
  });

  it("are written before writeText returns its promise", async () => {
    const storage = new MemorySessionStorage();
    const writing = storage.writeText("/a", "x");
    expect(storage.existsSync("/a")).toBe(true);
    expect(await writing).toBeUndefined();
    await storage.writeText("/a", "y");
    expect(await storage.readText("/a")).toBe("y");
  });

  it("have a size in UTF-16 units and the time of the last writing", async () => {
    const storage = new MemorySessionStorage();
    const now = vi.spyOn(Date, "now").mockReturnValue(1_700_000_000_123);
    storage.writeTextSync("/a", "é😀");
    now.mockRestore();
    expect(storage.statSync("/a")).toEqual({
      size: 3,
      mtimeMs: 1_700_000_000_123,
      mtime: new Date(1_700_000_000_123),
    });
    storage.writeTextSync("/a", "");
    expect(storage.statSync("/a").mtimeMs).toBeGreaterThan(1_700_000_000_123);
    expect(Number.isInteger(storage.statSync("/a").mtimeMs)).toBe(true);
  });

  it.each([
    [3, "é\ud83d\ude00"],
    [2, "é\ud83d"],
    [0, ""],
    [-1, "é😀a"],
    [-3, "é\ud83d"],
    [1.9, "é"],
    [Number.NaN, ""],
    [Number.POSITIVE_INFINITY, "é😀ab"],
  ])("give a prefix of %d units as slice does", async (maxBytes, expected) => {
    const storage = storageWith({ "/a": "é😀ab" });
    expect(await storage.readTextPrefix("/a", maxBytes)).toBe(expected);
  });

  it("that are missing cannot be read, but removed", async () => {
    const storage = new MemorySessionStorage();
    await expectNotFound(() => storage.statSync("/no"), "/no");
    await expectNotFound(() => storage.readText("/no"), "/no");
    await expectNotFound(() => storage.readTextPrefix("/no", 0), "/no");
    await expectNotFound(() => storage.rename("/no", "/b"), "/no");
    expect(await storage.unlink("/no")).toBeUndefined();
  });

  it("are removed", async () => {
    const storage = storageWith({ "/a": "x" });
    await storage.unlink("/a");
    expect(storage.existsSync("/a")).toBe(false);
  });

  it("move with content and time, overwriting", async () => {
    const now = vi.spyOn(Date, "now").mockReturnValue(1000);
    const storage = storageWith({ "/a": "a", "/b": "b" });
    now.mockRestore();
    expect(await storage.rename("/a", "/b")).toBeUndefined();
    expect(storage.existsSync("/a")).toBe(false);
    expect(await storage.readText("/b")).toBe("a");
    expect(storage.statSync("/b").mtimeMs).toBe(1000);
    await storage.rename("/b", "/b");
    expect(await storage.readText("/b")).toBe("a");
  });
});

describe("listFilesSync", () => {
  const names = ["/d/b.jsonl", "/d/a.jsonl", "/d/.jsonl", "/d/.x.jsonl", "/d/c.j*", "/d/?.jsonl"];
  const others = ["/d/sub/e.jsonl", "/d/back\\f.jsonl", "/dd/g.jsonl", "/d", "/d/a.txt"];
  const files = Object.fromEntries([...names, ...others].map((name) => [name, ""]));

  it.each([
    ["*", [...names, "/d/a.txt"]],
    ["*.jsonl", names.filter((name) => name.endsWith(".jsonl"))],
    ["*.j*", ["/d/c.j*"]],
    ["a.txt", ["/d/a.txt"]],
    ["?.jsonl", ["/d/?.jsonl"]],
    ["**/*.jsonl", []],
    ["a*", []],
    ["", []],
  ])("%s", (pattern, expected) => {
    const storage = storageWith(files);
    expect(storage.listFilesSync("/d", pattern)).toEqual(expected);
    expect(storage.listFilesSync("/d/", pattern)).toEqual(expected);
  });

  it("gives nothing for an unknown directory", () => {
    expect(storageWith(files).listFilesSync("/nowhere", "*")).toEqual([]);
  });
});

describe("openWriter", () => {
  it("empties the file at once with flags w, creating it", async () => {
    const storage = storageWith({ "/a": "old" });
    storage.openWriter("/a", { flags: "w" });
    storage.openWriter("/new", { flags: "w" });
    expect(await storage.readText("/a")).toBe("");
    expect(await storage.readText("/new")).toBe("");
  });

  it.each([undefined, {}, { flags: "a" }])(
    "appends with %j, creating on writing",
    async (options) => {
      const storage = storageWith({ "/a": "old\n" });
      const writer = storage.openWriter("/a", options);
      const fresh = storage.openWriter("/new", options);
      expect(storage.existsSync("/new")).toBe(false);
      expect(await writer.writeLine("line")).toBeUndefined();
      await fresh.writeLine("line");
      expect(await storage.readText("/a")).toBe("old\nline");
      expect(await storage.readText("/new")).toBe("line");
    },
  );

  it("keeps the order of concurrent lines, also of several writers", async () => {
    const storage = new MemorySessionStorage();
    const writers = [storage.openWriter("/a"), storage.openWriter("/a")];
    const lines = Array.from({ length: 20 }, (_, index) => `${index}\n`);
    await Promise.all(lines.map((line, index) => writers[index % 2].writeLine(line)));
    expect(await storage.readText("/a")).toBe(lines.join(""));
  });

  it("refuses writing after close and nothing else", async () => {
    const storage = new MemorySessionStorage();
    const onError = vi.fn();
    const writer = storage.openWriter("/a", { onError });
    expect(await writer.close()).toBeUndefined();
    expect(await writer.close()).toBeUndefined();
    expect(await writer.flush()).toBeUndefined();
    expect(await writer.fsync()).toBeUndefined();
    expect((await failureOf(() => writer.writeLine("x"))).message).toBe("Writer closed");
    expect(writer.getError()).toBeUndefined();
    expect(onError).not.toHaveBeenCalled();
    expect(storage.existsSync("/a")).toBe(false);
  });

  it("records and reports errors of the storage", async () => {
    const failure = new Error("quota exceeded");
    class Full extends MemorySessionStorage {
      writeTextSync(): void {
        throw failure;
      }
    }
    const onError = vi.fn(() => {
      throw new Error("from onError");
    });
    const writer = new Full().openWriter("/a", { onError });
    expect(writer.getError()).toBeUndefined();
    expect(await failureOf(() => writer.writeLine("x"))).toBe(failure);
    expect(await failureOf(() => writer.writeLine("y"))).toBe(failure);
    expect(writer.getError()).toBe(failure);
    expect(onError.mock.calls).toEqual([[failure]]);
    expect(await writer.close()).toBeUndefined();
  });

  it("rejects a line that is no string", async () => {
    const writer = new MemorySessionStorage().openWriter("/a");
    expectInvalidArgument(await failureOf(() => writer.writeLine(undefined)), "line");
    expect(writer.getError()).toBeUndefined();
  });
});
