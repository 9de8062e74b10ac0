import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { SessionManager } from "../index.js";
import { type ChildResult, runForResult, runScript } from "./support/child-process.js";
import { idsOf, idsOnDisk, namesIn, recordsOf, useSandbox } from "./support/fixtures.js";

const sandbox = useSandbox();

interface Report {
  file: string;
  ids: string[];
}

async function end(way: string): Promise<{ result: ChildResult; report: Report }> {
  const result = await runScript("exit-paths.cjs", [way, sandbox()]);
  expect(result.timedOut).toBe(false);
  return { result, report: JSON.parse(result.stdout.trim()) as Report };
}

/** How a process ends, and the exit code that shows it. */
const ENDINGS: [string, string, number][] = [
  ["exit", "process.exit", 7],
  ["throw", "an uncaught exception", 1],
  ["rejection", "an unhandled rejection", 1],
  ["handled", "an uncaught exception whose handler exits", 9],
  ["signal", "a termination signal whose handler exits", 11],
  ["hangup", "a hangup whose handler exits", 12],
  ["natural", "running out of work", 0],
];

const SCENARIOS: [string, string][] = [
  ["fresh", "a session of one tick"],
  ["running", "appends nobody waited for"],
  ["rewriting", "appends behind a rewrite"],
  ["closed", "appends after closing"],
  ["reading", "appends while sessions are read"],
];

for (const [scenario, what] of SCENARIOS) {
  describe(`${what} are on disk, each once,`, () => {
    for (const [ending, how, code] of ENDINGS) {
      it(`after the process ended by ${how}`, async () => {
        const { result, report } = await end(`${scenario}:${ending}`);
        expect({ code: result.code, signal: result.signal }).toEqual({ code, signal: null });
        expect(idsOnDisk(report.file)).toEqual(report.ids);
        const again = await SessionManager.open(report.file);
        expect(idsOf(again)).toEqual(report.ids);
        expect(namesIn(join(sandbox(), "sessions"))).toHaveLength(1);
      });
    }
  });
}

describe("a session without reply", () => {
  for (const [ending, how, code] of ENDINGS) {
    it(`leaves no file after the process ended by ${how}`, async () => {
      const { result, report } = await end(`held:${ending}`);
      expect(result.code).toBe(code);
      expect(existsSync(report.file)).toBe(false);
      expect(namesIn(join(sandbox(), "sessions"))).toEqual([]);
    });
  }
});

describe("after the process was killed", () => {
  it("a session without reply has no file", async () => {
    const { result, report } = await end("killUnwritten");
    expect(result.signal).toBe("SIGKILL");
    expect(existsSync(report.file)).toBe(false);
  });

  it("a session put on disk by request has its header and its entry", async () => {
    const { report } = await end("killEnsured");
    const records = recordsOf(report.file);
    expect(records.map((record) => record.type)).toEqual(["session", "message"]);
    expect(idsOnDisk(report.file)).toEqual(report.ids);
  });

  it("nothing that was flushed is missing, and nothing is there twice", async () => {
    const { report } = await end("killFlushed");
    expect(idsOnDisk(report.file)).toEqual(report.ids);
  });

  it("the file is a beginning of what was appended", async () => {
    const { report } = await end("killAtOnce");
    const ids = idsOnDisk(report.file);
    expect(ids).toEqual(report.ids.slice(0, ids.length));
    expect(ids.length).toBeGreaterThanOrEqual(2);
    expect(readFileSync(report.file, "utf8").endsWith("\n")).toBe(true);
  });
});

describe("threads that load the addon beside the main thread", () => {
  interface Threads {
    sessions: { file: string; ids: string[]; how: string }[];
    mainIds: string[];
    mainFile: string;
  }

  it("work independently, and what they appended is on disk when they end", async () => {
    const threads = await runForResult<Threads>("threads.cjs", [sandbox()]);
    expect(threads.sessions.map((session) => session.how).sort()).toEqual([
      "close",
      "exit",
      "flush",
      "natural",
    ]);
    for (const { file, ids, how } of threads.sessions) {
      expect(ids, how).toHaveLength(52);
      expect(idsOnDisk(file), how).toEqual(ids);
    }
    expect(idsOnDisk(threads.mainFile)).toEqual(threads.mainIds);
    expect(namesIn(join(sandbox(), "sessions"))).toHaveLength(5);
  });
});
