/**
 * Session files in a few letters: one builder for each kind of line, the standard four-entry
 * conversation, and helpers that read a manager or a file back as a short list of ids.
 */

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { SessionManager } from "../../index.js";

/** A line of a session file: an object to be serialised, or the text itself. */
export type Line = object | string;

/** What the tests read of an entry. */
export interface AnyEntry {
  type?: unknown;
  id?: string;
  parentId?: string | null;
  [key: string]: unknown;
}

const AT = "2026-01-02T03:04:05.000Z";

const ZERO_COST = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };

/** Usage numbers as an assistant message carries them; `cost` is the total. */
export function usage(input = 1, output = 2, cost = 0.5) {
  return {
    input,
    output,
    cacheRead: 0,
    cacheWrite: 0,
    totalTokens: input + output,
    cost: { ...ZERO_COST, total: cost },
  };
}

/** A user message. */
export function userMessage(content: string) {
  return { role: "user" as const, content, timestamp: 1 };
}

/** A complete assistant message with one text block. */
export function assistantMessage(text: string) {
  return {
    role: "assistant" as const,
    content: [{ type: "text" as const, text }],
    api: "test-api" as const,
    provider: "test",
    model: "model",
    usage: usage(),
    stopReason: "stop" as const,
    timestamp: 1,
  };
}

/** A tool result with one text block. */
export function toolResult(text: string, toolCallId = "call") {
  return {
    role: "toolResult" as const,
    toolCallId,
    toolName: "bash",
    content: [{ type: "text" as const, text }],
    isError: false,
    timestamp: 1,
  };
}

function entry(type: string, id: string, parentId: string | null, rest: object) {
  return { type, id, parentId, timestamp: AT, ...rest };
}

/** Header. */
export function H(extra: object = {}) {
  return { type: "session", version: 3, id: "s1", timestamp: AT, cwd: "/w/p", ...extra };
}

/** User message whose content is its id. */
export function U(id: string, parentId: string | null, extra: object = {}) {
  return { ...entry("message", id, parentId, { message: userMessage(id) }), ...extra };
}

/** Assistant message whose text is its id. */
export function A(id: string, parentId: string | null, extra: object = {}) {
  return { ...entry("message", id, parentId, { message: assistantMessage(id) }), ...extra };
}

/** Result of the tool call `callId`. */
export function T(id: string, parentId: string | null, callId: string) {
  return entry("message", id, parentId, { message: toolResult(id, callId) });
}

/** Assistant message that calls a tool. */
export function TC(id: string, parentId: string | null, callId: string) {
  const message = assistantMessage(id);
  const call = { type: "toolCall", id: callId, name: "bash", arguments: {} };
  return entry("message", id, parentId, {
    message: { ...message, content: [...message.content, call] },
  });
}

/** Compaction that keeps everything from the entry `keptId` on. */
export function C(id: string, parentId: string | null, keptId?: string) {
  return entry("compaction", id, parentId, {
    summary: `SUM-${id}`,
    firstKeptEntryId: keptId,
    tokensBefore: 10,
  });
}

/** Label on the entry `targetId`. */
export function L(id: string, parentId: string | null, targetId: string, label = "x") {
  return entry("label", id, parentId, { targetId, label });
}

/** Entry of an extension, invisible to the model. */
export function X(id: string, parentId: string | null, data: unknown = 1) {
  return { type: "custom", customType: "test", data, id, parentId, timestamp: AT };
}

/** Header, then two exchanges: u1, a1, u2, a2. */
export function LINEAR4(): Line[] {
  return [H(), U("u1", null), A("a1", "u1"), U("u2", "a1"), A("a2", "u2")];
}

/** A header and a chain of `count` alternating user and assistant messages `m0`, `m1`, … */
export function chain(count: number): Line[] {
  const lines: Line[] = [H()];
  for (let n = 0; n < count; n++) {
    const parent = n === 0 ? null : `m${n - 1}`;
    lines.push(n % 2 === 0 ? U(`m${n}`, parent) : A(`m${n}`, parent));
  }
  return lines;
}

