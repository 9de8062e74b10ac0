import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { collectEntriesForBranchSummary, SessionManager } from "../index.js";
import { LINEAR4, U, useSandbox, writeSession } from "./support/fixtures.js";
import { loose, unchecked } from "./support/loose.js";
import { assistantMessage, userMessage } from "./support/messages.js";

const box = useSandbox();

/** A question, an answer, a second question with its answer; then a branch from the first answer. */
function branched() {
  const manager = SessionManager.inMemory("/w");
  const u1 = manager.appendMessage(userMessage("first"));
  const a1 = manager.appendMessage(assistantMessage("one"));
  const u2 = manager.appendMessage(
    userMessage([{ type: "text", text: " sec" }, { type: "image" }]),
  );
  const a2 = manager.appendMessage(assistantMessage("two"));
  manager.branch(a1);
  const u3 = manager.appendMessage(userMessage("third"));
  const c3 = manager.appendCustomMessageEntry("note", "by an extension", true);
  return { manager, u1, a1, u2, a2, u3, c3 };
}

describe("prepareTreeNavigation", () => {
  it("goes above a prompt and gives its text", () => {
    const { manager, a1, u2, u3, c3 } = branched();
    expect(manager.prepareTreeNavigation(u2)).toEqual({
      kind: "move",
      targetId: u2,
      oldLeafId: c3,
      commonAncestorId: a1,
      entryIdsToSummarize: [u3, c3],
      userWantsSummary: false,
      newLeafId: a1,
      targetKind: "user",
      editorText: " sec",
    });
    manager.branch(a1);
    expect(manager.prepareTreeNavigation(c3, { wantSummary: true })).toMatchObject({
      newLeafId: u3,
      targetKind: "custom_message",
      editorText: "by an extension",
      userWantsSummary: true,
      entryIdsToSummarize: [],
    });
  });

  it("goes to other entries themselves, without a text", () => {
    const { manager, a2, u3, c3, a1 } = branched();
    const plan = manager.prepareTreeNavigation(a2);
    expect(plan).toMatchObject({ newLeafId: a2, targetKind: "other", commonAncestorId: a1 });
    expect(plan).not.toHaveProperty("editorText");
    expect(plan).toMatchObject({ entryIdsToSummarize: [u3, c3] });
    const developer = manager.appendMessage(unchecked({ role: "developer", content: "x" }));
    manager.branch(a1);
    expect(manager.prepareTreeNavigation(developer)).toMatchObject({ targetKind: "other" });
  });

  it("goes before everything for a prompt that is a root", () => {
    const { manager, u1 } = branched();
    expect(manager.prepareTreeNavigation(u1)).toMatchObject({
      newLeafId: null,
      editorText: "first",
      commonAncestorId: u1,
    });
    manager.resetLeaf();
    expect(manager.prepareTreeNavigation(u1)).toMatchObject({
      oldLeafId: null,
      commonAncestorId: null,
      entryIdsToSummarize: [],
    });
  });

  it("has an empty text for a prompt without words", () => {
    const { manager, a1 } = branched();
    const image = manager.appendMessage(userMessage([{ type: "image", data: "", mimeType: "x" }]));
    manager.branch(a1);
    expect(manager.prepareTreeNavigation(image)).toMatchObject({ editorText: "" });
  });

  it("is a noop at the leaf, and throws for unknown entries", () => {
    const { manager, c3 } = branched();
    expect(manager.prepareTreeNavigation(c3)).toEqual({
      kind: "noop",
      targetId: c3,
      oldLeafId: c3,
    });
    expect(() => manager.prepareTreeNavigation("nope")).toThrow("Entry nope not found");
    const { prepareTreeNavigation } = loose(manager);
    expect(() => prepareTreeNavigation.call(manager, null)).toThrow("Entry null not found");
    expect(() => prepareTreeNavigation.call(manager, c3, { wantSummary: 1 })).toThrow(
      expect.objectContaining({ code: "ERR_INVALID_ARG_TYPE" }),
    );
  });

  it("changes nothing, makes no objects and reads prompts from the file", async () => {
    const file = writeSession(`${box()}/s.jsonl`, LINEAR4());
    const manager = await SessionManager.open(file);
    const parse = vi.spyOn(JSON, "parse");
    expect(manager.prepareTreeNavigation("u2")).toMatchObject({
      editorText: "u2",
      newLeafId: "a1",
      entryIdsToSummarize: ["a2"],
    });
    expect(manager.prepareBranch("u2")).toEqual({ selectedText: "u2", branchFromId: "a1" });
    expect(manager.getBranchCandidates().map(({ text }) => text)).toEqual(["u1", "u2"]);
    expect(parse.mock.calls.map(([text]) => text)).toEqual(['["u2"]', '["u2"]', '["u1","u2"]']);
    expect(manager.getLeafId()).toBe("a2");
    loose(manager.getEntry("u2")).message.content = "edited";
    expect(manager.prepareBranch("u2").selectedText).toBe("edited");
  });
});

