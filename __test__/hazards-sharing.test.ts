import { spawn } from "node:child_process";
import { appendFileSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { SessionManager } from "../index.js";
import { runForResult, scriptPath } from "./support/child-process.js";
import {
  type AnyEntry,
  assistantMessage,
  fileOf,
  idsOf,
  idsOnDisk,
  jsonl,
  linesOf,
  recordsOf,
  startSession,
  toolResult,
  U,
  userMessage,
  useSandbox,
} from "./support/fixtures.js";

const sandbox = useSandbox();

/** Two managers of one session on disk. */
async function twoManagers(): Promise<[SessionManager, SessionManager]> {
  const first = await startSession(join(sandbox(), "sessions"));
  return [first, await SessionManager.open(fileOf(first))];
}

/**
 * Ids of the entries in a file; throws at a damaged line. Whoever sees another's line half-written
 * puts a line feed in front of its own: blank lines, which mean nothing, are passed over.
 */
function entriesIn(file: string): string[] {
  const lines = linesOf(file).filter((line) => line !== "");
  return lines.slice(1).map((line) => (JSON.parse(line) as AnyEntry).id as string);
}

/** Long enough to be written by another thread than short entries. */
const LONG = "some output ".repeat(10_000);

describe("two managers of one session file", () => {
  it("append whole lines, all of which are kept", async () => {
    const [first, second] = await twoManagers();
    const expected = new Set(idsOf(first));
    for (let n = 0; n < 40; n++) {
      const message = n % 5 === 0 ? toolResult(LONG) : userMessage(`m${n}`);
      for (const manager of [first, second]) {
        expected.add(manager.appendMessage(message));
      }
      if (n % 10 === 0) {
        await Promise.all([first.flush(), second.flush()]);
      }
    }
    await Promise.all([first.close(), second.close()]);
    const onDisk = entriesIn(fileOf(first));
    expect(onDisk).toHaveLength(expected.size);
    expect(new Set(onDisk)).toEqual(expected);
    expect((await SessionManager.open(fileOf(first))).getEntries()).toHaveLength(expected.size);
  });

  it("both write to the file of the last rewrite", async () => {
    const [first, second] = await twoManagers();
    // Holds a descriptor of the file that is about to be replaced.
    second.appendMessage(userMessage("before"));
    await second.flush();
    const reader = await SessionManager.open(fileOf(first));
    const before = statSync(fileOf(first)).ino;
    await reader.rewriteEntries();
    expect(statSync(fileOf(first)).ino).not.toBe(before);
    const expected = idsOf(reader);
    for (const manager of [first, second, reader]) {
      expected.push(manager.appendMessage(assistantMessage("after")));
      await manager.flush();
    }
    expect(idsOnDisk(fileOf(first))).toEqual(expected);
  });

  it("keep what the other wrote when a name is written into the header", async () => {
    const [first, second] = await twoManagers();
    const expected = [...idsOf(first), second.appendMessage(userMessage("of the second"))];
    await second.flush();
    await first.setSessionName("Name");
    expected.push(first.appendMessage(userMessage("of the first")));
    await first.flush();
    expect(idsOnDisk(fileOf(first))).toEqual(expected);
    expect(recordsOf(fileOf(first))[0]?.title).toBe("Name");
  });
});

describe("a line that another program began and has not finished", () => {
  it("is not touched by an append", async () => {
    const manager = await startSession(join(sandbox(), "sessions"));
    const torn = jsonl([U("x", null)]).slice(0, 50);
    appendFileSync(fileOf(manager), torn);
    const id = manager.appendMessage(userMessage("u2"));
    await manager.flush();
    const lines = readFileSync(fileOf(manager), "utf8").split("\n");
    expect(lines.at(-3)).toBe(torn);
    expect(JSON.parse(lines.at(-2) as string).id).toBe(id);
  });
});

describe("several processes with one session file", () => {
  /** Runs a process that appends to a session; gives the ids that it appended. */
  function appendIn(file: string, count: number): Promise<string[]> {
    return new Promise((resolve, reject) => {
      const script = scriptPath("append-many.cjs");
      const child = spawn(process.execPath, [script, file, String(count)], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      let stdout = "";
      child.stdout.on("data", (piece: Buffer) => {
        stdout += piece;
      });
      child.on("error", reject);
      child.on("close", (code, signal) =>
        code === 0
          ? resolve(JSON.parse(stdout) as string[])
          : reject(new Error(`The process ended with ${code ?? signal}`)),
      );
    });
  }

  it("append whole lines, all of which are kept, each once", async () => {
    const manager = await startSession(join(sandbox(), "sessions"));
    const appended = await Promise.all([1, 2, 3].map(() => appendIn(fileOf(manager), 150)));
    const expected = [...idsOf(manager), ...appended.flat()];
    const onDisk = entriesIn(fileOf(manager));
    expect([...onDisk].sort()).toEqual([...expected].sort());
    for (const ids of appended) {
      // Each process finds its own entries in the order in which it appended them.
      expect(onDisk.filter((id) => ids.includes(id))).toEqual(ids);
    }
  }, 60_000);
});

describe("processes that append while others replace the file", () => {
  it("lose nothing and write nothing twice", async () => {
    const manager = await startSession(join(sandbox(), "sessions"));
    const file = fileOf(manager);
    await manager.close();
    const run = <T>(what: string, count = 0) =>
      runForResult<T>("rewrite-storm.cjs", [file, what, String(count)], { limitMs: 120_000 });
    const replacing = [run<number>("rewrite"), run<number>("rewrite"), run<number>("rename")];
    const appended = await Promise.all([1, 2, 3, 4].map(() => run<string[]>("append", 500)));
    writeFileSync(`${file}.stop`, "");
    const rounds = await Promise.all(replacing);
    // How many rounds each of them gets depends on who is given the processor.
    expect(rounds.reduce((sum, count) => sum + count)).toBeGreaterThan(3);
    // Every line is whole, and every entry is there once.
    const onDisk = entriesIn(file);
    expect([...onDisk].sort()).toEqual([...idsOf(manager), ...appended.flat()].sort());
    for (const ids of appended) {
      const own = new Set(ids);
      expect(onDisk.filter((id) => own.has(id))).toEqual(ids);
    }
    const reader = await SessionManager.open(file);
    expect(reader.getEntries()).toHaveLength(onDisk.length);
    expect(reader.getLoadReport()).toMatchObject({ skippedLines: 0, recoveredEntries: 0 });
    const left = readdirSync(dirname(file)).filter((name) => name.startsWith("."));
    expect(left).toEqual([]);
  }, 180_000);
});
