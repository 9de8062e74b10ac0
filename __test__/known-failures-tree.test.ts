import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { SessionManager } from "../index.js";
import { runForResult } from "./support/child-process.js";
import {
  A,
  C,
  contextOf,
  fileOf,
  H,
  idsOf,
  L,
  LINEAR4,
  type Line,
  T,
  TC,
  treeIds,
  U,
  userMessage,
  useSandbox,
  writeSession,
} from "./support/fixtures.js";

const sandbox = useSandbox();
const path = () => join(sandbox(), "dir", "s.jsonl");

describe("parent links that form a loop", () => {
  const LENGTH = 10_000;

  function ring(): Line[] {
    const lines: Line[] = [H()];
    for (let n = 0; n < LENGTH; n++) {
      lines.push(U(`m${n}`, `m${n === 0 ? LENGTH - 1 : n - 1}`));
    }
    return lines;
  }

  const shapes: [string, Line[], string[], number][] = [
    ["of two", [H(), U("u1", "a1"), A("a1", "u1")], ["u1", "a1"], 2],
    ["of one", [H(), U("u1", "u1")], ["u1"], 1],
    ["of one with children", [H(), U("u1", "u1"), A("a1", "u1")], ["u1", "a1"], 2],
    [
      "beside a good branch",
      [H(), U("x1", "x2"), A("x2", "x1"), U("u1", null), A("a1", "u1")],
      ["u1", "a1"],
      4,
    ],
    [
      "that a branch leads out of",
      [H(), U("x1", "x2"), A("x2", "x1"), U("u1", "x2"), A("a1", "u1")],
      ["x1", "x2", "u1", "a1"],
      4,
    ],
    ["of ten thousand", ring(), Array.from({ length: LENGTH }, (_, n) => `m${n}`), LENGTH],
  ];

  interface Outcome {
    results: Record<string, { milliseconds: number; value: unknown }>;
  }

  for (const [what, lines, branch, count] of shapes) {
    it(`${what}: every call returns, with each entry at most once`, async () => {
      writeSession(path(), lines);
      const { results } = await runForResult<Outcome>("every-walk.cjs", [path(), sandbox()], {
        limitMs: 60_000,
      });
      for (const [call, { milliseconds }] of Object.entries(results)) {
        expect(milliseconds, call).toBeLessThan(2000);
      }
      const value = (call: string) => results[call]?.value;
      expect(value("getBranch")).toEqual(branch);
      expect(value("buildSessionContext")).toEqual(branch);
      expect(value("free buildSessionContext")).toEqual(branch);
      expect(value("createBranchedSession")).toEqual(branch);
      expect(value("forkFrom")).toHaveLength(count);
      const tree = value("getTree") as { ids: string[]; roots: string[] };
      expect(tree.ids).toHaveLength(count);
      expect(new Set(tree.ids).size).toBe(count);
      expect(tree.roots.length).toBeGreaterThan(0);
      expect(value("getEntries")).toHaveLength(count);
      expect(value("getLastModelChangeRole")).toBeNull();
      expect(value("getInjectedTtsrRules")).toEqual([]);
      expect(value("rewriteEntries and reopen")).toBe(count);
    }, 90_000);
  }

  it("shows the members of the loop as roots", async () => {
    writeSession(path(), shapes[0]?.[1] as Line[]);
    const roots = (await SessionManager.open(path())).getTree().map((node) => node.entry.id);
    expect(roots).toEqual(expect.arrayContaining(["u1"]));
    writeSession(path(), shapes[4]?.[1] as Line[]);
    const manager = await SessionManager.open(path());
    for (const { entry } of manager.getTree()) {
      expect(["x1", "x2"]).toContain(entry.id);
    }
  });
});

describe("an id that occurs more than once", () => {
  it("is once in the tree and as often in the list as in the file", async () => {
    const twin = { ...U("u2", "a1"), message: userMessage("second u2") };
    writeSession(path(), [...LINEAR4(), twin, A("a3", "u2")]);
    const manager = await SessionManager.open(path());
    expect(idsOf(manager)).toEqual(["u1", "a1", "u2", "a2", "u2", "a3"]);
    expect(treeIds(manager).sort()).toEqual(["a1", "a2", "a3", "u1", "u2"]);
    expect(contextOf(manager)).toBe("u1 a1 second u2 a3");
    await manager.rewriteEntries();
    expect(idsOf(await SessionManager.open(path()))).toEqual(idsOf(manager));
  });

  it("274 times is no trouble", async () => {
    const lines: Line[] = LINEAR4();
    for (let n = 0; n < 274; n++) {
      lines.push(U("same", n === 0 ? "a2" : "same"));
    }
    writeSession(path(), lines);
    const manager = await SessionManager.open(path());
    expect(manager.getEntries()).toHaveLength(278);
    expect(treeIds(manager).filter((id) => id === "same")).toHaveLength(1);
    expect(
      contextOf(manager)
        .split(" ")
        .filter((word) => word === "same"),
    ).toHaveLength(1);
  });
});