describe("commitTreeNavigation", () => {
  it("moves the leaf", () => {
    const { manager, a1, a2, u1, u2 } = branched();
    const count = manager.getEntries().length;
    const go = (id: string) => manager.commitTreeNavigation(manager.prepareTreeNavigation(id));
    expect(go(a2)).toEqual({ leafId: a2 });
    expect(go(u2)).toEqual({ leafId: a1 });
    expect(go(u1)).toEqual({ leafId: null });
    expect(manager.getLeafId()).toBeNull();
    expect(manager.getEntries()).toHaveLength(count);
  });

  it("appends a summary where it goes", () => {
    const { manager, a2, u1 } = branched();
    const plan = manager.prepareTreeNavigation(a2, { wantSummary: true });
    const summary = { text: "what happened", details: { readFiles: [] }, fromExtension: true };
    const { leafId, summaryEntryId } = manager.commitTreeNavigation(plan, summary);
    expect(leafId).toBe(summaryEntryId);
    expect(manager.getEntry(String(leafId))).toMatchObject({
      type: "branch_summary",
      parentId: a2,
      fromId: a2,
      summary: "what happened",
      details: { readFiles: [] },
      fromExtension: true,
    });
    const root = manager.commitTreeNavigation(manager.prepareTreeNavigation(u1), { text: "all" });
    expect(manager.getEntry(String(root.leafId))).toMatchObject({ parentId: null, fromId: "root" });
  });

  it("takes an empty summary for none", () => {
    const { manager, a2 } = branched();
    const plan = manager.prepareTreeNavigation(a2);
    expect(manager.commitTreeNavigation(plan, { text: "" })).toEqual({ leafId: a2 });
    expect(manager.commitTreeNavigation({ newLeafId: null }, null)).toEqual({ leafId: null });
  });

  it("does nothing for a noop", () => {
    const { manager, c3 } = branched();
    const plan = manager.prepareTreeNavigation(c3);
    expect(manager.commitTreeNavigation(plan, { text: "unused" })).toEqual({ leafId: c3 });
  });

  it("refuses a plan whose leaf has moved on, but not a bare place", () => {
    const { manager, a2 } = branched();
    const plan = manager.prepareTreeNavigation(a2);
    const leaf = manager.appendMessage(assistantMessage("meanwhile"));
    expect(() => manager.commitTreeNavigation(plan)).toThrow("Session position changed");
    expect(manager.getLeafId()).toBe(leaf);
    expect(manager.commitTreeNavigation({ newLeafId: a2 })).toEqual({ leafId: a2 });
    expect(() => manager.commitTreeNavigation({ newLeafId: "nope" })).toThrow(
      "Entry nope not found",
    );
    expect(() => manager.commitTreeNavigation({ newLeafId: "nope" }, { text: "x" })).toThrow(
      "Entry nope not found",
    );
    expect(manager.getLeafId()).toBe(a2);
  });

  it("goes through the methods that callers may have replaced", () => {
    const { manager, a1 } = branched();
    const branch = vi.spyOn(manager, "branch");
    manager.commitTreeNavigation({ newLeafId: a1 });
    expect(branch).toHaveBeenCalledWith(a1);
  });

  it.each([
    [[undefined], "plan"],
    [[{}], "plan.newLeafId"],
    [[{ newLeafId: null }, { text: 1 }], "summary.text"],
    [[{ newLeafId: null }, "text"], "summary"],
  ])("refuses wrong arguments %j", (args, name) => {
    const { manager } = branched();
    const commit = () => loose(manager).commitTreeNavigation(...args);
    expect(commit).toThrow(`The "${name}" argument must be`);
  });
});

