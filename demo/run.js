"use strict";

/**
 * The main job on a real session file: open it, look at the tree and at what the model would be
 * sent, go on talking, go back with a summary, search the prompts, rename, fork, list. Works on a
 * copy; `--json` prints the findings as one JSON object instead of text.
 */

const assert = require("node:assert/strict");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

// From anywhere else this would be require("session-manager-native").
const { HistoryStorage, renderTreePrefix, SessionManager } = require("..");

const SAMPLE = path.join(__dirname, "sample-session.jsonl");
const asJson = process.argv.includes("--json");

/** Prints for people; silent with `--json`. */
function say(text = "") {
  if (!asJson) {
    console.log(text);
  }
}

/** A fresh folder: `.demo` in a checkout, a temporary one when installed as a package. */
function makeScratch() {
  const checkout = path.join(__dirname, "..");
  if (!fs.existsSync(path.join(checkout, "Cargo.toml"))) {
    return fs.mkdtempSync(path.join(os.tmpdir(), "session-manager-native-demo-"));
  }
  const scratch = path.join(checkout, ".demo");
  fs.rmSync(scratch, { recursive: true, force: true });
  fs.mkdirSync(scratch);
  return scratch;
}

/** First words of a text, on one line. */
function firstWords(text, length = 64) {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > length ? `${line.slice(0, length - 1)}…` : line;
}

/** What a message says, in a few words. */
function describeMessage(message) {
  if (message.summary !== undefined) {
    return firstWords(message.summary);
  }
  if (typeof message.content === "string") {
    return firstWords(message.content);
  }
  const parts = message.content.map((block) => {
    if (block.type === "text") return block.text;
    if (block.type === "toolCall") return `→ ${block.name}`;
    return `(${block.type})`;
  });
  return firstWords(parts.join(" "));
}

/** Prints the tree as a list of rows; `*` marks the way to the active leaf. */
function showTree(manager) {
  for (const row of manager.flattenTree({ filter: "all" }).rows()) {
    const mark = row.onActivePath ? "*" : " ";
    const flag = row.label ? `  [${row.label}]` : "";
    const text = firstWords(`${row.lead}${row.text}`);
    say(`  ${mark} ${row.id}  ${renderTreePrefix(row)}${text}${flag}`);
  }
}

/** Prints what the model would be sent. */
function showContext(context) {
  say(`  thinking level ${context.thinkingLevel}, models ${JSON.stringify(context.models)}`);
  for (const message of context.messages) {
    say(`  ${message.role.padEnd(17)} ${describeMessage(message)}`);
  }
}

function userMessage(content) {
  return { role: "user", content, timestamp: Date.now() };
}

function assistantMessage(text) {
  const cost = { input: 0.0003, output: 0.0006, cacheRead: 0, cacheWrite: 0, total: 0.0009 };
  return {
    role: "assistant",
    content: [{ type: "text", text }],
    api: "anthropic-messages",
    provider: "anthropic",
    model: "claude-sonnet-4-5",
    usage: { input: 100, output: 40, cacheRead: 0, cacheWrite: 0, totalTokens: 140, cost },
    stopReason: "stop",
    timestamp: Date.now(),
  };
}

/** Appends one turn and proves that it is on disk and that no earlier byte changed. */
async function appendTurn(manager) {
  const file = manager.getSessionFile();
  const before = fs.readFileSync(file);
  manager.appendMessage(userMessage("Does the printed almanac need the same fix?"));
  manager.appendMessage(
    assistantMessage("Only its page header, and only on the day of the change."),
  );
  await manager.flush();
  const after = fs.readFileSync(file);
  assert.ok(after.subarray(0, before.length).equals(before), "an append changed earlier bytes");
  return after.length - before.length;
}

