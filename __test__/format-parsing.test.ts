import * as fs from "node:fs";
import { describe, expect, it } from "vitest";
import { loadEntriesFromFile, parseSessionEntries, SessionManager } from "../index.js";
import { type Loose, loose } from "./support/loose.js";
import { useSandbox } from "./support/sandbox.js";
import { headerLine, messageLine, smallSession, writeLines } from "./support/session-files.js";

const box = useSandbox();

const parse = (content: string): unknown[] => parseSessionEntries(content);

/** Texts and the values that must be read from them. */
const TEXTS: [string, string, unknown[]][] = [
  ["an empty text", "", []],
  ["white space only", " \t\r\n\n  \n", []],
  ["values on lines", '{"a":1}\n{"b":2}\n', [{ a: 1 }, { b: 2 }]],
  ["a last line without line feed", '{"a":1}\n{"b":2}', [{ a: 1 }, { b: 2 }]],
  ["blank lines and indentation", '\n\n  {"a":1}\n \n\t{"b":2}  \n', [{ a: 1 }, { b: 2 }]],
  ["CRLF line ends", '{"a":1}\r\n{"b":2}\r\n', [{ a: 1 }, { b: 2 }]],
  ["every kind of value", 'null\n5\n"s"\n[1]\ntrue\nfalse\n', [null, 5, "s", [1], true, false]],
  ["a value over several lines", '{\n  "a": [\n    1\n  ]\n}\n{"b":2}\n', [{ a: [1] }, { b: 2 }]],
  ["a torn last line", '{"a":1}\n{"b":2}\n{"c":"unfin', [{ a: 1 }, { b: 2 }]],
  ["a last line torn after a key", '{"a":1}\n{"c"', [{ a: 1 }]],
  ["a last line torn in a number list", '{"a":1}\n{"c":[1,2', [{ a: 1 }]],
  ["a last line torn in an escape", '{"a":1}\n{"c":"x\\u00', [{ a: 1 }]],
  ["a line of garbage", '{"a":1}\nwhat is this\n{"b":2}\n', [{ a: 1 }, { b: 2 }]],
  ["garbage first", 'garbage\n{"a":1}\n', [{ a: 1 }]],
  ["garbage last", '{"a":1}\ngarbage', [{ a: 1 }]],
  ["comments", '{"a":1}\n// no\n# no\n{"b":2}\n', [{ a: 1 }, { b: 2 }]],
  ["a trailing comma", '{"a":1}\n{"x":1,}\n{"b":2}\n', [{ a: 1 }, { b: 2 }]],
  ["a trailing comma in a list", '{"a":1}\n[1,]\n{"b":2}\n', [{ a: 1 }, { b: 2 }]],
  ["single quotes", `{"a":1}\n{'x':1}\n{"b":2}\n`, [{ a: 1 }, { b: 2 }]],
  ["keys without quotes", '{"a":1}\n{x:1}\n{"b":2}\n', [{ a: 1 }, { b: 2 }]],
  ["numbers that are none", '{"a":1}\n{"x":NaN}\n{"x":Infinity}\n{"b":2}\n', [{ a: 1 }, { b: 2 }]],
  ["leading zeros", '{"a":1}\n{"x":01}\n{"b":2}\n', [{ a: 1 }, { b: 2 }]],
  [
    "half numbers",
    '{"a":1}\n{"x":1.}\n{"x":.5}\n{"x":+1}\n{"x":1e}\n{"b":2}\n',
    [{ a: 1 }, { b: 2 }],
  ],
  ["a control character in a text", '{"a":1}\n{"x":"\u0001"}\n{"b":2}\n', [{ a: 1 }, { b: 2 }]],
  ["a tab in a text", '{"a":1}\n{"x":"\t"}\n{"b":2}\n', [{ a: 1 }, { b: 2 }]],
  ["unknown escapes", '{"a":1}\n{"x":"\\x41"}\n{"x":"\\u12"}\n{"b":2}\n', [{ a: 1 }, { b: 2 }]],
  ["NUL bytes", '{"a":1}\n\u0000\u0000\u0000\n{"b":2}\n', [{ a: 1 }, { b: 2 }]],
  ["a torn line inside a text", '{"a":1}\n{"x":"unfin\n{"b":2}\n', [{ a: 1 }, { b: 2 }]],
  ["junk behind a value", '{"a":1} junk\n{"b":2}\n', [{ a: 1 }, { b: 2 }]],
  ["a form feed between values", '{"a":1}\n\f{"x":1}\n{"b":2}\n', [{ a: 1 }, { b: 2 }]],
  ["a no-break space between values", '{"a":1}\n\u00a0\n{"b":2}\n', [{ a: 1 }, { b: 2 }]],
  ["a line separator between values", '{"a":1}\n\u2028\n{"b":2}\n', [{ a: 1 }, { b: 2 }]],
  [
    "a torn list before good lines",
    '{"a":1}\n{"x":[1,\n{"b":2}\n{"c":3}\n',
    [{ a: 1 }, { b: 2 }, { c: 3 }],
  ],
  ["a torn list before the last line", '{"a":1}\n{"x":[1,\n{"b":2}\n', [{ a: 1 }, { b: 2 }]],
  [
    "several torn lines in a row",
    '{"a":1}\n{"x":[\n{"y":"\n{"z":{\n{"b":2}\n',
    [{ a: 1 }, { b: 2 }],
  ],
  ["a torn first line", '{"x":[1,\n{"b":2}\n{"c":3}', [{ b: 2 }, { c: 3 }]],
];

