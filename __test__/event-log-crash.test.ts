// Event logs of processes that are killed while they write.

import fs from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { JsonlSessionPersistence } from "../index.js";
import { runScript } from "./support/child-process.js";
import { makeTempDir } from "./support/temp-dir.js";

/** Runs the writer until it has acknowledged `count` times, kills it, and gives what it said. */
async function killed(root: string, compression: string, what: string, count: number) {
  let said = "";
  const { stdout, signal } = await runScript("event-log-writer.cjs", [root, compression, what], {
    onOutput: (text, pid) => {
      said += text;
      if (said.split("\n").length > count) {
        process.kill(pid, "SIGKILL");
      }
    },
  });
  expect(signal).toBe("SIGKILL");
  const acknowledged = new Map<string, number>();
  // A last line may be cut.
  for (const line of stdout.slice(0, stdout.lastIndexOf("\n")).split("\n")) {
    const [id, events] = line.split(" ") as [string, string];
    acknowledged.set(id, Number(events));
  }
  return acknowledged;
}

describe.each(["zstd", "none"] as const)("killed, %s", (compression) => {
  it.each([
    ["create", 1],
    ["create", 7],
    ["append", 2],
    ["append", 20],
    ["repair", 3],
    ["repair", 16],
  ])("during %s, after %i answers", async (what, count) => {
    const root = path.join(makeTempDir(), "root");
    const acknowledged = await killed(root, compression, what, count);
    expect(acknowledged.size).toBeGreaterThan(0);
    const logs = new JsonlSessionPersistence({ root, compression });
    for (const [id, events] of acknowledged) {
      const inspected = await logs.inspect(id);
      expect(inspected.events.length).toBeGreaterThanOrEqual(events);
      const loaded = await logs.load(id);
      expect(loaded).toEqual(inspected);
      expect(loaded.events.map(({ seq }) => seq)).toEqual(loaded.events.map((_, at) => at));
      const next = { type: "x/y", seq: loaded.events.length, time: 1, data: null };
      await logs.append(id, [next]);
      expect((await logs.readFrom(id, next.seq)).events).toEqual([next]);
    }
    // A session that was being created is there as a whole or not at all.
    for (const { id } of await logs.list()) {
      expect((await logs.load(id)).events.length).toBeGreaterThan(0);
    }
    const names = fs.readdirSync(path.join(root, "--w--"));
    expect(names.length - acknowledged.size).toBeLessThanOrEqual(1);
  });
});