describe("a parent that was never written", () => {
  it("ends the chain, and the entry is a second root", async () => {
    writeSession(path(), [H(), U("u1", null), A("a1", "u1"), U("u2", "gone"), A("a2", "u2")]);
    const manager = await SessionManager.open(path());
    expect(contextOf(manager)).toBe("u2 a2");
    expect(manager.getTree().map((node) => node.entry.id)).toEqual(["u1", "u2"]);
    expect(manager.getEntry("u2")?.parentId).toBe("gone");
    await manager.rewriteEntries();
    expect((await SessionManager.open(path())).getEntry("u2")?.parentId).toBe("gone");
  });

  it("may be absent, empty or of another type", async () => {
    for (const parentId of [undefined, "", 5, {}, [], false]) {
      writeSession(path(), [H(), U("u1", null), { ...U("u2", null), parentId }, A("a2", "u2")]);
      const manager = await SessionManager.open(path());
      expect(contextOf(manager)).toBe("u2 a2");
      expect(manager.getTree().map((node) => node.entry.id)).toEqual(["u1", "u2"]);
    }
  });
});

describe("moving the leaf", () => {
  it("is not kept by the file, but the next append is", async () => {
    writeSession(path(), LINEAR4());
    const manager = await SessionManager.open(path());
    manager.branch("a1");
    await manager.close();
    const second = await SessionManager.open(path());
    expect(second.getLeafId()).toBe("a2");
    second.branch("a1");
    const child = second.appendMessage(userMessage("u3"));
    await second.close();
    const third = await SessionManager.open(path());
    expect(third.getLeafId()).toBe(child);
    expect(third.getEntry(child)?.parentId).toBe("a1");
    expect(contextOf(third)).toBe("u1 a1 u3");
  });
});

describe("timestamps that make no sense", () => {
  it("do not change the order of the context", async () => {
    const times = ["2026-05-05T00:00:00.000Z", undefined, "2020-01-01T00:00:00.000Z", 1e12];
    const lines = LINEAR4().map((line, n) =>
      n === 0 ? line : { ...(line as object), timestamp: times[n - 1] },
    );
    const far = { ...U("u3", "a2"), timestamp: "+275760-09-13T00:00:00.000Z" };
    writeSession(path(), [...lines, far, { ...A("a3", "u3"), timestamp: "garbage" }]);
    const manager = await SessionManager.open(path());
    expect(contextOf(manager)).toBe("u1 a1 u2 a2 u3 a3");
    expect(treeIds(manager)).toEqual(["u1", "a1", "u2", "a2", "u3", "a3"]);
  });

  it("leave children in file order where they cannot be compared", async () => {
    const children = ["c1", "c2", "c3", "c4"].map((id) => ({ ...U(id, "u1"), timestamp: "?" }));
    writeSession(path(), [H(), U("u1", null), ...children]);
    expect(treeIds(await SessionManager.open(path()))).toEqual(["u1", "c1", "c2", "c3", "c4"]);
  });

  it("sort children that have good ones", async () => {
    const children = [3, 1, 2, 1].map((day, n) => ({
      ...U(`c${n}`, "u1"),
      timestamp: `2026-01-0${day}T00:00:00.000Z`,
    }));
    writeSession(path(), [H(), U("u1", null), ...children]);
    expect(treeIds(await SessionManager.open(path()))).toEqual(["u1", "c1", "c3", "c2", "c0"]);
  });

  it("in the header still let the session be listed", async () => {
    for (const timestamp of ["garbage", undefined, null, {}, 1e300]) {
      writeSession(path(), [H({ timestamp }), U("u1", null), A("a1", "u1")]);
      const infos = await SessionManager.list("/w/p", join(sandbox(), "dir"));
      expect(infos).toMatchObject([{ id: "s1", messageCount: 2 }]);
      expect(infos[0]?.created).toBeInstanceOf(Date);
      expect((await SessionManager.open(path())).getHeader()?.id).toBe("s1");
    }
    expect(Number.isNaN((await firstCreated("garbage")).getTime())).toBe(true);
  });

  async function firstCreated(timestamp: string): Promise<Date> {
    writeSession(path(), [H({ timestamp }), U("u1", null)]);
    const [info] = await SessionManager.list("/w/p", join(sandbox(), "dir"));
    return info?.created as Date;
  }
});

