// Properties of the order of tool results, over random conversations.

import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { convertToLlm, setLogger } from "../index.js";
import { type Loose, loose, type Unchecked } from "./support/loose.js";
import { assistantMessage, toolResultMessage } from "./support/messages.js";

const calling = (ids: string[]): Unchecked =>
  assistantMessage("", {
    content: ids.map((id) => ({ type: "toolCall", id, name: `tool_${id}`, arguments: {} })),
  });
const result = (toolCallId: string): Unchecked => toolResultMessage("out", { toolCallId });
const other = (): Unchecked => ({ role: "developer", content: "d" });

/** Numbers the messages, in their times: most of them are copied on the way. */
const numbered = (messages: Unchecked[]) =>
  messages.map((message, timestamp) => ({ ...message, timestamp }));

const id = fc.constantFrom("a", "b", "c", "d", "e");

/** Any messages in any order; ids may be called, and have results, any number of times. */
const anyHistory = fc
  .array(
    fc.oneof(
      fc.array(id, { maxLength: 3 }).map(calling),
      id.map(result),
      fc.constant(undefined).map(other),
    ),
    { maxLength: 30 },
  )
  .map(numbered);

/** Each id is called by one message at most. */
const uniqueCalls = anyHistory.filter((messages) => {
  const ids = messages.flatMap((message) => [...new Set(callsOf(message))]);
  return new Set(ids).size === ids.length;
});

/** What sessions hold: results come some time after their call, some never, none twice. */
const sessionHistory = fc
  .array(
    fc.record({
      calls: fc.integer({ min: 0, max: 3 }),
      delays: fc.array(fc.integer({ min: 0, max: 8 }), { minLength: 3, maxLength: 3 }),
      lost: fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
    }),
    { maxLength: 15 },
  )
  .map((turns) => {
    const due: { at: number; message: Unchecked }[] = [];
    turns.forEach(({ calls, delays, lost }, turn) => {
      const ids = Array.from({ length: calls }, (_, at) => `${turn}.${at}`);
      due.push({ at: turn, message: calls === 0 ? other() : calling(ids) });
      ids.forEach((each, at) => {
        if (!lost[at]) {
          due.push({ at: turn + (delays[at] ?? 0) / 2, message: result(each) });
        }
      });
    });
    // Stable: a result that is due with its call stays behind it.
    return numbered(due.sort((a, b) => a.at - b.at).map(({ message }) => message));
  });

function callsOf(message: Loose): string[] {
  return message.role === "assistant"
    ? message.content.map((block: Loose) => block.id).filter((each: unknown) => each !== undefined)
    : [];
}

const converted = (messages: Unchecked[]): Loose[] => convertToLlm(messages).map(loose);
const isInvented = (message: Loose) => message.content?.[0]?.text?.startsWith("Tool execution was");
const isResult = ({ role }: Loose) => role === "toolResult";
const times = (messages: Loose[]) => messages.map(({ timestamp }) => timestamp);
const ascending = (a: number, b: number) => a - b;

/** Ids of the results right behind a position. */
function resultsBehind(messages: Loose[], at: number): string[] {
  const rest = messages.slice(at + 1);
  const end = rest.findIndex((message) => !isResult(message));
  return rest.slice(0, end === -1 ? rest.length : end).map(({ toolCallId }) => toolCallId);
}

describe("any conversation", () => {
  it("loses no message", () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        const kept = new Set(times(converted(history).filter((each) => !isInvented(each))));
        expect([...kept].sort(ascending)).toEqual(times(history));
      }),
    );
  });

  it("keeps the order of everything but results", () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        const others = converted(history).filter((each) => !isResult(each));
        expect(times(others)).toEqual(times(history.filter((each) => !isResult(each))));
      }),
    );
  });

  it("keeps answers as the same objects", () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        const isAnswer = ({ role }: Loose) => role === "assistant";
        const answers = convertToLlm(history).filter(isAnswer);
        const expected = history.filter(isAnswer);
        expect(answers.every((answer, at) => Object.is(answer, expected[at]))).toBe(true);
        expect(answers).toHaveLength(expected.length);
      }),
    );
  });

  it("gets results only for calls that were made, under the name of the tool", () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        const called = new Set(history.flatMap(callsOf));
        for (const { toolCallId, toolName, isError } of converted(history).filter(isInvented)) {
          expect(called.has(toolCallId)).toBe(true);
          expect(toolName).toBe(`tool_${toolCallId}`);
          expect(isError).toBe(true);
        }
      }),
    );
  });
});

describe("a conversation in which ids are called once", () => {
  it("has a result for every call, right behind it", () => {
    fc.assert(
      fc.property(uniqueCalls, (history) => {
        const messages = converted(history);
        messages.forEach((message, at) => {
          const missing = callsOf(message).filter(
            (each) => !resultsBehind(messages, at).includes(each),
          );
          expect(missing).toEqual([]);
        });
      }),
    );
  });
});

describe("a conversation as sessions hold it", () => {
  it("has exactly the results of its calls behind them", () => {
    fc.assert(
      fc.property(sessionHistory, (history) => {
        const messages = converted(history);
        messages.forEach((message, at) => {
          if (!isResult(message)) {
            expect(resultsBehind(messages, at).sort()).toEqual(callsOf(message).sort());
          }
        });
      }),
    );
  });

  it("invents results for lost ones only", () => {
    fc.assert(
      fc.property(sessionHistory, (history) => {
        const there = new Set(history.filter(isResult).map(({ toolCallId }) => toolCallId));
        const lost = history.flatMap(callsOf).filter((each) => !there.has(each));
        const invented = converted(history).filter(isInvented);
        expect(invented.map(({ toolCallId }) => toolCallId).sort()).toEqual(lost.sort());
      }),
    );
  });

  it("needs no second repair", () => {
    fc.assert(
      fc.property(sessionHistory, (history) => {
        const once = convertToLlm(history);
        const log = vi.fn();
        setLogger(log);
        const twice = convertToLlm(once);
        setLogger(null);
        // Invented results are attributed to nobody until somebody converts them.
        const attributed = (each: Loose) =>
          isInvented(each) ? { ...each, attribution: "agent" } : each;
        expect(twice).toEqual(once.map(attributed));
        expect(log).not.toHaveBeenCalled();
      }),
    );
  });
});

it("takes long conversations", () => {
  // Every message is in the way of the first one's result; the walks are linear all the same.
  const count = 20_000;
  const calls = Array.from({ length: count }, (_, at) => calling([`${at}`]));
  const results = Array.from({ length: count }, (_, at) => result(`${count - 1 - at}`));
  const messages = converted(numbered([...calls, ...results]));
  expect(messages).toHaveLength(2 * count);
  expect(messages.every((each, at) => isResult(each) === (at % 2 === 1))).toBe(true);
});
