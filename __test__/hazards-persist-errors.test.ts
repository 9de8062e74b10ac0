import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { SessionManager } from "../index.js";
import { runForResult } from "./support/child-process.js";
import {
  contextOf,
  idsOnDisk,
  namesIn,
  REOPEN,
  startSession,
  useSandbox,
} from "./support/fixtures.js";

const sandbox = useSandbox();

interface Step {
  value?: unknown;
  error?: string;
  isError?: boolean;
  hung?: boolean;
}

interface Outcome {
  rewrite?: Step;
  flush: Step;
  append: Step;
  keptInMemory: boolean;
  isLeaf: boolean;
  close: Step;
  closeAgain: Step;
  wholeRecords: boolean;
  afterMending: Step;
  afterMendingOnDisk: { value?: string[]; error?: string };
  inMemory: string[];
  laterAppend: Step;
  laterFlush: Step;
  lastClose: Step;
  finalOnDisk: string[];
  finalInMemory: string[];
  names: string[];
  contextLength: number;
  unhandled: string[];
}

/**
 * Commands that give a child process a mount table of its own, as root or through a user
 * namespace; `undefined` where the system allows neither.
 */
function ownMounts(): string[] | undefined {
  const ways = [
    ["unshare", "-m"],
    ["unshare", "-r", "-m"],
  ];
  return ways.find(([command, ...args]) => {
    const script = "mount -t tmpfs -o size=64k tmpfs /mnt";
    return spawnSync(command as string, [...args, "sh", "-c", script]).status === 0;
  });
}

const MOUNTS = ownMounts();
const IGNORE_SIZE_SIGNAL = ["sh", "-c", 'trap "" XFSZ; exec "$@"', "sh"];

/** What can break, and what the system then says. */
const FAULTS: [string, string, string[], string[]][] = [
  ["directoryIsFile", "the directory was replaced by a file", [], ["ENOTDIR", "EEXIST"]],
  ["sizeLimit", "a file may not grow further", IGNORE_SIZE_SIGNAL, ["EFBIG"]],
];
if (MOUNTS) {
  FAULTS.push(
    ["full", "the disk is full", MOUNTS, ["ENOSPC"]],
    ["readOnly", "the file system became read-only", MOUNTS, ["EROFS"]],
  );
}

const PHASES: [string, string][] = [
  ["firstWrite", "before the first write"],
  ["append", "between appends"],
  ["appendAfterClose", "after closing"],
  ["rewrite", "before a rewrite"],
];

/** A file system with a file open for writing cannot become read-only. */
const applies = (fault: string, phase: string) =>
  fault !== "readOnly" || phase === "firstWrite" || phase === "appendAfterClose";

const AFTERWARDS = ["flush", "append", "rewriteEntries", "close"];

for (const [fault, what, wrapper, codes] of FAULTS) {
  describe(`when ${what}`, () => {
    for (const [phase, when] of PHASES.filter(([name]) => applies(fault, name))) {
      for (const first of AFTERWARDS) {
        it(`${when}, nothing is lost, and ${first} makes good`, async () => {
          const args = [fault, phase, first, sandbox()];
          const steps = await runForResult<Outcome>("persist-errors.cjs", args, { wrapper });
          if (phase === "rewrite") {
            expect(codes).toContain(steps.rewrite?.error);
          }
          expect(codes).toContain(steps.flush.error);
          expect(steps.flush.isError).toBe(true);
          expect(codes).toContain(steps.append.error);
          expect(steps.append.isError).toBe(true);
          expect(steps).toMatchObject({ keptInMemory: true, isLeaf: true, wholeRecords: true });
          expect(steps.close.hung).toBeUndefined();
          expect(steps.closeAgain.hung).toBeUndefined();
          expect(steps.afterMending.error).toBeUndefined();
          expect(steps.afterMending.hung).toBeUndefined();
          expect(steps.afterMendingOnDisk.value).toEqual(steps.inMemory);
          expect(steps.laterAppend.error).toBeUndefined();
          expect(steps.laterFlush).toEqual({});
          expect(steps.lastClose).toEqual({});
          expect(steps.finalOnDisk).toEqual(steps.finalInMemory);
          expect(steps.names).toHaveLength(1);
          expect(steps.contextLength).toBe(steps.finalInMemory.length - 1);
          expect(steps.unhandled).toEqual([]);
        });
      }
    }
  });
}

describe("a session file whose name is as long as the system allows", () => {
  it("is written, rewritten and reopened", async () => {
    const path = join(sandbox(), `${"n".repeat(249)}.jsonl`);
    const reopened = await REOPEN(path);
    expect(contextOf(reopened)).toBe("new-user new-assistant");
    await reopened.setSessionName("Name");
    await reopened.rewriteEntries();
    expect(contextOf(await SessionManager.open(path))).toBe("new-user new-assistant");
    expect(namesIn(sandbox()).filter((name) => name !== "agent")).toHaveLength(1);
  });

  it("one character longer is refused with the system's own error", async () => {
    const path = join(sandbox(), `${"n".repeat(250)}.jsonl`);
    await expect(SessionManager.open(path)).rejects.toMatchObject({ code: "ENAMETOOLONG" });
  });
});

describe("a directory where the session file should be", () => {
  it("is refused and left alone, and disturbs no other session", async () => {
    const dir = join(sandbox(), "sessions");
    const manager = SessionManager.create("/w/p", dir);
    const file = manager.getSessionFile() as string;
    mkdirSync(join(file, "occupied"), { recursive: true });
    await expect(manager.rewriteEntries()).rejects.toMatchObject({
      code: expect.stringMatching(/^(EISDIR|ENOTEMPTY|EEXIST)$/),
    });
    expect(namesIn(dir)).toHaveLength(1);
    const other = await startSession(dir);
    expect(idsOnDisk(other.getSessionFile() as string)).toHaveLength(2);
  });
});
