// The store of event logs: order, refusals, arguments, signals.

import fs from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import {
  JsonlSessionPersistence,
  type JsonlSessionPersistenceOptions,
  type SessionLogEvent,
  type SessionLogHeader,
} from "../index.js";
import { unchecked } from "./support/loose.js";
import { makeTempDir, modeOf } from "./support/temp-dir.js";

const event = (seq: number, type = "x/y", data: unknown = { turn: 1 }): SessionLogEvent => ({
  type,
  seq,
  time: 1000 + seq,
  data,
});

const meta = (id = "s", cwd = "/w"): SessionLogHeader => ({ version: 0, id, createdAt: 1, cwd });

function open(options: Partial<JsonlSessionPersistenceOptions> = {}) {
  const root = options.root ?? path.join(makeTempDir(), "deep", "root");
  return { root, logs: new JsonlSessionPersistence({ ...options, root }) };
}

const refused = (message: string, code?: string) =>
  expect.objectContaining(code === undefined ? { message } : { message, code });

describe("a new session", () => {
  it("is not on disk before its first events, and private then", async () => {
    const { root, logs } = open();
    await logs.create(meta());
    expect(fs.existsSync(root)).toBe(false);
    expect(await logs.list()).toEqual([]);
    await expect(logs.load("s")).rejects.toEqual(
      refused('session "s" not found', "SESSION_NOT_FOUND"),
    );
    await logs.append("s", [event(0)]);
    const { path: file } = logs.locate(meta());
    expect([modeOf(file), modeOf(path.dirname(file)), modeOf(root)]).toEqual([0o600, 0o700, 0o700]);
    expect(fs.readdirSync(path.dirname(file))).toEqual(["session.jsonl.zstd"]);
    expect(await logs.list()).toEqual([{ ...meta(), delegationDepth: 0 }]);
    const [snapshot] = await logs.listSnapshots();
    expect(snapshot?.revision).toBe(await logs.readStoredRevision("s"));
  });

  it("cannot be created twice", async () => {
    const { root, logs } = open();
    await logs.create(meta());
    await expect(logs.create(meta())).rejects.toEqual(
      refused('session "s" already exists in this backend', "SESSION_EXISTS"),
    );
    await logs.append("s", [event(0)]);
    const { logs: other } = open({ root });
    const stored =
      'session "s" already has a persisted log on disk; load/resume it instead of creating';
    await expect(other.create(meta("s", "/other"))).rejects.toEqual(refused(stored));
    await other.inspect("s");
    await expect(other.create(meta())).rejects.toEqual(
      refused('session "s" already exists in this backend'),
    );
  });

  it("keeps what its header holds and nothing else", async () => {
    const { logs } = open({ compression: "none" });
    const full: SessionLogHeader = {
      agentPreset: "x",
      delegationDepth: 2,
      origin: "subagent",
      seedLength: 0,
      parentSession: "p",
      cwd: "/w",
      createdAt: 1,
      id: "lone-\ud800",
      version: 0,
    };
    await logs.create(unchecked({ ...full, extra: 1 }));
    await logs.append(full.id, [event(0)]);
    const text = fs.readFileSync(logs.locate(full).path, "utf8");
    expect(text.split("\n")[0]).toBe(
      '{"type":"session","version":0,"id":"lone-\\ud800","createdAt":1,"cwd":"/w","parentSession":"p","seedLength":0,"origin":"subagent","delegationDepth":2,"agentPreset":"x"}',
    );
    expect((await logs.load(full.id)).meta).toEqual(full);
  });

  it.each([
    [{ ...meta(), cwd: undefined }, "session metadata must be losslessly JSON-serializable"],
    [
      { ...meta(), createdAt: 1.5 },
      "session metadata createdAt must be a non-negative safe integer",
    ],
  ])("has plain values: %j", async (wrong, message) => {
    const { logs } = open();
    await expect(logs.create(unchecked(wrong))).rejects.toThrow(new TypeError(message));
  });
});

