import { describe, expect, it } from "vitest";
import { SessionManager } from "../index.js";
import { type Loose, loose, unchecked } from "./support/loose.js";
import { createWritten } from "./support/managers.js";
import { assistantMessage, userMessage } from "./support/messages.js";
import { useSandbox } from "./support/sandbox.js";
import { entryLine, headerLine, messageLine, writeLines } from "./support/session-files.js";

const box = useSandbox();

/** Opens a session file made of a header and these entries. */
async function opened(entries: Loose[]): Promise<SessionManager> {
  return SessionManager.open(writeLines(box.path("s.jsonl"), [headerLine(), ...entries]));
}

/** The tree as nested arrays of ids. */
function shape(nodes: Loose[]): unknown[] {
  return nodes.map((node) => [node.entry.id, ...shape(node.children)]);
}

/** A chain a - b - c with a second child d of a. */
function branched(): { manager: SessionManager; a: string; b: string; c: string; d: string } {
  const manager = SessionManager.inMemory(box.dir);
  const a = manager.appendMessage(userMessage("a"));
  const b = manager.appendMessage(assistantMessage("b"));
  const c = manager.appendMessage(userMessage("c"));
  manager.branch(a);
  const d = manager.appendMessage(assistantMessage("d"));
  return { manager, a, b, c, d };
}

describe("getEntries and getEntry", () => {
  it("give a fresh array of the same objects, in order, without the header", () => {
    const { manager, a, b, c, d } = branched();
    const first = manager.getEntries();
    const second = manager.getEntries();
    expect(first).not.toBe(second);
    expect(first.map(({ id }) => id)).toEqual([a, b, c, d]);
    first.forEach((entry, index) => {
      expect(second[index]).toBe(entry);
      expect(manager.getEntry(entry.id)).toBe(entry);
    });
    first.reverse().pop();
    expect(manager.getEntries().map(({ id }) => id)).toEqual([a, b, c, d]);
  });

  it("getEntry gives undefined for unknown ids of any kind", () => {
    const { manager } = branched();
    for (const id of ["unknown", "", "__proto__", "constructor", undefined, null, 5]) {
      expect(manager.getEntry(unchecked(id))).toBeUndefined();
    }
  });

  it("include later headers of a damaged file in neither", async () => {
    const manager = await opened([
      messageLine("m1", null, userMessage()),
      headerLine({ id: "second-header" }),
      messageLine("m2", "m1", assistantMessage()),
    ]);
    expect(manager.getEntries().map(({ id }) => id)).toEqual(["m1", "m2"]);
    expect(manager.getEntry("second-header")).toBeUndefined();
    expect(manager.getSessionId()).toBe("15e1be0f427b9866");
  });
});

describe("getLeafId and getLeafEntry", () => {
  it("follow appends and branches", () => {
    const { manager, a, d } = branched();
    expect(manager.getLeafId()).toBe(d);
    expect(manager.getLeafEntry()).toBe(manager.getEntry(d));
    manager.branch(a);
    expect(manager.getLeafId()).toBe(a);
    manager.resetLeaf();
    expect(manager.getLeafId()).toBeNull();
    expect(manager.getLeafEntry()).toBeUndefined();
  });

  it("are the last entry of a loaded file, whatever its parent", async () => {
    const manager = await opened([
      messageLine("m1", null, userMessage()),
      messageLine("m2", "m1", assistantMessage()),
      messageLine("m3", "m1", assistantMessage()),
    ]);
    expect(manager.getLeafId()).toBe("m3");
  });
});

describe("getChildren", () => {
  it("gives a fresh array in insertion order; null gives the roots", () => {
    const { manager, a, b, c, d } = branched();
    const children = manager.getChildren(a);
    expect(children.map(({ id }) => id)).toEqual([b, d]);
    expect(children[0]).toBe(manager.getEntry(b));
    expect(manager.getChildren(b).map(({ id }) => id)).toEqual([c]);
    expect(manager.getChildren(c)).toEqual([]);
    expect(manager.getChildren("unknown")).toEqual([]);
    expect(manager.getChildren(unchecked(null)).map(({ id }) => id)).toEqual([a]);
    children.length = 0;
    expect(manager.getChildren(a)).toHaveLength(2);
  });

  it("compares strictly: an absent parent is no root here", async () => {
    const orphan = messageLine("m2", null, userMessage());
    delete orphan.parentId;
    const manager = await opened([messageLine("m1", null, userMessage()), orphan]);
    expect(manager.getChildren(unchecked(null)).map(({ id }) => id)).toEqual(["m1"]);
  });
});

