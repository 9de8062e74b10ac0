import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { getTerminalId, getTerminalSessionsDir, setAgentDir, setLogger } from "../index.js";
import breadcrumbs from "../js/breadcrumbs.js";
import { unchecked } from "./support/loose.js";
import { useSandbox } from "./support/sandbox.js";

const { readBreadcrumb, writeBreadcrumb } = breadcrumbs;
const box = useSandbox();
const root = path.join(import.meta.dirname, "..");

afterEach(() => {
  vi.restoreAllMocks();
  setLogger(undefined);
});

function crumbPath(id = "tmux-%7"): string {
  return path.join(getTerminalSessionsDir(), id);
}

function putCrumb(content: string): void {
  fs.mkdirSync(getTerminalSessionsDir(), { recursive: true });
  fs.writeFileSync(crumbPath(), content);
}

function putSession(name = "s.jsonl"): string {
  const file = box.path(name);
  fs.writeFileSync(file, "");
  return file;
}

// Test runners give their workers no terminal, so the variables decide here.
describe("the terminal's id", () => {
  it("is the first window id that the environment offers", () => {
    expect(getTerminalId()).toBeNull();
    process.env.WT_SESSION = "guid";
    expect(getTerminalId()).toBe("wt-guid");
    process.env.TERM_SESSION_ID = "w0t0p0:AB";
    expect(getTerminalId()).toBe("apple-w0t0p0:AB");
    process.env.TMUX_PANE = "%7";
    expect(getTerminalId()).toBe("tmux-%7");
    process.env.KITTY_WINDOW_ID = "12";
    expect(getTerminalId()).toBe("kitty-12");
    process.env.KITTY_WINDOW_ID = "";
    expect(getTerminalId()).toBe("tmux-%7");
  });

  it("never leads out of its directory", async () => {
    process.env.TMUX_PANE = "../../%7";
    expect(getTerminalId()).toBe("tmux-..-..-%7");
    const file = putSession();
    writeBreadcrumb(box.dir, file);
    expect(await readBreadcrumb(box.dir)).toBe(file);
    expect(fs.readdirSync(getTerminalSessionsDir())).toEqual(["tmux-..-..-%7"]);
  });

  it("is the device of standard input when that is a terminal", () => {
    const script = `console.log(require(${JSON.stringify(path.join(root, "index.js"))}).getTerminalId())`;
    const command = `'${process.execPath}' -e '${script}'`;
    const env = { ...process.env, TMUX_PANE: "%7" };
    const child = spawnSync("script", ["-qec", command, "/dev/null"], { encoding: "utf8", env });
    expect(child.stdout.trim()).toMatch(/^pts-\d+$/);
  });
});

describe("a breadcrumb", () => {
  it("is written and read back", async () => {
    process.env.TMUX_PANE = "%7";
    const file = putSession("with space.jsonl");
    expect(writeBreadcrumb(box.dir, file)).toBeUndefined();
    expect(await readBreadcrumb(box.dir)).toBe(file);
    expect(fs.readFileSync(crumbPath(), "utf8")).toBe(`${box.dir}\n${file}\n`);
    expect(fs.statSync(crumbPath()).mode & 0o777).toBe(0o600);
    expect(fs.statSync(getTerminalSessionsDir()).mode & 0o777).toBe(0o700);
  });

  it("is the last one of many written in quick succession", async () => {
    process.env.TMUX_PANE = "%7";
    const files = Array.from({ length: 50 }, (_, n) => putSession(`${n}.jsonl`));
    for (const file of files) {
      writeBreadcrumb(box.dir, file);
    }
    expect(await readBreadcrumb(box.dir)).toBe(files.at(-1));
    expect(fs.readdirSync(getTerminalSessionsDir())).toEqual(["tmux-%7"]);
  });

  it("goes to the terminal and the agent directory of the moment it was left", async () => {
    const file = putSession();
    process.env.TMUX_PANE = "%7";
    writeBreadcrumb(box.dir, file);
    process.env.TMUX_PANE = "%8";
    setAgentDir(box.path("elsewhere"));
    expect(await readBreadcrumb(box.dir)).toBeUndefined();
    expect(fs.existsSync(path.join(box.agentDir, "terminal-sessions", "tmux-%7"))).toBe(true);
    expect(fs.existsSync(getTerminalSessionsDir())).toBe(false);
  });

  it("is neither written nor read without a terminal", async () => {
    writeBreadcrumb(box.dir, putSession());
    expect(await readBreadcrumb(box.dir)).toBeUndefined();
    expect(fs.existsSync(getTerminalSessionsDir())).toBe(false);
  });

  it("that cannot be written is no error", async () => {
    process.env.TMUX_PANE = "%7";
    fs.writeFileSync(box.agentDir, "a file");
    writeBreadcrumb(box.dir, putSession());
    writeBreadcrumb(unchecked(undefined), unchecked(undefined));
    expect(await readBreadcrumb(box.dir)).toBeUndefined();
  });

  it("counts only for its own directory, and while its file exists", async () => {
    process.env.TMUX_PANE = "%7";
    const file = putSession();
    const link = box.path("link.jsonl");
    fs.symlinkSync(file, link);
    const cases = [
      [`${box.dir}\n${file}\n`, file],
      [`${box.dir}/x/..\n${file}\n`, file],
      [`${box.dir}\n${file}`, file],
      [`${box.dir}\n${file}\nfresh\ncwdstat 1 2\n`, file],
      [`${box.dir}\n${link}\n`, link],
      [`${box.dir}x\n${file}\n`, undefined],
      [`${box.dir}\n${file}.gone\n`, undefined],
      [`${box.dir}\n${box.dir}\n`, undefined],
      [`${box.dir}\r\n${file}\r\n`, undefined],
      [`${box.dir}\n`, undefined],
      ["", undefined],
    ] as const;
    for (const [content, expected] of cases) {
      putCrumb(content);
      expect(await readBreadcrumb(box.dir), JSON.stringify(content)).toBe(expected);
    }
    fs.rmSync(crumbPath());
    expect(await readBreadcrumb(box.dir)).toBeUndefined();
  });

  it("that cannot be read is told to the logger, a missing one is not", async () => {
    process.env.TMUX_PANE = "%7";
    const logger = vi.fn();
    setLogger(logger);
    expect(await readBreadcrumb(box.dir)).toBeUndefined();
    expect(logger).not.toHaveBeenCalled();
    fs.mkdirSync(crumbPath(), { recursive: true });
    expect(await readBreadcrumb(box.dir)).toBeUndefined();
    expect(logger.mock.calls).toEqual([
      ["debug", "Terminal breadcrumb read failed", { err: expect.any(Error) }],
    ]);
  });
});