describe("appending", () => {
  it("keeps the order of calls that nobody waits for", async () => {
    const { logs } = open();
    const calls = [logs.create(meta())];
    for (let seq = 0; seq < 50; seq += 1) {
      calls.push(logs.append("s", [event(seq)]));
    }
    await logs.flush("s");
    await Promise.all(calls);
    expect((await logs.load("s")).events).toEqual(Array.from({ length: 50 }, (_, at) => event(at)));
  });

  it("refuses events that do not follow, and takes them when they do", async () => {
    const { logs } = open();
    await logs.create(meta());
    await expect(logs.append("s", [event(0), event(2)])).rejects.toEqual(
      refused(
        'append seq mismatch for "s": expected 1 at index 1, got 2',
        "SESSION_EVENTS_REFUSED",
      ),
    );
    await expect(logs.append("s", [unchecked({ type: "x/y" })])).rejects.toEqual(
      refused('append seq mismatch for "s": expected 0 at index 0, got undefined'),
    );
    await logs.append("s", [event(0)]);
    await logs.append("s", []);
    await logs.append("unknown", []);
    await expect(logs.append("unknown", [event(0)])).rejects.toEqual(
      refused('session "unknown" not found'),
    );
    expect((await logs.readFrom("s", 0)).events).toEqual([event(0)]);
  });

  it("refuses what is no longer supported", async () => {
    const { logs } = open();
    await logs.create(meta());
    const old = [
      [event(0, "request/header-delta"), "request/header-delta event"],
      [event(0, "mode/set"), "mode/set event"],
      [event(0, "request/header", { reason: "fallback" }), 'request/header reason "fallback"'],
    ] as const;
    for (const [first, what] of old) {
      await expect(logs.append("s", [first])).rejects.toEqual(
        refused(`session "s" contains unsupported legacy ${what} at seq 0`),
      );
    }
  });

  it("closes an interrupted turn before it continues a session of another process", async () => {
    const { root, logs } = open();
    await logs.create(meta());
    await logs.append("s", [event(0, "turn/start")]);
    const { logs: later } = open({ root });
    await expect(later.append("s", [event(1)])).rejects.toEqual(
      refused('append seq mismatch for "s": expected 2 at index 0, got 1'),
    );
    await later.append("s", [event(2)]);
    const { events } = await later.readFrom("s", 1);
    expect(events.map(({ type }) => type)).toEqual(["turn/end", "x/y"]);
  });

  const cyclic: { self?: unknown } = {};
  cyclic.self = cyclic;
  it.each([
    ["undefined", { a: undefined }],
    ["a function", () => 1],
    ["NaN", Number.NaN],
    ["minus zero", [-0]],
    ["a bigint", 1n],
    ["a date", new Date(0)],
    ["a map", new Map()],
    ["a hole", new Array(1)],
    ["a symbol as key", { [Symbol("a")]: 1 }],
    ["an array with a name", Object.assign([1], { name: 1 })],
    ["a hidden key", Object.defineProperty({}, "a", { value: 1 })],
    ["a cycle", cyclic],
  ])("refuses %s", async (_, data) => {
    const { logs } = open();
    await logs.create(meta());
    await expect(logs.append("s", [event(0, "x/y", data)])).rejects.toThrow(
      new TypeError(
        "session event batch is not losslessly JSON-serializable because it contains non-JSON-serializable data",
      ),
    );
  });

  it("keeps any JSON", async () => {
    let deep: unknown = 1;
    for (let depth = 0; depth < 1500; depth += 1) {
      deep = { deep };
    }
    const shared = { z: 1, a: [1e21, 5e-324, -1.5] };
    const events = [
      event(0, "x/y", [shared, shared, Object.create(null)]),
      event(1, "x/y", { "\ud800": "\udc00", nul: "\0\u2028", 10: 1, 9: 2 }),
      event(2, "x/y", deep),
    ];
    const { logs } = open();
    await logs.create(meta());
    await logs.append("s", events);
    expect(JSON.stringify((await logs.load("s")).events)).toBe(JSON.stringify(events));
  });
});

