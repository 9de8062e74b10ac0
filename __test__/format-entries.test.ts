import { describe, expect, it } from "vitest";
import { SessionManager } from "../index.js";
import { unchecked } from "./support/loose.js";
import { fileOf } from "./support/managers.js";
import { assistantMessage, userMessage } from "./support/messages.js";
import { WAYS, written } from "./support/persisted.js";
import { useSandbox } from "./support/sandbox.js";
import { rawLines, writeLines } from "./support/session-files.js";

const box = useSandbox();

const BASE = '"id":"<id>","parentId":"<id>","timestamp":"<time>"';

/** Every kind of entry: how it is appended, and its line with ids and times replaced. */
const KINDS: [string, (manager: SessionManager) => string, string][] = [
  [
    "message",
    (manager) => manager.appendMessage({ ...userMessage("hi"), zeta: 1, alpha: 2 }),
    `{"type":"message",${BASE},"message":{"role":"user","content":"hi","timestamp":1,"zeta":1,"alpha":2}}`,
  ],
  [
    "thinking_level_change",
    (manager) => manager.appendThinkingLevelChange("high"),
    `{"type":"thinking_level_change",${BASE},"thinkingLevel":"high"}`,
  ],
  [
    "thinking_level_change without a level",
    (manager) => manager.appendThinkingLevelChange(),
    `{"type":"thinking_level_change",${BASE},"thinkingLevel":null}`,
  ],
  [
    "service_tier_change",
    (manager) => manager.appendServiceTierChange("flex"),
    `{"type":"service_tier_change",${BASE},"serviceTier":"flex"}`,
  ],
  [
    "service_tier_change to none",
    (manager) => manager.appendServiceTierChange(null),
    `{"type":"service_tier_change",${BASE},"serviceTier":null}`,
  ],
  [
    "mode_change",
    (manager) => manager.appendModeChange("plan", { a: 1 }),
    `{"type":"mode_change",${BASE},"mode":"plan","data":{"a":1}}`,
  ],
  [
    "mode_change without data",
    (manager) => manager.appendModeChange("plan"),
    `{"type":"mode_change",${BASE},"mode":"plan"}`,
  ],
  [
    "model_change",
    (manager) => manager.appendModelChange("a/b", "smol"),
    `{"type":"model_change",${BASE},"model":"a/b","role":"smol"}`,
  ],
  [
    "model_change without role",
    (manager) => manager.appendModelChange("a/b"),
    `{"type":"model_change",${BASE},"model":"a/b"}`,
  ],
  [
    "context_change",
    (manager) => manager.appendContextChange("c", "t", "n"),
    `{"type":"context_change",${BASE},"contextName":"c","tenant":"t","namespace":"n"}`,
  ],
  [
    "compaction",
    (manager) => manager.appendCompaction("sum", "short", "k", 10, { d: 1 }, true, { p: 1 }),
    `{"type":"compaction",${BASE},"summary":"sum","shortSummary":"short","firstKeptEntryId":"k","tokensBefore":10,"details":{"d":1},"fromExtension":true,"preserveData":{"p":1}}`,
  ],
  [
    "compaction with the least",
    (manager) => manager.appendCompaction("sum", undefined, "k", 10),
    `{"type":"compaction",${BASE},"summary":"sum","firstKeptEntryId":"k","tokensBefore":10}`,
  ],
  [
    "custom",
    (manager) => manager.appendCustomEntry("ct", { z: 1 }),
    `{"type":"custom","customType":"ct","data":{"z":1},${BASE}}`,
  ],
  [
    "custom without data",
    (manager) => manager.appendCustomEntry("ct"),
    `{"type":"custom","customType":"ct",${BASE}}`,
  ],
  [
    "custom_message",
    (manager) => manager.appendCustomMessageEntry("ct", "c", true, { d: 1 }, "user"),
    `{"type":"custom_message","customType":"ct","content":"c","display":true,"details":{"d":1},"attribution":"user",${BASE}}`,
  ],
  [
    "custom_message with the least",
    (manager) => manager.appendCustomMessageEntry("ct", [{ type: "text", text: "c" }], false),
    `{"type":"custom_message","customType":"ct","content":[{"type":"text","text":"c"}],"display":false,"attribution":"agent",${BASE}}`,
  ],
  [
    "mcp_tool_selection",
    (manager) => manager.appendMCPToolSelection(["b", "a"]),
    `{"type":"mcp_tool_selection",${BASE},"selectedToolNames":["b","a"]}`,
  ],
  [
    "ttsr_injection",
    (manager) => manager.appendTtsrInjection(["r1"]),
    `{"type":"ttsr_injection",${BASE},"injectedRules":["r1"]}`,
  ],
  [
    "session_init",
    (manager) =>
      manager.appendSessionInit(
        unchecked({ task: "t", systemPrompt: "s", outputSchema: undefined, tools: [] }),
      ),
    `{"type":"session_init",${BASE},"task":"t","systemPrompt":"s","tools":[]}`,
  ],
  [
    "label",
    (manager) => manager.appendLabelChange(manager.getLeafId() ?? "", "L"),
    `{"type":"label",${BASE},"targetId":"<id>","label":"L"}`,
  ],
  [
    "label cleared with an empty text",
    (manager) => manager.appendLabelChange(manager.getLeafId() ?? "", ""),
    `{"type":"label",${BASE},"targetId":"<id>","label":""}`,
  ],
  [
    "label cleared",
    (manager) => manager.appendLabelChange(manager.getLeafId() ?? "", undefined),
    `{"type":"label",${BASE},"targetId":"<id>"}`,
  ],
  [
    "branch_summary",
    (manager) => manager.branchWithSummary(manager.getLeafId(), "bs", { d: 1 }, false),
    `{"type":"branch_summary",${BASE},"fromId":"<id>","summary":"bs","details":{"d":1},"fromExtension":false}`,
  ],
  [
    "branch_summary from the root",
    (manager) => manager.branchWithSummary(null, "bs"),
    `{"type":"branch_summary","id":"<id>","parentId":null,"timestamp":"<time>","fromId":"root","summary":"bs"}`,
  ],
];

