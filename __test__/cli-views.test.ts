// `session-manager-native list` and `session-manager-native show`.

import * as fs from "node:fs";
import * as path from "node:path";
import { beforeEach, describe, expect, it } from "vitest";

import { SessionManager } from "../index.js";
import main from "../js/cli/main.js";
import { memoryStream, runCli } from "./support/cli.js";
import { assistantMessage, userMessage } from "./support/messages.js";
import { useSandbox } from "./support/sandbox.js";
import { entryLine, fingerprint, messageLine, smallSession } from "./support/session-files.js";

const sandbox = useSandbox();

const text = (lines: unknown[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join("");

function write(name: string, lines: unknown[], mtime = 1_700_000_000): string {
  const file = sandbox.path(name);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text(lines));
  fs.utimesSync(file, mtime, mtime);
  return file;
}

/** All files and folders below the sandbox. */
const everything = () => fs.readdirSync(sandbox.dir, { recursive: true }).sort();

async function json(args: string[], options: { cwd?: string } = {}) {
  const { code, stdout, stderr } = await runCli([...args, "--json"], options);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout);
}

describe("list", () => {
  const ids = ({ sessions }: { sessions: { id: string }[] }) => sessions.map(({ id }) => id);

  it("lists a folder, newest first", async () => {
    write("d/a.jsonl", smallSession({ id: "old", title: "Old\u001b[31m one" }), 1_700_000_000);
    const file = write("d/b.jsonl", smallSession({ id: "new" }), 1_700_000_100);
    const { shape, command, sessions } = await json(["list", sandbox.path("d")]);
    expect({ shape, command }).toEqual({ shape: 1, command: "list" });
    expect(ids({ sessions })).toEqual(["new", "old"]);
    expect(sessions[0]).toEqual({
      path: file,
      id: "new",
      cwd: "/work/project",
      created: "2026-01-02T03:04:05.678Z",
      modified: "2023-11-14T22:15:00.000Z",
      messageCount: 2,
      firstMessage: "question",
    });
    const { stdout } = await runCli(["list", sandbox.path("d")], { env: { TZ: "UTC" } });
    expect(stdout).toBe(
      "2023-11-14 22:15      2  new  question\n" +
        "2023-11-14 22:13      2  old  Old\\u001b[31m one\n",
    );
  });

  it("lists a project or all, and creates nothing", async () => {
    const cwd = sandbox.makeDir("project");
    const other = sandbox.makeDir("other");
    const empty = sandbox.makeDir("empty");
    // Letters that no random name of a folder has in this order.
    const said = [
      [cwd, "hello"],
      [other, "zzqqzzqq"],
    ] as const;
    for (const [dir, message] of said) {
      const manager = SessionManager.create(dir);
      manager.appendMessage(userMessage(message) as never);
      manager.appendMessage(assistantMessage("hi") as never);
      await manager.close();
    }
    const before = everything();
    const first = ({ sessions }: { sessions: { firstMessage: string }[] }) =>
      sessions.map(({ firstMessage }) => firstMessage).sort();
    expect(first(await json(["list"], { cwd }))).toEqual(["hello"]);
    expect(first(await json(["list", "--cwd", other], { cwd }))).toEqual(["zzqqzzqq"]);
    expect(first(await json(["list", "--all"]))).toEqual(["hello", "zzqqzzqq"]);
    expect(first(await json(["list", "--all", "--search", "zzqqzzqq"]))).toEqual(["zzqqzzqq"]);
    expect((await runCli(["list"], { cwd: empty })).stdout).toBe("No sessions.\n");
    expect(everything()).toEqual(before);
  });

  it("takes a limit", async () => {
    write("d/a.jsonl", smallSession({ id: "old" }), 1_700_000_000);
    write("d/b.jsonl", smallSession({ id: "new" }), 1_700_000_100);
    expect(ids(await json(["list", sandbox.path("d"), "--limit", "1"]))).toEqual(["new"]);
  });

  it.each([
    [["list", "a", "b"]],
    [["list", "a", "--all"]],
    [["list", "--cwd", "a", "--all"]],
    [["list", "--limit", "many"]],
  ])("ends with 2 for %j", async (args) => {
    expect(await runCli(args)).toMatchObject({ code: 2, stdout: "" });
  });

  it("ends with 3 for a folder that is not there", async () => {
    const { code, stdout, stderr } = await runCli(["list", sandbox.path("none")]);
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(stderr).toContain("ENOENT");
  });
});

