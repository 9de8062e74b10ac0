import * as fs from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type SessionContext, SessionManager } from "../index.js";
import { type Loose, loose } from "./support/loose.js";
import { ENTRY_ID } from "./support/managers.js";
import { assistantMessage, userMessage } from "./support/messages.js";
import { asWhole, byTail, type Open, openAsUsual, openWith } from "./support/open-by-tail.js";
import { randomFrom, randomSession } from "./support/random-session.js";
import { useSandbox } from "./support/sandbox.js";
import {
  entryLine,
  headerLine,
  messageLine,
  readEntries,
  writeLines,
} from "./support/session-files.js";

const box = useSandbox();

/** What reading the files gave, to look behind the scenes. */
let opened: Loose[] = [];

/** Called with the file between the reading of its end and of its rest. */
let inBetween: (file: string) => void;

const open: Open = async (path, now) => {
  const loaded = await byTail()(path, now);
  opened.push(loaded);
  inBetween(path);
  return loaded;
};

beforeEach(() => {
  opened = [];
  inBetween = () => {};
  openWith(open);
});

afterEach(openAsUsual);

/** Whether the session that was opened last is known by its end only. */
const isPartial = () => opened.at(-1)?.isPartial === true;

/** A manager that reads the whole file before it is there. */
async function openWhole(file: string): Promise<SessionManager> {
  openWith(asWhole);
  try {
    return await SessionManager.open(file);
  } finally {
    openWith(open);
  }
}

/** Entries m0, m1, … in a row. What is in `others` stands in their place. */
function chain(count: number, others: Record<number, Loose>): Loose[] {
  const lines = Array.from({ length: count }, (_, at) => {
    const { type, ...fields } = others[at] ?? {};
    const parent = at === 0 ? null : `m${at - 1}`;
    const message = at % 2 === 0 ? userMessage(`text ${at}`) : assistantMessage(`text ${at}`);
    return type
      ? entryLine(type, `m${at}`, parent, fields, at)
      : messageLine(`m${at}`, parent, message);
  });
  return [headerLine({ title: "Long" }), ...lines];
}

const compaction = (kept: string) => ({
  type: "compaction",
  summary: "sum",
  firstKeptEntryId: kept,
  tokensBefore: 9,
});

/** A file of which the end is enough for the context, with settings near the beginning. */
function writeLong(): string {
  const others = {
    1: { type: "model_change", model: "a/smol", role: "smol" },
    2: { type: "model_change", model: "a/first" },
    3: { type: "thinking_level_change", thinkingLevel: "high" },
    4: { type: "ttsr_injection", injectedRules: ["early", "both"] },
    5: { type: "mode_change", mode: "plan", data: { file: "p" } },
    6: { type: "label", targetId: "m0", label: "begin" },
    80: compaction("m78"),
    82: { type: "ttsr_injection", injectedRules: ["both", "late"] },
    84: { type: "service_tier_change", serviceTier: "flex" },
  };
  return writeLines(box.path("long.jsonl"), chain(90, others));
}

const accessors = (context: SessionContext) =>
  Object.entries(Object.getOwnPropertyDescriptors(context))
    .filter(([, property]) => property.get !== undefined)
    .map(([name]) => name);