describe("compactions", () => {
  let manager: SessionManager;
  async function contextFor(lines: Line[]): Promise<string> {
    writeSession(path(), lines);
    manager = await SessionManager.open(path());
    return contextOf(manager);
  }

  beforeEach(() => {
    manager = SessionManager.inMemory();
  });

  it("inside the kept range are not rendered between a tool call and its result", async () => {
    const lines = [H(), U("u1", null), TC("t1", "u1", "c1"), C("k1", "t1", "u1")];
    lines.push(T("r1", "k1", "c1") as never, A("a2", "r1") as never, U("u3", "a2") as never);
    lines.push(C("k2", "u3", "t1") as never, U("u4", "k2") as never);
    expect(await contextFor(lines)).toBe("SUM-k2 t1 r1 a2 u3 u4");
  });

  it("with the same parent: the one on the path counts, the other stays in the tree", async () => {
    const lines = [H(), U("u1", null), C("cA", "u1", "u1"), C("cB", "u1", "u1"), U("u2", "cB")];
    expect(await contextFor(lines)).toBe("SUM-cB u1 u2");
    expect(treeIds(manager)).toEqual(["u1", "cA", "cB", "u2"]);
    expect(manager.getChildren("u1").map((item) => item.id)).toEqual(["cA", "cB"]);
    expect(manager.getChildren("cA")).toEqual([]);
  });

  for (const [what, kept] of [
    ["an unknown entry", "gone"],
    ["an entry after the compaction", "u3"],
    ["an entry of another branch", "side"],
    ["itself", "k1"],
    ["nothing", ""],
    ["a missing field", undefined],
  ] as const) {
    it(`that keep from ${what} on show the summary and what follows`, async () => {
      const lines = [...LINEAR4(), U("side", "u1"), C("k1", "a2", kept), U("u3", "k1")];
      expect(await contextFor(lines)).toBe("SUM-k1 u3");
    });
  }

  for (const index of [0, 4, 5, 99, -1]) {
    it(`of the first format with the index ${index} show the summary and what follows`, async () => {
      const old = (line: object) => ({ ...line, id: undefined, parentId: undefined });
      const compaction = { ...C("k1", null), firstKeptEntryIndex: index };
      const lines = [U("u1", null), A("a1", null), U("u2", null), compaction, U("u3", null)];
      expect(await contextFor([H({ version: undefined }), ...lines.map(old)])).toBe("SUM-k1 u3");
    });
  }

  it("of the first format keep from the entry that the index names", async () => {
    const old = (line: object) => ({ ...line, id: undefined, parentId: undefined });
    const compaction = { ...C("k1", null), firstKeptEntryIndex: 3 };
    const lines = [U("u1", null), A("a1", null), U("u2", null), compaction, U("u3", null)];
    expect(await contextFor([H({ version: undefined }), ...lines.map(old)])).toBe("SUM-k1 u2 u3");
  });

  it("and rewrites in flight lose no append", async () => {
    await contextFor([...LINEAR4(), L("l1", "a2", "u1")]);
    const before = idsOf(manager).length;
    const pending: Promise<unknown>[] = [];
    const ids: string[] = [];
    for (let n = 0; n < 100; n++) {
      if (n % 10 === 0) {
        ids.push(manager.appendCompaction("sum", undefined, "u2", 1));
        pending.push(manager.rewriteEntries());
      }
      ids.push(manager.appendMessage(userMessage(`m${n}`)));
    }
    await manager.flush();
    await Promise.all(pending);
    const again = await SessionManager.open(fileOf(manager));
    expect(idsOf(again).slice(before)).toEqual(ids);
    for (const [n, id] of ids.entries()) {
      expect(again.getEntry(id)?.parentId).toBe(n === 0 ? "l1" : ids[n - 1]);
    }
  });
});
