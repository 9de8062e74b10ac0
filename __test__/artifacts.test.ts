import { spawn } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { describe, expect, it, vi } from "vitest";
import { expectInvalidArgument, failureOf } from "./support/errors.ts";
import { makeTempDir, modeOf } from "./support/temp-dir.ts";

const require = createRequire(import.meta.url);
const { ArtifactManager } = require("../js/artifacts.js");

function setUp(files: string[] = []) {
  const root = makeTempDir();
  const dir = path.join(root, "session");
  for (const file of files) {
    fs.mkdirSync(dir, { recursive: true });
    fs.writeFileSync(path.join(dir, file), file);
  }
  const make = () => new ArtifactManager(`${dir}.jsonl`);
  return { root, dir, make, manager: make() };
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => String(index));

describe("the class", () => {
  it("has ordinary prototype methods", () => {
    for (const name of ["allocateId", "allocatePath", "save", "exists", "listFiles", "getPath"]) {
      const property = Object.getOwnPropertyDescriptor(ArtifactManager.prototype, name);
      expect(property).toMatchObject({ writable: true, configurable: true, enumerable: false });
    }
    expect(Object.keys(setUp().manager)).toEqual([]);
  });

  it.each([
    ["/s/2026_id.jsonl", "/s/2026_id"],
    ["relative.jsonl", "relative"],
    ["/dir/noext", "/dir/noext.artifacts"],
    ["/tmp/abc.txt", "/tmp/abc.txt.artifacts"],
    ["/s/.jsonl", "/s/.jsonl.artifacts"],
  ])("of %s has the directory %s", (session, dir) => {
    expect(new ArtifactManager(session).dir).toBe(dir);
  });

  it("checks argument types", async () => {
    const { manager } = setUp();
    expectInvalidArgument(await failureOf(() => new ArtifactManager(1)), "sessionFile");
    expectInvalidArgument(await failureOf(() => manager.allocatePath()), "toolType");
    expectInvalidArgument(await failureOf(() => manager.save(1, "bash")), "content");
    expectInvalidArgument(await failureOf(() => manager.save("x", null)), "toolType");
    expectInvalidArgument(await failureOf(() => manager.exists(0)), "id");
    expectInvalidArgument(await failureOf(() => manager.getPath(0)), "id");
  });
});

describe("allocateId", () => {
  it("counts from 0 without looking at the disk", () => {
    const { manager, dir } = setUp(["7.bash.log"]);
    expect([manager.allocateId(), manager.allocateId()]).toEqual([0, 1]);
    expect(fs.readdirSync(dir)).toEqual(["7.bash.log"]);
  });

  it("goes on after the numbers that were given out or found", async () => {
    const { manager } = setUp(["7.bash.log"]);
    expect((await manager.allocatePath("x")).id).toBe("8");
    expect(manager.allocateId()).toBe(9);
    expect(await manager.save("", "x")).toBe("10");
    const fresh = setUp().manager;
    fresh.allocateId();
    expect((await fresh.allocatePath("x")).id).toBe("1");
  });
});

describe("allocatePath", () => {
  it("creates the directory and not the file", async () => {
    const { manager, dir } = setUp();
    expect(await manager.allocatePath("bash")).toEqual({
      id: "0",
      path: path.join(dir, "0.bash.log"),
    });
    expect(fs.readdirSync(dir)).toEqual([]);
    expect(modeOf(dir)).toBe(0o700);
    expect((await manager.allocatePath("python")).path).toBe(path.join(dir, "1.python.log"));
  });

  it("starts after the largest number among logs", async () => {
    const files = ["2.a.log", "10.b.log", "99.txt", "0-Task.jsonl", "local", "11.log", "x5.a.log"];
    const { manager } = setUp(files);
    expect((await manager.allocatePath("bash")).id).toBe("12");
  });

  it("looks at the directory once", async () => {
    const { manager, dir } = setUp();
    await manager.allocatePath("bash");
    fs.writeFileSync(path.join(dir, "50.bash.log"), "");
    expect((await manager.allocatePath("bash")).id).toBe("1");
  });

  it("gives concurrent first calls numbers of their own, in order", async () => {
    const { manager } = setUp();
    const calls = numbers(20).map((_, index) =>
      index % 2 ? manager.save("x", "bash") : manager.allocatePath("bash"),
    );
    const ids = (await Promise.all(calls)).map((result) => result.id ?? result);
    expect(ids).toEqual(numbers(20));
  });

  it("never gives a number twice to two managers of a session", async () => {
    const { make } = setUp();
    const managers = [make(), make(), make()];
    const calls = numbers(30).map((_, index) => managers[index % 3].allocatePath("bash"));
    const ids = (await Promise.all(calls)).map(({ id }) => id);
    expect(ids.sort((a, b) => a - b)).toEqual(numbers(30));
    expect((await make().allocatePath("bash")).id).toBe("30");
  });

  it("starts over in a new directory", async () => {
    const { make, dir } = setUp();
    await make().allocatePath("bash");
    fs.rmSync(dir, { recursive: true });
    expect((await make().allocatePath("bash")).id).toBe("0");
  });

  it("does not create a directory that vanished later", async () => {
    const { manager, dir } = setUp();
    await manager.allocatePath("bash");
    fs.rmSync(dir, { recursive: true });
    expect((await manager.allocatePath("bash")).id).toBe("1");
    expect(fs.existsSync(dir)).toBe(false);
  });

  it("rejects when there can be no directory, and tries again next time", async () => {
    const { manager, dir } = setUp();
    fs.writeFileSync(dir, "in the way");
    const error = await failureOf(() => manager.allocatePath("bash"));
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ code: "ENOTDIR", path: dir });
    fs.rmSync(dir);
    expect((await manager.allocatePath("bash")).id).toBe("0");
  });

  it.each(["../../evil", "a/b", "..", "a\\b", "x\0y", ""])("keeps %j inside", async (toolType) => {
    const { manager, dir, root } = setUp();
    const { id, path: file } = await manager.allocatePath(toolType);
    expect(path.dirname(file)).toBe(dir);
    expect(path.basename(file)).toMatch(new RegExp(`^${id}\\..*\\.log$`));
    await manager.save("x", toolType);
    expect(fs.readdirSync(root)).toEqual(["session"]);
    expect(fs.statSync(path.join(dir, fs.readdirSync(dir)[0])).isFile()).toBe(true);
  });
});