describe("reading", () => {
  it("gives frozen views and copies of one's own", async () => {
    const { logs } = open();
    await logs.create(meta());
    await logs.append("s", [event(0, "x/y", { list: [{}] })]);
    for (const view of [await logs.load("s"), await logs.inspect("s")]) {
      const { list } = unchecked(view.events[0]).data;
      expect([view.meta, view.events[0], list, list[0]].every(Object.isFrozen)).toBe(true);
    }
    const { events } = await logs.readFrom("s", 0);
    unchecked(events[0]).data.list.push(1);
    expect((await logs.readFrom("s", 0)).events[0]).toEqual(event(0, "x/y", { list: [{}] }));
  });

  it("from the middle of a packed run", async () => {
    const { logs } = open();
    await logs.create(meta());
    const chunks = Array.from({ length: 9 }, (_, seq) =>
      event(seq, "assistant/chunk", {
        turn: 1,
        step: 1,
        chunk: { type: "text-delta", index: 0, text: `t${seq}` },
      }),
    );
    await logs.append("s", [...chunks, event(9)]);
    for (let from = 0; from < 12; from += 1) {
      expect((await logs.readFrom("s", from)).events).toEqual([...chunks, event(9)].slice(from));
    }
    await expect(logs.readFrom("s", unchecked(-1))).rejects.toThrow(
      new TypeError("readFrom fromSeq must be a non-negative safe integer, got -1"),
    );
  });

  it("of types that are not known", async () => {
    const { root, logs } = open();
    await logs.create(meta());
    await logs.append("s", [event(0), { ...event(1, "new/type"), ignorable: true }]);
    const { logs: strict } = open({ root, knownEventTypes: ["turn/start"] });
    for (const read of [strict.load("s"), strict.inspect("s"), strict.readFrom("s", 1)]) {
      await expect(read).rejects.toMatchObject({
        name: "SessionFormatUnsupportedError",
        code: "SESSION_FORMAT_UNSUPPORTED",
        location: logs.locate(meta()),
      });
    }
    const { logs: tolerant } = open({ root, knownEventTypes: ["x/y"] });
    expect((await tolerant.load("s")).events.length).toBe(2);
  });

  it("of what is not there", async () => {
    const { logs } = open();
    expect(await logs.loadStored("s")).toBeUndefined();
    expect(await logs.readRaw("s")).toBeUndefined();
    expect(await logs.readStoredRevision("s")).toBeUndefined();
    await expect(logs.inspect("s")).rejects.toEqual(refused('session "s" not found'));
  });

  it("of a root that is no directory fails at once", () => {
    const file = path.join(makeTempDir(), "file");
    fs.writeFileSync(file, "");
    expect(() => open({ root: file })).toThrow(expect.objectContaining({ code: "ENOTDIR" }));
  });

  it("works again after a file of the other encoding is gone", async () => {
    const { root, logs } = open();
    await logs.create(meta());
    await logs.append("s", [event(0)]);
    const stranger = path.join(path.dirname(logs.locate(meta()).path), "session.jsonl");
    fs.writeFileSync(stranger, "");
    const { logs: other } = open({ root });
    await expect(other.list()).rejects.toMatchObject({ code: "SESSION_LAYOUT_CONFLICT" });
    fs.rmSync(stranger);
    expect((await other.list()).length).toBe(1);
  });

  it("finds a session whose id another id ends in a file name", async () => {
    const { logs } = open();
    for (const id of ["s", "s.jsonl", "s.jsonl.zstd"]) {
      await logs.create(meta(id));
      await logs.append(id, [event(0)]);
    }
    expect((await logs.load("s")).events.length).toBe(1);
    expect((await logs.list()).length).toBe(3);
  });
});

