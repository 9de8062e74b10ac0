import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { SessionManager } from "../index.js";
import { runScript } from "./support/child-process.js";
import { idsOf, idsOnDisk, namesIn, recordsOf, useSandbox } from "./support/fixtures.js";

const sandbox = useSandbox();

/** What a thread tells of a session: after the last flush that succeeded, or at its end. */
interface Told {
  who: string;
  file: string;
  ids: string[];
  name?: string;
}

/** Starting a process costs more than a round; every round loads the addon in four new workers. */
const PROCESSES = 5;
const ROUNDS = 10;

function missingBlobs(file: string): string[] {
  const references = readFileSync(file, "utf8").matchAll(/blob:sha256:([0-9a-f]{64})/g);
  const blobs = join(process.env.PI_CODING_AGENT_DIR as string, "blobs");
  return [...references].map((match) => match[1] as string).filter((hash) => !isBlob(hash));

  function isBlob(hash: string) {
    return existsSync(join(blobs, hash));
  }
}

async function check({ who, file, ids, name }: Told) {
  const onDisk = idsOnDisk(file);
  if (who === "victim") {
    // Entries of later turns, which nobody was told of, may follow.
    expect(onDisk.slice(0, ids.length), file).toEqual(ids);
  } else {
    expect(onDisk, `${who}: ${file}`).toEqual(ids);
    expect(recordsOf(file)[0]?.title, who).toBe(name);
  }
  expect(missingBlobs(file), who).toEqual([]);
  expect(idsOf(await SessionManager.open(file)), who).toEqual(onDisk);
}

describe("the main thread and four workers that load the addon at once", () => {
  for (let process = 1; process <= PROCESSES; process++) {
    it(`lose nothing and disturb nobody when one is terminated, process ${process}`, async () => {
      const result = await runScript("worker-storm.cjs", [sandbox(), String(ROUNDS)], {
        limitMs: 120_000,
      });
      expect([result.code, result.signal], result.stderr).toEqual([0, null]);
      const told = result.stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as Told);
      const times = (who: string) => told.filter((one) => one.who === who).length;
      // Two sessions of each thread that survives. A worker that is terminated as it loads may have
      // told of a session or not.
      expect(["main", "flush", "close", "exit"].map(times)).toEqual(Array(4).fill(2 * ROUNDS));
      expect(times("victim")).toBeGreaterThanOrEqual(ROUNDS - ROUNDS / 5);
      for (const session of told) {
        await check(session);
      }
    }, 150_000);
  }
});

describe("workers that exit while their first write is under way", () => {
  it("leave it on disk, and the process alive, one hundred times", async () => {
    const result = await runScript("worker-exits.cjs", [sandbox(), "100"], { limitMs: 120_000 });
    expect([result.code, result.signal, result.stderr]).toEqual([0, null, ""]);
    const told = result.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Told);
    expect(told).toHaveLength(100);
    for (const { file, ids } of told) {
      expect(idsOnDisk(file)).toEqual(ids);
    }
    expect(namesIn(sandbox())).toHaveLength(100);
  }, 150_000);
});
