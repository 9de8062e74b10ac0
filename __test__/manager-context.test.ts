import { describe, expect, it } from "vitest";
import { buildSessionContext, getLatestCompactionEntry, SessionManager } from "../index.js";
import { type Loose, loose, unchecked } from "./support/loose.js";
import { assistantMessage, toolResultMessage, userMessage } from "./support/messages.js";
import { useSandbox } from "./support/sandbox.js";
import { entryLine, messageLine, timestampAt } from "./support/session-files.js";

const box = useSandbox();

/** Chains entries in the order given: each one's parent is the one before. */
function chain(...entries: Loose[]): Loose[] {
  return entries.map((entry, index) => ({ ...entry, parentId: entries[index - 1]?.id ?? null }));
}

function contextOf(entries: Loose[], ...rest: unknown[]): Loose {
  return loose(buildSessionContext(unchecked(entries), ...(rest as [])));
}

const FULL_KEYS = [
  "messages",
  "thinkingLevel",
  "serviceTier",
  "models",
  "activeContextName",
  "activeContextTenant",
  "injectedTtsrRules",
  "selectedMCPToolNames",
  "hasPersistedMCPToolSelection",
  "mode",
  "modeData",
];

describe("the empty context", () => {
  const EMPTY = {
    messages: [],
    thinkingLevel: "off",
    serviceTier: undefined,
    models: {},
    injectedTtsrRules: [],
    selectedMCPToolNames: [],
    hasPersistedMCPToolSelection: false,
    mode: "none",
  };

  it("has its own, smaller set of keys", () => {
    const context = contextOf([]);
    expect(context).toStrictEqual(EMPTY);
    expect(Object.keys(context)).toEqual(Object.keys(EMPTY));
  });

  it("is what a null leaf gives", () => {
    expect(contextOf(chain(messageLine("a", null, userMessage())), null)).toStrictEqual(EMPTY);
    const manager = SessionManager.inMemory(box.dir);
    expect(manager.buildSessionContext()).toStrictEqual(EMPTY);
    manager.appendMessage(userMessage());
    manager.resetLeaf();
    expect(manager.buildSessionContext()).toStrictEqual(EMPTY);
  });

  it("is fresh on each call", () => {
    const first = contextOf([]);
    first.messages.push(1);
    first.models.default = "x";
    expect(contextOf([])).toStrictEqual(EMPTY);
  });
});

describe("the path", () => {
  const entries = chain(
    messageLine("a", null, userMessage("a")),
    messageLine("b", null, assistantMessage("b")),
    messageLine("c", null, userMessage("c")),
  );
  const side = { ...messageLine("d", "a", userMessage("d")) };
  const texts = (context: Loose) =>
    context.messages.map((message: Loose) => message.content[0].text ?? message.content);

  it("ends at the given leaf", () => {
    expect(texts(contextOf([...entries, side], "c"))).toEqual(["a", "b", "c"]);
    expect(texts(contextOf([...entries, side], "b"))).toEqual(["a", "b"]);
    expect(texts(contextOf([...entries, side], "d"))).toEqual(["a", "d"]);
  });

  it.each([undefined, "", "unknown"])("ends at the last element for the leaf %j", (leaf) => {
    expect(texts(contextOf([...entries, side], leaf))).toEqual(["a", "d"]);
  });

  it("follows an index that the caller brings", () => {
    const byId = new Map([...entries, side].map((entry) => [entry.id, entry]));
    expect(texts(contextOf([], "c", byId))).toEqual(["a", "b", "c"]);
    expect(texts(contextOf([side], undefined, byId))).toEqual(["a", "d"]);
  });

  it("has the last of several entries with one id", () => {
    const again = { ...messageLine("b", "a", assistantMessage("b again")) };
    expect(texts(contextOf([...entries, again], "c"))).toEqual(["a", "b again", "c"]);
  });

  it("stops at a missing parent and at a repeated entry", () => {
    expect(texts(contextOf([messageLine("x", "gone", userMessage("x"))]))).toEqual(["x"]);
    const one = messageLine("one", "two", userMessage("one"));
    const two = messageLine("two", "one", userMessage("two"));
    expect(texts(contextOf([one, two], "two"))).toEqual(["one", "two"]);
  });
});

