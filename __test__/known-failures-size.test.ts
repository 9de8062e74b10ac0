import { closeSync, openSync, statSync, writeSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { SessionManager } from "../index.js";
import { runForResult } from "./support/child-process.js";
import {
  A,
  type AnyEntry,
  chain,
  contextOf,
  fileOf,
  H,
  idsOf,
  jsonl,
  type Line,
  linesOf,
  recordsOf,
  startSession,
  toolResult,
  U,
  useSandbox,
  writeSession,
  X,
} from "./support/fixtures.js";

const sandbox = useSandbox();
const path = () => join(sandbox(), "dir", "s.jsonl");
const MIB = 1 << 20;

/** Limits are wide, for slow machines and unoptimised builds: they catch quadratic work only. */
async function within<T>(limitMs: number, work: () => T | Promise<T>): Promise<T> {
  const start = performance.now();
  const result = await work();
  expect(performance.now() - start).toBeLessThan(limitMs);
  return result;
}

describe("one very long text", () => {
  it("appended is cut on disk and whole in memory", async () => {
    const manager = await startSession(join(sandbox(), "sessions"));
    const text = "0123456789abcdef".repeat((64 * MIB) / 16);
    const id = manager.appendMessage(toolResult(text));
    await within(20_000, () => manager.flush());
    expect(statSync(fileOf(manager)).size).toBeLessThan(600_000);
    const onDisk = recordsOf(fileOf(manager)).at(-1) as AnyEntry & {
      message: { content: { text: string }[] };
    };
    expect(onDisk.message.content[0]?.text).toHaveLength(500_000);
    const inMemory = manager.getEntry(id) as unknown as typeof onDisk;
    expect(inMemory.message.content[0]?.text).toBe(text);
  }, 60_000);

  for (const [what, piece] of [
    ["without", "0123456789abcdef"],
    ["with", '\\n\\"\\u00e9 \\\\é'],
  ] as const) {
    it(`found in a file ${what} escapes costs time in proportion`, async () => {
      const [before, after] = JSON.stringify(U("big", "u1")).split('"content":"big"');
      writeSession(path(), [H(), U("u1", null)]);
      const fd = openSync(path(), "a");
      writeSync(fd, `${before}"content":"`);
      const block = piece.repeat(Math.ceil(MIB / Buffer.byteLength(piece)));
      for (let n = 0; n < 64; n++) {
        writeSync(fd, block);
      }
      writeSync(fd, `"${after}\n${jsonl([A("a1", "big"), U("u2", "a1")])}`);
      closeSync(fd);
      const manager = await within(20_000, () => SessionManager.open(path()));
      expect(idsOf(manager)).toEqual(["u1", "big", "a1", "u2"]);
      const entry = manager.getEntry("big") as unknown as { message: { content: string } };
      expect(entry.message.content).toHaveLength(JSON.parse(`"${piece}"`).length * 64 * count());
      expect(manager.buildSessionContext().messages).toHaveLength(4);

      function count() {
        return Math.ceil(MIB / Buffer.byteLength(piece));
      }
    }, 60_000);
  }
});

describe("many lines", () => {
  it("of mixed sizes and mostly no messages load in no time", async () => {
    const lines: Line[] = [H()];
    for (let n = 0; n < 4800; n++) {
      const parent = n === 0 ? null : `m${n - 1}`;
      const message = n % 120 === 0 ? U(`m${n}`, parent) : A(`m${n}`, parent);
      lines.push(n % 6 === 0 ? message : X(`m${n}`, parent, "x".repeat((n * 37) % 3000)));
    }
    writeSession(path(), lines);
    const manager = await within(5000, () => SessionManager.open(path()));
    expect(manager.getEntries()).toHaveLength(4800);
    expect(manager.buildSessionContext().messages).toHaveLength(800);
  });

  it("of which every second one is damaged load in proportion", async () => {
    const lines: Line[] = chain(20_000).flatMap((line) => [line, '{"type":"message","message":[{']);
    writeSession(path(), lines);
    const manager = await within(20_000, () => SessionManager.open(path()));
    expect(manager.getEntries()).toHaveLength(20_000);
    expect(manager.getLoadReport()).toMatchObject({ entries: 20_000, skippedLines: 20_001 });
    expect(manager.buildSessionContext().messages).toHaveLength(20_000);
  }, 60_000);

  it("behind a damaged one load however many they are", async () => {
    const short = (n: number) => `{"type":"custom","id":"${n}","parentId":null,"customType":"t"}`;
    const lines: Line[] = [H(), "{torn", ...Array.from({ length: 200_000 }, (_, n) => short(n))];
    writeSession(path(), lines);
    const manager = await within(20_000, () => SessionManager.open(path()));
    expect(manager.getEntries()).toHaveLength(200_000);
    expect(manager.getLeafId()).toBe("199999");
  }, 60_000);

  it("in one chain cost a walk in proportion", async () => {
    const length = 100_000;
    writeSession(path(), chain(length));
    const manager = await within(30_000, () => SessionManager.open(path()));
    await within(10_000, () => {
      expect(manager.getBranch()).toHaveLength(length);
      expect(manager.buildSessionContext().messages).toHaveLength(length);
    });
    await within(5000, () => {
      for (let n = 0; n < 1000; n++) {
        const parent = `m${n * 99}`;
        expect(manager.getChildren(parent).map((item) => item.id)).toEqual([`m${n * 99 + 1}`]);
      }
    });
    await within(10_000, () => {
      let depth = 0;
      for (let nodes = manager.getTree(); nodes.length > 0; depth++) {
        nodes = nodes[0]?.children ?? [];
      }
      expect(depth).toBe(length);
    });
  }, 120_000);

  it("off the active branch cost its context nothing", async () => {
    const lines: Line[] = [H(), U("u1", null)];
    for (let n = 0; n < 35_000; n++) {
      lines.push(A(`side${n}`, n % 50 === 0 ? "u1" : `side${n - 1}`));
    }
    lines.push(A("a1", "u1"), U("u2", "a1"), A("a2", "u2"));
    writeSession(path(), lines);
    const manager = await within(20_000, () => SessionManager.open(path()));
    await within(5000, () => {
      for (let n = 0; n < 500; n++) {
        manager.branch(n % 2 === 0 ? "u2" : "a2");
        expect(contextOf(manager)).toBe(n % 2 === 0 ? "u1 a1 u2" : "u1 a1 u2 a2");
      }
    });
  }, 60_000);
});

describe("deeply nested data", () => {
  function lineOfDepth(depth: number): string {
    const half = depth / 2;
    const data = `${"[".repeat(half)}${'{"a":'.repeat(half)}1${"}".repeat(half)}${"]".repeat(half)}`;
    return JSON.stringify(X("deep", "u1", "DATA")).replace('"DATA"', data);
  }

  it("that no serialiser could write again survives a rewrite untouched", async () => {
    const line = lineOfDepth(20_000);
    writeSession(path(), [H(), U("u1", null), line, A("a1", "deep")]);
    const manager = await SessionManager.open(path());
    expect(contextOf(manager)).toBe("u1 a1");
    await manager.setSessionName("Name");
    expect(linesOf(path())[2]).toBe(line);
    expect(contextOf(await SessionManager.open(path()))).toBe("u1 a1");
  });

  it("survives a rewrite of the entry's object, and an append", async () => {
    const line = lineOfDepth(1000);
    writeSession(path(), [H(), U("u1", null), line, A("a1", "deep")]);
    const manager = await SessionManager.open(path());
    const entry = manager.getEntry("deep") as unknown as AnyEntry;
    await manager.setSessionName("Name");
    expect(linesOf(path())[2]).toBe(line);
    manager.appendCustomEntry("test", entry.data);
    await manager.flush();
    const { data } = recordsOf(path()).at(-1) as AnyEntry;
    expect(JSON.stringify(data)).toBe(JSON.stringify(entry.data));
  });
});

describe("opening and closing again and again", () => {
  it("does not grow the process", async () => {
    const text = "some output ".repeat(400);
    const lines = chain(1000).map((line, n) =>
      n % 2 === 0 && n > 0 ? { ...(line as object), message: toolResult(text) } : line,
    );
    writeSession(path(), lines);
    const { growth, size } = await runForResult<{ growth: number; size: number }>(
      "open-close-cycles.cjs",
      [path(), "40"],
      { limitMs: 90_000 },
    );
    expect(size).toBeGreaterThan(2 * MIB);
    expect(growth).toBeLessThan(15 * size);
  }, 120_000);
});
