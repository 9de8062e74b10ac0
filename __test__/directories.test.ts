import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  getAgentDir,
  getBlobsDir,
  getHistoryDbPath,
  getSessionsDir,
  getTerminalSessionsDir,
  SessionManager,
  setAgentDir,
  setLogger,
} from "../index.js";
import directories from "../js/directories.js";
import { expectInvalidArgument, failureOf } from "./support/errors.js";
import { unchecked } from "./support/loose.js";
import { useSandbox } from "./support/sandbox.js";
import { headerLine, writeLines } from "./support/session-files.js";

const box = useSandbox();
const root = path.join(import.meta.dirname, "..");

afterEach(() => {
  vi.restoreAllMocks();
  setLogger(undefined);
});

/** Makes a directory below the sandbox the user's home. */
function spyHome(...parts: string[]): string {
  const home = box.makeDir(...parts);
  vi.spyOn(os, "homedir").mockReturnValue(home);
  return home;
}

/** The directory name that earlier versions gave every working directory. */
function legacyName(cwd: string): string {
  return `--${cwd.slice(1).replaceAll(/[/\\:]/g, "-")}--`;
}

function sessionsPath(...parts: string[]): string {
  return path.join(box.agentDir, "sessions", ...parts);
}

/** A session file in the sessions directory whose header names `cwd`. */
function putSession(dir: string, name: string, cwd: string, mark = ""): string {
  fs.mkdirSync(sessionsPath(dir), { recursive: true });
  return writeLines(sessionsPath(dir, name), [headerLine({ cwd, mark })]);
}

function defaultName(cwd: string): string {
  return path.basename(SessionManager.getDefaultSessionDir(cwd));
}

describe("base directories", () => {
  it("live in the agent directory", () => {
    expect(getAgentDir()).toBe(box.agentDir);
    expect(getSessionsDir()).toBe(path.join(box.agentDir, "sessions"));
    expect(getBlobsDir()).toBe(path.join(box.agentDir, "blobs"));
    expect(getTerminalSessionsDir()).toBe(path.join(box.agentDir, "terminal-sessions"));
    expect(getHistoryDbPath()).toBe(path.join(box.agentDir, "history.db"));
    expect(fs.existsSync(box.agentDir)).toBe(false);
  });

  it("follow the home directory, the name of the configuration directory and both at once", () => {
    delete process.env.PI_CODING_AGENT_DIR;
    const home = spyHome("home");
    expect(getAgentDir()).toBe(path.join(home, ".xcsh", "agent"));
    process.env.PI_CONFIG_DIR = ".other";
    expect(getSessionsDir()).toBe(path.join(home, ".other", "agent", "sessions"));
    process.env.PI_CONFIG_DIR = "";
    expect(getSessionsDir()).toBe(path.join(home, ".xcsh", "agent", "sessions"));
  });

  it("move with setAgentDir, for this process and its children", () => {
    const dir = box.path("other");
    expect(setAgentDir(dir)).toBeUndefined();
    expect(process.env.PI_CODING_AGENT_DIR).toBe(dir);
    expect(getAgentDir()).toBe(dir);
    expect(getBlobsDir()).toBe(path.join(dir, "blobs"));
    setAgentDir(path.join(dir, "..", "tidy", ""));
    expect(getAgentDir()).toBe(box.path("tidy"));
    setAgentDir("relative");
    expect(getAgentDir()).toBe(path.resolve("relative"));
    expect(path.isAbsolute(process.env.PI_CODING_AGENT_DIR ?? "")).toBe(true);
  });

  it("go back to the default with setAgentDir and a deleted variable", () => {
    const home = spyHome("home");
    setAgentDir(path.join(home, ".xcsh", "agent"));
    delete process.env.PI_CODING_AGENT_DIR;
    expect(getAgentDir()).toBe(path.join(home, ".xcsh", "agent"));
  });

  it("are joined to an explicit agent directory as it is given", () => {
    expect(getSessionsDir("/elsewhere")).toBe(path.join("/elsewhere", "sessions"));
    expect(getBlobsDir("relative/../dir")).toBe(path.join("dir", "blobs"));
    expect(getSessionsDir("")).toBe(path.join(box.agentDir, "sessions"));
    expect(getSessionsDir(undefined)).toBe(path.join(box.agentDir, "sessions"));
  });

  it("are redirected by XDG variables only while the agent directory is the default one", () => {
    const home = spyHome("home");
    const data = box.makeDir("data", "xcsh");
    const state = box.makeDir("state");
    process.env.XDG_DATA_HOME = path.dirname(data);
    process.env.XDG_STATE_HOME = state;
    expect(getSessionsDir()).toBe(path.join(box.agentDir, "sessions"));

    delete process.env.PI_CODING_AGENT_DIR;
    const agent = path.join(home, ".xcsh", "agent");
    expect(getSessionsDir()).toBe(path.join(data, "sessions"));
    expect(getBlobsDir()).toBe(path.join(data, "blobs"));
    expect(getHistoryDbPath()).toBe(path.join(data, "history.db"));
    expect(getSessionsDir(agent)).toBe(path.join(data, "sessions"));
    expect(getSessionsDir(box.path("x"))).toBe(box.path("x", "sessions"));
    // Its directory does not exist.
    expect(getTerminalSessionsDir()).toBe(path.join(agent, "terminal-sessions"));
    fs.mkdirSync(path.join(state, "xcsh"));
    expect(getTerminalSessionsDir()).toBe(path.join(state, "xcsh", "terminal-sessions"));

    process.env.PI_CODING_AGENT_DIR = agent;
    expect(getSessionsDir()).toBe(path.join(data, "sessions"));
  });

  it("refuse arguments that are no strings", async () => {
    expectInvalidArgument(await failureOf(() => setAgentDir(unchecked(undefined))), "dir");
    for (const get of [getSessionsDir, getBlobsDir, getTerminalSessionsDir, getHistoryDbPath]) {
      expectInvalidArgument(await failureOf(() => get(unchecked(5))), "agentDir");
    }
  });

  it("work without a working directory as long as no path is relative", () => {
    vi.spyOn(process, "cwd").mockImplementation(() => {
      throw new Error("ENOENT: no such file or directory, uv_cwd");
    });
    expect(getAgentDir()).toBe(box.agentDir);
    process.env.PI_CODING_AGENT_DIR = "relative";
    expect(() => getAgentDir()).toThrow(expect.objectContaining({ code: "ENOENT" }));
  });

  it.each(["node_modules/@oven/bun-linux-x64/bin/bun", "node_modules/bun-agent/bin/bun"])(
    "see a home directory replaced on the namespace object in %s",
    (binary) => {
      const script = path.join(root, "__test__/support/home-spy.bun.ts");
      const { PI_CODING_AGENT_DIR: _, ...env } = process.env;
      const child = spawnSync(path.join(root, binary), ["test", script], { encoding: "utf8", env });
      expect(child.stderr).toContain(" 1 pass");
      expect(child.status).toBe(0);
    },
  );
});