describe("a session whose end was read first", () => {
  it("tells what its end and its header tell without the rest", async () => {
    const manager = await SessionManager.open(writeLong());
    expect(manager.getHeader()).toMatchObject(headerLine({ title: "Long" }));
    expect(manager.getSessionName()).toBe("Long");
    expect(manager.getCwd()).toBe("/work/project");
    expect(manager.getLeafId()).toBe("m89");
    expect(manager.getLeafEntry()?.id).toBe("m89");
    expect(manager.getEntry("m79")?.id).toBe("m79");
    const { messages, serviceTier } = manager.buildSessionContext();
    expect(messages).toHaveLength(1 + 2 + 9 - 2);
    expect(serviceTier).toBe("flex");
    await manager.flush();
    await manager.close();
    expect(opened).toHaveLength(1);
    // None of this has waited for the rest; this does.
    const again = await SessionManager.open(box.path("long.jsonl"));
    again.buildSessionContext();
    expect(isPartial()).toBe(true);
    expect(again.getEntries()).toHaveLength(90);
    expect(isPartial()).toBe(false);
  });

  it("knows settings that were made long before", async () => {
    const file = writeLong();
    const whole = (await openWhole(file)).buildSessionContext();
    const context = (await SessionManager.open(file)).buildSessionContext();
    expect(accessors(context)).toEqual([
      "thinkingLevel",
      "models",
      "activeContextName",
      "activeContextTenant",
      "injectedTtsrRules",
      "selectedMCPToolNames",
      "hasPersistedMCPToolSelection",
      "mode",
      "modeData",
    ]);
    expect(isPartial()).toBe(true);
    expect(context).toStrictEqual(whole);
    expect(isPartial()).toBe(false);
    expect(accessors(context)).toEqual([]);
    expect(JSON.stringify(context)).toBe(JSON.stringify(whole));
    expect(context.injectedTtsrRules).toEqual(["early", "both", "late"]);
    expect(Object.keys(context.models)).toEqual(["smol", "default"]);
  });

  it("gives settings to those who copy, clone or print a context", async () => {
    const file = writeLong();
    const whole = (await openWhole(file)).buildSessionContext();
    const copies: ((context: SessionContext) => unknown)[] = [
      (context) => ({ ...context }),
      (context) => structuredClone(context),
      (context) => JSON.parse(JSON.stringify(context)),
      (context) => Object.fromEntries(Object.entries(context)),
      (context) => Object.assign({}, context),
    ];
    for (const copy of copies) {
      const context = (await SessionManager.open(file)).buildSessionContext();
      expect(copy(context)).toEqual(copy(whole));
    }
  });

  it("keeps the settings of the time at which they were asked for", async () => {
    const manager = await SessionManager.open(writeLong());
    const context = manager.buildSessionContext();
    const branched = manager.buildSessionContext();
    expect(isPartial()).toBe(true);
    manager.branch("m10");
    manager.appendThinkingLevelChange("low");
    const change = manager.getEntry("m3") as Loose;
    change.thinkingLevel = "changed";
    expect(context.thinkingLevel).toBe("high");
    expect(branched.thinkingLevel).toBe("high");
    expect(manager.buildSessionContext().thinkingLevel).toBe("low");
  });

  it("lets settings be replaced and contexts be frozen", async () => {
    const manager = await SessionManager.open(writeLong());
    const context = manager.buildSessionContext();
    const frozen = Object.freeze(manager.buildSessionContext());
    const derived = Object.create(manager.buildSessionContext());
    context.mode = "mine";
    derived.mode = "own";
    const removed: Partial<SessionContext> = manager.buildSessionContext();
    delete removed.models;
    expect(isPartial()).toBe(true);
    expect(manager.getEntries()).toHaveLength(90);
    expect(context.mode).toBe("mine");
    expect(derived.mode).toBe("own");
    expect(Object.getPrototypeOf(derived).mode).toBe("plan");
    expect(frozen.mode).toBe("plan");
    expect("models" in removed).toBe(false);
  });

  it("keeps its objects when the rest is there", async () => {
    const manager = await SessionManager.open(writeLong());
    const leaf = manager.getLeafEntry();
    const [, first] = manager.buildSessionContext().messages;
    expect(isPartial()).toBe(true);
    const entries = manager.getEntries();
    expect(entries.at(-1)).toBe(leaf);
    expect(manager.getEntry("m89")).toBe(leaf);
    expect(loose(entries[78]).message).toBe(first);
    expect(manager.buildSessionContext().messages[1]).toBe(first);
    expect(entries.map((entry) => entry.id)).toEqual(entries.map((_, at) => `m${at}`));
  });

  it("is whole after a while without being asked", async () => {
    const manager = await SessionManager.open(writeLong());
    const context = manager.buildSessionContext();
    expect(isPartial()).toBe(true);
    while (isPartial()) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(accessors(context)).toEqual([]);
    expect(manager.getEntries()).toHaveLength(90);
  });

  it("counts and reports everything", async () => {
    const file = writeLong();
    const whole = await openWhole(file);
    expect((await SessionManager.open(file)).getUsageStatistics()).toEqual(
      whole.getUsageStatistics(),
    );
    expect((await SessionManager.open(file)).getLoadReport()).toEqual(whole.getLoadReport());
    const manager = await SessionManager.open(file);
    manager.appendMessage(assistantMessage("more"));
    whole.appendMessage(assistantMessage("more"));
    expect(manager.getUsageStatistics()).toEqual(whole.getUsageStatistics());
  });

  it("takes in what others append meanwhile", async () => {
    const file = writeLong();
    const other = await openWhole(file);
    for (const takeIn of [
      (manager: SessionManager) => manager.reload(),
      (manager: SessionManager) => manager.rewriteEntries(),
    ]) {
      const manager = await SessionManager.open(file);
      expect(isPartial()).toBe(true);
      const theirs = other.appendMessage(userMessage("theirs"));
      await other.flush();
      await takeIn(manager);
      const mine = manager.appendMessage(userMessage("mine"));
      await manager.close();
      const ids = readEntries(file).map(({ id }) => id);
      expect(ids.slice(-2)).toEqual([theirs, mine]);
      await other.reload();
    }
    expect(readEntries(file)).toHaveLength(94);
  });

  it("goes on in its file", async () => {
    const file = writeLong();
    const before = fs.readFileSync(file, "utf8");
    const manager = await SessionManager.open(file);
    expect(isPartial()).toBe(true);
    const id = manager.appendMessage(userMessage("more"));
    expect(id).toMatch(ENTRY_ID);
    await manager.flush();
    expect(fs.readFileSync(file, "utf8").startsWith(before)).toBe(true);
    expect(readEntries(file)).toHaveLength(91);
    expect(readEntries(file).at(-1)).toMatchObject({ id, parentId: "m89" });
    expect(manager.getEntries()).toHaveLength(91);
    expect(manager.getLabel("m0")).toBe("begin");
    await manager.close();
  });

  it("can be renamed, rewritten, forked and left at once", async () => {
    const file = writeLong();
    const renamed = await SessionManager.open(file);
    expect(await renamed.setSessionName("Other")).toBe(true);
    expect(renamed.getEntries()).toHaveLength(90);
    const rewritten = await SessionManager.open(file);
    expect(isPartial()).toBe(true);
    expect(rewritten.getSessionName()).toBe("Other");
    await rewritten.rewriteEntries();
    expect(readEntries(file)).toHaveLength(90);
    const forked = await SessionManager.open(file);
    const files = await forked.fork();
    expect(readEntries(files?.newSessionFile as string)).toHaveLength(90);
    const left = await SessionManager.open(file);
    await left.newSession();
    expect(left.getEntries()).toEqual([]);
    await left.setSessionFile(file);
    expect(isPartial()).toBe(true);
    expect(left.getEntries()).toHaveLength(90);
    await left.close();
  });

  it("tells when the rest was changed, and lives on", async () => {
    const file = writeLong();
    inBetween = () => fs.writeFileSync(file, fs.readFileSync(file, "utf8").replace('"m3"', '"m"'));
    const manager = await SessionManager.open(file);
    expect(() => manager.getEntries()).toThrow(
      expect.objectContaining({ code: "ENTRY_UNREADABLE", path: file }),
    );
    expect(() => manager.getEntries()).toThrow("changed on disk");
    expect(manager.getLeafId()).toBe("m89");
    expect(manager.getSessionName()).toBe("Long");
    await manager.close();
  });

  it("reads what another program replaces meanwhile", async () => {
    inBetween = (file) => {
      fs.writeFileSync(`${file}.new`, "other\n");
      fs.renameSync(`${file}.new`, file);
    };
    const manager = await SessionManager.open(writeLong());
    expect(manager.getEntries()).toHaveLength(90);
  });

  it("does not take in what another program appends meanwhile", async () => {
    inBetween = (file) => fs.appendFileSync(file, `${JSON.stringify(chain(1, {})[1])}\n`);
    const manager = await SessionManager.open(writeLong());
    expect(manager.getLeafId()).toBe("m89");
    expect(manager.getEntries()).toHaveLength(90);
    expect(manager.getEntry("m0")).toBe(manager.getEntries()[0]);
    expect(manager.getLeafId()).toBe("m89");
  });

  it("is read when it is needed although nobody was to wait for it", async () => {
    const manager = await SessionManager.open(writeLong());
    opened.at(-1)?.stopReading();
    expect(manager.getEntries()).toHaveLength(90);
  });

  it("does not read its header again", async () => {
    inBetween = (file) =>
      fs.writeFileSync(file, fs.readFileSync(file, "utf8").replace('"SESSION"', '"SESSION"'));
    const manager = await SessionManager.open(writeLong());
    expect(manager.getEntries()).toHaveLength(90);
    expect(manager.getLoadReport()).toMatchObject({ skippedLines: 0, headerSalvaged: false });
  });
});

