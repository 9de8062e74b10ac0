// `session-manager-native doctor` and the function behind it.

import * as fs from "node:fs";
import * as path from "node:path";
import { describe, expect, it } from "vitest";

import * as pkg from "../index.js";
import main from "../js/cli/main.js";
import { memoryStream, runCli } from "./support/cli.js";
import { useSandbox } from "./support/sandbox.js";
import { messageLine, smallSession } from "./support/session-files.js";

const sandbox = useSandbox();

interface Finding {
  kind: string;
  line: number;
  offset: number;
  message: string;
  path?: string;
}

const text = (lines: unknown[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join("");
const WHOLE = text(smallSession());
const TORN = `${WHOLE}{"type":"mess`;

function write(name: string, content: string): string {
  const file = sandbox.path(name);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, content);
  return file;
}

async function report(args: string[]) {
  const { code, stdout, stderr } = await runCli(["doctor", "--json", ...args]);
  expect(stderr).toBe("");
  return { code, ...JSON.parse(stdout) };
}

describe("examineSession", () => {
  it("finds nothing in a whole file", async () => {
    const file = write("s.jsonl", WHOLE);
    expect(await pkg.examineSession(file)).toEqual({
      size: Buffer.byteLength(WHOLE),
      sessionId: "15e1be0f427b9866",
      formatVersion: 3,
      entries: 2,
      findings: [],
    });
  });

  it("tells places, and changes nothing", async () => {
    const file = write("s.jsonl", TORN);
    const before = fs.statSync(file);
    const { findings } = await pkg.examineSession(file);
    expect(findings).toEqual([
      {
        kind: "torn-tail",
        message: "the last line is torn: 13 bytes of it are left",
        repairable: true,
        line: 4,
        offset: Buffer.byteLength(WHOLE),
        length: 13,
      },
    ]);
    expect(fs.readFileSync(file, "utf8")).toBe(TORN);
    expect(fs.statSync(file).mtimeMs).toBe(before.mtimeMs);
    expect(fs.readdirSync(sandbox.dir)).toEqual(["s.jsonl"]);
  });

  it("looks for blobs where it is told", async () => {
    const image = [{ type: "image", data: `blob:sha256:${"0".repeat(64)}`, mimeType: "image/png" }];
    const lines = [
      ...smallSession(),
      messageLine("aaaaaaa3", "aaaaaaa2", { role: "user", content: image }, 3),
    ];
    const file = write("s.jsonl", text(lines));
    const kinds = async (options?: { blobsDir?: string | null }) => {
      const { findings } = await pkg.examineSession(file, options);
      return findings.map(({ kind }) => kind);
    };
    expect(await kinds()).toEqual(["missing-blob"]);
    expect(await kinds({ blobsDir: null })).toEqual([]);
    expect(await kinds({ blobsDir: sandbox.path("none") })).toEqual(["missing-blob"]);
  });

  it("rejects what cannot be read, and wrong arguments", async () => {
    await expect(pkg.examineSession(sandbox.path("none"))).rejects.toMatchObject({
      code: "ENOENT",
    });
    await expect(pkg.examineSession(sandbox.dir)).rejects.toMatchObject({ code: "EISDIR" });
    await expect(pkg.examineSession(5 as never)).rejects.toBeInstanceOf(TypeError);
    await expect(pkg.examineSession("x", { blobsDir: 5 as never })).rejects.toBeInstanceOf(
      TypeError,
    );
  });
});

describe("doctor", () => {
  it("ends with 0 for whole files and with 1 for findings", async () => {
    const whole = write("a.jsonl", WHOLE);
    const torn = write("b.jsonl", TORN);
    expect(await runCli(["doctor", whole])).toEqual({
      code: 0,
      stdout: "1 file, nothing wrong.\n",
      stderr: "",
    });
    const { code, stdout } = await runCli(["doctor", whole, torn]);
    expect(code).toBe(1);
    expect(stdout).toBe(
      `${torn}: 2 entries, 1 finding\n` +
        `  line 4, byte ${WHOLE.length}: the last line is torn: 13 bytes of it are left [torn-tail]\n` +
        "2 files, 1 finding in 1 file.\n",
    );
  });

  it("prints one JSON document", async () => {
    const torn = write("b.jsonl", TORN);
    const { code, ...document } = await report([torn]);
    expect(code).toBe(1);
    expect(document).toEqual({
      shape: 1,
      command: "doctor",
      files: [{ path: torn, ...(await pkg.examineSession(torn)) }],
      leftovers: [],
      failures: [],
      summary: {
        files: 1,
        filesWithFindings: 1,
        findings: 1,
        mended: 0,
        repaired: 0,
        notRepaired: 0,
        unreadable: 0,
      },
    });
  });

  it("looks through folders, and leaves out artifacts", async () => {
    write("p/one.jsonl", WHOLE);
    write("p/one/Task.jsonl", "junk");
    write("p/q/two.jsonl", TORN);
    write("p/q/.two.jsonl.0123456789abcdef.tmp", "");
    write("p/q/.gone.jsonl.0123456789abcdef.tmp", "");
    const { code, files, leftovers } = await report([sandbox.path("p")]);
    expect(code).toBe(1);
    const seen = files.map(({ path: file, findings }: { path: string; findings: Finding[] }) => [
      path.relative(sandbox.dir, file),
      findings.map(({ kind }) => kind),
    ]);
    expect(seen).toEqual([
      ["p/one.jsonl", []],
      ["p/q/two.jsonl", ["torn-tail", "leftover-temp"]],
    ]);
    expect(leftovers.map(({ path: file }: Finding) => path.basename(file ?? ""))).toEqual([
      ".gone.jsonl.0123456789abcdef.tmp",
    ]);
  });

  it("ends with 3 when something cannot be read, and examines the rest", async () => {
    const torn = write("b.jsonl", TORN);
    const { code, stdout } = await runCli(["doctor", sandbox.path("none"), torn]);
    expect(code).toBe(3);
    expect(stdout).toContain("torn-tail");
    expect(stdout).toContain(`${sandbox.path("none")}: cannot be read`);
    expect(stdout).toContain("1 could not be read");
  });

  it("shows some findings of a kind, or all", async () => {
    const file = write("s.jsonl", WHOLE + "junk\n".repeat(30));
    const lines = async (args: string[]) => {
      const { stdout } = await runCli(["doctor", ...args, file]);
      return stdout.split("\n").filter((line) => line.includes("[damaged-line]")).length;
    };
    expect(await lines([])).toBe(10);
    expect(await lines(["--verbose"])).toBe(30);
    expect((await runCli(["doctor", file])).stdout).toContain("… and 20 more");
  });

  it("escapes what controls a terminal", async () => {
    const evil = "\u001b]0;evil\u0007";
    const entry = messageLine("x", evil, { role: "user", content: "x" });
    const file = write("s.jsonl", WHOLE + text([entry]));
    const { stdout } = await runCli(["doctor", file]);
    expect(stdout).not.toContain("\u001b");
    expect(stdout).toContain("\\u001b]0;evil\\u0007");
  });
});

describe("the command line", () => {
  it.each([
    [[]],
    [["cure"]],
    [["doctor"]],
    [["doctor", "--frobnicate", "x"]],
    [["doctor", "--blobs"]],
    [["doctor", "--output", "x", "y"]],
    [["doctor", "--repair", "--output", "x", "y", "z"]],
    [["doctor", "--repair", "--output", "x", "."]],
  ])("ends with 2 for %j", async (args) => {
    const { code, stdout, stderr } = await runCli(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^session-manager-native: .+\nTry "session-manager-native --help"\.\n$/);
  });

  it("helps and tells its version", async () => {
    const help = await runCli(["--help"]);
    expect(help.code).toBe(0);
    expect(help.stdout).toContain("doctor");
    const about = await runCli(["doctor", "--help"]);
    expect(about.stdout).toContain("--no-blobs");
    const manifest = new URL("../package.json", import.meta.url);
    const { version } = JSON.parse(fs.readFileSync(manifest, "utf8"));
    expect((await runCli(["--version"])).stdout).toBe(`${version}\n`);
  });

  it("is not upset by a reader that goes away", async () => {
    const file = write("s.jsonl", WHOLE + "junk\n".repeat(20_000));
    const { stderr } = await runCli(["doctor", "-v", file], { closeStdout: true });
    expect(stderr).toBe("");
  });

  it("has colours and progress on terminals only", async () => {
    const files = [write("a.jsonl", TORN), write("b.jsonl", TORN)];
    const said = async (isTTY: boolean, env = {}) => {
      const host = { stdout: memoryStream(isTTY), stderr: memoryStream(isTTY), env };
      expect(await main.run(["doctor", ...files], host)).toBe(1);
      return { stdout: host.stdout.text, stderr: host.stderr.text };
    };
    const terminal = await said(true);
    expect(terminal.stdout).toContain("\u001b[33m1 finding\u001b[39m");
    expect(terminal.stderr).toContain("\rExamined: 2 of 2");
    expect(terminal.stderr).toMatch(/\r +\r$/);
    expect((await said(true, { NO_COLOR: "1" })).stdout).not.toContain("\u001b");
    const piped = await said(false);
    expect(piped.stdout).not.toContain("\u001b");
    expect(piped.stderr).toBe("");
  });
});
