import { describe, expect, it } from "vitest";
import { SessionManager } from "../index.js";
import { unknownEntry } from "./support/errors.js";
import { loose, unchecked } from "./support/loose.js";
import { ENTRY_ID } from "./support/managers.js";
import { assistantMessage, userMessage } from "./support/messages.js";
import { useSandbox } from "./support/sandbox.js";

const box = useSandbox();

const BASE = ["type", "id", "parentId", "timestamp"];

type Manager = SessionManager;

/** Every append method: a call with all arguments, and the object that it must make. */
const APPENDS: [string, (manager: Manager) => string, string[], Record<string, unknown>][] = [
  [
    "appendThinkingLevelChange",
    (manager) => manager.appendThinkingLevelChange("high"),
    [...BASE, "thinkingLevel"],
    { type: "thinking_level_change", thinkingLevel: "high" },
  ],
  [
    "appendServiceTierChange",
    (manager) => manager.appendServiceTierChange("flex"),
    [...BASE, "serviceTier"],
    { type: "service_tier_change", serviceTier: "flex" },
  ],
  [
    "appendModeChange",
    (manager) => manager.appendModeChange("plan", { a: 1 }),
    [...BASE, "mode", "data"],
    { type: "mode_change", mode: "plan", data: { a: 1 } },
  ],
  [
    "appendModelChange",
    (manager) => manager.appendModelChange("a/b", "smol"),
    [...BASE, "model", "role"],
    { type: "model_change", model: "a/b", role: "smol" },
  ],
  [
    "appendContextChange",
    (manager) => manager.appendContextChange("ctx", "ten", "ns"),
    [...BASE, "contextName", "tenant", "namespace"],
    { type: "context_change", contextName: "ctx", tenant: "ten", namespace: "ns" },
  ],
  [
    "appendSessionInit",
    (manager) =>
      manager.appendSessionInit(
        unchecked({ tools: ["x"], outputSchema: { o: 1 }, task: "t", systemPrompt: "s" }),
      ),
    [...BASE, "tools", "outputSchema", "task", "systemPrompt"],
    { type: "session_init", systemPrompt: "s", task: "t", tools: ["x"], outputSchema: { o: 1 } },
  ],
  [
    "appendCompaction",
    (manager) => manager.appendCompaction("sum", "short", "kept", 10, { d: 1 }, true, { p: 1 }),
    [
      ...BASE,
      "summary",
      "shortSummary",
      "firstKeptEntryId",
      "tokensBefore",
      "details",
      "fromExtension",
      "preserveData",
    ],
    {
      type: "compaction",
      summary: "sum",
      shortSummary: "short",
      firstKeptEntryId: "kept",
      tokensBefore: 10,
      details: { d: 1 },
      fromExtension: true,
      preserveData: { p: 1 },
    },
  ],
  [
    "appendCustomEntry",
    (manager) => manager.appendCustomEntry("ct", { z: 1 }),
    ["type", "customType", "data", "id", "parentId", "timestamp"],
    { type: "custom", customType: "ct", data: { z: 1 } },
  ],
  [
    "appendCustomMessageEntry",
    (manager) => manager.appendCustomMessageEntry("ct", "text", true, { d: 1 }, "user"),
    [
      "type",
      "customType",
      "content",
      "display",
      "details",
      "attribution",
      "id",
      "parentId",
      "timestamp",
    ],
    {
      type: "custom_message",
      customType: "ct",
      content: "text",
      display: true,
      details: { d: 1 },
      attribution: "user",
    },
  ],
  [
    "appendMCPToolSelection",
    (manager) => manager.appendMCPToolSelection(["a", "b"]),
    [...BASE, "selectedToolNames"],
    { type: "mcp_tool_selection", selectedToolNames: ["a", "b"] },
  ],
  [
    "appendTtsrInjection",
    (manager) => manager.appendTtsrInjection(["r1"]),
    [...BASE, "injectedRules"],
    { type: "ttsr_injection", injectedRules: ["r1"] },
  ],
];