/** Goes back to the entry with a label, leaves a summary of what is left there, and answers anew. */
async function navigateToLabel(manager, label) {
  const target = manager.getEntries().find((entry) => manager.getLabel(entry.id) === label);
  assert.ok(target, `the sample has no label "${label}"`);
  const plan = manager.prepareTreeNavigation(target.id, { wantSummary: true });
  // An agent would ask its model for a summary of these entries.
  const left = plan.entryIdsToSummarize.length;
  const text = `Fixed with one offset per event; committed (${left} entries).`;
  manager.commitTreeNavigation(plan, { text });
  manager.appendMessage(userMessage("What would a fix without a zone database look like?"));
  manager.appendMessage(
    assistantMessage("A list of changes per zone and year. I advise against it."),
  );
  await manager.flush();
  return { targetId: target.id, left };
}

/** Keeps the prompts of a session in the history and looks for one. */
async function searchHistory(manager, query) {
  const history = HistoryStorage.open();
  const prompts = manager.getBranchCandidates().map(({ text }) => text);
  await Promise.all(prompts.map((prompt) => history.add(prompt, manager.getCwd())));
  return { prompts: prompts.length, found: history.search(query, 5).map(({ prompt }) => prompt) };
}

async function main() {
  const scratch = makeScratch();
  // Everything the demo writes stays in the scratch folder, never in the user's own store.
  process.env.PI_CODING_AGENT_DIR = path.join(scratch, "agent");
  const sessions = path.join(scratch, "sessions");
  fs.mkdirSync(sessions, { recursive: true });
  const copy = path.join(sessions, "2026-11-12T08-14-03-412Z_15cb01dfa51a2b3c.jsonl");
  fs.copyFileSync(SAMPLE, copy);

  const manager = await SessionManager.open(copy);
  const entries = manager.getEntries().length;
  say(`Opened "${manager.getSessionName()}", ${entries} entries, of ${manager.getCwd()}\n`);
  say("The tree (* = active path):");
  showTree(manager);

  const context = manager.buildSessionContext();
  say(`\nThe model would be sent ${context.messages.length} messages:`);
  showContext(context);
  const usage = manager.getUsageStatistics();
  say(`\nSpent so far: ${usage.output} output tokens, $${usage.cost.toFixed(4)}`);

  const appendedBytes = await appendTurn(manager);
  say(`Appended a turn: ${appendedBytes} bytes at the end, no earlier byte changed`);

  const { targetId, left } = await navigateToLabel(manager, "root cause");
  const branchContext = manager.buildSessionContext();
  say(`Went back to ${targetId}, with a summary of the ${left} entries that were left there:`);
  say(`  the context now has ${branchContext.messages.length} messages\n`);
  say("The tree now:");
  showTree(manager);

  const history = await searchHistory(manager, "almanac");
  say(`\nOf ${history.prompts} prompts in the history, these speak of the almanac:`);
  for (const prompt of history.found) {
    say(`  ${firstWords(prompt)}`);
  }
  say();

  await manager.setSessionName("Tide tables: one offset per event", "user");
  say(`Renamed to "${manager.getSessionName()}"`);

  const { oldSessionFile, newSessionFile } = await manager.fork();
  say(`Forked to session ${manager.getSessionId()}`);
  await manager.close();

  const reopened = await SessionManager.open(oldSessionFile);
  assert.deepEqual(
    JSON.parse(JSON.stringify(reopened.buildSessionContext())),
    JSON.parse(JSON.stringify(branchContext)),
    "the reopened session gives another context",
  );
  await reopened.close();
  say("Reopened the original: same context as before");

  const listed = await SessionManager.list(manager.getCwd(), sessions);
  say("\nSessions of the project, newest first:");
  for (const info of listed) {
    say(`  ${info.id}  ${info.messageCount} messages  "${info.title}"`);
  }
  say(`\nThe files are in ${sessions}`);

  if (asJson) {
    const runtime = process.versions.bun
      ? `bun ${process.versions.bun}`
      : `node ${process.version}`;
    const found = {
      runtime,
      entries,
      contextMessages: context.messages.length,
      thinkingLevel: context.thinkingLevel,
      models: context.models,
      appendedBytes,
      branchContextMessages: branchContext.messages.length,
      summarizedEntries: left,
      foundPrompts: history.found,
      title: reopened.getSessionName(),
      listed: listed.map((info) => info.id),
      files: [oldSessionFile, newSessionFile],
    };
    console.log(JSON.stringify(found, null, 2));
  }
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
