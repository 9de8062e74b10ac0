import { appendFileSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { renderTreePrefix, SessionManager, type TreeRow } from "../index.js";
import { A, H, L, LINEAR4, type Line, U, useSandbox, writeSession } from "./support/fixtures.js";
import { loose, unchecked } from "./support/loose.js";
import { assistantMessage, toolResultMessage, userMessage } from "./support/messages.js";

const box = useSandbox();

function openLines(lines: Line[]): Promise<SessionManager> {
  return SessionManager.open(writeSession(`${box()}/s.jsonl`, lines));
}

const words = (row: TreeRow) => `${row.lead}${row.text}`;

describe("flattenTree", () => {
  it("gives rows with all their members", async () => {
    const manager = await openLines([...LINEAR4(), L("l", "a2", "u2"), U("u3", "a1")]);
    const tree = manager.flattenTree({ filter: "all" });
    expect(tree).toMatchObject({ length: 6, total: 6, multipleRoots: false, selectedIndex: 2 });
    expect(tree.ids()).toEqual(["u1", "a1", "u3", "u2", "a2", "l"]);
    const timestamp = "2026-01-02T03:04:05.000Z";
    expect(tree.rows(2, 4)).toEqual([
      {
        id: "u3",
        parentId: "a1",
        type: "message",
        role: "user",
        depth: 1,
        connector: "branch",
        gutters: [],
        onActivePath: true,
        isLeaf: true,
        childCount: 0,
        timestamp,
        lead: "user: ",
        text: "u3",
        tone: "user",
      },
      {
        id: "u2",
        parentId: "a1",
        type: "message",
        role: "user",
        depth: 1,
        connector: "last",
        gutters: [],
        onActivePath: false,
        isLeaf: false,
        childCount: 1,
        label: "x",
        timestamp,
        lead: "user: ",
        text: "u2",
        tone: "user",
      },
    ]);
    expect(tree.rows(-1)).toMatchObject([
      { type: "label", lead: "", text: "[label: x]", depth: 2, connector: "none" },
    ]);
    expect(tree.rows(-1)[0]?.gutters).toEqual([{ position: 0, show: false }]);
    expect(tree.rows(3, 1)).toEqual([]);
  });

  it("is empty for a session without entries", () => {
    const tree = SessionManager.inMemory("/w").flattenTree();
    expect(tree).toMatchObject({ length: 0, total: 0, multipleRoots: false, selectedIndex: -1 });
    expect(tree.rows()).toEqual([]);
    expect(tree.ids()).toEqual([]);
    expect(tree.refilter({ filter: "all" }).selectedIndex).toBe(-1);
  });

  it("shows the tree from the leaf that it is given", async () => {
    const manager = await openLines([...LINEAR4(), U("u3", "a1")]);
    expect(manager.flattenTree({ leafId: "a2" }).ids()).toEqual(["u1", "a1", "u2", "a2", "u3"]);
    const none = manager.flattenTree({ leafId: null });
    expect(none.rows().some((row) => row.onActivePath || row.isLeaf)).toBe(false);
    expect(none.selectedIndex).toBe(4);
    expect(manager.flattenTree({ leafId: "nope" }).selectedIndex).toBe(4);
    manager.branch("u2");
    expect(manager.flattenTree().ids()).toEqual(["u1", "a1", "u2", "a2", "u3"]);
  });

  it("shows a quiet answer only as the leaf", () => {
    const manager = SessionManager.inMemory("/w");
    const call = { type: "toolCall", id: "c", name: "ls", arguments: { path: "/home/me/x" } };
    const quiet = manager.appendMessage(unchecked({ ...assistantMessage(), content: [call] }));
    expect(manager.flattenTree().ids()).toEqual([quiet]);
    const result = manager.appendMessage(toolResultMessage("out", { toolCallId: "c" }));
    const tree = manager.flattenTree({ homeDir: "/home/me" });
    expect(tree.ids()).toEqual([result]);
    expect(words(tree.rows()[0] as TreeRow)).toBe("[ls: ~/x]");
    expect(manager.flattenTree({ homeDir: "" }).rows()[0]?.text).toBe("[ls: /home/me/x]");
  });

  it("is a snapshot", async () => {
    const manager = await openLines(LINEAR4());
    loose(manager.getEntry("u1")).message.content = "edited";
    const before = manager.flattenTree({ filter: "all" });
    expect(before.rows(0, 1)[0]?.text).toBe("edited");
    loose(manager.getEntry("u1")).message.content = "again";
    manager.appendLabelChange("u1", "label");
    await manager.newSession();
    expect(before.refilter({ query: "edited" }).rows()).toEqual(before.rows(0, 1));
    expect(before.total).toBe(4);
  });

  it("makes no objects of entries", async () => {
    const file = writeSession(`${box()}/s.jsonl`, LINEAR4());
    const manager = await SessionManager.open(file);
    const tree = manager.flattenTree();
    // Were there objects, they would still be there when the file is gone.
    writeFileSync(file, "");
    expect(tree.rows()).toHaveLength(4);
    expect(() => manager.getEntries()).toThrow(
      expect.objectContaining({ code: "ENTRY_UNREADABLE" }),
    );
    expect(() => manager.flattenTree()).toThrow(
      expect.objectContaining({ code: "ENTRY_UNREADABLE" }),
    );
  });

  it("takes entries of any shape", async () => {
    const odd: Line[] = [
      { type: "message", id: "m1", parentId: null, timestamp: 5, message: null },
      { type: "message", id: "m2", parentId: "m1", timestamp: "x", message: { role: 5 } },
      { type: "message", id: 7, parentId: "m2", timestamp: "x", message: { role: "user" } },
      { type: "custom_message", id: "m4", parentId: 7, timestamp: "x", content: { a: 1 } },
      { type: "unheard of", id: "m5", parentId: "m4", timestamp: "x", summary: [] },
    ];
    const manager = await openLines([H(), ...odd]);
    const unseen = manager.flattenTree({ filter: "all" }).rows();
    expect(unseen.map(words)).toEqual(["", "[]", "user: ", "[]: ", ""]);
    expect(unseen.map((row) => row.id)).toEqual(["m1", "m2", 7, "m4", "m5"]);
    expect(unseen[3]?.parentId).toBe(7);
    expect(manager.getEntries()).toHaveLength(5);
    expect(manager.flattenTree({ filter: "all" }).rows()).toEqual(unseen);
  });

  it("takes tool arguments that cannot be JSON", () => {
    const manager = SessionManager.inMemory("/w");
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    const call = (id: string, args: unknown) => ({
      type: "toolCall",
      id,
      name: "tool",
      arguments: args,
    });
    const content = [call("c", cyclic), call("b", { a: 1n })];
    manager.appendMessage(unchecked({ ...assistantMessage(), content }));
    manager.appendMessage(toolResultMessage("", { toolCallId: "c" }));
    manager.appendMessage(toolResultMessage("", { toolCallId: "unknown", toolName: "other" }));
    expect(manager.flattenTree().rows().map(words)).toEqual(["[tool: {}]", "[other]"]);
  });

  it.each([
    ["a bigint", 1n],
    ["a symbol", Symbol("s")],
    ["a cycle", [undefined] as unknown[]],
    [
      "a getter that throws",
      {
        get broken() {
          throw new Error("getter");
        },
      },
    ],
    ["a conversion that throws", { toJSON: () => BigInt("no number") }],
  ])("takes %s in every member of an entry", (_, value) => {
    if (Array.isArray(value)) {
      value[0] = value;
    }
    const makers: ((manager: SessionManager) => void)[] = [
      (manager) => manager.appendMessage(unchecked({ ...userMessage("x"), stopReason: "stop" })),
      (manager) => manager.appendCustomMessageEntry("t", "x", true),
      (manager) => manager.appendCompaction("s", "short", "x", 1),
      (manager) => manager.branchWithSummary(null, "s"),
      (manager) => manager.appendCustomEntry("t", {}),
      (manager) => manager.appendModelChange("p/m"),
      (manager) => manager.appendThinkingLevelChange("low"),
    ];
    for (const make of makers) {
      const manager = SessionManager.inMemory("/w");
      make(manager);
      manager.appendMessage(userMessage("other"));
      const entry = loose(manager.getEntries()[0]);
      for (const owner of [entry, entry.message ?? {}]) {
        for (const name of Object.keys(owner).filter(
          (key) => !/^(id|parentId|message)$/.test(key),
        )) {
          const before = owner[name];
          owner[name] = value;
          const rows = manager.flattenTree({ filter: "all", query: "" }).rows();
          expect(rows).toHaveLength(2);
          expect(rows.map(words)).toContain("user: other");
          owner[name] = before;
        }
      }
    }
  });

  it("takes an entry that cannot be looked at", () => {
    const manager = SessionManager.inMemory("/w");
    manager.appendCustomEntry("t", {});
    manager.appendMessage(userMessage("other"));
    Object.defineProperty(manager.getEntries()[0], "customType", {
      get() {
        throw new Error("getter");
      },
    });
    expect(manager.flattenTree({ filter: "all" }).rows().map(words)).toEqual(["", "user: other"]);
  });

  it("keeps halves of surrogate pairs", () => {
    const manager = SessionManager.inMemory("/w");
    const id = manager.appendMessage(userMessage(`a\ud83d\n${"😀".repeat(150)}`));
    manager.appendLabelChange(id, "\udc00");
    const [row] = manager.flattenTree().rows();
    expect(row?.text).toBe(`a\ud83d ${"😀".repeat(98)}`);
    expect(row?.label).toBe("\udc00");
  });

  it.each([
    [{ filter: "none" }, "options.filter"],
    [{ query: 5 }, "options.query"],
    [{ leafId: {} }, "options.leafId"],
    [{ homeDir: 5 }, "options.homeDir"],
    ["all", "options"],
  ])("refuses wrong options %j", (options, name) => {
    const manager = SessionManager.inMemory("/w");
    const flatten = () => manager.flattenTree(unchecked(options));
    expect(flatten).toThrow(`The "${name}" argument must be`);
    expect(flatten).toThrow(expect.objectContaining({ code: "ERR_INVALID_ARG_TYPE" }));
  });
});

describe("refilter", () => {
  it("keeps what is not given, and the selection", async () => {
    const manager = await openLines([...LINEAR4(), L("l", "a2", "u1", "Start")]);
    const all = manager.flattenTree({ filter: "all", selectedId: "u2" });
    const at = (tree: typeof all) => tree.ids()[tree.selectedIndex];
    expect(at(all)).toBe("u2");
    const prompts = all.refilter({ filter: "user-only" });
    expect([prompts.ids(), at(prompts)]).toEqual([["u1", "u2"], "u2"]);
    const first = prompts.refilter({ query: "start" });
    expect([first.ids(), at(first)]).toEqual([["u1"], "u1"]);
    const wide = first.refilter({ filter: "all", query: "" });
    expect([wide.length, at(wide)]).toEqual([5, "u1"]);
    const empty = wide.refilter({ query: "nothing like it" });
    expect([empty.length, empty.selectedIndex]).toEqual([0, -1]);
    expect(at(empty.refilter({ query: "" }))).toBe("u1");
    expect(at(wide.refilter({ selectedId: null }))).toBe("l");
    expect(at(wide.refilter({ selectedId: "a2", filter: "labeled-only" }))).toBe("u1");
  });

  it("finds all words of a query, in label, role or text, whatever their case", async () => {
    const manager = await openLines([
      H(),
      U("a", null, { message: userMessage("ÜBER den Wolken\u00a0ΟΔΟΣ") }),
      A("b", "a", { message: assistantMessage(`${"x".repeat(200)} behind`) }),
      L("c", "b", "b", "Wichtig"),
    ]);
    const found = (query: string) => manager.flattenTree({ query }).ids();
    expect(found("über WOLKEN")).toEqual(["a"]);
    expect(found("οδος")).toEqual(["a"]);
    expect(found("WICHTIG assist")).toEqual(["b"]);
    expect(found("behind")).toEqual([]);
    expect(found("\u00a0\ufeff \n")).toEqual(["a", "b"]);
    expect(found("wolkenwichtig")).toEqual([]);
  });
});

describe("renderTreePrefix", () => {
  const row = (depth: number, connector: TreeRow["connector"], ...shown: boolean[]) => ({
    depth,
    connector,
    gutters: shown.map((show, position) => ({ position, show })),
  });

  it("draws three columns for each level", () => {
    expect(renderTreePrefix(row(0, "none"))).toBe("");
    expect(renderTreePrefix(row(1, "branch"))).toBe("├─ ");
    expect(renderTreePrefix(row(2, "last", true))).toBe("│  └─ ");
    expect(renderTreePrefix(row(3, "none", false, true))).toBe("   │     ");
  });

  it("draws with other symbols", () => {
    const ascii = { branch: "|--", last: "'--", vertical: "|" };
    expect(renderTreePrefix(row(2, "branch", true), ascii)).toBe("|  |--");
    expect(renderTreePrefix(row(2, "last", false), ascii)).toBe("   '--");
    expect(renderTreePrefix(row(2, "last", true), { vertical: "!" })).toBe("!  └─ ");
  });
});

/** Trees with duplicate ids, loops, lost parents and unreadable times. */
const trees = fc.array(
  fc.record({
    id: fc.constantFrom("a", "b", "c", "d", "e", "f"),
    parentId: fc.constantFrom(null, "a", "b", "c", "d", "e", "f", "lost"),
    timestamp: fc.constantFrom("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "never"),
    message: fc.constantFrom(userMessage("prompt"), assistantMessage("answer")),
    type: fc.constantFrom("message", "custom"),
  }),
  { maxLength: 12 },
);

describe("every tree", () => {
  it("is shown with each id once, behind its parent", async () => {
    let file = 0;
    await fc.assert(
      fc.asyncProperty(trees, fc.constantFrom("a", "f", "lost"), async (entries, leafId) => {
        file += 1;
        const path = writeSession(`${box()}/${file}.jsonl`, [H(), ...entries]);
        const manager = await SessionManager.open(path);
        const unseen = manager.flattenTree({ filter: "all", leafId });
        const ids = unseen.ids();
        expect([...ids].sort()).toEqual([...new Set(entries.map(({ id }) => id))].sort());
        const rows = unseen.rows();
        rows.forEach((row, at) => {
          const parent = ids.indexOf(String(row.parentId));
          const isRoot = parent < 0 || row.depth === 0 || parent >= at;
          expect(isRoot || row.depth >= (rows[parent]?.depth ?? 0)).toBe(true);
        });
        manager.getEntries();
        expect(manager.flattenTree({ filter: "all", leafId }).rows()).toEqual(rows);
        await manager.close();
      }),
      { numRuns: 60 },
    );
  });

  it("is searched without an exception, and gives a part of its rows in order", () => {
    const manager = SessionManager.inMemory("/w");
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "binary" }), { maxLength: 6 }),
        fc.string({ unit: "binary" }),
        fc.constantFrom("default", "no-tools", "user-only", "labeled-only", "all"),
        (texts, query, filter) => {
          for (const text of texts) {
            const id = manager.appendMessage(userMessage(text));
            manager.appendLabelChange(id, text.slice(0, 3));
          }
          const all = manager.flattenTree({ filter: "all" });
          const some = all.refilter({ filter, query });
          const ids = new Set(some.ids());
          expect(all.ids().filter((id) => ids.has(id))).toEqual(some.ids());
          expect(some.length === 0).toBe(some.selectedIndex === -1);
          const [last] = texts.slice(-1);
          if (last !== undefined) {
            const found = all.refilter({ query: last.slice(0, 50) }).ids();
            expect(found.length).toBeGreaterThan(0);
          }
        },
      ),
      { numRuns: 100 },
    );
  });
});

