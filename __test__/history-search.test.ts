import { afterEach, describe, expect, it } from "vitest";
import { HistoryStorage, setLogger } from "../index.js";
import { useSandbox } from "./support/sandbox.ts";

const sandbox = useSandbox();

afterEach(() => {
  HistoryStorage.resetInstance();
  setLogger(undefined);
});

async function filled(prompts: string[]) {
  const history = HistoryStorage.open(sandbox.path("history.db"));
  for (const prompt of prompts) {
    await history.add(prompt);
  }
  return history;
}

const ids = (history: HistoryStorage, query: string) =>
  history.search(query, 100).map(({ id }) => id);

describe("search", () => {
  it("finds beginnings of words, in any order, whatever case and accents", async () => {
    const history = await filled(["Fix the Line of Über-code", "c++ and c#", "foo.bar", "NOT x"]);
    const cases: [string, number[]][] = [
      ["line", [1]],
      ["  LI\tfi ", [1]],
      ["uber", [1]],
      ["line absent", []],
      ["line !!!", [1]],
      ["c", [2, 1]],
      ["c++", [2, 1]],
      ["foo.bar", [3]],
      ["NOT", [4]],
      ["!!!", []],
      ["", []],
      [" \n", []],
    ];
    for (const [query, expected] of cases) {
      expect(ids(history, query), query).toEqual(expected);
    }
    expect(history.search("line", 5)).toStrictEqual(history.getRecent(9).slice(3));
  });

  it("finds the middle of a word if no word begins so", async () => {
    const history = await filled(["Timeline", "deadLINE", "inert"]);
    expect(ids(history, "line")).toEqual([2, 1]);
    expect(ids(history, "MELI")).toEqual([1]);
    expect(ids(history, "ine")).toEqual([3]);
  });

  it("finds anything in writings without spaces", async () => {
    const history = await filled([
      "修改youer服务端的计划",
      "请修改它",
      "日本語のテスト",
      "계획변경",
    ]);
    const cases: [string, number[]][] = [
      ["修改", [2, 1]],
      ["服务端", [1]],
      ["youer", [1]],
      ["计划 修改", [1]],
      ["テスト", [3]],
      ["변경", [4]],
      ["修正", []],
    ];
    for (const [query, expected] of cases) {
      expect(ids(history, query), query).toEqual(expected);
    }
  });

  it("takes every text as it is", async () => {
    const history = await filled(["a\0b", "k\ud83d", 'say "hi"', "a AND b", "near(x)"]);
    const records: unknown[] = [];
    setLogger((...record) => records.push(record));
    const cases: [string, number[]][] = [
      ["a\0b", [1]],
      ["\0", []],
      ["k\ud83d", [2]],
      ["\ud83d", [2]],
      ['"hi', [3]],
      ['"', []],
      ["a AND b", [4]],
      ["AND", [4]],
      ["NEAR(x)", [5]],
      ["prompt:", []],
      ["-a", [4, 1]],
      ["a* ^b", [4, 1]],
      ["{x} : + (", [5]],
      ["%", []],
      ["_", []],
      ["'; DROP TABLE history; --", []],
    ];
    for (const [query, expected] of cases) {
      expect(ids(history, query), JSON.stringify(query)).toEqual(expected);
    }
    for (const character of Array.from({ length: 0x250 }, (_, code) => String.fromCharCode(code))) {
      ids(history, character);
      ids(history, `x${character}${character}y`);
    }
    expect(records).toEqual([]);
  });

  it("takes texts of any length", async () => {
    const words = Array.from({ length: 20_000 }, (_, at) => `word${at}`).join(" ");
    const unbroken = "語".repeat(100_000);
    const dotted = "a.".repeat(100_000);
    const history = await filled([words, unbroken, dotted, "short"]);
    const records: unknown[] = [];
    setLogger((...record) => records.push(record));
    expect(ids(history, words)).toEqual([1]);
    expect(ids(history, unbroken)).toEqual([2]);
    expect(ids(history, dotted)).toEqual([3]);
    expect(ids(history, `${words} absent`)).toEqual([]);
    expect(ids(history, '"'.repeat(1_000_000))).toEqual([]);
    expect(records).toEqual([]);
  });
});