describe("settings", () => {
  it("has all keys, in order, as own properties", () => {
    const context = contextOf(chain(messageLine("a", null, userMessage())));
    expect(Object.keys(context)).toEqual(FULL_KEYS);
    expect(context).toStrictEqual({
      messages: [userMessage()],
      thinkingLevel: "off",
      serviceTier: undefined,
      models: {},
      activeContextName: undefined,
      activeContextTenant: undefined,
      injectedTtsrRules: [],
      selectedMCPToolNames: [],
      hasPersistedMCPToolSelection: false,
      mode: "none",
      modeData: undefined,
    });
  });

  it("come from the last change of each kind", () => {
    const context = contextOf(
      chain(
        entryLine("thinking_level_change", "1", null, { thinkingLevel: "low" }),
        entryLine("thinking_level_change", "2", null, { thinkingLevel: "high" }),
        entryLine("service_tier_change", "3", null, { serviceTier: "flex" }),
        entryLine("context_change", "4", null, {
          contextName: "ctx",
          tenant: "ten",
          namespace: "ns",
        }),
        entryLine("mode_change", "5", null, { mode: "plan", data: { step: 1 } }),
        entryLine("ttsr_injection", "6", null, { injectedRules: ["b", "a"] }),
        entryLine("ttsr_injection", "7", null, { injectedRules: ["a", "c"] }),
        entryLine("mcp_tool_selection", "8", null, { selectedToolNames: ["x"] }),
        entryLine("mcp_tool_selection", "9", null, { selectedToolNames: ["y", "z"] }),
      ),
    );
    expect(context).toMatchObject({
      messages: [],
      thinkingLevel: "high",
      serviceTier: "flex",
      activeContextName: "ctx",
      activeContextTenant: "ten",
      mode: "plan",
      modeData: { step: 1 },
      injectedTtsrRules: ["b", "a", "c"],
      selectedMCPToolNames: ["y", "z"],
      hasPersistedMCPToolSelection: true,
    });
  });

  it("can be taken back", () => {
    const context = contextOf(
      chain(
        entryLine("thinking_level_change", "1", null, { thinkingLevel: "low" }),
        entryLine("thinking_level_change", "2", null, { thinkingLevel: null }),
        entryLine("service_tier_change", "3", null, { serviceTier: "flex" }),
        entryLine("service_tier_change", "4", null, { serviceTier: null }),
        entryLine("mode_change", "5", null, { mode: "plan", data: { step: 1 } }),
        entryLine("mode_change", "6", null, { mode: "none" }),
        entryLine("mcp_tool_selection", "7", null, { selectedToolNames: [] }),
      ),
    );
    expect(context.thinkingLevel).toBe("off");
    expect(context.serviceTier).toBeUndefined();
    expect(context.mode).toBe("none");
    expect(context.modeData).toBeUndefined();
    expect(context.selectedMCPToolNames).toEqual([]);
    expect(context.hasPersistedMCPToolSelection).toBe(true);
  });

  it("share the mode's data but copy the tool selection", () => {
    const entries = chain(
      entryLine("mode_change", "1", null, { mode: "plan", data: { step: 1 } }),
      entryLine("mcp_tool_selection", "2", null, { selectedToolNames: ["x"] }),
    );
    const context = contextOf(entries);
    expect(context.modeData).toBe(entries[0]?.data);
    expect(context.selectedMCPToolNames).not.toBe(entries[1]?.selectedToolNames);
  });

  it("let the last writer decide the model, change or answer", () => {
    const change = (id: string, model: string, role?: string) =>
      entryLine("model_change", id, null, { model, ...(role === undefined ? {} : { role }) });
    const answer = messageLine("m", null, assistantMessage());
    expect(contextOf(chain(change("1", "a/b"), answer)).models).toEqual({
      default: "anthropic/test-model",
    });
    expect(contextOf(chain(answer, change("1", "a/b"))).models).toEqual({ default: "a/b" });
    expect(
      contextOf(chain(change("1", "a/b", "smol"), change("2", ""), change("3", "c/d", "slow")))
        .models,
    ).toEqual({ smol: "a/b", slow: "c/d" });
    const bare = messageLine("n", null, { role: "assistant", content: [] });
    expect(contextOf(chain(bare)).models).toEqual({ default: "undefined/undefined" });
  });

  it("are those of the path, not of other branches", () => {
    const manager = SessionManager.inMemory(box.dir);
    const root = manager.appendMessage(userMessage());
    manager.appendThinkingLevelChange("high");
    manager.branch(root);
    manager.appendMessage(userMessage());
    expect(manager.buildSessionContext().thinkingLevel).toBe("off");
  });
});

