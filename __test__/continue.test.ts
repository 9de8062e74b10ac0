import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { getTerminalSessionsDir, SessionManager } from "../index.js";
import { fileOf } from "./support/managers.js";
import { assistantMessage, userMessage } from "./support/messages.js";
import { useSandbox } from "./support/sandbox.js";
import { smallSession, writeLines } from "./support/session-files.js";

// The very module that the manager uses: imports of the test runner are copies.
const breadcrumbs = createRequire(import.meta.url)("../js/breadcrumbs.js");
const box = useSandbox();
const CWD = "/srv/my project";

beforeEach(() => {
  process.env.TMUX_PANE = "%7";
});

// Nobody waits for breadcrumbs, but the directory must not vanish under them.
afterEach(() => crumb());

/** Waits for all breadcrumbs that were begun and gives the content of the last one. */
async function crumb(): Promise<string | undefined> {
  await breadcrumbs.readBreadcrumb(CWD);
  const file = path.join(getTerminalSessionsDir(), "tmux-%7");
  return fs.existsSync(file) ? fs.readFileSync(file, "utf8") : undefined;
}

async function putCrumb(content: string): Promise<void> {
  await crumb();
  fs.mkdirSync(getTerminalSessionsDir(), { recursive: true });
  fs.writeFileSync(path.join(getTerminalSessionsDir(), "tmux-%7"), content);
}

async function expectCrumbOf(manager: SessionManager, cwd = CWD): Promise<void> {
  expect(await crumb()).toBe(`${cwd}\n${fileOf(manager)}\n`);
}

async function continued(cwd = CWD, dir = box.path("dir")): Promise<string> {
  const manager = await SessionManager.continueRecent(cwd, dir);
  await crumb();
  return path.relative(box.dir, fileOf(manager));
}

/** A session in the directory that is searched without breadcrumb, and one somewhere else. */
function putSessions(): { left: string } {
  fs.mkdirSync(box.path("dir"));
  fs.mkdirSync(box.path("else where"));
  writeLines(box.path("dir", "newest.jsonl"), smallSession());
  return { left: writeLines(box.path("else where", "left here.jsonl"), smallSession()) };
}

describe("continueRecent", () => {
  it("goes on with the session that this terminal left, else with the newest one", async () => {
    const { left } = putSessions();
    fs.symlinkSync(left, box.path("link.jsonl"));
    fs.mkdirSync(box.path("directory.jsonl"));
    expect(spawnSync("mkfifo", [box.path("pipe.jsonl")]).status).toBe(0);
    const newest = "dir/newest.jsonl";
    for (const [what, content, expected] of [
      ["matching", `${CWD}\n${left}\n`, "else where/left here.jsonl"],
      ["spelled in another way", `/srv/x/../my project/\n${left}\n`, "else where/left here.jsonl"],
      ["unterminated", `${CWD}\n${left}`, "else where/left here.jsonl"],
      ["with more lines", `${CWD}\n${left}\nmore\n`, "else where/left here.jsonl"],
      ["of a link", `${CWD}\n${box.path("link.jsonl")}\n`, "link.jsonl"],
      ["of another directory", `/srv/other\n${left}\n`, newest],
      ["of a missing file", `${CWD}\n${left}.gone\n`, newest],
      ["of a directory", `${CWD}\n${box.path("directory.jsonl")}\n`, newest],
      ["of a pipe", `${CWD}\n${box.path("pipe.jsonl")}\n`, newest],
      ["of one line", `${CWD}\n`, newest],
      ["with carriage returns", `${CWD}\r\n${left}\r\n`, newest],
      ["empty", "", newest],
      ["of other bytes", "\u0000\ufffd\n\n\n", newest],
    ] as const) {
      await putCrumb(content);
      expect(await continued(), what).toBe(expected);
    }
  });

  it("does not wait for a breadcrumb that is a pipe", async () => {
    putSessions();
    fs.mkdirSync(getTerminalSessionsDir(), { recursive: true });
    const pipe = path.join(getTerminalSessionsDir(), "tmux-%7");
    expect(spawnSync("mkfifo", [pipe]).status).toBe(0);
    expect(await continued()).toBe("dir/newest.jsonl");
  });

  it("passes by pipes in the directory", async () => {
    putSessions();
    expect(spawnSync("mkfifo", [box.path("dir", "x.jsonl")]).status).toBe(0);
    expect(await continued()).toBe("dir/newest.jsonl");
  });

  it("ignores what other terminals left", async () => {
    const { left } = putSessions();
    await putCrumb(`${CWD}\n${left}\n`);
    process.env.TMUX_PANE = "%8";
    expect(await continued()).toBe("dir/newest.jsonl");
    process.env.TMUX_PANE = "%7";
    expect(await continued()).toBe("else where/left here.jsonl");
    delete process.env.TMUX_PANE;
    expect(await continued()).toBe("dir/newest.jsonl");
  });

  it("follows the agent directory of the moment", async () => {
    const { left } = putSessions();
    await putCrumb(`${CWD}\n${left}\n`);
    process.env.PI_CODING_AGENT_DIR = box.path("other agent");
    expect(await continued()).toBe("dir/newest.jsonl");
    process.env.PI_CODING_AGENT_DIR = box.path("agent");
    expect(await continued()).toBe("else where/left here.jsonl");
  });

  it("starts a session when nothing was left and nothing is there", async () => {
    await putCrumb(`${CWD}\n${box.path("gone.jsonl")}\n`);
    const manager = await SessionManager.continueRecent(CWD, box.path("dir"));
    expect(manager.getEntries()).toEqual([]);
    expect(path.dirname(fileOf(manager))).toBe(box.path("dir"));
    await expectCrumbOf(manager);
  });

  it("goes on with what it continued before, even if another session is newer by now", async () => {
    putSessions();
    fs.utimesSync(box.path("dir", "newest.jsonl"), 1000, 1000);
    expect(await continued()).toBe("dir/newest.jsonl");
    writeLines(box.path("dir", "newer.jsonl"), smallSession());
    expect(await continued()).toBe("dir/newest.jsonl");
    delete process.env.TMUX_PANE;
    expect(await continued()).toBe("dir/newer.jsonl");
  });
});