describe("save", () => {
  it("writes a private file and gives its id", async () => {
    const { manager, dir } = setUp();
    expect(await manager.save("é😀\n", "bash")).toBe("0");
    expect(await manager.save("", "python")).toBe("1");
    expect(fs.readFileSync(path.join(dir, "0.bash.log"), "utf8")).toBe("é😀\n");
    expect(fs.readFileSync(path.join(dir, "1.python.log"), "utf8")).toBe("");
    expect(modeOf(path.join(dir, "0.bash.log"))).toBe(0o600);
  });

  it("creates a directory that vanished again", async () => {
    const { manager, dir } = setUp();
    await manager.save("x", "bash");
    fs.rmSync(dir, { recursive: true });
    expect(await manager.save("y", "bash")).toBe("1");
    expect(fs.readdirSync(dir)).toEqual(["1.bash.log"]);
  });

  it("overwrites nothing that somebody else put there", async () => {
    const { manager, dir } = setUp();
    await manager.save("x", "bash");
    fs.writeFileSync(path.join(dir, "1.bash.log"), "other");
    fs.mkdirSync(path.join(dir, "2.directory"));
    expect(await manager.save("y", "bash")).toBe("3");
    expect(fs.readFileSync(path.join(dir, "1.bash.log"), "utf8")).toBe("other");
    expect(await manager.save("z", "bash")).toBe("4");
  });

  it("keeps to numbers of its own with two managers at once", async () => {
    const { make, dir } = setUp();
    const managers = [make(), make()];
    const ids = await Promise.all(
      numbers(40).map((content) => managers[Number(content) % 2].save(content, `t${content}`)),
    );
    expect([...ids].sort((a, b) => a - b)).toEqual(numbers(40));
    for (const [content, id] of ids.entries()) {
      const file = path.join(dir, `${id}.t${content}.log`);
      expect(fs.readFileSync(file, "utf8")).toBe(String(content));
    }
  });

  it("keeps to numbers of its own with several processes at once", async () => {
    const { dir } = setUp();
    const module = JSON.stringify(require.resolve("../js/artifacts.js"));
    const script = (tool: string) => `
      const { ArtifactManager } = require(${module});
      const manager = new ArtifactManager(${JSON.stringify(`${dir}.jsonl`)});
      const saves = Array.from({ length: 25 }, () => manager.save("${tool}", "${tool}"));
      Promise.all(saves).catch((error) => { console.error(error); process.exitCode = 1; });`;
    const codes = ["a", "b", "c"].map((tool) => {
      const child = spawn(process.execPath, ["-e", script(tool)], { stdio: "inherit" });
      return new Promise((resolve) => child.once("exit", resolve));
    });
    expect(await Promise.all(codes)).toEqual([0, 0, 0]);
    const ids = fs.readdirSync(dir).map((name) => name.split(".")[0]);
    expect(ids.sort((a, b) => Number(a) - Number(b))).toEqual(numbers(75));
  });
});

describe("finding", () => {
  it("goes by the number before the first dot", async () => {
    const { manager, dir } = setUp(["1.bash.log", "10.bash.log", "99.txt", "0-Task.jsonl"]);
    fs.mkdirSync(path.join(dir, "5.dir"));
    for (const [id, name] of [
      ["1", "1.bash.log"],
      ["10", "10.bash.log"],
      ["99", "99.txt"],
      ["5", "5.dir"],
      ["0", null],
      ["2", null],
      ["../session/1", null],
    ] as const) {
      expect(await manager.getPath(id)).toBe(name && path.join(dir, name));
      expect(await manager.exists(id)).toBe(name !== null);
    }
  });

  it("lists all names, and none when the directory cannot be read", async () => {
    const { manager, dir } = setUp(["1.bash.log", "99.txt", ".hidden"]);
    fs.mkdirSync(path.join(dir, "sub"));
    expect((await manager.listFiles()).sort()).toEqual([".hidden", "1.bash.log", "99.txt", "sub"]);
    const missing = setUp().manager;
    expect(await missing.listFiles()).toEqual([]);
    expect(await missing.exists("0")).toBe(false);
    expect(await missing.getPath("0")).toBeNull();
    expect(fs.existsSync(missing.dir)).toBe(false);
  });

  it("goes through listFiles and getPath", async () => {
    const { manager, dir } = setUp();
    vi.spyOn(manager, "listFiles").mockResolvedValue(["3.x.log"]);
    expect(await manager.getPath("3")).toBe(path.join(dir, "3.x.log"));
    expect(await manager.exists("3")).toBe(true);
  });
});
