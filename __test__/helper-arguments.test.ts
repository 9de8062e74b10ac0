// Arguments of the functions around messages, compaction and trees: what is refused, and how.

import { describe, expect, it } from "vitest";
import * as pkg from "../index.js";
import { type Unchecked, unchecked } from "./support/loose.js";

const api: Unchecked = pkg;

const row = { depth: 1, connector: "last", gutters: [] };
const files = { read: new Set(), written: new Set(), edited: new Set() };
const result = (text: string) => ({
  type: "message",
  message: { role: "toolResult", content: text },
});

/** Function, arguments, and the argument that is wrong. */
const wrong: [string, unknown[], string][] = [
  ["renderTreePrefix", [undefined], "row"],
  ["renderTreePrefix", [{ ...row, depth: "1" }], "row.depth"],
  ["renderTreePrefix", [{ ...row, depth: -1 }], "row.depth"],
  ["renderTreePrefix", [{ ...row, depth: Number.NaN }], "row.depth"],
  ["renderTreePrefix", [{ ...row, connector: "first" }], "row.connector"],
  ["renderTreePrefix", [{ ...row, connector: undefined }], "row.connector"],
  ["renderTreePrefix", [{ ...row, gutters: undefined }], "row.gutters"],
  ["renderTreePrefix", [{ ...row, gutters: [null] }], "row.gutters[0]"],
  ["computeFileLists", [null], "fileOps"],
  ["computeFileLists", [{}], "fileOps.read"],
  ["computeFileLists", [{ ...files, edited: 5 }], "fileOps.edited"],
  ["upsertFileOperations", ["s", [Symbol("x")], []], "readFiles[0]"],
  ["upsertFileOperations", ["s", [], ["a", 1]], "modifiedFiles[1]"],
  ["pruneToolOutputs", [[result("x")], { notice: 5 }], "config.notice"],
  ["pruneToolOutputs", [[result("x")], { protectedTools: "read" }], "config.protectedTools"],
  ["pruneToolOutputs", [[result("x")], { protectTokens: "0" }], "config.protectTokens"],
  ["pruneToolOutputs", [[result("x")], { minimumSavings: 1n }], "config.minimumSavings"],
  ["shouldCompact", [1, 1, { reserveTokens: 1n }], "settings.reserveTokens"],
  ["shouldCompact", [1, 1, { enabled: "yes" }], "settings.enabled"],
  ["prepareCompaction", [[], { keepRecentTokens: "9" }], "settings.keepRecentTokens"],
  ["buildSessionContext", [[], "x", {}], "byId"],
];

it.each(wrong)("%s refuses %o", (name, given, argument) => {
  const call = () => api[name](...given);
  expect(call).toThrow(TypeError);
  expect(call).toThrow(expect.objectContaining({ code: "ERR_INVALID_ARG_TYPE" }));
  expect(call).toThrow(`The "${argument}" argument must be`);
});

it.each([
  ["a proxy that was revoked", () => revoked()],
  ["a name that is no text", () => ({ constructor: { name: Symbol("n") } })],
  [
    "a getter that throws",
    () => ({
      get constructor() {
        throw new Error("getter");
      },
    }),
  ],
])("%s is described in the error", (_, make) => {
  expect(() => pkg.fuzzyMatch(unchecked(make()), "")).toThrow(
    'The "query" argument must be of type string. Received an object',
  );
});

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

describe("a context of entries", () => {
  const entry: Unchecked = {
    type: "message",
    id: "a",
    parentId: null,
    message: { role: "user", content: "x" },
  };

  it("passes over values that are none", () => {
    const entries = [null, undefined, 1, "text", entry, true, null];
    expect(pkg.buildSessionContext(unchecked(entries)).messages).toEqual([entry.message]);
    expect(pkg.buildSessionContext(unchecked([null, 1])).messages).toEqual([]);
  });

  it("of a damaged file is that of its entries", () => {
    const lines = ["null", JSON.stringify(entry), "5", "null"];
    const entries = unchecked(pkg.parseSessionEntries(lines.join("\n")));
    expect(pkg.buildSessionContext(entries).messages).toEqual([entry.message]);
  });

  it("may follow any index with a get method", () => {
    const byId = { get: (id: string) => (id === "a" ? entry : null) };
    expect(pkg.buildSessionContext([], "a", unchecked(byId)).messages).toEqual([entry.message]);
  });
});

describe("arguments of calls that cannot be JSON", () => {
  const cycle: Unchecked = {};
  cycle.self = cycle;
  const calling = (given: unknown): Unchecked => ({
    role: "assistant",
    content: [{ type: "toolCall", id: "1", name: "t", arguments: given }],
  });

  it("are shown as text", () => {
    expect(pkg.serializeConversation([calling({ n: 1n, cycle, s: "x" })])).toBe(
      '[Assistant tool calls]: t(n=1, cycle=[object Object], s="x")',
    );
  });

  it("have a size", () => {
    const unsized = calling(cycle);
    expect(pkg.estimateTokens(unsized)).toBe(4);
    const entries: Unchecked = [{ type: "message", id: "a", message: unsized }];
    expect(pkg.findCutPoint(entries, 0, 1, 1).firstKeptEntryIndex).toBe(0);
  });
});

describe("a manager", () => {
  const manager = () => pkg.SessionManager.inMemory();

  it.each([() => Symbol("id"), () => Object.create(null), () => 5n, () => revoked()])(
    "does not know an entry by %s",
    (make) => {
      const unknown = expect.objectContaining({ code: "ENTRY_NOT_FOUND" });
      expect(() => manager().prepareTreeNavigation(unchecked(make()))).toThrow(unknown);
    },
  );

  it.each([1n, Symbol("x"), "1", null])("refuses %o as a place among the rows", (place) => {
    const tree = manager().flattenTree();
    expect(() => tree.rows(unchecked(place))).toThrow(
      'The "start" argument must be of type number',
    );
    expect(() => tree.rows(0, unchecked(place))).toThrow(
      'The "end" argument must be of type number',
    );
    expect(tree.rows(undefined, undefined)).toEqual([]);
  });
});

describe("texts of a hostile shape", () => {
  it("have their sections removed in time that grows with their length", () => {
    const open = "<read-files>".repeat(100_000);
    expect(pkg.upsertFileOperations(open, [], [])).toBe(open);
    expect(pkg.upsertFileOperations(`${open}</read-files>\n end`, [], [])).toBe("end");
    const mixed = "a<read-files></modified-files>x</read-files>\n b<modified-files>";
    expect(pkg.upsertFileOperations(mixed, [], [])).toBe("ab<modified-files>");
  });

  it("may call any number of tools at once, and get a result for each", () => {
    const content = Array.from({ length: 20_000 }, (_, n) => ({
      type: "toolCall",
      id: `c${n % 15_000}`,
      name: `t${n}`,
      arguments: {},
    }));
    const converted: Unchecked[] = pkg.convertToLlm(unchecked([{ role: "assistant", content }]));
    expect(converted).toHaveLength(15_001);
    expect(converted.at(-1)).toMatchObject({ toolCallId: "c14999", toolName: "t14999" });
    expect(converted[1]).toMatchObject({ toolCallId: "c0", toolName: "t0" });
  });
});
