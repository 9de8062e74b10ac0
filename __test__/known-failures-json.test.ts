import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { SessionManager } from "../index.js";
import {
  A,
  type AnyEntry,
  assistantMessage,
  contextOf,
  fileOf,
  H,
  idsOf,
  LINEAR4,
  linesOf,
  startSession,
  U,
  userMessage,
  useSandbox,
  writeSession,
} from "./support/fixtures.js";

const sandbox = useSandbox();
const path = () => join(sandbox(), "dir", "s.jsonl");

/** A custom entry whose data is JSON text. */
function lineWith(data: string): string {
  return `{"type":"custom","customType":"t","data":${data},"id":"x","parentId":"u1","timestamp":"t"}`;
}

/** JSON text as another program may write it, and as JavaScript writes it after reading. */
const SPELLINGS: [string, string, string][] = [
  ["integer-like keys", '{"b":1,"10":2,"a":3,"2":4}', '{"2":4,"10":2,"b":1,"a":3}'],
  ["a key twice", '{"a":1,"b":2,"a":3}', '{"a":3,"b":2}'],
  ["a fraction of zero", "[1.0,2.50,-0.0]", "[1,2.5,0]"],
  ["minus zero", "[-0]", "[0]"],
  ["a number too large", "[1e400,-1e400]", "[null,null]"],
  ["a long integer", "[12345678901234567890]", "[12345678901234567000]"],
  ["exponents", "[1E21,1e-7,1e2,100e-2]", "[1e+21,1e-7,100,1]"],
  ["escapes nobody needs", '"\\/\\u0041\\u00e9\\u2028"', '"/A\u00e9\u2028"'],
  ["escapes in upper case", '"\\u001F\\uD83D\\uDE00\\ud83d"', '"\\u001f😀\\ud83d"'],
  ["a prototype key", '{"__proto__":{"a":1},"b":2}', '{"__proto__":{"a":1},"b":2}'],
  [
    "a constructor key",
    '{"constructor":1,"hasOwnProperty":2}',
    '{"constructor":1,"hasOwnProperty":2}',
  ],
  ["spaces between tokens", '{ "a" : [ 1 , 2 ] }', '{"a":[1,2]}'],
];