describe("names of session directories", () => {
  it("are relative to home and to the directory for temporary files", () => {
    const home = spyHome("home");
    vi.spyOn(os, "tmpdir").mockReturnValue(box.makeDir("temp"));
    expect(defaultName(home)).toBe("-");
    expect(defaultName(path.join(home, "p", "q"))).toBe("-p-q");
    expect(defaultName(path.join(home, "..x"))).toBe("-..x");
    expect(defaultName(box.path("temp"))).toBe("-tmp");
    expect(defaultName(box.path("temp", "a"))).toBe("-tmp-a");
    expect(defaultName(`${home}-sibling`)).toBe(legacyName(`${home}-sibling`));
  });

  it("follow a changed TMPDIR", () => {
    process.env.TMPDIR = box.makeDir("temp");
    try {
      expect(defaultName(box.path("temp", "a"))).toBe("-tmp-a");
    } finally {
      delete process.env.TMPDIR;
    }
  });

  it("are those of the real directory when it is reached through a link", () => {
    const home = spyHome("home");
    fs.mkdirSync(path.join(home, "p"));
    fs.symlinkSync(path.join(home, "p"), box.path("link"));
    fs.symlinkSync(home, box.path("home-link"));
    expect(defaultName(box.path("link"))).toBe("-p");
    vi.mocked(os.homedir).mockReturnValue(box.path("home-link"));
    expect(defaultName(path.join(home, "p"))).toBe("-p");
  });

  it("keep all characters but separators and colons", () => {
    const home = spyHome("home");
    const cases = [
      ["新聞", "-新聞"],
      ["暫存", "-暫存"],
      ["项目 🎉", "-项目 🎉"],
      ["a%b.", "-a%b."],
      ["~", "-~"],
      ["a\nb", "-a\nb"],
      ["a:b\\c", "-a-b-c"],
    ] as const;
    for (const [name, expected] of cases) {
      expect(defaultName(path.join(home, name))).toBe(expected);
    }
  });

  it("are made of relative paths too", () => {
    expect(SessionManager.getDefaultSessionDir("x/../y")).toBe(
      SessionManager.getDefaultSessionDir(path.resolve("y")),
    );
  });

  it("fit into a directory entry and stay apart when paths are very long", () => {
    const home = spyHome("home");
    const deep = path.join(home, ..."目录 ".repeat(50).trim().split(" "));
    const [one, two] = [defaultName(path.join(deep, "a")), defaultName(path.join(deep, "b"))];
    expect(one).not.toBe(two);
    for (const name of [one, two]) {
      expect(Buffer.byteLength(name)).toBeLessThanOrEqual(255);
      expect(name).toMatch(/^-目录-目录-.*-[0-9a-f]{16}$/);
      expect(fs.statSync(sessionsPath(name)).isDirectory()).toBe(true);
    }
    const exact = path.join(home, "x".repeat(254));
    expect(defaultName(exact)).toBe(`-${"x".repeat(254)}`);
  });
});