describe("parseSessionEntries", () => {
  it.each(TEXTS)("reads %s", (_what, text, values) => {
    expect(parse(text)).toEqual(values);
  });

  it("keeps at least the first of several values on one line, and the next line", () => {
    for (const text of ['{"a":1}{"x":1}\n{"b":2}\n', '{"a":1} {"x":1}\n{"b":2}\n']) {
      const values = parse(text);
      expect(values[0]).toEqual({ a: 1 });
      expect(values.at(-1)).toEqual({ b: 2 });
    }
  });

  it("reads what JSON.parse reads, and the same", () => {
    const texts = [
      '{"a":1,"b":2,"a":3}',
      '{"2":"b","10":"c","1":"a","x":0}',
      '{"big":12345678901234567890,"small":1e-400,"huge":1E400,"minus":-0}',
      '{"esc":"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00"}',
      '{"lone":"\\ud83d","other":"\\udc00x"}',
      '{"raw":"é日😀\u2028\u007f"}',
      '"just text"',
      "-1.5e+3",
      '{"":{"":[]}}',
    ];
    const values = parse(`${texts.join("\n")}\n`);
    texts.forEach((text, index) => {
      expect(values[index]).toStrictEqual(JSON.parse(text));
      expect(JSON.stringify(values[index])).toBe(JSON.stringify(JSON.parse(text)));
    });
  });

  it("makes __proto__ an ordinary property", () => {
    const [value] = parse('{"__proto__":{"polluted":true},"a":1}\n') as Loose[];
    expect(Object.keys(loose(value))).toEqual(["__proto__", "a"]);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(loose(value).polluted).toBeUndefined();
    expect(loose({}).polluted).toBeUndefined();
  });

  it("reads thousands of levels", () => {
    const text = `${'{"v":['.repeat(2500)}1${"]}".repeat(2500)}`;
    const [value] = parse(`${text}\n{"b":2}\n`);
    let depth = 0;
    let inner: unknown = value;
    while (typeof inner === "object") {
      inner = Array.isArray(inner) ? inner[0] : loose(inner).v;
      depth += 1;
    }
    expect([depth, inner]).toEqual([5000, 1]);
  });

  it("reads a text of one very long line", () => {
    const text = "x".repeat(3_000_000);
    expect(parse(JSON.stringify({ text }))).toEqual([{ text }]);
  });

  it("reads many lines between many bad ones", () => {
    const text = Array.from({ length: 5000 }, (_, index) => `{"n":${index}}\n{"bad":[${index},\n`);
    expect(parse(text.join("")).map((value) => loose(value).n)).toEqual(
      Array.from({ length: 5000 }, (_, index) => index),
    );
  });

  it("does not change what it is given and gives fresh objects", () => {
    const text = '{"a":{}}\n';
    expect(parse(text)).not.toBe(parse(text));
    expect(loose(parse(text)[0]).a).not.toBe(loose(parse(text)[0]).a);
  });
});