/** Replaces generated ids and times. */
function normalised(text: string): string {
  return text
    .replaceAll(/"[0-9a-f]{8}"/g, '"<id>"')
    .replaceAll(/"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/g, '"<time>"');
}

describe.each(KINDS)("the line of a %s entry", (name, append, expected) => {
  const label = name.startsWith("label");
  it.each(WAYS.filter((way) => !(label && way === "branched session")))("after %s", async (way) => {
    const { text } = await written(box.dir, way, append);
    expect(normalised(text)).toBe(expected);
  });
});

describe("lines", () => {
  it("stand in the order of the appends, parents before children", async () => {
    const manager = SessionManager.create(box.dir, box.dir);
    for (const [, append] of KINDS) {
      append(manager);
    }
    manager.appendMessage(assistantMessage());
    for (const [, append] of KINDS) {
      append(manager);
    }
    await manager.flush();
    const lines = rawLines(fileOf(manager)).map((line) => JSON.parse(line));
    expect(lines.slice(1).map((line) => line.id)).toEqual(
      manager.getEntries().map((entry) => entry.id),
    );
    expect(lines.slice(1).map((line) => line.parentId)).toEqual(
      manager.getEntries().map((entry) => entry.parentId),
    );
    const again = await SessionManager.open(fileOf(manager));
    expect(again.getEntries()).toEqual(JSON.parse(JSON.stringify(manager.getEntries())));
    expect(again.buildSessionContext()).toEqual(
      JSON.parse(JSON.stringify(manager.buildSessionContext())),
    );
  });

  it("nobody changed are copied byte for byte by a rewrite", async () => {
    const odd = [
      '{"type":"session","version":3,"id":"15e1be0f427b9866","timestamp":"t","cwd":"/c","x":1.0}',
      '{"id":"aaaaaaa1", "type":"custom","parentId":null,"timestamp":"t","data":{"n":1.50,"e":1E5,"big":12345678901234567890,"u":"\\u00e9\\/"},"unknown":[ 1, 2 ]}',
      '{"type":"from_the_future","id":"aaaaaaa2","parentId":"aaaaaaa1","timestamp":"t","b":1,"2":2,"1":1}',
      '{"type":"message","id":"aaaaaaa3","parentId":"aaaaaaa2","timestamp":"t","message":{"role":"assistant","content":[],"lone":"\\uD83D"}}',
    ];
    const file = writeLines(box.path("s.jsonl"), odd);
    const manager = await SessionManager.open(file);
    await manager.rewriteEntries();
    expect(rawLines(file).slice(1)).toEqual(odd.slice(1));
    manager.appendModelChange("a/b");
    await manager.rewriteEntries();
    expect(rawLines(file).slice(1, 4)).toEqual(odd.slice(1));
    expect(rawLines(file)).toHaveLength(5);
  });

  it("that were looked at keep their key order and unknown fields", async () => {
    const line = {
      id: "aaaaaaa1",
      zeta: { unknown: true },
      type: "message",
      timestamp: "t",
      parentId: null,
      message: { role: "assistant", vendor: [1], content: [] },
      alpha: null,
    };
    const file = writeLines(box.path("s.jsonl"), [
      { type: "session", version: 3, id: "x", timestamp: "t", cwd: "/c" },
      line,
    ]);
    const manager = await SessionManager.open(file);
    expect(manager.getEntries()).toEqual([line]);
    await manager.rewriteEntries();
    expect(rawLines(file)[1]).toBe(JSON.stringify(line));
  });
});