describe.each(APPENDS)("%s", (_name, append, keys, fields) => {
  it("makes an entry with its keys in order, chained to the leaf, and returns its id", () => {
    const manager = SessionManager.inMemory(box.dir);
    const before = Date.now();
    const first = append(manager);
    const second = append(manager);
    const entry = loose(manager.getEntry(first));
    expect(first).toMatch(ENTRY_ID);
    expect(Object.keys(entry)).toEqual(keys);
    expect(entry).toMatchObject(fields);
    expect(entry.id).toBe(first);
    expect(entry.parentId).toBeNull();
    expect(entry.timestamp).toBe(new Date(entry.timestamp).toISOString());
    expect(Date.parse(entry.timestamp)).toBeGreaterThanOrEqual(before);
    expect(manager.getEntry(second)?.parentId).toBe(first);
    expect(manager.getLeafId()).toBe(second);
    expect(manager.getEntries().map(({ id }) => id)).toEqual([first, second]);
  });
});

describe("appendMessage", () => {
  it("stores the message object itself", () => {
    const manager = SessionManager.inMemory(box.dir);
    const message = userMessage();
    const entry = loose(manager.getEntry(manager.appendMessage(message)));
    expect(Object.keys(entry)).toEqual([...BASE, "message"]);
    expect(entry.type).toBe("message");
    expect(entry.message).toBe(message);
  });

  it("takes messages of every role, known or not", () => {
    const manager = SessionManager.inMemory(box.dir);
    const roles = [
      "user",
      "developer",
      "toolResult",
      "bashExecution",
      "pythonExecution",
      "custom",
      "hookMessage",
      "fileMention",
      "from-the-future",
    ];
    for (const role of roles) {
      manager.appendMessage(unchecked({ role, content: role }));
    }
    expect(manager.buildSessionContext().messages.map((message) => message.role)).toEqual(roles);
  });
});

describe("omitted arguments", () => {
  it("leave own keys with undefined", () => {
    const manager = SessionManager.inMemory(box.dir);
    const expectUndefined = (id: string, ...keys: string[]) => {
      const entry = loose(manager.getEntry(id));
      for (const key of keys) {
        expect(Object.hasOwn(entry, key), key).toBe(true);
        expect(entry[key], key).toBeUndefined();
      }
    };
    expectUndefined(manager.appendModeChange("plan"), "data");
    expectUndefined(manager.appendModelChange("a/b"), "role");
    expectUndefined(
      manager.appendCompaction("s", undefined, "k", 1),
      "shortSummary",
      "details",
      "fromExtension",
      "preserveData",
    );
    expectUndefined(manager.appendCustomEntry("ct"), "data");
    expectUndefined(manager.appendCustomMessageEntry("ct", "c", false), "details");
    const target = manager.appendMessage(userMessage());
    expectUndefined(manager.appendLabelChange(target, undefined), "label");
    expectUndefined(manager.branchWithSummary(target, "s"), "details", "fromExtension");
  });

  it("store an omitted thinking level as null and a null service tier as it is", () => {
    const manager = SessionManager.inMemory(box.dir);
    expect(loose(manager.getEntry(manager.appendThinkingLevelChange()))).toMatchObject({
      thinkingLevel: null,
    });
    expect(loose(manager.getEntry(manager.appendServiceTierChange(null)))).toMatchObject({
      serviceTier: null,
    });
  });

  it("attribute a custom message to the agent, but null stays null", () => {
    const manager = SessionManager.inMemory(box.dir);
    const attributionOf = (id: string) => loose(manager.getEntry(id)).attribution;
    expect(attributionOf(manager.appendCustomMessageEntry("ct", "c", true))).toBe("agent");
    expect(
      attributionOf(manager.appendCustomMessageEntry("ct", "c", true, undefined, undefined)),
    ).toBe("agent");
    expect(
      attributionOf(manager.appendCustomMessageEntry("ct", "c", true, undefined, unchecked(null))),
    ).toBeNull();
  });
});

