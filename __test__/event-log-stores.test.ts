// Stores that the original wrote, and damaged ones, against what the original made of them.

import fs from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { JsonlSessionPersistence, type SessionLogEvent, type SessionLogHeader } from "../index.js";
import { KNOWN_EVENT_TYPES, type StoredFiles, unpackStore } from "./support/event-logs.js";
import { makeTempDir } from "./support/temp-dir.js";
import { vectors } from "./support/vectors.js";

const text = (value: unknown) => JSON.stringify(value);

interface Failure {
  class: string;
  message: string;
  cause?: string;
}

interface Outcome<T> {
  ok?: T;
  error?: Failure;
}

interface Case {
  name: string;
  compression: "zstd" | "none";
  files: StoredFiles;
  list: Outcome<unknown[]>;
  readFrom0: Outcome<{ meta: unknown; events: unknown[] }>;
  readRaw: Outcome<unknown>;
  inspect: Outcome<unknown[]>;
  load: Outcome<{ events: unknown[]; fileAfter: string }>;
  createS: Outcome<unknown>;
}

/** Refused by the host of the original, which knows what events mean; that is not part of a store. */
const CHECKED_BY_THE_HOST = [
  "header: parentSession number",
  "header: seedLength null",
  "event: fractional time",
];

const cases: Case[] = vectors("dsh/stores").cases;

/** What a call gives on a fresh copy of a store, in the form of the vectors. */
async function outcome<T>(
  root: string,
  call: () => Promise<T>,
): Promise<{ ok?: string; error?: { class: string; message: string } }> {
  try {
    return { ok: (text(await call()) ?? "undefined").replaceAll(text(root).slice(1, -1), "$ROOT") };
  } catch (error) {
    const { name, message } = error as Error;
    return { error: { class: name, message: message.replaceAll(root, "$ROOT") } };
  }
}

function wanted({ ok, error }: Outcome<unknown>) {
  return error ? { error: { class: error.class, message: error.message } } : { ok: text(ok) };
}

describe.each(cases)("$name", (store) => {
  function open() {
    const root = unpackStore(store.files);
    const options = { root, compression: store.compression, knownEventTypes: KNOWN_EVENT_TYPES };
    return { root, logs: new JsonlSessionPersistence(options) };
  }

  const isChecked = CHECKED_BY_THE_HOST.includes(store.name);

  it("lists", async () => {
    const { root, logs } = open();
    expect(await outcome(root, () => logs.list())).toEqual(wanted(store.list));
  });

  it("is read", async () => {
    const { root, logs } = open();
    expect(await outcome(root, () => logs.readFrom("s", 0))).toEqual(wanted(store.readFrom0));
  });

  it("is read as text", async () => {
    const { root, logs } = open();
    const read = await outcome(root, async () => (await logs.readRaw("s")) ?? null);
    const expected = store.readRaw.error
      ? wanted(store.readRaw)
      : { ok: text(store.readRaw.ok ?? null) };
    expect(read).toEqual(expected);
  });

  it("is inspected", async () => {
    const { root, logs } = open();
    const before = await outcome(root, () => logs.readStoredRevision("s"));
    const events = await outcome(root, async () => (await logs.inspect("s")).events);
    expect(events).toEqual(isChecked ? { ok: expect.any(String) } : wanted(store.inspect));
    expect(await outcome(root, () => logs.readStoredRevision("s"))).toEqual(before);
  });

  it("is loaded", async () => {
    const { root, logs } = open();
    const { ok, error } = store.load;
    const events = await outcome(root, async () => (await logs.load("s")).events);
    expect(events).toEqual(
      isChecked ? { ok: expect.any(String) } : wanted({ ok: ok?.events, error: error as Failure }),
    );
    if (ok) {
      const log = Object.keys(store.files).find((file) => /\/session\.jsonl(\.zstd)?$/.test(file));
      const after = fs.readFileSync(path.join(root, log as string));
      const theirs = Buffer.from(ok.fileAfter, "base64");
      if (store.compression === "none") {
        expect(after.toString("latin1")).toBe(theirs.toString("latin1"));
      } else {
        const other = unpackStore({ [log as string]: ok.fileAfter });
        const reread = new JsonlSessionPersistence({ root: other });
        expect((await logs.readRaw("s"))?.content).toBe((await reread.readRaw("s"))?.content);
      }
    }
  });

  it("can be created, or not", async () => {
    const { root, logs } = open();
    const meta = { version: 0, id: "s", createdAt: 1 };
    const created = await outcome(root, () => logs.create(meta));
    expect(created).toEqual(store.createS.error ? wanted(store.createS) : { ok: "undefined" });
  });
});

