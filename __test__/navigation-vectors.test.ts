import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  collectEntriesForBranchSummary,
  type FlatTree,
  fuzzyFilter,
  fuzzyMatch,
  renderTreePrefix,
  SessionManager,
  type TreeFilter,
} from "../index.js";
import { useSandbox } from "./support/sandbox.js";
import { headerLine, writeLines } from "./support/session-files.js";

interface Vectors {
  "tree-rows": {
    homeDir: string;
    cases: { entries: { id: string }[]; leafId: string | null; views: View[] }[];
  };
  "branch-collect": {
    entries: [string, string | null][];
    oldLeafId: string | null;
    targetId: string;
    commonAncestorId: string | null;
    entryIds: string[];
  }[];
  fuzzy: {
    match: { query: string; text: string; matches: boolean; score: number }[];
    items: string[];
    filter: { query: string; result: number[] }[];
  };
}

interface View {
  mode: TreeFilter;
  query: string;
  selected?: string | null;
  ids: string[];
  rows: string[];
}

function vectors<K extends keyof Vectors>(name: K): Vectors[K] {
  const file = join(import.meta.dirname, "vectors", `${name}.json`);
  return JSON.parse(readFileSync(file, "utf8")) as Vectors[K];
}

const box = useSandbox();

/** A row as a terminal shows it. */
function drawn(tree: FlatTree): string[] {
  return tree.rows().map((row) => {
    const label = row.label === undefined ? "" : `[${row.label}] `;
    return `${renderTreePrefix(row)}${row.onActivePath ? "• " : ""}${label}${row.lead}${row.text}`;
  });
}

function checkView(tree: FlatTree, view: View) {
  expect(tree.ids()).toEqual(view.ids);
  expect(drawn(tree)).toEqual(view.rows);
  expect(tree.length).toBe(view.ids.length);
  if (view.selected !== undefined) {
    expect(tree.ids()[tree.selectedIndex] ?? null).toBe(view.selected);
  }
}

describe("rows of a tree", () => {
  const { cases, homeDir } = vectors("tree-rows");

  it.each(cases.map((it, at) => [at, it] as const))("case %d", async (_, testCase) => {
    const file = writeLines(box.path("s.jsonl"), [headerLine(), ...testCase.entries]);
    const unseen = await SessionManager.open(file);
    const seen = await SessionManager.open(file);
    expect(seen.getEntries()).toHaveLength(testCase.entries.length);
    const half = await SessionManager.open(file);
    testCase.entries.forEach(({ id }, at) => {
      if (at % 2 === 0) {
        half.getEntry(id);
      }
    });
    for (const manager of [unseen, seen, half]) {
      const { leafId } = testCase;
      const all = manager.flattenTree({ filter: "all", leafId, homeDir });
      expect(all.total).toBe(testCase.entries.length);
      for (const view of testCase.views) {
        const { mode: filter, query } = view;
        checkView(manager.flattenTree({ filter, query, leafId, homeDir }), view);
        checkView(all.refilter({ filter, query, selectedId: leafId }), view);
      }
    }
  });
});

describe("entries that a move leaves behind", () => {
  it.each(vectors("branch-collect").map((it, at) => [at, it] as const))(
    "case %d",
    async (_, it) => {
      const timestamp = "2026-01-02T03:04:05.000Z";
      const entries = it.entries.map(([id, parentId]) => ({
        type: "custom",
        id,
        parentId,
        timestamp,
      }));
      const file = writeLines(box.path("s.jsonl"), [headerLine(), ...entries]);
      const manager = await SessionManager.open(file);
      const { commonAncestorId, entryIds, oldLeafId, targetId } = it;
      expect(manager.collectEntriesForBranchSummary(oldLeafId, targetId)).toEqual({
        commonAncestorId,
        entryIds,
      });
      const found = collectEntriesForBranchSummary(manager, oldLeafId, targetId);
      expect(found).toEqual({
        commonAncestorId,
        entries: entryIds.map((id) => manager.getEntry(id)),
      });
    },
  );
});

describe("fuzzy matching", () => {
  const { filter, items, match } = vectors("fuzzy");

  it.each(match)("finds %j", ({ query, text, matches, score }) => {
    expect(fuzzyMatch(query, text)).toEqual({ matches, score });
  });

  it.each(filter)("ranks %j", ({ query, result }) => {
    const pairs = items.map((text, at) => ({ text, at }));
    expect(fuzzyFilter(pairs, query, ({ text }) => text).map(({ at }) => at)).toEqual(result);
  });
});
