import { createHash } from "node:crypto";
import * as fs from "node:fs";
import * as path from "node:path";
import { describe, expect, it } from "vitest";
import { SessionManager } from "../index.js";
import { createIn, createWritten, fileOf } from "./support/managers.js";
import { useSandbox } from "./support/sandbox.js";

const box = useSandbox();

describe("artifacts of a session with a file", () => {
  it("live beside the file, in a directory of the same name", async () => {
    const manager = createIn(box.dir);
    const dir = String(manager.getArtifactsDir());
    expect(`${dir}.jsonl`).toBe(fileOf(manager));
    expect(fs.existsSync(dir)).toBe(false);
    const id = await manager.saveArtifact("the output", "bash");
    expect(id).toBe("0");
    const file = await manager.getArtifactPath("0");
    expect(file).toBe(path.join(dir, "0.bash.log"));
    expect(fs.readFileSync(String(file), "utf8")).toBe("the output");
    expect(fs.existsSync(fileOf(manager))).toBe(false);
  });

  it("are numbered one after another, allocated or saved", async () => {
    const manager = createIn(box.dir);
    expect(await manager.saveArtifact("a", "bash")).toBe("0");
    const allocated = await manager.allocateArtifactPath("read");
    expect(allocated).toEqual({
      id: "1",
      path: path.join(String(manager.getArtifactsDir()), "1.read.log"),
    });
    expect(fs.existsSync(String(manager.getArtifactsDir()))).toBe(true);
    expect(await manager.saveArtifact("b", "bash")).toBe("2");
  });

  it("get distinct numbers when saved at once", async () => {
    const manager = createIn(box.dir);
    const ids = await Promise.all(
      Array.from({ length: 20 }, (_, index) => manager.saveArtifact(`text ${index}`, "bash")),
    );
    expect(new Set(ids).size).toBe(20);
    for (const [index, id] of ids.entries()) {
      const file = String(await manager.getArtifactPath(String(id)));
      expect(fs.readFileSync(file, "utf8")).toBe(`text ${index}`);
    }
  });

  it("continue the numbers found on disk", async () => {
    const manager = await createWritten(box.dir);
    await manager.saveArtifact("a", "bash");
    await manager.saveArtifact("b", "bash");
    const again = await SessionManager.open(fileOf(manager));
    expect(await again.saveArtifact("c", "bash")).toBe("2");
    expect(fs.readFileSync(String(await again.getArtifactPath("0")), "utf8")).toBe("a");
  });

  it("follow the session file", async () => {
    const manager = createIn(box.dir);
    await manager.saveArtifact("a", "bash");
    await manager.newSession();
    expect(await manager.getArtifactPath("0")).toBeNull();
    expect(await manager.saveArtifact("b", "bash")).toBe("0");
  });

  it("are null when there is none of that id", async () => {
    const manager = createIn(box.dir);
    expect(await manager.getArtifactPath("0")).toBeNull();
    await manager.saveArtifact("a", "bash");
    expect(await manager.getArtifactPath("1")).toBeNull();
    expect(await manager.getArtifactPath("")).toBeNull();
  });
});

describe("artifacts of a session without a file", () => {
  it("have ids but no paths", async () => {
    const manager = SessionManager.inMemory(box.dir);
    expect(manager.getArtifactsDir()).toBeNull();
    expect(await manager.allocateArtifactPath("bash")).toStrictEqual({});
    expect(await manager.saveArtifact("a", "bash")).toBe("0");
    expect(await manager.saveArtifact("b", "bash")).toBe("1");
    expect(await manager.getArtifactPath("0")).toBeNull();
    await manager.newSession();
    expect(await manager.saveArtifact("c", "bash")).toBe("0");
    expect(fs.readdirSync(box.dir)).toEqual([]);
  });
});

describe("putBlob", () => {
  it("stores bytes under their hash, in memory-only sessions too", async () => {
    const data = Buffer.from([0, 1, 2, 255, 254]);
    const hash = createHash("sha256").update(data).digest("hex");
    for (const manager of [createIn(box.dir), SessionManager.inMemory(box.dir)]) {
      const result = await manager.putBlob(data);
      expect(result.hash).toBe(hash);
      expect(result.ref).toBe(`blob:sha256:${hash}`);
      expect(result.path).toBe(path.join(box.blobsDir, hash));
      expect(fs.readFileSync(result.path)).toEqual(data);
    }
  });

  it("uses the directory of the time when the manager was made", async () => {
    const manager = createIn(box.dir);
    process.env.PI_CODING_AGENT_DIR = box.path("another-agent");
    const { path: file } = await manager.putBlob(Buffer.from("x"));
    expect(path.dirname(file)).toBe(box.path("agent", "blobs"));
    const later = createIn(box.dir);
    expect(path.dirname((await later.putBlob(Buffer.from("x"))).path)).toBe(
      box.path("another-agent", "blobs"),
    );
  });
});
