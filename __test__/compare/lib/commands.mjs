/**
 * The calls a sequence is made of. A command is plain JSON: `op`, the index `m` of the manager it acts
 * on, and further indices and recipes. Every index is taken modulo what exists when the command runs,
 * so any sub-sequence of a sequence is a sequence, and shrinking works.
 */

import fc from "fast-check";
import { fixture } from "./fixtures.mjs";
import { assistant, content, message } from "./messages.mjs";
import { maybe, object, text, UNDEFINED, value } from "./recipes.mjs";

const m = fc.nat(2);
const index = fc.nat(30);
const command = (op, fields = {}) => fc.record({ op: fc.constant(op), m, ...fields });

const word = fc.constantFrom("a/b", "c/d", "", "x");
const rules = fc.array(fc.constantFrom("r1", "r2", "r3", ""), { maxLength: 3 });
const attribution = fc.constantFrom(UNDEFINED, "user", "agent");
const flag = fc.constantFrom(UNDEFINED, true, false);

const append = fc.oneof(
  {
    weight: 10,
    arbitrary: command("append", { call: fc.constant("appendMessage"), args: fc.tuple(message) }),
  },
  {
    weight: 6,
    arbitrary: command("append", { call: fc.constant("appendMessage"), args: fc.tuple(assistant) }),
  },
  ...[
    ["appendThinkingLevelChange", fc.tuple(fc.constantFrom(UNDEFINED, "high", "off", null))],
    ["appendServiceTierChange", fc.tuple(fc.constantFrom(null, "flex", "auto", UNDEFINED))],
    ["appendModeChange", fc.tuple(word, maybe(object))],
    ["appendModelChange", fc.tuple(word, fc.constantFrom(UNDEFINED, "smol", "default"))],
    ["appendCustomEntry", fc.tuple(word, value)],
    ["appendCustomMessageEntry", fc.tuple(word, content, fc.boolean(), maybe(object), attribution)],
    ["appendMCPToolSelection", fc.tuple(rules)],
    ["appendTtsrInjection", fc.tuple(rules)],
    [
      "appendSessionInit",
      fc.tuple(
        fc.tuple(text, maybe(value)).map(([t, schema]) => ({
          $: "object",
          e: [
            ["systemPrompt", t],
            ["task", "t"],
            ["tools", ["x"]],
            ["outputSchema", schema],
          ],
        })),
      ),
    ],
  ].map(([call, args]) => ({
    weight: 1,
    arbitrary: command("append", { call: fc.constant(call), args }),
  })),
  {
    weight: 1,
    arbitrary: command("appendCompaction", {
      target: index,
      args: fc.tuple(
        text,
        maybe(text),
        fc.constantFrom(1, 0.5),
        maybe(object),
        flag,
        maybe(object),
      ),
    }),
  },
);

const edit = fc.constantFrom(
  "content",
  "pushBlock",
  "extraKey",
  "dropKey",
  "undefinedKey",
  "header",
  "details",
);