describe("a breadcrumb is left", () => {
  it("by create, although there is no file yet", async () => {
    const manager = SessionManager.create(CWD, box.path("dir"));
    await expectCrumbOf(manager);
    expect(fs.existsSync(fileOf(manager))).toBe(false);
  });

  it("with the working directory as it was given", async () => {
    const manager = SessionManager.create("relative/../dir", box.path("dir"));
    await expectCrumbOf(manager, "relative/../dir");
    manager.appendMessage(userMessage());
    manager.appendMessage(assistantMessage());
    await manager.flush();
    const again = await SessionManager.continueRecent(path.resolve("dir"), box.path("none"));
    expect(again.getSessionFile()).toBe(fileOf(manager));
  });

  it("by everything that switches to another file, and by moving it", async () => {
    const manager = SessionManager.create(CWD, box.path("dir"));
    manager.appendMessage(userMessage());
    const answer = manager.appendMessage(assistantMessage());
    await manager.flush();
    const files = new Set([fileOf(manager)]);
    const steps: [string, () => unknown][] = [
      ["newSession", () => manager.newSession()],
      ["setSessionFile", () => manager.setSessionFile([...files][0] as string)],
      ["fork", () => manager.fork()],
      ["createBranchedSession", () => manager.createBranchedSession(answer)],
      ["setSessionFile of a new path", () => manager.setSessionFile(box.path("dir", "new.jsonl"))],
    ];
    for (const [what, step] of steps) {
      await step();
      files.add(fileOf(manager));
      expect(await crumb(), what).toBe(`${CWD}\n${fileOf(manager)}\n`);
    }
    expect(files.size).toBe(5);
    await manager.moveTo("/srv/moved");
    await expectCrumbOf(manager, "/srv/moved");
  });

  it("by open, forkFrom and restoreState", async () => {
    const { left } = putSessions();
    const opened = await SessionManager.open(left);
    await expectCrumbOf(opened, "/work/project");
    const snapshot = opened.captureState();
    const forked = await SessionManager.forkFrom(left, CWD, box.path("dir"));
    await expectCrumbOf(forked);
    opened.restoreState(snapshot);
    await expectCrumbOf(opened, "/work/project");
    const created = await SessionManager.open(box.path("dir", "not there yet.jsonl"));
    await expectCrumbOf(created, process.cwd());
    expect(fileOf(created)).toBe(box.path("dir", "not there yet.jsonl"));
  });

  it("never by sessions in memory, nor by listing", async () => {
    putSessions();
    const manager = SessionManager.inMemory(CWD);
    await manager.newSession();
    manager.appendMessage(userMessage());
    await SessionManager.list(CWD, box.path("dir"));
    await SessionManager.listAll();
    expect(await crumb()).toBeUndefined();
  });
});
