// Old records of event logs, as they are read today.

import { describe, expect, it } from "vitest";
import { JsonlSessionPersistence, type SessionLogEvent } from "../index.js";
import { makeTempDir } from "./support/temp-dir.js";

async function stored(...events: [type: string, data: unknown, rest?: object][]) {
  const logs = new JsonlSessionPersistence({ root: makeTempDir() });
  await logs.create({ version: 0, id: "s", createdAt: 1 });
  const full = events.map(([type, data, rest], seq) => ({ type, seq, time: 1, data, ...rest }));
  await logs.append("s", full as SessionLogEvent[]);
  return logs;
}

async function imported(type: string, data: unknown) {
  const { events } = await (await stored([type, data])).readFrom("s", 0);
  return { type: events[0]?.type, data: events[0]?.data };
}

const end = (reason: object) => ({ turn: 1, reason });

describe("old records", () => {
  it.each([
    ["turn/start", { turn: 1, trigger: { kind: "user" } }, { turn: 1 }],
    ["turn/end", end({ kind: "completed" }), end({ kind: "completed" })],
    ["turn/end", end({ kind: "aborted" }), end({ kind: "aborted", reason: { kind: "legacy" } })],
    ["turn/end", end({ kind: "disposed" }), end({ kind: "aborted", reason: { kind: "disposed" } })],
    ["turn/end", end({ kind: "later", more: 1 }), end({ kind: "later", more: 1 })],
    [
      "turn/end",
      end({ kind: "error", step: 0, message: "m" }),
      end({ kind: "error", error: { message: "m", code: "UNKNOWN" } }),
    ],
    [
      "turn/end",
      end({ kind: "error", step: 2, failure: { message: "m", code: "C", status: 500 } }),
      end({ kind: "error", error: { message: "m", code: "C", status: 500 } }),
    ],
    [
      "user/message",
      { content: [], source: { kind: "user" } },
      { content: [], source: { kind: "user" }, id: "legacy-message:s:0", role: "user" },
    ],
    [
      "assistant/message",
      { turn: 1, content: [], provenance: { provider: "p", model: "m" } },
      {
        turn: 1,
        message: {
          id: "legacy-message:s:0",
          role: "assistant",
          content: [],
          source: { provider: "p", model: "m", kind: "model" },
        },
      },
    ],
    [
      "tool/result",
      { turn: 1, callId: "c", content: [], isError: false },
      {
        turn: 1,
        message: {
          id: "legacy-message:s:0",
          role: "user",
          content: [{ type: "tool-result", toolCallId: "c", content: [], isError: false }],
          source: { kind: "tool", callId: "c" },
        },
      },
    ],
  ])("%s %j", async (type, data, expected) => {
    expect(await imported(type, data)).toEqual({ type, data: expected });
  });

  it.each([
    [{ turn: 1, message: { id: "m" } }, { id: "m" }],
    [
      { turn: 1, content: [], source: {} },
      { content: [], source: {}, id: "legacy-message:s:0", role: "user" },
    ],
  ])("steering/message %j", async (data, expected) => {
    expect(await imported("steering/message", data)).toEqual({
      type: "user/message",
      data: expected,
    });
  });

  it("that replace a result keep its id", async () => {
    const result = { callId: "c", content: [], isError: false };
    const surfaceOp = { op: "replace", start: 0, end: 1 };
    const logs = await stored(["tool/result", result], ["tool/result", result, { surfaceOp }]);
    const { events } = await logs.load("s");
    expect(events[1]?.data).toMatchObject({ message: { id: "legacy-message:s:0" } });
  });

  it.each([
    ["turn/start", { turn: 0, trigger: { kind: "user" } }],
    ["turn/start", { turn: 1, trigger: {} }],
    ["turn/end", { turn: 1 }],
    ["turn/end", end({ kind: "completed", more: 1 })],
    ["turn/end", end({ kind: "error" })],
    ["steering/message", { turn: 1 }],
  ])("that are malformed are refused: %s %j", async (type, data) => {
    const logs = await stored([type, data]);
    const message = `session "s" contains malformed pre-react-loop ${type} at seq 0`;
    await expect(logs.readFrom("s", 0)).rejects.toMatchObject({ message });
    await expect(logs.load("s")).rejects.toMatchObject({
      name: "SessionPersistenceCorruptionError",
      message: `stored session "s" failed validation: Error: ${message}`,
      cause: { message },
    });
  });
});