describe("an entry that was asked for before", () => {
  it("is another one as soon as its id is used again", async () => {
    const manager = await opened([
      messageLine("m1", null, userMessage("one")),
      messageLine("m2", "m1", assistantMessage("two")),
      messageLine("m1", "m2", userMessage("three")),
    ]);
    const [first, second, third] = manager.getEntries();
    expect(manager.getEntry("m1")).toBe(third);
    expect(manager.getEntry("m1")).toBe(third);
    expect(manager.getEntry("m2")).toBe(second);
    manager.appendSessionInit(unchecked({ id: "m2", systemPrompt: "", task: "", tools: [] }));
    expect(manager.getEntry("m2")).toBe(manager.getEntries()[3]);
    manager.appendSessionInit(unchecked({ id: { toString: () => "m1" } }));
    expect(manager.getEntry("m1")).toBe(manager.getEntries()[4]);
    expect(first?.id).toBe("m1");
  });

  it("keeps the id under which it came, whatever the caller writes into it", () => {
    const { manager, a, b } = branched();
    const entry = manager.getEntry(a);
    loose(entry).id = b;
    expect(manager.getEntry(a)).toBe(entry);
    expect(manager.getEntry(b)).toBe(manager.getEntries()[1]);
    expect(manager.getBranch(b)).toHaveLength(2);
  });

  it("is looked up in the session that the manager is at", async () => {
    const { manager, a, c } = branched();
    expect(manager.getEntry(c)?.id).toBe(c);
    expect(manager.getEntry("later")).toBe(undefined);
    manager.createBranchedSession(a);
    expect(manager.getEntry(c)).toBe(undefined);
    expect(manager.getEntry(a)?.id).toBe(a);
    manager.appendSessionInit(unchecked({ id: "later", systemPrompt: "", task: "", tools: [] }));
    expect(manager.getEntry("later")?.type).toBe("session_init");
    await manager.newSession();
    expect(manager.getEntry(a)).toBe(undefined);
    expect(manager.getEntry("later")).toBe(undefined);
  });
});

describe("getBranch", () => {
  it("is the path from the root to the entry, to the leaf by default", () => {
    const { manager, a, b, c, d } = branched();
    expect(manager.getBranch().map(({ id }) => id)).toEqual([a, d]);
    expect(manager.getBranch(c).map(({ id }) => id)).toEqual([a, b, c]);
    expect(manager.getBranch(c)[2]).toBe(manager.getEntry(c));
    expect(manager.getBranch(unchecked(null)).map(({ id }) => id)).toEqual([a, d]);
    const path = manager.getBranch();
    path.length = 0;
    expect(manager.getBranch()).toHaveLength(2);
  });

  it("is empty for an unknown or empty id and without a leaf", () => {
    const { manager } = branched();
    expect(manager.getBranch("unknown")).toEqual([]);
    expect(manager.getBranch("")).toEqual([]);
    manager.resetLeaf();
    expect(manager.getBranch()).toEqual([]);
  });

  it("stops at a missing parent", async () => {
    const manager = await opened([
      messageLine("m1", "gone", userMessage()),
      messageLine("m2", "m1", assistantMessage()),
    ]);
    expect(manager.getBranch().map(({ id }) => id)).toEqual(["m1", "m2"]);
  });
});

describe("getTree", () => {
  it("has nodes of entry, children and label, all own keys", () => {
    const { manager, a, d } = branched();
    manager.appendLabelChange(d, "mark");
    const [root] = manager.getTree();
    expect(Object.keys(loose(root)).sort()).toEqual(["children", "entry", "label"]);
    expect(root?.entry).toBe(manager.getEntry(a));
    expect(root?.label).toBeUndefined();
    expect(root?.children[1]?.label).toBe("mark");
    expect(root?.children[0]?.children[0]?.children).toEqual([]);
    expect(manager.getTree()[0]).not.toBe(root);
    root?.children.splice(0);
    expect(manager.getTree()[0]?.children).toHaveLength(2);
  });

  it("nests by parent and sorts siblings by time, roots by file order", async () => {
    const manager = await opened([
      messageLine("r2", null, userMessage(), 50),
      messageLine("late", "r2", userMessage(), 9),
      messageLine("r1", null, userMessage(), 1),
      messageLine("early", "r2", userMessage(), 3),
      messageLine("same1", "r2", userMessage(), 5),
      messageLine("same2", "r2", userMessage(), 5),
    ]);
    expect(shape(manager.getTree())).toEqual([
      ["r2", ["early"], ["same1"], ["same2"], ["late"]],
      ["r1"],
    ]);
  });

  it("takes time zones into account and keeps file order for unreadable times", async () => {
    const at = (id: string, timestamp: string) => ({
      ...entryLine("custom", id, "root", { customType: "x" }),
      timestamp,
    });
    const manager = await opened([
      messageLine("root", null, userMessage()),
      at("second", "2026-01-01T11:00:00.000Z"),
      at("first", "2026-01-01T11:00:00.000+02:00"),
    ]);
    expect(shape(manager.getTree())).toEqual([["root", ["first"], ["second"]]]);
    const unreadable = await opened([
      messageLine("root", null, userMessage()),
      at("x", "never"),
      at("y", "also never"),
    ]);
    expect(shape(unreadable.getTree())).toEqual([["root", ["x"], ["y"]]]);
  });

  it("makes roots of entries whose parent is null, unknown, absent or themselves", async () => {
    const absent = messageLine("absent", null, userMessage());
    delete absent.parentId;
    const manager = await opened([
      messageLine("null", null, userMessage()),
      messageLine("unknown", "gone", userMessage()),
      absent,
      messageLine("self", "self", userMessage()),
    ]);
    expect(shape(manager.getTree())).toEqual([["null"], ["unknown"], ["absent"], ["self"]]);
  });

  it("shows each id once", async () => {
    const manager = await opened([
      messageLine("m1", null, userMessage()),
      messageLine("m2", "m1", userMessage("first")),
      messageLine("m2", "m1", userMessage("second")),
    ]);
    expect(shape(manager.getTree())).toEqual([["m1", ["m2"]]]);
    expect(loose(manager.getTree()[0]?.children[0]?.entry).message.content).toBe("second");
    expect(manager.getEntries()).toHaveLength(3);
  });

  it("handles a very deep chain", () => {
    const manager = SessionManager.inMemory(box.dir);
    for (let depth = 0; depth < 20_000; depth += 1) {
      manager.appendModelChange("a/b");
    }
    let [node] = manager.getTree();
    let depth = 0;
    while (node !== undefined) {
      depth += 1;
      node = node.children[0];
    }
    expect(depth).toBe(20_000);
  });
});

