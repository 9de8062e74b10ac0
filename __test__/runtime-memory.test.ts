import { statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { SessionManager } from "../index.js";
import { runForResult } from "./support/child-process.js";
import {
  type AnyEntry,
  assistantMessage,
  chain,
  H,
  idsOf,
  jsonl,
  type Line,
  linesOf,
  U,
  useSandbox,
  writeSession,
  X,
} from "./support/fixtures.js";
import { writeHugeSession, writeSessionWithLine } from "./support/huge-session.js";

const sandbox = useSandbox();
const path = () => join(sandbox(), "dir", "s.jsonl");
const MB = 1_000_000;
const MIB = 1 << 20;

interface LoadReport {
  entries: number;
  skippedLines: number;
  skippedBytes: number;
}

interface Step {
  ms: number;
  /** Bytes beyond what the process had before it opened the session. */
  peak: number;
  read: number;
  written: number;
}

interface HugeResult {
  base: number;
  leaf: string;
  branch: string[];
  context: number;
  usage: number;
  report: LoadReport;
  listed: [string, string, number][];
  appended: string[];
  reopened: string[];
  name: string;
  entries: number;
  steps: Record<string, Step>;
}

/** Also shown to whoever runs the test: they are what it is about. */
function show(title: string, steps: Record<string, Step>) {
  const rows = Object.entries(steps).map(([name, { ms, peak, read, written }]) => {
    const mb = (bytes: number) => (bytes / MB).toFixed(1);
    return `  ${name}: peak +${mb(peak)} MB, read ${mb(read)} MB, wrote ${mb(written)} MB, ${ms} ms`;
  });
  console.log([title, ...rows].join("\n"));
}

describe("a session of 670 MB with a short active path", () => {
  const LIMIT = 300 * MB;
  /** Also counts what the measurement itself reads. */
  const LITTLE = MB;

  it.each([
    ["with all the memory of the machine", 0],
    ["in a process that cannot have more than 300 MB beyond its own", LIMIT],
  ])(
    "opens, goes on, is renamed and listed %s",
    async (what, limit) => {
      const { entries, path: active } = writeHugeSession(path());
      const size = statSync(path()).size;
      expect(size).toBeGreaterThan(650 * MB);
      const result = await runForResult<HugeResult>("huge-open.cjs", [path(), String(limit)], {
        limitMs: 240_000,
      });
      show(`${what}: ${(result.base / MB).toFixed(1)} MB before`, result.steps);

      expect(result.leaf).toBe(active.at(-1));
      expect(result.branch).toEqual(active);
      expect(result.context).toBe(active.length);
      expect(result.report).toMatchObject({ entries, skippedLines: 0 });
      expect(result.usage).toBe(2 * 100_002);
      expect(result.reopened).toEqual([...active, ...result.appended]);
      expect(result.entries).toBe(entries + 2);
      expect(result.listed).toEqual([[path(), "Second name", entries + 2]]);

      const { steps } = result;
      expect(Math.max(...Object.values(steps).map((step) => step.peak))).toBeLessThan(LIMIT);
      for (const name of ["leaf", "branch", "context", "usage", "append", "second name", "close"]) {
        const { read, written } = steps[name] as Step;
        expect(read + written, name).toBeLessThan(LITTLE);
      }
      // The header had no room for a name.
      expect(steps["first name"]?.written).toBeGreaterThan(size - LITTLE);
    },
    300_000,
  );
});

describe("one line of 540 MB", () => {
  interface GiantResult {
    peak: number;
    opened: {
      report: LoadReport;
      entries: string[];
      context: number;
      loaded: string[];
      listed: number[];
    };
    kept: string[];
    reopened: string[];
    report: LoadReport;
  }

  it("is passed over, told of and kept; the rest is a session", async () => {
    writeSessionWithLine(path(), 540 * MB);
    const size = statSync(path()).size;
    const result = await runForResult<GiantResult>("giant-line.cjs", [path()], {
      limitMs: 240_000,
    });
    console.log(`peak of opening: +${(result.peak / MB).toFixed(1)} MB`);
    const { opened } = result;
    expect(opened.report).toMatchObject({ entries: 3, skippedLines: 1 });
    expect(opened.report.skippedBytes).toBeGreaterThan(540 * MB);
    expect(opened.entries).toEqual(["u1", "a1", "u2"]);
    expect(opened.loaded).toEqual(["s1", "u1", "a1", "u2"]);
    expect(opened.context).toBe(3);
    expect(opened.listed).toEqual([3]);
    expect(result.kept).toHaveLength(5);
    expect(result.reopened).toEqual(result.kept);
    expect(result.report).toMatchObject({ entries: 5, skippedLines: 1 });
    expect(result.report.skippedBytes).toBe(opened.report.skippedBytes);
    expect(statSync(path()).size).toBeGreaterThan(size);
    // The buffer holds the longest line that may still be one.
    expect(result.peak).toBeLessThan(700 * MB);
  }, 300_000);
});

describe("one line of 64 MB", () => {
  it("stays as it is through a rewrite, and comes back whole", async () => {
    writeSessionWithLine(path(), 64 * MIB);
    const line = linesOf(path())[2] as string;
    const manager = await SessionManager.open(path());
    manager.appendMessage(assistantMessage("a2"));
    await manager.rewriteEntries();
    await manager.close();
    // Compared as a whole: a report of the difference would be as long.
    expect(linesOf(path())[2] === line).toBe(true);
    const reopened = await SessionManager.open(path());
    const entry = reopened.getEntry("giant") as unknown as { message: { content: string } };
    expect(entry.message.content === JSON.parse(line).message.content).toBe(true);
    expect(idsOf(reopened)).toEqual(idsOf(manager));
  }, 120_000);
});

describe("a chain of 200,000 entries", () => {
  const LENGTH = 200_000;

  it("is opened, walked and shown without recursion", async () => {
    writeSession(path(), chain(LENGTH));
    const manager = await SessionManager.open(path());
    expect(manager.buildSessionContext().messages).toHaveLength(LENGTH);
    const branch = manager.getBranch();
    expect([branch.length, branch[0]?.id, branch.at(-1)?.id]).toEqual([LENGTH, "m0", "m199999"]);
    let depth = 0;
    for (let nodes = manager.getTree(); nodes.length > 0; depth++) {
      expect(nodes.length === 1 && nodes[0]?.entry === branch[depth]).toBe(true);
      nodes = nodes[0]?.children ?? [];
    }
    expect(depth).toBe(LENGTH);
    manager.appendMessage(assistantMessage("one more"));
    await manager.rewriteEntries();
    expect((await SessionManager.open(path())).getBranch()).toHaveLength(LENGTH + 1);
    expect(manager.createBranchedSession("m199999")).toBeDefined();
    expect(manager.getBranch()).toHaveLength(LENGTH);
  }, 180_000);
});

describe("sessions that are forgotten without being closed", () => {
  // Each takes some 14 MB that the engine does not see by itself: it would not collect any of them.
  it("are collected in time", async () => {
    const entries = Array.from({ length: 200_000 }, (_, n) => X(`c${n}`, n ? `c${n - 1}` : null));
    writeSession(path(), [H(), ...entries]);
    const { growth } = await runForResult<{ growth: number }>("never-closed.cjs", [path(), "60"], {
      limitMs: 60_000,
    });
    expect(growth).toBeLessThan(400 * MIB);
  }, 90_000);
});

describe("200,000 damaged lines", () => {
  const COUNT = 200_000;
  const good = [U("u1", null), U("u2", "u1")] as AnyEntry[];

  it.each([
    ["of text", "this line is no JSON"],
    ["torn inside a string", JSON.stringify(U("x", null)).slice(0, -20)],
    ["that could all go on in the next line", '{"type":"message","message":{"content":['],
    ["that open brackets only", "["],
    ["of numbers", "123456"],
  ])(
    "%s cost little, and are counted",
    async (_, line) => {
      const damaged: Line[] = [`${`${line}\n`.repeat(COUNT - 1)}${line}`];
      writeSession(path(), jsonl([H(), good[0] as object, ...damaged, good[1] as object]));
      const size = statSync(path()).size;
      const { steps, ...result } = await runForResult<HugeResult>("huge-open.cjs", [path(), "0"], {
        limitMs: 120_000,
      });
      expect(result.branch).toEqual(["u1", "u2"]);
      expect(result.report).toMatchObject({
        entries: 2,
        skippedLines: COUNT,
        skippedBytes: COUNT * line.length,
        recoveredEntries: 0,
        headerSalvaged: false,
        tornTail: false,
      });
      expect(steps.open?.peak).toBeLessThan(2 * size + 64 * MIB);
      // They are all still there after a name was written.
      expect(linesOf(path()).filter((one) => one === line)).toHaveLength(COUNT);
      expect(result.reopened).toEqual(["u1", "u2", ...result.appended]);
    },
    150_000,
  );
});
