import { describe, expect, it } from "vitest";
import { createWritten, fileOf } from "./support/managers.js";
import { assistantMessage, userMessage } from "./support/messages.js";
import { reopened, WAYS, writtenData } from "./support/persisted.js";
import { useSandbox } from "./support/sandbox.js";
import { entryIds, rawLines } from "./support/session-files.js";

const box = useSandbox();

/** The text that stands for the data in the line of a custom entry. */
function dataText(line: string): string {
  return line.slice(line.indexOf('"data":') + 7, line.lastIndexOf(',"id":'));
}

const integerLike: Record<string, unknown> = { b: 1 };
integerLike["10"] = "ten";
integerLike.a = 2;
integerLike["9"] = "nine";

const ownProto = JSON.parse('{"__proto__":{"x":1},"a":1}');

class Point {
  x = 1;
  #hidden = 2;
  get computed() {
    return this.#hidden;
  }
}

class Money {
  toJSON() {
    return { amount: "12.50" };
  }
}

/** Values and the text that they must have on disk. */
const VALUES: [string, unknown, string][] = [
  ["key order", { z: 1, a: 2, m: 3 }, '{"z":1,"a":2,"m":3}'],
  ["integer-like keys", integerLike, '{"9":"nine","10":"ten","b":1,"a":2}'],
  ["a key named __proto__", ownProto, '{"__proto__":{"x":1},"a":1}'],
  [
    "undefined, functions and symbols",
    { u: undefined, f: () => 1, s: Symbol("s"), list: [undefined, () => 1, Symbol("s")] },
    '{"list":[null,null,null]}',
  ],
  ["numbers that are none", [Number.NaN, 1 / 0, -1 / 0, -0], "[null,null,null,0]"],
  [
    "whole numbers",
    [1.0, 100, 1e20, 1e21, 2 ** 53],
    "[1,100,100000000000000000000,1e+21,9007199254740992]",
  ],
  ["small numbers", [0.000001, 0.0000001, 5e-324], "[0.000001,1e-7,5e-324]"],
  ["fractions", [0.1, 1 / 3, 0.1 + 0.2, -1.5], "[0.1,0.3333333333333333,0.30000000000000004,-1.5]"],
  [
    "large numbers",
    [1.7976931348623157e308, 123456789012345680000],
    "[1.7976931348623157e+308,123456789012345680000]",
  ],
  ["short escapes", '"\\\b\f\n\r\t', '"\\"\\\\\\b\\f\\n\\r\\t"'],
  ["other controls", "\u0000\u0001\u001f\u007f\u0080", '"\\u0000\\u0001\\u001f\u007f\u0080"'],
  ["what needs no escape", "/<>&'\u2028\u2029é日😀", '"/<>&\'\u2028\u2029é日😀"'],
  [
    "lone surrogates",
    ["\ud83d", "a\udc00b", "\udc00\ud83d"],
    '["\\ud83d","a\\udc00b","\\udc00\\ud83d"]',
  ],
  ["escapes in keys", { 'k"\n\ud800': 1 }, '{"k\\"\\n\\ud800":1}'],
  ["literals", [true, false, null, "", [], {}], '[true,false,null,"",[],{}]'],
  ["dates", new Date("2026-01-02T03:04:05.678Z"), '"2026-01-02T03:04:05.678Z"'],
  ["buffers", Buffer.from([1, 255]), '{"type":"Buffer","data":[1,255]}'],
  ["typed arrays", new Uint8Array([7, 8]), '{"0":7,"1":8}'],
  ["toJSON methods", { price: new Money() }, '{"price":{"amount":"12.50"}}'],
  ["class instances", new Point(), '{"x":1}'],
  ["maps and sets", { m: new Map([[1, 2]]), s: new Set([1]) }, '{"m":{},"s":{}}'],
  ["boxed values", [Object("text"), Object(5), Object(false)], '["text",5,false]'],
  ["objects without prototype", Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
  [
    "inherited and hidden properties",
    Object.create({ inherited: 1 }, { own: { value: 2, enumerable: true }, hidden: { value: 3 } }),
    '{"own":2}',
  ],
  ["sparse arrays", Object.assign([], { 0: 1, 2: 3, length: 3 }), "[1,null,3]"],
];

describe("data on disk is what JSON.stringify gives", () => {
  it.each(VALUES)("%s", async (_name, value, expected) => {
    for (const way of WAYS) {
      const { text } = await writtenData(box.dir, way, value);
      expect(dataText(text), way).toBe(expected);
    }
  });

  it("proxies are read through their traps", async () => {
    const proxy = new Proxy(
      { a: 1, secret: 2 },
      {
        ownKeys: () => ["a", "b"],
        get: (target, key) => (key === "b" ? "made up" : Reflect.get(target, key)),
        getOwnPropertyDescriptor: (_target, key) =>
          key === "a" || key === "b" ? { enumerable: true, configurable: true } : undefined,
      },
    );
    for (const way of WAYS) {
      const { text } = await writtenData(box.dir, way, proxy);
      expect(dataText(text), way).toBe('{"a":1,"b":"made up"}');
    }
  });

  it("getters are read, toJSON gets its key", async () => {
    const keys: string[] = [];
    const value = {
      get live() {
        return "read";
      },
      inner: {
        toJSON(key: string) {
          keys.push(key);
          return "done";
        },
      },
    };
    const { text } = await writtenData(box.dir, "append", value);
    expect(dataText(text)).toBe('{"live":"read","inner":"done"}');
    expect(keys[0]).toBe("inner");
  });

  it("lone surrogates survive loading, editing and rewriting", async () => {
    const result = await writtenData(box.dir, "append", { cut: "emoji \ud83d", whole: "😀" });
    expect((await reopened(result)).data).toEqual({ cut: "emoji \ud83d", whole: "😀" });
  });

  it("nested hundreds of levels deep", async () => {
    let value: unknown = "bottom";
    for (let level = 0; level < 800; level += 1) {
      value = level % 2 === 0 ? [value] : { v: value };
    }
    const result = await writtenData(box.dir, "append", value);
    expect(dataText(result.text)).toBe(JSON.stringify(value));
    expect((await reopened(result)).data).toEqual(value);
  });
});

describe("what cannot be written", () => {
  const cyclic: Record<string, unknown> = { name: "loop" };
  cyclic.self = cyclic;

  it.each<[string, Record<string, unknown>]>([
    ["a bigint", { big: 5n }],
    ["a cycle", cyclic],
    [
      "a toJSON that throws",
      {
        toJSON() {
          throw new RangeError("not serialisable");
        },
      },
    ],
  ])("%s fails flush, not the append, and is written once it can be", async (_name, data) => {
    const manager = await createWritten(box.dir);
    const before = rawLines(fileOf(manager));
    const id = manager.appendCustomEntry("ct", data);
    await expect(manager.flush()).rejects.toBeInstanceOf(Error);
    expect(rawLines(fileOf(manager))).toEqual(before);
    expect(manager.getLeafId()).toBe(id);
    for (const key of Object.keys(data)) {
      delete data[key];
    }
    data.fine = true;
    await manager.flush().catch(() => undefined);
    await manager.flush();
    expect(entryIds(fileOf(manager)).at(-1)).toBe(id);
    await manager.close();
  });

  it("does not keep the lines of other entries from being whole", async () => {
    const manager = await createWritten(box.dir);
    const data: Record<string, unknown> = { big: 5n };
    manager.appendMessage(userMessage("before"));
    manager.appendCustomEntry("ct", data);
    await manager.flush().catch(() => undefined);
    for (const line of rawLines(fileOf(manager))) {
      expect(() => JSON.parse(line)).not.toThrow();
    }
    delete data.big;
    await manager.flush().catch(() => undefined);
    manager.appendMessage(assistantMessage("after"));
    await manager.flush();
    expect(entryIds(fileOf(manager))).toEqual(manager.getEntries().map((entry) => entry.id));
  });
});