describe("getLabel", () => {
  it("is rebuilt from the file; the last entry decides", async () => {
    const label = (id: string, targetId: string, fields: Loose) =>
      entryLine("label", id, "m1", { targetId, ...fields });
    const manager = await opened([
      messageLine("m1", null, userMessage()),
      messageLine("m2", "m1", userMessage()),
      messageLine("m3", "m2", userMessage()),
      label("l1", "m1", { label: "one" }),
      label("l2", "m2", { label: "two" }),
      label("l3", "m3", { label: "three" }),
      label("l4", "m1", { label: "one again" }),
      label("l5", "m2", {}),
      label("l6", "m3", { label: "" }),
    ]);
    expect(manager.getLabel("m1")).toBe("one again");
    expect(manager.getLabel("m2")).toBeUndefined();
    expect(manager.getLabel("m3")).toBeUndefined();
    expect(manager.getLabel("unknown")).toBeUndefined();
  });
});

describe("getLastModelChangeRole", () => {
  it("is the role of the nearest model change on the branch", () => {
    const manager = SessionManager.inMemory(box.dir);
    expect(manager.getLastModelChangeRole()).toBeUndefined();
    const root = manager.appendMessage(userMessage());
    expect(manager.getLastModelChangeRole()).toBeUndefined();
    manager.appendModelChange("a/b", "smol");
    manager.appendMessage(assistantMessage());
    expect(manager.getLastModelChangeRole()).toBe("smol");
    manager.appendModelChange("a/c");
    expect(manager.getLastModelChangeRole()).toBe("default");
    manager.branch(root);
    expect(manager.getLastModelChangeRole()).toBeUndefined();
  });
});

describe("getInjectedTtsrRules", () => {
  it("is the distinct names on the branch, first occurrence first", () => {
    const manager = SessionManager.inMemory(box.dir);
    expect(manager.getInjectedTtsrRules()).toEqual([]);
    manager.appendTtsrInjection(["b", "a"]);
    const fork = manager.appendTtsrInjection(["a", "c"]);
    manager.appendTtsrInjection(["d"]);
    expect(manager.getInjectedTtsrRules()).toEqual(["b", "a", "c", "d"]);
    manager.branch(fork);
    expect(manager.getInjectedTtsrRules()).toEqual(["b", "a", "c"]);
  });
});

describe("unknown entry kinds", () => {
  it("take part in every query", async () => {
    const manager = await opened([
      messageLine("m1", null, userMessage()),
      entryLine("from_the_future", "f1", "m1", { payload: { deep: [1, 2] } }),
      messageLine("m2", "f1", assistantMessage()),
    ]);
    expect(loose(manager.getEntry("f1"))).toEqual(
      entryLine("from_the_future", "f1", "m1", { payload: { deep: [1, 2] } }),
    );
    expect(manager.getBranch().map(({ id }) => id)).toEqual(["m1", "f1", "m2"]);
    expect(shape(manager.getTree())).toEqual([["m1", ["f1", ["m2"]]]]);
    expect(manager.buildSessionContext().messages).toHaveLength(2);
  });
});

describe("queries on a written session", () => {
  it("give the same objects before and after writing", async () => {
    const manager = await createWritten(box.dir);
    const before = manager.getEntries();
    await manager.rewriteEntries();
    await manager.close();
    expect(manager.getEntries().every((entry, index) => entry === before[index])).toBe(true);
  });
});
