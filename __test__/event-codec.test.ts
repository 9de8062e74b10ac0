// Names, rows and closers of event logs, against recorded results of the original.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decodeStorageRecord,
  encodeSegment,
  interruptedTurnClosers,
  packChunkRuns,
  projectKey,
  type SessionLogEvent,
} from "../index.js";
import { vectors } from "./support/vectors.js";

const names = vectors("dsh/names");
const codec = vectors("dsh/codec");
const closers = vectors("dsh/closers");

const text = (value: unknown) => JSON.stringify(value);

/** What a call gave, in the form of the vectors. */
function outcome(call: () => unknown): unknown {
  try {
    return { ok: call() };
  } catch (error) {
    return { error: (error as Error).message };
  }
}

interface NameCase {
  raw: string;
  ok?: string;
  error?: { message: string };
}

const wanted = ({ ok, error }: NameCase) => (error ? { error: error.message } : { ok });

describe("names", () => {
  it.each(names.ids as NameCase[])("of the session $raw", (name) => {
    expect(outcome(() => encodeSegment(name.raw))).toEqual(wanted(name));
  });

  it.each(names.cwds as NameCase[])("of the project $raw", (name) => {
    expect(outcome(() => projectKey(name.raw))).toEqual(wanted(name));
  });

  it("keep every code unit apart", () => {
    const units = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(units, units, (one, other) => {
        const [left, right] = [one, other].map((it) => String.fromCharCode(...it)) as [
          string,
          string,
        ];
        expect(encodeSegment(left) === encodeSegment(right)).toBe(left === right);
      }),
    );
  });

  it("that are empty have a code", () => {
    expect(() => encodeSegment("")).toThrow(
      expect.objectContaining({ code: "SESSION_NAME_INVALID" }),
    );
    expect(() => projectKey("")).toThrow(expect.objectContaining({ code: "SESSION_NAME_INVALID" }));
  });
});

describe("packing", () => {
  it.each(codec.pack as { name: string; events: SessionLogEvent[]; records: unknown[] }[])(
    "$name",
    ({ events, records }) => {
      const packed = packChunkRuns(events);
      expect(text(packed)).toBe(text(records));
      expect(text(packed.flatMap(decodeStorageRecord))).toBe(
        // The order of keys is that of the contract afterwards.
        text(records.flatMap(decodeStorageRecord)),
      );
    },
  );

  it("passes on events that it does not pack", () => {
    const event = { type: "turn/start", seq: 0, time: 1, data: { turn: 1 } };
    expect(packChunkRuns([event])[0]).toBe(event);
  });

  const strings = fc.oneof(
    fc.constant(""),
    fc.string({ unit: "binary", maxLength: 4 }),
    fc.constantFrom("\ud800", "\udc00x", "\u0000\u2028", "é😀"),
  );
  const chunk = fc.oneof(
    fc.record({ type: fc.constantFrom("text-delta", "reasoning-delta"), text: strings }),
    fc.record({
      type: fc.constant("tool-call-delta"),
      id: fc.constant("c"),
      argumentsDelta: strings,
    }),
    fc.record({
      type: fc.constant("tool-call-delta"),
      id: strings,
      name: fc.constant("n"),
      argumentsDelta: strings,
    }),
    fc.record({ type: fc.constant("text-delta"), text: strings, extra: fc.jsonValue() }),
  );
  const runs = fc.array(
    fc.tuple(chunk, fc.integer({ min: 1, max: 5 }), fc.integer({ min: -9, max: 9 })),
    { maxLength: 8 },
  );

  it("loses nothing of any events", () => {
    fc.assert(
      fc.property(runs, (pieces) => {
        const events: SessionLogEvent[] = [];
        for (const [{ type, ...rest }, times, gap] of pieces) {
          for (let count = 0; count < times; count += 1) {
            const seq = events.length;
            events.push({
              type: "assistant/chunk",
              seq,
              time: 100 + gap * count,
              data: { turn: 1, step: 1, chunk: { type, index: 0, ...rest } },
            });
          }
        }
        expect(text(packChunkRuns(events).flatMap(decodeStorageRecord))).toBe(text(events));
      }),
    );
  });

  it("keeps deep values and the order of keys", () => {
    let data: unknown = { z: 1, a: 2 };
    for (let depth = 0; depth < 2000; depth += 1) {
      data = [data];
    }
    const event = { type: "x/y", seq: 0, time: 1, data };
    expect(text(packChunkRuns([event, event, event]))).toBe(text([event, event, event]));
  });
});

describe("decoding", () => {
  it.each(codec.decode as { name: string; record: unknown; ok?: unknown; error?: Error }[])(
    "$name",
    ({ record, ok, error }) => {
      const result = outcome(() => text(decodeStorageRecord(record)));
      expect(result).toEqual(error ? { error: error.message } : { ok: text(ok) });
    },
  );

  it("gives malformed rows a code", () => {
    expect(() => decodeStorageRecord({ type: "text-chunks" })).toThrow(
      expect.objectContaining({ code: "SESSION_CORRUPT" }),
    );
  });
});

describe("closers", () => {
  it.each(closers as { name: string; events: SessionLogEvent[]; closers: unknown[] }[])(
    "$name",
    (each) => {
      expect(text(interruptedTurnClosers(each.events))).toBe(text(each.closers));
    },
  );

  it("of calls whose id is half a surrogate pair", () => {
    const content = [{ type: "tool-call", id: "\ud83d" }];
    const result = interruptedTurnClosers([
      { type: "turn/start", seq: 0, time: 1, data: { turn: 1 } },
      {
        type: "assistant/message",
        seq: 1,
        time: 1,
        data: { turn: 1, step: 1, message: { content } },
      },
    ]);
    expect(result[0]?.data).toMatchObject({
      message: { id: "interrupted-tool-result-\ud83d-2", source: { callId: "\ud83d" } },
    });
  });
});