describe("arguments that are objects", () => {
  it("are kept by reference, except the list of selected tools", () => {
    const manager = SessionManager.inMemory(box.dir);
    const value = { deep: { list: [1] } };
    const content = [{ type: "text" as const, text: "t" }];
    const names = ["a"];
    const entryOf = (id: string) => loose(manager.getEntry(id));
    expect(entryOf(manager.appendCustomEntry("ct", value)).data).toBe(value);
    const custom = entryOf(manager.appendCustomMessageEntry("ct", content, true, value));
    expect(custom.content).toBe(content);
    expect(custom.details).toBe(value);
    expect(entryOf(manager.appendModeChange("m", value)).data).toBe(value);
    const compaction = entryOf(manager.appendCompaction("s", "t", "k", 1, value, false, value));
    expect(compaction.details).toBe(value);
    expect(compaction.preserveData).toBe(value);
    expect(entryOf(manager.appendTtsrInjection(names)).injectedRules).toBe(names);
    const selected = entryOf(manager.appendMCPToolSelection(names)).selectedToolNames;
    expect(selected).not.toBe(names);
    expect(selected).toEqual(["a"]);
    const init = { systemPrompt: "s", task: "t", tools: names };
    expect(entryOf(manager.appendSessionInit(init)).tools).toBe(names);
    expect(entryOf(manager.branchWithSummary(null, "s", value)).details).toBe(value);
  });

  it("may be proxies, class instances and hold functions", () => {
    class Thing {
      field = 1;
      method() {
        return this.field;
      }
    }
    const manager = SessionManager.inMemory(box.dir);
    const thing = new Thing();
    const proxy = new Proxy({ a: 1 }, {});
    const withFunction = { run: () => 1 };
    for (const value of [thing, proxy, withFunction]) {
      expect(loose(manager.getEntry(manager.appendCustomEntry("ct", value))).data).toBe(value);
    }
    expect(loose(manager.captureState()).fileEntries[1].data).toBe(thing);
  });
});

describe("appendSessionInit", () => {
  it("lets a key of the caller override a base field, as spreading does", () => {
    const manager = SessionManager.inMemory(box.dir);
    manager.appendSessionInit(
      unchecked({ timestamp: "mine", systemPrompt: "s", task: "t", tools: [] }),
    );
    const entry = loose(manager.getEntries()[0]);
    expect(entry.timestamp).toBe("mine");
    expect(Object.keys(entry)).toEqual([...BASE, "systemPrompt", "task", "tools"]);
  });
});

describe("appendLabelChange", () => {
  it("sets, replaces and clears the label of its target", () => {
    const manager = SessionManager.inMemory(box.dir);
    const target = manager.appendMessage(userMessage());
    const first = manager.appendLabelChange(target, "one");
    expect(Object.keys(loose(manager.getEntry(first)))).toEqual([...BASE, "targetId", "label"]);
    expect(manager.getLabel(target)).toBe("one");
    manager.appendLabelChange(target, "two");
    expect(manager.getLabel(target)).toBe("two");
    manager.appendLabelChange(target, undefined);
    expect(manager.getLabel(target)).toBeUndefined();
    manager.appendLabelChange(target, "three");
    manager.appendLabelChange(target, "");
    expect(manager.getLabel(target)).toBeUndefined();
  });

  it("may label a label", () => {
    const manager = SessionManager.inMemory(box.dir);
    const target = manager.appendMessage(userMessage());
    const label = manager.appendLabelChange(target, "one");
    manager.appendLabelChange(label, "label of a label");
    expect(manager.getLabel(label)).toBe("label of a label");
    expect(manager.getLabel(target)).toBe("one");
  });

  it("throws for an unknown target and changes nothing", () => {
    const manager = SessionManager.inMemory(box.dir);
    manager.appendMessage(userMessage());
    const leaf = manager.getLeafId();
    expect(() => manager.appendLabelChange("no-such-id", "x")).toThrow(unknownEntry("no-such-id"));
    expect(manager.getEntries()).toHaveLength(1);
    expect(manager.getLeafId()).toBe(leaf);
    expect(manager.getLabel("no-such-id")).toBeUndefined();
  });
});

describe("entry ids", () => {
  it("do not repeat", () => {
    const manager = SessionManager.inMemory(box.dir);
    const ids = new Set<string>();
    for (let index = 0; index < 5000; index += 1) {
      ids.add(manager.appendModelChange(`m/${index}`));
    }
    expect(ids.size).toBe(5000);
    for (const id of ids) {
      expect(id).toMatch(ENTRY_ID);
    }
  });
});

describe("malformed messages", () => {
  it("count as nothing and are kept", () => {
    const manager = SessionManager.inMemory(box.dir);
    const ids = [
      manager.appendMessage(unchecked({ role: "assistant", content: [] })),
      manager.appendMessage(unchecked({ role: "assistant", content: [], usage: {} })),
      manager.appendMessage(unchecked({ role: "assistant", content: [], usage: { input: 4 } })),
      manager.appendMessage(unchecked({ content: "no role" })),
    ];
    expect(manager.getEntries().map(({ id }) => id)).toEqual(ids);
    manager.appendMessage(assistantMessage());
    expect(manager.getUsageStatistics()).toMatchObject({ input: 14, output: 5 });
    expect(manager.getUsageStatistics().cost).toBeCloseTo(0.033);
  });
});