interface Described {
  id: string;
  path: string;
  header?: SessionLogHeader;
  cwd?: string | null;
  projectDir?: string;
  sessionDir?: string;
  events?: SessionLogEvent[];
  writtenEvents?: SessionLogEvent[];
  stored?: {
    eventCount: number;
    tornMarker: { truncateTo: number; recoveredCount: number } | null;
  };
  inspectTail?: SessionLogEvent[];
  loadTail?: SessionLogEvent[];
  loadedCount?: number;
}

interface Sample {
  files: StoredFiles;
  described?: { compression: "zstd" | "none"; sessions: Described[]; listedIds?: string[] };
}

const samples: Record<string, Sample> = vectors("dsh/samples");

function openSample(name: string) {
  const { files, described } = samples[name] as Sample;
  const root = unpackStore(files);
  const compression = described?.compression ?? (name.startsWith("raw") ? "none" : "zstd");
  return {
    root,
    logs: new JsonlSessionPersistence({ root, compression }),
    sessions: described?.sessions ?? [],
    listedIds: described?.listedIds,
  };
}

describe("stores of the original", () => {
  it("with all kinds of rows", async () => {
    const { logs, sessions } = openSample("zstd-packed");
    for (const { header, events } of sessions) {
      const read = await logs.readFrom(header?.id as string, 0);
      expect(text(read.events)).toBe(text(events));
      expect(read.meta).toMatchObject(header as object);
      const later = await logs.readFrom(header?.id as string, 20);
      expect(text(later.events)).toBe(text(events?.slice(20)));
    }
    expect(sessions.length).toBe(4);
  });

  it("with any names", async () => {
    const { root, logs, sessions, listedIds } = openSample("weird-names");
    for (const { id, cwd, projectDir, sessionDir, events } of sessions) {
      const { meta, events: read } = await logs.readFrom(id, 0);
      expect(text(read)).toBe(text(events));
      expect(meta).toMatchObject({ id, ...(cwd === null ? {} : { cwd }) });
      const where = path.join(root, projectDir as string, sessionDir as string);
      expect(logs.locate(meta).path).toBe(path.join(where, "session.jsonl.zstd"));
    }
    const ids = (await logs.list()).map(({ id }) => id);
    expect(ids.sort()).toEqual([...(listedIds as string[])].sort());
  });

  it.each(["zstd-torn", "raw"])("with torn tails: %s", async (name) => {
    const { root, logs, sessions } = openSample(name);
    for (const { id, path: file, stored, inspectTail, loadTail, loadedCount } of sessions) {
      const prefix = await logs.loadStored(id);
      expect(prefix?.events.length).toBe(stored?.eventCount);
      const torn = prefix?.tornMarker;
      if (torn) {
        expect(torn.truncateTo).toBe(stored?.tornMarker?.truncateTo ?? torn.truncateTo);
        expect(torn.recoveredEvents.length).toBe(stored?.tornMarker?.recoveredCount ?? 0);
      }
      const { events } = await logs.load(id);
      expect(events.length).toBe(loadedCount);
      expect(text(events.slice(stored?.eventCount))).toBe(text(inspectTail ?? loadTail));
      // What it repaired reads like what the original repaired.
      const after = openSample(`${name}-after-load`);
      const theirs = fs.readFileSync(path.join(after.root, file));
      const ours = fs.readFileSync(path.join(root, file));
      if (name === "raw") {
        expect(ours.toString("latin1")).toBe(theirs.toString("latin1"));
      }
      expect((await logs.readRaw(id))?.content).toBe((await after.logs.readRaw(id))?.content);
    }
    expect(sessions.length).toBeGreaterThan(4);
  });

  it.each(["packed", "unpacked"])(
    "are written byte for byte without compression: %s",
    async (id) => {
      const { root: theirs } = openSample("raw");
      const { sessions } = openSample("raw");
      const session = sessions.find((described) => described.id === id) as Described;
      const events = session.writtenEvents as SessionLogEvent[];
      const header = { version: 0, id, createdAt: 1_760_000_000_000, cwd: "/home/dev/project" };
      const root = makeTempDir();
      const packChunks = id === "packed";
      const logs = new JsonlSessionPersistence({ root, compression: "none", packChunks });
      await logs.create(header);
      await logs.append(id, events);
      const file = path.join("--home-dev-project--", id, "session.jsonl");
      const [ours, original] = [root, theirs].map((dir) =>
        fs.readFileSync(path.join(dir, file), "utf8"),
      );
      expect(ours).toBe(original);
    },
  );
});