/** What a manager is asked; a call is one of these. */
const QUESTIONS: Record<string, (manager: SessionManager, id: string) => unknown> = {
  context: (manager) => ({ ...manager.buildSessionContext() }),
  contextText: (manager) => JSON.stringify(manager.buildSessionContext()),
  leaf: (manager) => [manager.getLeafId(), manager.getLeafEntry()],
  entry: (manager, id) => manager.getEntry(id),
  branch: (manager, id) => manager.getBranch(id),
  entries: (manager) => manager.getEntries(),
  children: (manager, id) => manager.getChildren(id),
  label: (manager, id) => manager.getLabel(id),
  tree: (manager) => manager.getTree(),
  usage: (manager) => manager.getUsageStatistics(),
  report: (manager) => manager.getLoadReport(),
  role: (manager) => manager.getLastModelChangeRole(),
  rules: (manager) => manager.getInjectedTtsrRules(),
  move: (manager, id) => {
    if (manager.getEntry(id)) {
      manager.branch(id);
    }
    return manager.getLeafId();
  },
};

describe("any session", () => {
  it("answers the same, whatever was read first", async () => {
    const names = Object.keys(QUESTIONS);
    let partial = 0;
    for (let seed = 1; seed <= 300; seed++) {
      const random = randomFrom(seed + 1_000);
      const count = 5 + Math.floor(random() * 80);
      const file = writeLines(box.path(`${seed}.jsonl`), randomSession(seed, count));
      const whole = await openWhole(file);
      const manager = await SessionManager.open(file);
      partial += isPartial() ? 1 : 0;
      // Contexts that are compared when more is known.
      const early = [manager.buildSessionContext(), whole.buildSessionContext()];
      const before = names.map((name) => [name, random()] as const);
      before.sort(([, left], [, right]) => left - right);
      for (const [name] of before) {
        const id = `id-${Math.floor(random() * (count + 3))}`;
        const ask = QUESTIONS[name] as (typeof QUESTIONS)[string];
        expect(ask(manager, id), `${seed}: ${name} ${id}`).toEqual(ask(whole, id));
      }
      expect(early[0], `${seed}`).toStrictEqual(early[1]);
      expect(JSON.stringify(early[0])).toBe(JSON.stringify(early[1]));
      await Promise.all([manager.close(), whole.close()]);
    }
    expect(partial).toBeGreaterThan(60);
  });
});