describe("getDefaultSessionDir", () => {
  it("creates the directory for its owner only", () => {
    const home = spyHome("home");
    const dir = SessionManager.getDefaultSessionDir(path.join(home, "p"));
    expect(dir).toBe(sessionsPath("-p"));
    expect(fs.statSync(dir).mode & 0o777).toBe(0o700);
    expect(fs.statSync(box.agentDir).mode & 0o777).toBe(0o700);
  });

  it("uses the sessions directory of an explicit agent directory", () => {
    const home = spyHome("home");
    const dir = SessionManager.getDefaultSessionDir(path.join(home, "p"), box.path("other"));
    expect(dir).toBe(box.path("other", "sessions", "-p"));
    expect(fs.existsSync(dir)).toBe(true);
  });

  it("creates the directory through a storage that is not ours", () => {
    const home = spyHome("home");
    const ensureDirSync = vi.fn();
    const dir = SessionManager.getDefaultSessionDir(
      path.join(home, "p"),
      undefined,
      unchecked({ ensureDirSync }),
    );
    expect(ensureDirSync.mock.calls).toEqual([[dir]]);
    expect(fs.existsSync(dir)).toBe(false);
  });

  it("throws what creating the directory throws, and accepts a file in its place", () => {
    const home = spyHome("home");
    fs.mkdirSync(box.agentDir);
    fs.writeFileSync(sessionsPath(), "a file");
    expect(() => SessionManager.getDefaultSessionDir(path.join(home, "p"))).toThrow(
      expect.objectContaining({ code: expect.stringMatching(/ENOTDIR|EEXIST/) }),
    );
    fs.rmSync(sessionsPath());
    fs.mkdirSync(sessionsPath());
    fs.writeFileSync(sessionsPath("-p"), "a file");
    expect(SessionManager.getDefaultSessionDir(path.join(home, "p"))).toBe(sessionsPath("-p"));
    expect(fs.readFileSync(sessionsPath("-p"), "utf8")).toBe("a file");
  });

  it("refuses arguments that are no strings", async () => {
    const get = SessionManager.getDefaultSessionDir;
    expectInvalidArgument(await failureOf(() => get(unchecked(undefined))), "cwd");
    expectInvalidArgument(await failureOf(() => get("/x", unchecked(5))), "agentDir");
  });
});

