// Repaired copies: `session-manager-native doctor --repair` and the function behind it.

import * as fs from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { examineSession, repairSession, SessionManager } from "../index.js";
import { runCli } from "./support/cli.js";
import { useSandbox } from "./support/sandbox.js";
import { headerLine, messageLine, smallSession } from "./support/session-files.js";

const sandbox = useSandbox();

const text = (lines: unknown[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join("");
const WHOLE = text(smallSession());
const TORN = `${WHOLE}{"type":"mess`;

function write(name: string, content: string | Uint8Array): string {
  const file = sandbox.path(name);
  fs.writeFileSync(file, content);
  return file;
}

async function repairableKinds(file: string) {
  const { findings } = await examineSession(file, { blobsDir: null });
  return findings.filter(({ repairable }) => repairable).map(({ kind }) => kind);
}

describe("repairSession", () => {
  it("writes a copy beside the file and leaves the file alone", async () => {
    const file = write("s.jsonl", TORN);
    expect(await repairSession(file)).toEqual({
      path: sandbox.path("s.repaired.jsonl"),
      entries: 2,
      recoveredEntries: 0,
      relinkedEntries: 0,
      renamedEntries: 0,
      duplicatesLeftOut: 0,
      bytesLeftOut: 13,
      headerMade: false,
    });
    expect(fs.readFileSync(file, "utf8")).toBe(TORN);
    const copy = fs.readFileSync(sandbox.path("s.repaired.jsonl"), "utf8");
    expect(copy.replace(/ +\n/, "\n")).toBe(WHOLE);
    expect(await repairableKinds(sandbox.path("s.repaired.jsonl"))).toEqual([]);
  });

  it("makes a copy that can be gone on with", async () => {
    const [, first] = smallSession();
    const third = messageLine("aaaaaaa3", "aaaaaaa2", { role: "user", content: "more" }, 3);
    // The header is torn, and what the last entry hangs from is lost.
    const file = write("s.jsonl", `{"type":"session","ver\n${text([first])}junk\n${text([third])}`);
    const { path, headerMade, relinkedEntries } = await repairSession(
      file,
      sandbox.path("out.jsonl"),
      { cwd: "/work/elsewhere" },
    );
    expect({ headerMade, relinkedEntries }).toEqual({ headerMade: true, relinkedEntries: 1 });
    const manager = await SessionManager.open(path);
    expect(manager.getCwd()).toBe("/work/elsewhere");
    expect(manager.getBranch().map(({ id }) => id)).toEqual(["aaaaaaa1", "aaaaaaa3"]);
    expect(manager.getLoadReport()).toMatchObject({ skippedLines: 0, headerSalvaged: false });
    await manager.close();
  });

  it("never replaces a file", async () => {
    const file = write("s.jsonl", TORN);
    const taken = write("taken.jsonl", "precious");
    await expect(repairSession(file, taken)).rejects.toMatchObject({ code: "EEXIST" });
    await expect(repairSession(file, file)).rejects.toMatchObject({ code: "EEXIST" });
    expect(fs.readFileSync(taken, "utf8")).toBe("precious");
    expect(fs.readFileSync(file, "utf8")).toBe(TORN);
  });

  it("makes nothing of files that are no sessions, and refuses wrong arguments", async () => {
    const file = write("s.jsonl", "junk\n");
    await expect(repairSession(file)).rejects.toMatchObject({ code: "INVALID_SESSION_FILE" });
    await expect(repairSession(sandbox.path("none"))).rejects.toMatchObject({ code: "ENOENT" });
    await expect(repairSession(5 as never)).rejects.toBeInstanceOf(TypeError);
    await expect(repairSession(file, 5 as never)).rejects.toBeInstanceOf(TypeError);
    expect(fs.readdirSync(sandbox.dir)).toEqual(["s.jsonl"]);
  });

  it("keeps every line that damage left whole", async () => {
    const spot = fc.record({ at: fc.nat(), length: fc.nat(120), byte: fc.nat(255) });
    let run = 0;
    const lines = Array.from({ length: 12 }, (_, at) => {
      const parent = at === 0 ? null : `id${at - 1}`;
      return JSON.stringify(
        messageLine(`id${at}`, parent, { role: "user", content: `m${at}` }, at),
      );
    });
    const whole = Buffer.from(`${[JSON.stringify(headerLine()), ...lines].join("\n")}\n`);
    await fc.assert(
      fc.asyncProperty(fc.array(spot, { minLength: 1, maxLength: 4 }), async (spots) => {
        const bytes = Buffer.from(whole);
        for (const { at, length, byte } of spots) {
          const start = at % bytes.length;
          bytes.fill(byte, start, Math.min(bytes.length, start + length));
        }
        run += 1;
        const file = write(`s${run}.jsonl`, bytes);
        const { path } = await repairSession(file);
        expect(fs.readFileSync(file).equals(bytes)).toBe(true);
        expect(await repairableKinds(path)).toEqual([]);
        const copied = fs.readFileSync(path, "utf8").split("\n");
        // Links may change, and an id that damage to another entry made its own.
        const withoutLink = (line: string) => line.replace(/"(parentId|id)":(null|"[^"]*")/g, "");
        const kept = new Set(copied.map(withoutLink));
        const left = new Set(bytes.toString("latin1").split("\n"));
        for (const line of lines) {
          if (left.has(line)) {
            expect(kept).toContain(withoutLink(line));
          }
        }
      }),
      { numRuns: 60 },
    );
  });
});

describe("doctor --repair", () => {
  it("ends with 0 when everything was mended, and says what was done", async () => {
    const file = write("s.jsonl", TORN);
    const { code, stdout } = await runCli(["doctor", "--repair", file]);
    expect(code).toBe(0);
    expect(stdout).toContain(
      `repaired copy: ${sandbox.path("s.repaired.jsonl")} (2 entries, 13 bytes left out)`,
    );
    expect(stdout).toContain("1 of them mended in 1 copy.");
  });

  it("ends with 1 when something is left", async () => {
    const result = messageLine("r", "aaaaaaa2", { role: "toolResult", toolCallId: "c" });
    const file = write("s.jsonl", `junk\n${WHOLE}${text([result])}`);
    const { code, stdout } = await runCli(["doctor", "--repair", "--json", file]);
    expect(code).toBe(1);
    const { files, summary } = JSON.parse(stdout);
    expect(files[0].repair).toMatchObject({ path: sandbox.path("s.repaired.jsonl"), entries: 3 });
    expect(summary).toMatchObject({ findings: 2, mended: 1, repaired: 1, notRepaired: 0 });
  });

  it("ends with 3 when there is a copy already", async () => {
    const file = write("s.jsonl", TORN);
    const copy = write("s.repaired.jsonl", "precious");
    const { code, stdout } = await runCli(["doctor", "--repair", file]);
    expect(code).toBe(3);
    expect(stdout).toContain(`no repaired copy: File already exists: ${copy}`);
    expect(fs.readFileSync(copy, "utf8")).toBe("precious");
  });

  it("writes where it is told, and nothing for whole files", async () => {
    const torn = write("torn.jsonl", TORN);
    const whole = write("whole.jsonl", WHOLE);
    const output = sandbox.path("new", "mended.jsonl");
    expect((await runCli(["doctor", "--repair", "--output", output, torn])).code).toBe(0);
    expect(await repairableKinds(output)).toEqual([]);
    expect((await runCli(["doctor", "--repair", whole])).code).toBe(0);
    expect(fs.readdirSync(sandbox.dir).sort()).toEqual(["new", "torn.jsonl", "whole.jsonl"]);
  });
});