describe("large trees", () => {
  const deep = (count: number, parentOf: (n: number) => string | null) => {
    const lines: Line[] = [H()];
    for (let n = 0; n < count; n++) {
      lines.push(U(`n${n}`, parentOf(n)));
    }
    return lines;
  };

  it("may be one long chain", async () => {
    const manager = await openLines(deep(100_000, (n) => (n === 0 ? null : `n${n - 1}`)));
    const tree = manager.flattenTree();
    expect(tree).toMatchObject({ length: 100_000, selectedIndex: 99_999 });
    expect(tree.rows(-1)).toMatchObject([{ id: "n99999", depth: 0, isLeaf: true }]);
    expect(manager.prepareTreeNavigation("n0")).toMatchObject({ commonAncestorId: "n0" });
    expect(tree.refilter({ query: "n50000" }).ids()).toEqual(["n50000"]);
  });

  it("may branch at every entry, or have many children or roots", async () => {
    const comb = await openLines(
      deep(20_001, (n) => (n === 0 ? null : `n${n % 2 === 0 ? n - 2 : n - 1}`)),
    );
    const tree = comb.flattenTree();
    expect(tree.length).toBe(20_001);
    expect(tree.rows(10_000, 10_001)[0]?.gutters.length).toBe(9_999);
    const wide = await openLines(deep(20_000, (n) => (n === 0 ? null : "n0")));
    expect(wide.flattenTree().rows(-1)).toMatchObject([{ connector: "last", depth: 1 }]);
    const roots = await openLines(deep(20_000, () => null));
    expect(roots.flattenTree()).toMatchObject({ multipleRoots: true, total: 20_000 });
  });

  it("are read although other programs append to the file", async () => {
    const file = writeSession(`${box()}/s.jsonl`, LINEAR4());
    const manager = await SessionManager.open(file);
    appendFileSync(file, `${JSON.stringify(U("later", "a2"))}\n`);
    expect(manager.flattenTree().length).toBe(4);
  });
});