describe("branching before a prompt", () => {
  it("plans with the entry above the prompt", () => {
    const { manager, a1, u1, u2 } = branched();
    expect(manager.prepareBranch(u2)).toEqual({ selectedText: " sec", branchFromId: a1 });
    expect(manager.prepareBranch(u1)).toEqual({ selectedText: "first", branchFromId: null });
  });

  it("begins empty when the entry above is lost", async () => {
    const file = writeSession(`${box()}/s.jsonl`, [...LINEAR4(), U("u9", "lost")]);
    const manager = await SessionManager.open(file);
    expect(manager.prepareBranch("u9")).toEqual({ selectedText: "u9", branchFromId: null });
  });

  it.each(["nope", "a1", ""])("refuses %j, which is no prompt", async (id) => {
    const manager = await SessionManager.open(writeSession(`${box()}/s.jsonl`, LINEAR4()));
    expect(() => manager.prepareBranch(id)).toThrow("Invalid entry ID for branching");
  });

  it("offers the prompts with a text of all branches", () => {
    const { manager, u1, u2, u3 } = branched();
    manager.appendMessage(userMessage([{ type: "image", data: "", mimeType: "x" }]));
    expect(manager.getBranchCandidates()).toEqual([
      { entryId: u1, text: "first" },
      { entryId: u2, text: " sec" },
      { entryId: u3, text: "third" },
    ]);
  });

  it("offers an id once, as what it means", async () => {
    const again = { ...U("u1", "a2"), message: userMessage("again") };
    const file = writeSession(`${box()}/s.jsonl`, [...LINEAR4(), again]);
    const manager = await SessionManager.open(file);
    expect(manager.getBranchCandidates()).toEqual([
      { entryId: "u1", text: "again" },
      { entryId: "u2", text: "u2" },
    ]);
  });
});

describe("entries that a move leaves behind", () => {
  it("are none without a leaf, and end at unknown entries", () => {
    const { manager, u1, a1 } = branched();
    const none = { commonAncestorId: null, entryIds: [] };
    expect(manager.collectEntriesForBranchSummary(null, a1)).toEqual(none);
    expect(manager.collectEntriesForBranchSummary("", a1)).toEqual(none);
    expect(manager.collectEntriesForBranchSummary("nope", a1)).toEqual(none);
    const whole = { commonAncestorId: null, entryIds: [u1, a1] };
    expect(manager.collectEntriesForBranchSummary(a1, "nope")).toEqual(whole);
  });

  it("are the same as entries of anything that has branches", () => {
    const ids = fc.constantFrom("a", "b", "c", "d", "e", "f", "g");
    const links = fc.array(fc.tuple(ids, fc.option(ids)), { maxLength: 14 });
    fc.assert(
      fc.property(links, ids, ids, (pairs, oldLeaf, target) => {
        const manager = SessionManager.inMemory("/w");
        const state = manager.captureState();
        const entries = pairs.map(([id, parentId]) => U(id, parentId));
        loose(state).fileEntries = [manager.getHeader(), ...entries];
        manager.restoreState(state);
        const { entryIds, commonAncestorId } = manager.collectEntriesForBranchSummary(
          oldLeaf,
          target,
        );
        const session = { getBranch: manager.getBranch.bind(manager) };
        expect(collectEntriesForBranchSummary(session, oldLeaf, target)).toEqual({
          commonAncestorId,
          entries: entryIds.map((id) => manager.getEntry(id)),
        });
      }),
      { numRuns: 200 },
    );
  });

  it("need something with branches", () => {
    const collect = collectEntriesForBranchSummary as (...args: unknown[]) => unknown;
    expect(() => collect(undefined, "a", "b")).toThrow('The "session" argument must be');
  });
});