describe("the spelling of JSON in a session file", () => {
  for (const [what, text, respelled] of SPELLINGS) {
    it(`stays through a rewrite of an untouched entry: ${what}`, async () => {
      writeSession(path(), [H(), U("u1", null), lineWith(text), A("a1", "x")]);
      const before = linesOf(path());
      const manager = await SessionManager.open(path());
      expect(contextOf(manager)).toBe("u1 a1");
      await manager.setSessionName("Name");
      expect(linesOf(path()).slice(1)).toEqual(before.slice(1));
    });

    it(`is JavaScript's own after a rewrite of an edited entry: ${what}`, async () => {
      writeSession(path(), [H(), U("u1", null), lineWith(text), A("a1", "x")]);
      const manager = await SessionManager.open(path());
      const entry = manager.getEntry("x") as unknown as AnyEntry;
      expect(JSON.stringify(entry.data)).toBe(respelled);
      entry.edited = true;
      await manager.rewriteEntries();
      const expected = lineWith(respelled).replace(/}$/, ',"edited":true}');
      expect(linesOf(path())[2]).toBe(expected);
      expect(contextOf(await SessionManager.open(path()))).toBe("u1 a1");
    });

    it(`is JavaScript's own after an append: ${what}`, async () => {
      const manager = await startSession(join(sandbox(), "sessions"));
      manager.appendCustomEntry("t", JSON.parse(text));
      await manager.flush();
      expect(linesOf(fileOf(manager)).at(-1)).toContain(`"data":${respelled},`);
    });
  }

  it("keeps a prototype key an ordinary one", async () => {
    const line = lineWith('{"__proto__":{"polluted":true}}');
    writeSession(path(), [H(), U("u1", null), line]);
    const entry = (await SessionManager.open(path())).getEntry("x") as unknown as AnyEntry;
    expect(Object.keys(entry.data as object)).toEqual(["__proto__"]);
    expect((entry.data as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it("keeps unknown fields and their order in edited entries and in the header", async () => {
    const message = userMessage("old");
    const odd = { zz: 1, ...U("u1", null), message, extra: { deep: [null] } };
    writeSession(path(), [{ first: true, ...H(), last: { x: 1 } }, odd, A("a1", "u1")]);
    const manager = await SessionManager.open(path());
    (manager.getEntry("u1") as unknown as { message: { content: string } }).message.content = "new";
    await manager.setSessionName("Name", "user");
    const [header, first] = linesOf(path());
    expect(JSON.parse(header as string)).toEqual({
      first: true,
      ...H(),
      last: { x: 1 },
      title: "Name",
      titleSource: "user",
    });
    expect(first).toBe(JSON.stringify({ ...odd, message: { ...message, content: "new" } }));
  });
});

describe("values that JSON cannot hold", () => {
  it("are written the way JSON.stringify does", async () => {
    const manager = await startSession(join(sandbox(), "sessions"));
    const data = {
      date: new Date(0),
      undefined: undefined,
      list: [undefined, () => 1, Symbol("s"), Number.NaN, Number.POSITIVE_INFINITY],
      own: { toJSON: () => "replaced" },
      bytes: Buffer.from("hi"),
      map: new Map([[1, 2]]),
    };
    manager.appendCustomEntry("t", data);
    await manager.flush();
    expect(linesOf(fileOf(manager)).at(-1)).toContain(`"data":${JSON.stringify(data)}`);
  });

  for (const [what, make] of [
    ["a bigint", () => ({ n: 1n })],
    [
      "a cycle",
      () => {
        const cycle: { self?: unknown } = {};
        cycle.self = cycle;
        return cycle;
      },
    ],
    [
      "a getter that throws",
      () => ({
        get broken() {
          throw new Error("from the getter");
        },
      }),
    ],
  ] as const) {
    it(`(${what}) fail the write, not the append, and can be repaired`, async () => {
      const manager = await startSession(join(sandbox(), "sessions"));
      const data = make() as Record<string, unknown>;
      const id = manager.appendCustomEntry("t", data);
      expect(manager.getLeafId()).toBe(id);
      await expect(manager.flush()).rejects.toThrow();
      expect(() => manager.appendMessage(userMessage("u2"))).toThrow();
      expect(contextOf(manager)).toBe("u1 a1 u2");
      (manager.getEntry(id) as unknown as AnyEntry).data = "repaired";
      await manager.flush();
      manager.appendMessage(assistantMessage("a2"));
      await manager.close();
      const again = await SessionManager.open(fileOf(manager));
      expect(idsOf(again)).toEqual(idsOf(manager));
      expect(contextOf(again)).toBe("u1 a1 u2 a2");
    });
  }
});

describe("fields that are never persisted", () => {
  it("are dropped at any depth and stay in memory", async () => {
    const manager = await startSession(join(sandbox(), "sessions"));
    const call = { type: "toolCall", id: "c", name: "bash", arguments: {}, partialJson: '{"a' };
    const message = { ...assistantMessage("a2"), content: [call] };
    manager.appendMessage(message as never);
    const data = { a: [{ jsonlEvents: [1], keep: [{ partialJson: 1, keep: 2 }] }], partialJson: 0 };
    manager.appendCustomEntry("t", data);
    await manager.flush();
    const text = readFileSync(fileOf(manager), "utf8");
    expect(text).not.toMatch(/partialJson|jsonlEvents/);
    expect(JSON.parse(linesOf(fileOf(manager)).at(-1) as string).data).toEqual({
      a: [{ keep: [{ keep: 2 }] }],
    });
    expect(call.partialJson).toBe('{"a');
    expect(data.partialJson).toBe(0);
  });
});

describe("an entry whose id is a number", () => {
  it("is loaded and kept", async () => {
    const [header, u1, a1, u2, a2] = LINEAR4() as object[];
    writeSession(path(), [header, u1, a1, { ...u2, id: 5 }, { ...a2, parentId: 5 }] as object[]);
    const before = linesOf(path());
    const manager = await SessionManager.open(path());
    expect(idsOf(manager)).toContain(5);
    expect(contextOf(manager).split(" ")).toContain("a2");
    await manager.rewriteEntries();
    expect(linesOf(path()).slice(1)).toEqual(before.slice(1));
  });
});

describe("a session of the first format", () => {
  const old = (message: object) => ({ type: "message", timestamp: "t", message });
  const lines = () => [
    { type: "session", id: "s1", timestamp: "t", cwd: "/w/p" },
    old(userMessage("u1")),
    old(assistantMessage("a1")),
  ];

  it("is migrated in memory, with new ids at each opening, until it is written", async () => {
    writeSession(path(), lines());
    const before = readFileSync(path(), "utf8");
    const first = await SessionManager.open(path());
    const second = await SessionManager.open(path());
    expect(contextOf(first)).toBe("u1 a1");
    expect(idsOf(first)).not.toEqual(idsOf(second));
    await first.flush();
    await first.close();
    expect(readFileSync(path(), "utf8")).toBe(before);
    second.appendMessage(userMessage("u2"));
    await second.flush();
    expect(linesOf(path())).toHaveLength(4);
    const third = await SessionManager.open(path());
    expect(idsOf(third)).toEqual(idsOf(second));
    expect(contextOf(third)).toBe("u1 a1 u2");
    const [header, entry] = linesOf(path()).map((line) => JSON.parse(line) as AnyEntry);
    expect(Object.keys(header as object)).toEqual(["type", "id", "timestamp", "cwd", "version"]);
    expect(Object.keys(entry as object)).toEqual([
      "type",
      "timestamp",
      "message",
      "id",
      "parentId",
    ]);
  });
});
