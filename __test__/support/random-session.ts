import type { Loose } from "./loose.js";
import { assistantMessage, userMessage } from "./messages.js";
import { entryLine, headerLine, messageLine } from "./session-files.js";

/** Repeatable numbers from 0 to 1. */
export function randomFrom(seed: number): () => number {
  let state = seed * 2_654_435_761 + 1;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/**
 * Lines of a session with all kinds of entries: branches, compactions, settings, labels, seldom
 * damage, ids that repeat, and links to nowhere.
 */
export function randomSession(seed: number, count: number): (Loose | string)[] {
  const random = randomFrom(seed);
  const below = (limit: number) => Math.floor(random() * limit);
  const lines: (Loose | string)[] = [headerLine({ title: `Session ${seed}` })];
  const ids: string[] = [];
  const isDamaged = random() < 0.3;
  const earlier = (reach: number) => ids[Math.max(0, ids.length - 1 - below(reach))] ?? null;
  for (let at = 0; at < count; at++) {
    const id = random() < 0.01 && ids.length > 0 ? (earlier(9) as string) : `id-${at}`;
    const parent = random() < 0.05 ? earlier(8) : (ids.at(-1) ?? null);
    const entry = (type: string, fields: Loose) =>
      lines.push(entryLine(type, id, parent, fields, at));
    const draw = random();
    if (draw < 0.3) {
      lines.push(messageLine(id, parent, userMessage(`question ${at}`)));
    } else if (draw < 0.6) {
      const model = `model-${below(3)}`;
      lines.push(messageLine(id, parent, { ...assistantMessage(`answer ${at}`), model }));
    } else if (draw < 0.66) {
      const kept = random() < 0.1 ? "nowhere" : earlier(6);
      entry("compaction", { summary: `sum ${at}`, firstKeptEntryId: kept, tokensBefore: at });
    } else if (draw < 0.71) {
      entry("model_change", {
        model: `m/${below(4)}`,
        role: ["default", "smol", "slow"][below(3)],
      });
    } else if (draw < 0.75) {
      entry("thinking_level_change", { thinkingLevel: ["low", "high", null][below(3)] });
    } else if (draw < 0.78) {
      entry("mode_change", { mode: ["plan", "none"][below(2)], data: { at } });
    } else if (draw < 0.8) {
      entry("service_tier_change", { serviceTier: ["flex", null][below(2)] });
    } else if (draw < 0.82) {
      entry("mcp_tool_selection", { selectedToolNames: [`tool ${at}`] });
    } else if (draw < 0.85) {
      entry("ttsr_injection", { injectedRules: [`rule ${below(5)}`, `rule ${below(5)}`] });
    } else if (draw < 0.87) {
      entry("context_change", { contextName: `context ${at}`, tenant: "t" });
    } else if (draw < 0.92) {
      const label = random() < 0.3 ? undefined : `label ${at}`;
      entry("label", { targetId: earlier(20), label });
    } else if (draw < 0.95) {
      entry("branch_summary", { fromId: "root", summary: random() < 0.2 ? "" : `branch ${at}` });
    } else {
      entry("custom_message", { customType: "note", content: `note ${at}`, display: true });
    }
    ids.push(id);
    if (isDamaged && random() < 0.02) {
      const damage = ['{"type":"message","id":', "5", "[1,", '{"a":1}', "", "]}"];
      lines.push(damage[below(damage.length)] as string);
    }
  }
  return lines;
}
