import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runScript } from "./support/child-process.js";
import { type AnyEntry, idsOnDisk, namesIn, recordsOf, useSandbox } from "./support/fixtures.js";

const sandbox = useSandbox();

const STATES: [string, string][] = [
  ["first", "the first write is under way"],
  ["small", "one short entry was appended"],
  ["big", "long entries were appended"],
  ["image", "an image was appended"],
  ["rewrite", "a rewrite is under way"],
  ["rename", "a new name is being written"],
  ["close", "the session is being closed"],
  ["ownFirst", "a storage of the caller's own makes the first write"],
  ["ownAppends", "a storage of the caller's own appends"],
];

const MOMENTS = ["now", "microtask", "tick", "later"];

interface Ending {
  name: string;
  how: string;
  code: number;
}

const EXIT: Ending = { name: "exit", how: "process.exit", code: 7 };
const THROW: Ending = { name: "throw", how: "an uncaught exception", code: 1 };
const REJECTION: Ending = { name: "rejection", how: "an unhandled rejection", code: 1 };
const SIGNAL: Ending = { name: "signal", how: "a signal whose handler exits", code: 11 };

const THREADS: [string, string, Ending[]][] = [
  ["main", "the process", [EXIT, THROW, REJECTION, SIGNAL]],
  ["worker", "a worker", [EXIT, THROW, REJECTION]],
];

interface Report {
  file: string;
  ids: string[];
}

/** The text of a message's first block, cut to the word that tells when it was taken. */
function firstWord(record: AnyEntry): string {
  const { content } = record.message as { content: string | { text: string }[] };
  const text = typeof content === "string" ? content : (content[0]?.text ?? "");
  return text.slice(0, 5);
}

async function endAt(moment: string, thread: string, state: string, ending: Ending) {
  const root = join(sandbox(), moment);
  const task = { thread, state, moment, ending: ending.name, root };
  const isMain = thread === "main";
  const result = await runScript("exit-moments.cjs", [JSON.stringify(task)]);
  const context = `${JSON.stringify(task)}\n${result.stderr}`;
  const [report, worker] = result.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line)) as [Report, { workerCode: number } | undefined];
  expect([result.code, result.signal], context).toEqual([isMain ? ending.code : 0, null]);
  if (!isMain && ending === EXIT) {
    // Runtimes do not agree on the code of a worker that fails.
    expect(worker?.workerCode, context).toBe(EXIT.code);
  }
  expect(idsOnDisk(report.file), context).toEqual(report.ids);
  const words = recordsOf(report.file).slice(1).map(firstWord);
  expect([...new Set(words)], context).toEqual(["after"]);
  // Storages cannot remove a file at that point.
  const isOwn = state.startsWith("own");
  const names = namesIn(join(root, "sessions")).filter((name) => !(isOwn && name.endsWith(".tmp")));
  expect(names, context).toHaveLength(1);
}

for (const [thread, what, endings] of THREADS) {
  describe(`what was appended in ${what} is on disk, once, in order, and as edited,`, () => {
    for (const [state, when] of STATES) {
      for (const ending of endings) {
        it(`when ${ending.how} ends it while ${when}`, async () => {
          // Bun 1.3 aborts when a microtask of any worker throws.
          const aborts = thread === "worker" && ending === THROW;
          const moments = MOMENTS.filter((moment) => !(aborts && moment === "microtask"));
          await Promise.all(moments.map((moment) => endAt(moment, thread, state, ending)));
        });
      }
    }
  });
}

/** When the listener is added: before the package is loaded, before and after the first append. */
const PLACES = ["early", "idle", "late", "nested"];

const ACTIONS: [string, string][] = [
  ["append", "appends"],
  ["create", "starts a session"],
  ["reply", "appends the first reply of a session"],
  ["ensureOnDisk", "asks for the file of a session without reply"],
  ["flush", "appends and flushes"],
  ["close", "appends and closes"],
  ["rewriteEntries", "appends and rewrites"],
  ["setSessionName", "appends and names the session"],
];

async function listenAt(place: string, thread: string, action: string) {
  const root = join(sandbox(), place);
  const task = { thread, place, action, root };
  const result = await runScript("exit-listeners.cjs", [JSON.stringify(task)]);
  const context = `${JSON.stringify(task)}\n${result.stderr}`;
  expect([result.code, result.signal], context).toEqual([7, null]);
  const sessions = JSON.parse(result.stdout) as (Report & { name?: string })[];
  for (const { file, ids, name } of sessions) {
    expect(idsOnDisk(file), context).toEqual(ids);
    expect(recordsOf(file)[0]?.title, context).toBe(name);
  }
  expect(namesIn(join(root, "sessions")), context).toHaveLength(sessions.length);
}

for (const [thread, what] of THREADS) {
  describe(`an exit listener of ${what} that`, () => {
    for (const [action, does] of ACTIONS) {
      it(`${does} leaves everything on disk, whenever it was added`, async () => {
        await Promise.all(PLACES.map((place) => listenAt(place, thread, action)));
      });
    }
  });
}