describe("storage calls", () => {
  it("store and repair what they are given", async () => {
    const { logs } = open();
    await logs.appendBatch(meta(), [event(0)], false);
    await logs.appendBatch(meta(), [event(1)], true);
    const { path: file } = logs.locate(meta());
    const { size } = fs.statSync(file);
    fs.appendFileSync(file, Buffer.from([0x28, 0xb5]));
    const stored = await logs.loadStored("s");
    expect(stored?.tornMarker).toEqual({ truncateTo: size, recoveredEvents: [] });
    await logs.commitRepair(meta(), { truncateTo: size, recoveredEvents: [event(2)] }, [event(3)]);
    const after = await logs.loadStored("s");
    expect(after?.events).toEqual([event(0), event(1), event(2), event(3)]);
    expect(after?.tornMarker).toBeUndefined();
    expect(after?.revision).not.toBe(stored?.revision);
    await expect(logs.appendBatch(meta(), [event(0)], false)).rejects.toEqual(
      refused(
        'refusing to materialize "s": a log already exists on disk (load/resume it instead)',
        "SESSION_EXISTS",
      ),
    );
  });

  it("do not continue a log that was deleted", async () => {
    const { logs } = open();
    await logs.create(meta());
    await logs.append("s", [event(0)]);
    fs.rmSync(logs.locate(meta()).path);
    await expect(logs.append("s", [event(1)])).rejects.toMatchObject({ code: "ENOENT" });
    expect(fs.existsSync(logs.locate(meta()).path)).toBe(false);
  });
});

describe("signals", () => {
  const reads = {
    inspect: (logs, signal) => logs.inspect("s", signal),
    readFrom: (logs, signal) => logs.readFrom("s", 0, signal),
    loadStored: (logs, signal) => logs.loadStored("s", signal),
    readStoredRevision: (logs, signal) => logs.readStoredRevision("s", signal),
    readRaw: (logs, signal) => logs.readRaw("s", signal),
    list: (logs, signal) => logs.list(signal),
    listSnapshots: (logs, signal) => logs.listSnapshots(signal),
  } satisfies Record<string, (logs: JsonlSessionPersistence, signal: AbortSignal) => unknown>;

  it.each(Object.entries(reads))("end %s with their reason", async (_, read) => {
    const { logs } = open();
    await logs.create(meta());
    await logs.append("s", [event(0)]);
    for (const reason of ["text", 0, null, new Error("e")]) {
      const early = AbortSignal.abort(reason);
      await expect(read(logs, early)).rejects.toBe(reason);
      const controller = new AbortController();
      const running = read(logs, controller.signal);
      controller.abort(reason);
      await expect(running).rejects.toBe(reason);
    }
    await expect(read(logs, AbortSignal.abort())).rejects.toMatchObject({ name: "AbortError" });
    expect(await read(logs, new AbortController().signal)).toBeDefined();
    await expect(read(logs, unchecked(1))).rejects.toThrow(TypeError);
  });
});

describe("closing", () => {
  it.each(["close", "dispose"] as const)(
    "%s waits for what was begun, and ends it",
    async (end) => {
      const { root, logs } = open();
      logs.create(meta());
      logs.append("s", [event(0)]);
      await logs[end]();
      expect((await open({ root }).logs.load("s")).events.length).toBe(1);
      await expect(logs.append("s", [event(1)])).rejects.toMatchObject({ code: "WRITER_CLOSED" });
    },
  );
});

describe("arguments", () => {
  it.each([
    [undefined],
    [{}],
    [{ root: 1 }],
    [{ root: "/r", compression: "gzip" }],
    [{ root: "/r", packChunks: 1 }],
    [{ root: "/r", knownEventTypes: [1] }],
  ])("of the constructor are checked: %j", (options) => {
    expect(() => new JsonlSessionPersistence(unchecked(options))).toThrow(TypeError);
  });

  it("of names that cannot be paths are refused", async () => {
    const { logs } = open();
    expect(() => logs.locate(meta(""))).toThrow("cannot encode an empty path segment");
    expect(() => logs.locate(meta("s", ""))).toThrow("cannot encode an empty project path");
    await logs.create(meta("s", ""));
    await expect(logs.append("s", [event(0)])).rejects.toMatchObject({
      code: "SESSION_NAME_INVALID",
    });
  });
});