describe("sessions in directories with earlier names", () => {
  it("move to where their project looks for them", () => {
    const home = spyHome("home");
    const project = path.join(home, "p");
    const legacy = legacyName(project);
    const content = fs.readFileSync(putSession(legacy, "s.jsonl", project), "utf8");
    fs.mkdirSync(sessionsPath(legacy, "s"));
    fs.writeFileSync(sessionsPath(legacy, "s", "0.bash.log"), "artifact");
    putSession(legacyName(path.join(home, "other")), "o.jsonl", path.join(home, "other"));
    expect(SessionManager.getDefaultSessionDir(project)).toBe(sessionsPath("-p"));
    expect(fs.readdirSync(sessionsPath()).sort()).toEqual(["-other", "-p"]);
    expect(fs.readFileSync(sessionsPath("-p", "s.jsonl"), "utf8")).toBe(content);
    expect(fs.readFileSync(sessionsPath("-p", "s", "0.bash.log"), "utf8")).toBe("artifact");
  });

  it("move for temporary directories and for links to directories", () => {
    vi.spyOn(os, "tmpdir").mockReturnValue(box.makeDir("temp"));
    const project = box.makeDir("temp", "p");
    putSession(legacyName(project), "s.jsonl", project);
    fs.symlinkSync(project, box.path("link"));
    putSession(legacyName(box.path("link")), "l.jsonl", box.path("link"));
    SessionManager.getDefaultSessionDir(project);
    SessionManager.getDefaultSessionDir(box.path("link"));
    expect(fs.readdirSync(sessionsPath())).toEqual(["-tmp-p"]);
    expect(fs.readdirSync(sessionsPath("-tmp-p")).sort()).toEqual(["l.jsonl", "s.jsonl"]);
  });

  it("stay with a project beside home that has the same earlier name", async () => {
    const home = spyHome("u");
    const sibling = `${home}-x`;
    const theirs = putSession(legacyName(sibling), "theirs.jsonl", sibling);
    const inside = path.join(home, "x");
    putSession(legacyName(inside), "ours.jsonl", inside);
    expect(legacyName(inside)).toBe(legacyName(sibling));
    SessionManager.getDefaultSessionDir(home);
    expect(fs.existsSync(theirs)).toBe(true);
    const paths = async (cwd: string) =>
      (await SessionManager.list(cwd)).map((info) => path.basename(info.path));
    expect(await paths(sibling)).toEqual(["theirs.jsonl"]);
    expect(await paths(inside)).toEqual(["ours.jsonl"]);
  });

  it("never replace or lose a namesake, and are all listed", async () => {
    const home = spyHome("home");
    const project = path.join(home, "p");
    const legacy = legacyName(project);
    putSession(legacy, "same.jsonl", project, "old");
    putSession(legacy, "only.jsonl", project, "only");
    putSession("-p", "same.jsonl", project, "new");
    const infos = await SessionManager.list(project);
    const marks = infos.map((info) => JSON.parse(fs.readFileSync(info.path, "utf8")).mark);
    expect(marks.sort()).toEqual(["new", "old", "only"]);
    expect(fs.existsSync(sessionsPath(legacy))).toBe(false);
    expect(JSON.parse(fs.readFileSync(sessionsPath("-p", "same.jsonl"), "utf8")).mark).toBe("new");
  });

  it("keep a file that has the name of their directory", () => {
    const home = spyHome("home");
    const project = path.join(home, "p");
    putSession(legacyName(project), "s.jsonl", project);
    fs.writeFileSync(sessionsPath("-p"), "a file");
    SessionManager.getDefaultSessionDir(project);
    expect(fs.readdirSync(sessionsPath("-p"))).toEqual(["s.jsonl"]);
    expect(fs.readFileSync(sessionsPath("-p.aside-1"), "utf8")).toBe("a file");
  });

  it("are told to the logger when they cannot be moved", () => {
    const home = spyHome("home");
    const project = path.join(home, "p");
    // With a number this name would be too long.
    const longest = `${"x".repeat(249)}.jsonl`;
    const stays = putSession(legacyName(project), longest, project, "old");
    putSession("-p", longest, project, "new");
    const logger = vi.fn();
    setLogger(logger);
    SessionManager.getDefaultSessionDir(project);
    expect(fs.existsSync(stays)).toBe(true);
    expect(logger.mock.calls).toEqual([
      ["warn", expect.any(String), { err: expect.stringContaining("ENAMETOOLONG") }],
    ]);
  });

  it("survive several processes that start at the same moment", async () => {
    const home = box.makeDir("home");
    const project = path.join(home, "p");
    const legacy = legacyName(project);
    const marks = new Set<string>();
    for (let n = 0; n < 40; n++) {
      putSession(legacy, `${n}.jsonl`, project, `old ${n}`);
      marks.add(`old ${n}`);
      if (n % 4 === 0) {
        putSession("-p", `${n}.jsonl`, project, `new ${n}`);
        marks.add(`new ${n}`);
      }
    }
    const moment = `${Date.now() + 1500}`;
    const script = path.join(import.meta.dirname, "support/scripts/prepare-dirs.cjs");
    const codes = await Promise.all(
      [0, 1, 2].map(
        () =>
          new Promise((resolve) => {
            const env = { ...process.env, HOME: home };
            const child = spawn(process.execPath, [script, moment, project, home], { env });
            child.on("close", resolve);
          }),
      ),
    );
    expect(codes).toEqual([0, 0, 0]);
    expect(fs.existsSync(sessionsPath(legacy))).toBe(false);
    const found = fs
      .readdirSync(sessionsPath("-p"))
      .map((name) => JSON.parse(fs.readFileSync(sessionsPath("-p", name), "utf8")).mark);
    expect(new Set(found)).toEqual(marks);
    expect(found).toHaveLength(marks.size);
  });
});

describe("the directory that a session moves to", () => {
  it("is beside one that is named after the old project, in either style", () => {
    const home = spyHome("home");
    const [from, to] = [path.join(home, "a"), path.join(home, "b")];
    for (const name of ["-a", legacyName(from)]) {
      const target = directories.moveTarget(box.path("custom", name), from, to);
      expect(target).toBe(box.path("custom", "-b"));
      expect(fs.existsSync(target)).toBe(true);
    }
  });

  it("is the default one otherwise", () => {
    const home = spyHome("home");
    const [from, to] = [path.join(home, "a"), path.join(home, "b")];
    expect(directories.moveTarget(box.path("custom"), from, to)).toBe(sessionsPath("-b"));
    expect(directories.moveTarget("", from, to)).toBe(sessionsPath("-b"));
  });
});