describe("loadEntriesFromFile", () => {
  it.each(TEXTS.filter(([, text]) => !text.startsWith('{"x":[1,')))(
    "reads %s behind a header",
    async (_what, text, values) => {
      const file = box.path("s.jsonl");
      fs.writeFileSync(file, `${JSON.stringify(headerLine())}\n${text}`);
      expect(await loadEntriesFromFile(file)).toEqual([headerLine(), ...values]);
    },
  );

  it("drops a byte-order mark and replaces bytes that are no UTF-8", async () => {
    const file = box.path("s.jsonl");
    fs.writeFileSync(
      file,
      Buffer.concat([
        Buffer.from([0xef, 0xbb, 0xbf]),
        Buffer.from(`${JSON.stringify(headerLine())}\n{"text":"a`),
        Buffer.from([0xff, 0xe6, 0x97]),
        Buffer.from('b"}\n'),
      ]),
    );
    const entries = await loadEntriesFromFile(file);
    expect(entries[0]).toEqual(headerLine());
    expect(loose(entries[1]).text).toMatch(/^a\ufffd+b$/);
  });

  it("leaves references, versions and ids as they are", async () => {
    const lines = [
      headerLine({ version: 1 }),
      {
        type: "message",
        message: { role: "user", content: [{ type: "image", data: "blob:sha256:x" }] },
      },
    ];
    expect(await loadEntriesFromFile(writeLines(box.path("s.jsonl"), lines))).toEqual(lines);
  });
});

describe("opening a file", () => {
  it("with damaged lines keeps the good ones and the bad ones' place", async () => {
    const [header, first, second] = smallSession().map(loose) as [Loose, Loose, Loose];
    const lines = [
      header,
      "",
      first,
      "garbage",
      '{"type":"message","id":"torn","message":{"content":[',
      second,
      messageLine("aaaaaaa3", "aaaaaaa2", { role: "user", content: "end" }),
    ];
    const manager = await SessionManager.open(writeLines(box.path("s.jsonl"), lines));
    expect(manager.getEntries().map((entry) => entry.id)).toEqual([
      "aaaaaaa1",
      "aaaaaaa2",
      "aaaaaaa3",
    ]);
    expect(manager.getBranch()).toHaveLength(3);
  });

  it("gives entries that equal JSON.parse of their lines", async () => {
    const texts = [
      '{"type":"custom","id":"c1","parentId":null,"timestamp":"t","data":{"2":1,"1":2,"a":1E400,"a":-0,"s":"\\ud83d"}}',
      '{"type":"custom","id":"c2","parentId":"c1","timestamp":"t","data":{"__proto__":[1]},"id2":"x"}',
      ' {"id" : "c3", "type":"c\\u0075stom","parent\\u0049d":"c2","timestamp":"t"} ',
      '{"type":"custom","id":"wrong","id":"c4","parentId":"c3","timestamp":"t"}',
    ];
    const file = writeLines(box.path("s.jsonl"), [headerLine(), ...texts]);
    const manager = await SessionManager.open(file);
    texts.forEach((text, index) => {
      const entry = manager.getEntry(`c${index + 1}`);
      expect(entry).toStrictEqual(JSON.parse(text));
      expect(JSON.stringify(entry)).toBe(JSON.stringify(JSON.parse(text)));
    });
    expect(manager.getBranch().map((entry) => entry.id)).toEqual(["c1", "c2", "c3", "c4"]);
  });
});