describe("show", () => {
  let file = "";

  beforeEach(() => {
    file = write("s.jsonl", [
      ...smallSession({ title: "T" }),
      messageLine("aaaaaaa3", "aaaaaaa2", userMessage("one\u0007"), 3),
      messageLine("aaaaaaa4", "aaaaaaa2", userMessage("two"), 4),
      entryLine(
        "compaction",
        "aaaaaaa5",
        "aaaaaaa4",
        { summary: "so far", firstKeptEntryId: "aaaaaaa4", tokensBefore: 7 },
        5,
      ),
    ]);
  });

  it("shows the tree", async () => {
    const { code, stdout } = await runCli(["show", file]);
    expect(code).toBe(0);
    expect(stdout).toBe(
      [
        "  user: question",
        "  assistant: answer",
        "  ├─ user: two",
        "* │     [compaction: 0k tokens]",
        "  └─ user: one\\u0007",
        "",
      ].join("\n"),
    );
    expect(stdout).not.toContain("\u0007");
    const users = await runCli(["show", "--filter", "user-only", file]);
    expect(users.stdout.trimEnd().split("\n")).toHaveLength(3);
  });

  it("shows the branch, and what a model is sent", async () => {
    const branch = (await runCli(["show", "--branch", file])).stdout;
    expect(branch).toContain("question");
    expect(branch).toContain("two");
    expect(branch).toContain("so far");
    expect(branch).not.toContain("one");
    const context = (await runCli(["show", "--context", file])).stdout;
    expect(context).toContain("so far");
    expect(context).toContain("two");
    expect(context).not.toContain("question");
  });

  it("shows all entries in the order of the file", async () => {
    const { stdout } = await runCli(["show", "--entries", file]);
    expect(stdout.trimEnd().split("\n")).toEqual([
      "aaaaaaa1  -  2026-01-02T03:04:06.000Z  message user",
      "aaaaaaa2  aaaaaaa1  2026-01-02T03:04:07.000Z  message assistant",
      "aaaaaaa3  aaaaaaa2  2026-01-02T03:04:08.000Z  message user",
      "aaaaaaa4  aaaaaaa2  2026-01-02T03:04:09.000Z  message user",
      "aaaaaaa5  aaaaaaa4  2026-01-02T03:04:10.000Z  compaction",
    ]);
  });

  it("prints one JSON document for each view", async () => {
    const head = { shape: 1, command: "show", path: file, leafId: "aaaaaaa5" };
    const tree = await json(["show", file]);
    expect(tree).toMatchObject({ ...head, view: "tree", header: { title: "T" } });
    expect(tree.rows.map(({ id }: { id: string }) => id)).toHaveLength(5);
    const entries = await json(["show", "--entries", file]);
    expect(entries).toMatchObject({ ...head, view: "entries" });
    expect(entries.entries[4].summary).toBe("so far");
    const branch = await json(["show", "--branch", file]);
    expect(branch.messages.map(({ role }: { role: string }) => role)).toEqual([
      "user",
      "assistant",
      "user",
      "compactionSummary",
    ]);
    const context = await json(["show", "--context", file]);
    expect(context.messages.map(({ role }: { role: string }) => role)).toEqual([
      "compactionSummary",
      "user",
    ]);
    expect(context.thinkingLevel).toBe("off");
  });

  it("changes nothing, not even which session is continued", async () => {
    const damaged = sandbox.path("damaged.jsonl");
    fs.writeFileSync(damaged, `junk\n${text(smallSession().slice(1))}{"torn`);
    // What opening a session would tidy up.
    const old = new Date(Date.now() - 7 * 24 * 60 * 60 * 1000);
    for (const name of [".s.jsonl.0123456789abcdef.tmp", ".s.jsonl.previous"]) {
      fs.copyFileSync(file, sandbox.path(name));
      fs.utimesSync(sandbox.path(name), old, old);
    }
    const before = [fingerprint(file), fingerprint(damaged), everything()];
    for (const view of ["--tree", "--branch", "--context", "--entries"]) {
      const env = { TERM_SESSION_ID: "terminal-of-the-test" };
      expect((await runCli(["show", view, file], { env })).code).toBe(0);
      expect((await runCli(["show", view, damaged], { env })).code).toBe(0);
    }
    expect((await runCli(["doctor", "--no-blobs", file])).code).toBe(1);
    expect([fingerprint(file), fingerprint(damaged), everything()]).toEqual(before);
  });

  it("ends with 3 for what is no session, and makes none of it", async () => {
    const junk = sandbox.path("junk.jsonl");
    fs.writeFileSync(junk, "junk\n");
    const blank = sandbox.path("blank.jsonl");
    fs.writeFileSync(blank, "");
    const missing = sandbox.path("none.jsonl");
    const before = everything();
    for (const each of [junk, blank, missing, sandbox.dir]) {
      expect(await runCli(["show", each])).toMatchObject({ code: 3, stdout: "" });
    }
    expect(everything()).toEqual(before);
    expect(fs.readFileSync(junk, "utf8")).toBe("junk\n");
  });

  it.each([
    [["show"]],
    [["show", "a", "b"]],
    [["show", "--tree", "--branch", "a"]],
    [["show", "--filter", "none", "a"]],
    [["show", "--entries", "--filter", "all", "a"]],
  ])("ends with 2 for %j", async (args) => {
    expect(await runCli(args)).toMatchObject({ code: 2, stdout: "" });
  });

  it("fits rows to the terminal", async () => {
    const long = write("long.jsonl", [
      ...smallSession(),
      messageLine("aaaaaaa3", "aaaaaaa2", userMessage("\u{1f600}".repeat(200)), 3),
    ]);
    const stdout = { ...memoryStream(true), columns: 41 };
    const host = { stdout, stderr: memoryStream(true), env: { NO_COLOR: "1" } };
    expect(await main.run(["show", long], host)).toBe(0);
    const rows = stdout.text.trimEnd().split("\n");
    expect(Math.max(...rows.map((row) => row.length))).toBeLessThanOrEqual(41);
    expect(rows.at(-1)).toMatch(/\u{1f600}…$/u);
  });
});