const change = fc.oneof(
  { weight: 30, arbitrary: append },
  {
    weight: 5,
    arbitrary: command("burst", { list: fc.array(append, { minLength: 2, maxLength: 4 }) }),
  },
  { weight: 2, arbitrary: command("lateEdit", { message, edit }) },
  { weight: 2, arbitrary: command("appendAndLook", { text }) },
  {
    weight: 3,
    arbitrary: command("appendLabelChange", {
      target: index,
      label: fc.constantFrom("L", "M", "", UNDEFINED),
    }),
  },
  { weight: 4, arbitrary: command("branch", { target: index }) },
  { weight: 1, arbitrary: command("resetLeaf") },
  {
    weight: 2,
    arbitrary: command("branchWithSummary", {
      target: index,
      args: fc.tuple(text, maybe(value), flag),
    }),
  },
  { weight: 2, arbitrary: command("createBranchedSession", { target: index }) },
  {
    weight: 3,
    arbitrary: command("setSessionName", {
      name: text,
      source: fc.constantFrom(UNDEFINED, "auto", "user"),
    }),
  },
  { weight: 2, arbitrary: command("fork") },
  { weight: 2, arbitrary: command("moveTo", { cwd: index }) },
  {
    weight: 2,
    arbitrary: command("newSession", { parent: fc.constantFrom(UNDEFINED, "none", "p-1") }),
  },
  { weight: 3, arbitrary: command("setSessionFile", { file: index }) },
  { weight: 2, arbitrary: command("captureState") },
  { weight: 2, arbitrary: command("restoreState", { snapshot: index }) },
  {
    weight: 4,
    arbitrary: command("editAndRewrite", { target: index, edit, rewrite: fc.boolean() }),
  },
  { weight: 1, arbitrary: command("rewriteEntries") },
  { weight: 2, arbitrary: command("ensureOnDisk") },
  { weight: 1, arbitrary: command("flush") },
  { weight: 1, arbitrary: command("close") },
  { weight: 4, arbitrary: command("reopen") },
  { weight: 1, arbitrary: command("reload") },
  { weight: 1, arbitrary: command("sanitize") },
  { weight: 1, arbitrary: command("putBlob", { n: fc.constantFrom(0, 5, 1000) }) },
  { weight: 1, arbitrary: command("odd", { kind: fc.nat(199) }) },
  {
    weight: 1,
    arbitrary: command("artifact", { content: text, tool: fc.constantFrom("bash", "read") }),
  },
);

const start = fc.oneof(
  { weight: 5, arbitrary: command("create", { cwd: index, dir: fc.nat(3) }) },
  { weight: 2, arbitrary: command("inMemory", { cwd: index }) },
  { weight: 5, arbitrary: command("open", { file: index, dir: fc.nat(5) }) },
  { weight: 2, arbitrary: command("continueRecent", { cwd: index, dir: fc.nat(3) }) },
  { weight: 2, arbitrary: command("forkFrom", { file: index, cwd: index, dir: fc.nat(3) }) },
);

const query = fc.oneof(
  { weight: 6, arbitrary: command("queries", { target: index }) },
  { weight: 1, arbitrary: command("list", { cwd: index, dir: fc.nat(3) }) },
  { weight: 1, arbitrary: command("listAll") },
  { weight: 1, arbitrary: command("findMostRecent", { dir: fc.nat(3) }) },
  {
    weight: 1,
    arbitrary: command("recents", {
      dir: fc.nat(3),
      limit: fc.constantFrom(UNDEFINED, 0, 1, 5, -1),
    }),
  },
  {
    weight: 2,
    arbitrary: command("resume", {
      file: index,
      cut: fc.nat(20),
      form: fc.nat(3),
      cwd: index,
      dir: fc.nat(3),
    }),
  },
  { weight: 2, arbitrary: command("loadEntries", { file: index }) },
  { weight: 1, arbitrary: command("parse", { file: index, cut: fc.nat(400), join: fc.nat(3) }) },
  { weight: 2, arbitrary: command("migrate", { file: index }) },
  {
    weight: 2,
    arbitrary: command("freeContext", { file: index, leaf: index, withMap: fc.boolean() }),
  },
  { weight: 1, arbitrary: command("defaultDir", { cwd: index }) },
);

const anyCommand = fc.oneof(
  { weight: 14, arbitrary: change },
  { weight: 1, arbitrary: start },
  { weight: 3, arbitrary: query },
);

/**
 * A whole sequence: the fixtures, how much is looked at after each step, which storage, and the commands.
 * Looking at everything makes every entry's object exist; looking late leaves entries as mere lines.
 */
export const sequence = fc.record({
  observe: fc.constantFrom("all", "all", "cheap", "cheap", "end"),
  storage: fc.constantFrom(
    "default",
    "default",
    "default",
    "default",
    "explicit",
    "custom",
    "memory",
  ),
  terminal: fc.integer({ min: 0, max: 39 }).map((n) => n === 1),
  fixtures: fc.oneof(
    { weight: 9, arbitrary: fc.array(fixture(0), { maxLength: 4 }) },
    { weight: 1, arbitrary: fc.array(fixture(20), { maxLength: 2 }) },
  ),
  first: start,
  commands: fc.array(anyCommand, { maxLength: 25, size: "max" }),
});