describe("messages", () => {
  it("are the stored objects themselves, of every role", () => {
    const entries = chain(
      messageLine("1", null, userMessage()),
      messageLine("2", null, assistantMessage()),
      messageLine("3", null, toolResultMessage()),
      messageLine("4", null, { role: "bashExecution", command: "ls", excludeFromContext: true }),
    );
    const { messages } = contextOf(entries);
    expect(messages).toHaveLength(4);
    messages.forEach((message: unknown, index: number) => {
      expect(message).toBe(entries[index]?.message);
    });
  });

  it("include custom messages as new objects with shared parts", () => {
    const details = { d: 1 };
    const content = [{ type: "text", text: "c" }];
    const entries = chain(
      entryLine(
        "custom_message",
        "1",
        null,
        { customType: "ct", content, display: true, details, attribution: "user" },
        7,
      ),
      entryLine("custom_message", "2", null, { customType: "ct", content: "c", display: false }),
    );
    const { messages } = contextOf(entries);
    expect(Object.keys(messages[0])).toEqual([
      "role",
      "customType",
      "content",
      "display",
      "details",
      "attribution",
      "timestamp",
    ]);
    expect(messages[0]).toMatchObject({ role: "custom", customType: "ct", display: true });
    expect(messages[0].content).toBe(content);
    expect(messages[0].details).toBe(details);
    expect(messages[0].attribution).toBe("user");
    expect(messages[0].timestamp).toBe(Date.parse(timestampAt(7)));
    expect(messages[1].attribution).toBeUndefined();
    expect(messages[1].details).toBeUndefined();
  });

  it("include branch summaries that have a text", () => {
    const entries = chain(
      entryLine("branch_summary", "1", null, { fromId: "root", summary: "went there" }, 3),
      entryLine("branch_summary", "2", null, { fromId: "1", summary: "" }),
    );
    const { messages } = contextOf(entries);
    expect(messages).toStrictEqual([
      {
        role: "branchSummary",
        summary: "went there",
        fromId: "root",
        timestamp: Date.parse(timestampAt(3)),
      },
    ]);
    expect(Object.keys(messages[0])).toEqual(["role", "summary", "fromId", "timestamp"]);
  });

  it("have no time when the entry's cannot be read", () => {
    const entry = { ...entryLine("branch_summary", "1", null, { fromId: "r", summary: "s" }) };
    entry.timestamp = "whenever";
    expect(contextOf([entry]).messages[0].timestamp).toBeNaN();
  });

  it("leave out custom data, labels, session starts and unknown kinds", () => {
    const { messages } = contextOf(
      chain(
        entryLine("custom", "1", null, { customType: "ct", data: {} }),
        entryLine("label", "2", null, { targetId: "1", label: "l" }),
        entryLine("session_init", "3", null, { systemPrompt: "s", task: "t", tools: [] }),
        entryLine("from_the_future", "4", null, { message: userMessage() }),
      ),
    );
    expect(messages).toEqual([]);
  });
});

describe("SessionManager.buildSessionContext", () => {
  it("equals the function over the manager's entries and leaf", () => {
    const manager = SessionManager.inMemory(box.dir);
    manager.appendModelChange("a/b", "smol");
    const first = manager.appendMessage(userMessage());
    manager.appendMessage(assistantMessage());
    manager.appendThinkingLevelChange("high");
    manager.branchWithSummary(first, "s", { d: 1 });
    manager.appendCustomMessageEntry("ct", "c", true);
    expect(manager.buildSessionContext()).toStrictEqual(
      buildSessionContext(manager.getEntries(), manager.getLeafId()),
    );
  });

  it("sees appends, branches and edits at once", () => {
    const manager = SessionManager.inMemory(box.dir);
    const message = userMessage("one");
    const first = manager.appendMessage(message);
    expect(manager.buildSessionContext().messages).toHaveLength(1);
    manager.appendMessage(assistantMessage());
    expect(manager.buildSessionContext().messages).toHaveLength(2);
    manager.branch(first);
    message.content = "edited";
    expect(loose(manager.buildSessionContext().messages[0]).content).toBe("edited");
    const context = manager.buildSessionContext();
    context.messages.length = 0;
    expect(manager.buildSessionContext().messages).toHaveLength(1);
  });
});

describe("getLatestCompactionEntry", () => {
  it("is the last compaction in array order, the same object, or null", () => {
    const entries = [
      entryLine("compaction", "1", null, { summary: "old" }, 9),
      messageLine("2", "1", userMessage()),
      entryLine("compaction", "3", "2", { summary: "new" }, 1),
      messageLine("4", "3", userMessage()),
    ];
    expect(getLatestCompactionEntry(unchecked(entries))).toBe(entries[2]);
    expect(getLatestCompactionEntry(unchecked(entries.slice(0, 2)))).toBe(entries[0]);
    expect(getLatestCompactionEntry([])).toBeNull();
    expect(getLatestCompactionEntry(unchecked([entries[1]]))).toBeNull();
  });
});
