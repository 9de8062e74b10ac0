import * as fs from "node:fs";
import * as path from "node:path";
import { describe, expect, it } from "vitest";
import {
  buildSessionContext,
  getRecentSessions,
  resolveResumableSession,
  SessionManager,
} from "../index.js";
import { expectInvalidArgument, failureOf } from "./support/errors.js";
import { unchecked } from "./support/loose.js";
import { createWritten, fileOf } from "./support/managers.js";
import { assistantMessage, userMessage } from "./support/messages.js";
import { useSandbox } from "./support/sandbox.js";
import { entryIds, readSession } from "./support/session-files.js";

const box = useSandbox();

/** JSON values that fields have when something else wrote the file. */
const ODD = [
  "null",
  "true",
  "-1",
  "1e400",
  '""',
  '"\\ud800"',
  '"\\u0000"',
  "[]",
  "[null]",
  "{}",
  '{"toString":1,"valueOf":2}',
  '{"__proto__":null}',
  '{"toJSON":1}',
  '{"then":1}',
];

/** Fields that are read, by kind of entry. */
const FIELDS: Record<string, string[]> = {
  message: ["provider", "model", "role", "content", "usage", "details", "toolName"],
  model_change: ["model", "role"],
  thinking_level_change: ["thinkingLevel"],
  context_change: ["contextName", "tenant"],
  compaction: ["summary", "shortSummary", "firstKeptEntryId", "preserveData"],
  branch_summary: ["fromId", "summary"],
  custom_message: ["content", "details"],
  label: ["targetId", "label"],
  ttsr_injection: ["injectedRules"],
  mcp_tool_selection: ["selectedToolNames"],
  mode_change: ["mode", "data"],
};

const AT = "2026-01-01T00:00:00.000Z";
const HOLE = '"the odd value"';
const header = (cwd: string) => ({ type: "session", version: 3, id: "5e55", timestamp: AT, cwd });
const entry = (id: string, parentId: string | null, fields: object) => ({
  type: "message",
  id,
  parentId,
  timestamp: AT,
  ...fields,
});

/** A session of two messages and more entries, which may have holes for odd values. */
function write(head: string, odd: string[] = []): string {
  const file = path.join(box.makeDir("s"), "session.jsonl");
  const messages = [
    entry("a1", null, { message: userMessage("question") }),
    entry("a2", "a1", { message: assistantMessage("answer") }),
  ];
  const lines = [head, ...messages.map((line) => JSON.stringify(line)), ...odd];
  fs.writeFileSync(file, lines.map((line) => `${line}\n`).join(""));
  return file;
}

/** One entry for each odd value; all are answers to the same message. */
function oddEntries(kind: string, field: string): string[] {
  const hole = { [field]: JSON.parse(HOLE) };
  return ODD.map((value, at) => {
    const fields =
      kind === "message" && field !== "timestamp"
        ? { message: { ...assistantMessage("odd"), ...hole } }
        : { type: kind, summary: "summary", ...hole };
    return JSON.stringify(entry(`odd${at}`, "a2", fields)).replace(HOLE, () => value);
  });
}

/** Everything that reads a session. */
async function readEverything(file: string) {
  const manager = await SessionManager.open(file);
  manager.buildSessionContext();
  buildSessionContext(manager.getEntries());
  manager.getTree();
  manager.getUsageStatistics();
  manager.getInjectedTtsrRules();
  manager.getLastModelChangeRole();
  manager.restoreState({ ...manager.captureState() });
  manager.buildSessionContext();
  const dir = path.dirname(file);
  const [info] = await SessionManager.list(box.dir, dir);
  expect(info?.created).toBeInstanceOf(Date);
  expect((await resolveResumableSession("session", box.dir, dir))?.session.path).toBe(file);
  const [recent] = await getRecentSessions(dir);
  expect(typeof recent?.name).toBe("string");
  return manager;
}

describe("entries with odd values", () => {
  for (const [kind, fields] of Object.entries(FIELDS)) {
    for (const field of [...fields, "timestamp"]) {
      it(`as ${field} of a ${kind} are read, written on and kept`, async () => {
        const odd = oddEntries(kind, field);
        const file = write(JSON.stringify(header(box.dir)), odd);
        const before = readSession(file);
        const manager = await readEverything(file);
        for (const { id } of manager.getEntries()) {
          manager.branch(id);
          expect(manager.buildSessionContext().messages.length, id).toBeGreaterThan(0);
        }
        const added = manager.appendMessage(userMessage("more"));
        await manager.rewriteEntries();
        await manager.close();
        const after = readSession(file);
        expect(JSON.stringify(after.slice(0, -1))).toBe(JSON.stringify(before));
        expect(after.at(-1)?.id).toBe(added);
      });
    }
  }
});

describe("a header with an odd value", () => {
  for (const field of ["title", "titleSource", "timestamp", "cwd", "parentSession"]) {
    it(`as ${field} is read, renamed and moved`, async () => {
      for (const [at, value] of ODD.entries()) {
        const head = JSON.stringify({ ...header(box.dir), [field]: JSON.parse(HOLE) });
        const manager = await readEverything(write(head.replace(HOLE, () => value)));
        await manager.setSessionName("New name", "user");
        await manager.moveTo(box.makeDir(`to${at}`));
        const file = fileOf(manager);
        expect(entryIds(file), value).toEqual(["a1", "a2"]);
        expect(readSession(file)[0], value).toMatchObject({
          title: "New name",
          cwd: manager.getCwd(),
        });
      }
    });
  }
});

describe("values that callers give", () => {
  it("are no times and no names of models, and yet there is a context", async () => {
    const manager = await createWritten(box.makeDir("s"));
    manager.appendModelChange("p/m", unchecked(Object.create(null)));
    manager.appendSessionInit(unchecked({ timestamp: 1n, systemPrompt: "p" }));
    expect(manager.buildSessionContext().models["[object Object]"]).toBe("p/m");
  });

  it("name a source of a title only as text", async () => {
    const manager = await createWritten(box.makeDir("s"));
    for (const source of [null, 5, 1n, {}]) {
      const rename = () => manager.setSessionName("Title", unchecked(source));
      expectInvalidArgument(await failureOf(rename), "source");
    }
    expect(manager.getSessionName()).toBeUndefined();
    await manager.rewriteEntries();
  });
});