/** Text of a file with these lines, each ended by a line feed. */
export function jsonl(lines: Line[]): string {
  return lines
    .map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`)
    .join("");
}

/** Writes a session file, creating its directory, and gives its path back. */
export function writeSession(path: string, lines: Line[] | string | Uint8Array): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, Array.isArray(lines) ? jsonl(lines) : lines);
  return path;
}

/** Appends one exchange to the session at `path`, closes it, and opens it again. */
export async function REOPEN(path: string): Promise<SessionManager> {
  const manager = await SessionManager.open(path);
  manager.appendMessage(userMessage("new-user"));
  manager.appendMessage(assistantMessage("new-assistant"));
  await manager.flush();
  await manager.close();
  return SessionManager.open(path);
}

function shortForm(message: unknown): string {
  const { summary, content } = message as { summary?: string; content?: unknown };
  if (typeof summary === "string") {
    return summary;
  }
  if (typeof content === "string") {
    return content;
  }
  const first = Array.isArray(content) ? (content[0] as { text?: string }) : undefined;
  return first?.text ?? "?";
}

/** The messages for the model, one word each: ids for the builders' lines, `SUM-id` for summaries. */
export function contextOf(source: { buildSessionContext(): { messages: unknown[] } }): string {
  return source.buildSessionContext().messages.map(shortForm).join(" ");
}

/** Ids of all entries that a manager returns, in order. */
export function idsOf(manager: SessionManager): string[] {
  return (manager.getEntries() as unknown as AnyEntry[]).map((item) => item.id as string);
}

/** All ids in the manager's tree, depth first. */
export function treeIds(manager: SessionManager): string[] {
  const ids: string[] = [];
  const open = [...manager.getTree()].reverse();
  for (let node = open.pop(); node; node = open.pop()) {
    ids.push(node.entry.id);
    open.push(...[...node.children].reverse());
  }
  return ids;
}

/** Physical lines of a file without their line feeds; a torn last line counts. */
export function linesOf(path: string): string[] {
  const lines = readFileSync(path, "utf8").split("\n");
  if (lines.at(-1) === "") {
    lines.pop();
  }
  return lines;
}

/** All lines of a file parsed; throws at a line that does not parse. */
export function recordsOf(path: string): AnyEntry[] {
  return linesOf(path).map((line) => JSON.parse(line) as AnyEntry);
}

/** Ids of the entries in a file without the header; throws at a line that does not parse. */
export function idsOnDisk(path: string): string[] {
  return recordsOf(path)
    .slice(1)
    .map((record) => record.id as string);
}

/** Lines of a file that are not JSON. */
export function damagedLinesOf(path: string): string[] {
  return linesOf(path).filter((line) => {
    try {
      JSON.parse(line);
      return false;
    } catch {
      return true;
    }
  });
}

/** Names in a directory, sorted; none for a missing directory. */
export function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir).sort();
  } catch {
    return [];
  }
}

/** Waits for `condition`, asking every few milliseconds; throws after `limitMs`. */
export async function until(condition: () => boolean, limitMs = 5000): Promise<void> {
  const end = Date.now() + limitMs;
  while (!condition()) {
    if (Date.now() > end) {
      throw new Error(`Condition not met within ${limitMs} ms: ${condition}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** The session file of a persisting manager. */
export function fileOf(manager: SessionManager): string {
  const file = manager.getSessionFile();
  if (file === undefined) {
    throw new Error("The manager has no session file");
  }
  return file;
}

/** A persisted session in `dir` with one exchange on disk. */
export async function startSession(dir: string, cwd = "/w/p"): Promise<SessionManager> {
  const manager = SessionManager.create(cwd, dir);
  manager.appendMessage(userMessage("u1"));
  manager.appendMessage(assistantMessage("a1"));
  await manager.flush();
  return manager;
}

const ENVIRONMENT = [
  "PI_CODING_AGENT_DIR",
  "PI_CONFIG_DIR",
  "XDG_DATA_HOME",
  "XDG_STATE_HOME",
  "XDG_CACHE_HOME",
  "KITTY_WINDOW_ID",
  "TMUX_PANE",
  "TERM_SESSION_ID",
  "WT_SESSION",
];

/**
 * Gives every test of the calling file its own temporary directory, keeps the agent's directory
 * inside it, and removes everything afterwards. The result is called for the current directory.
 */
export function useSandbox(): () => string {
  let root = "";
  let saved: [string, string | undefined][] = [];
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "session-store-"));
    saved = ENVIRONMENT.map((name) => [name, process.env[name]]);
    for (const name of ENVIRONMENT) {
      delete process.env[name];
    }
    process.env.PI_CODING_AGENT_DIR = join(root, "agent");
  });
  afterEach(() => {
    for (const [name, value] of saved) {
      if (value === undefined) {
        delete process.env[name];
      } else {
        process.env[name] = value;
      }
    }
    rmSync(root, { recursive: true, force: true });
  });
  return () => root;
}
