import { appendFileSync, readFileSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { SessionManager } from "../index.js";
import {
  A,
  chain,
  contextOf,
  damagedLinesOf,
  H,
  idsOf,
  jsonl,
  LINEAR4,
  linesOf,
  REOPEN,
  U,
  useSandbox,
  writeSession,
  X,
} from "./support/fixtures.js";

const sandbox = useSandbox();
const path = () => join(sandbox(), "dir", "s.jsonl");
const APPENDED = "new-user new-assistant";

describe("a file whose last line is torn", () => {
  /** Checks one torn file: what is whole loads, and going on loses nothing. */
  async function expectContinuable(bytes: Buffer, whole: string) {
    writeSession(path(), bytes);
    const manager = await SessionManager.open(path());
    expect(contextOf(manager)).toBe(whole);
    expect(manager.getLoadReport()).toMatchObject({ tornTail: true });
    await manager.close();
    expect(readFileSync(path()).equals(bytes)).toBe(true);

    const reopened = await REOPEN(path());
    expect(contextOf(reopened)).toBe(`${whole} ${APPENDED}`);
    expect(reopened.getTree()).toHaveLength(1);
    const after = readFileSync(path());
    expect(after.subarray(0, bytes.length).equals(bytes)).toBe(true);
    expect(after[bytes.length]).toBe(0x0a);
    expect(damagedLinesOf(path()).length).toBeLessThanOrEqual(1);
    await reopened.close();
  }

  it("goes on behind it, wherever the last line was cut", async () => {
    const kept = Buffer.from(jsonl(LINEAR4().slice(0, -1)));
    const last = Buffer.from(JSON.stringify(A("a2", "u2")));
    for (let cut = 1; cut < last.length; cut++) {
      await expectContinuable(Buffer.concat([kept, last.subarray(0, cut)]), "u1 a1 u2");
    }
  }, 120_000);

  it("goes on behind it, wherever a four-byte character was cut", async () => {
    const kept = Buffer.from(jsonl(LINEAR4()));
    const last = Buffer.from(JSON.stringify(U("u3 🎉", "a2")));
    const emoji = last.indexOf(Buffer.from("🎉"));
    for (const cut of [0, 1, 2, 3, 4]) {
      const torn = last.subarray(0, emoji + cut);
      await expectContinuable(Buffer.concat([kept, torn]), "u1 a1 u2 a2");
    }
  });

  it("goes on also when nothing but the header is whole", async () => {
    const torn = Buffer.from(`${jsonl([H()])}{"type":"message","id":"u1"`);
    writeSession(path(), torn);
    const reopened = await REOPEN(path());
    expect(contextOf(reopened)).toBe(APPENDED);
    expect(readFileSync(path()).subarray(0, torn.length).equals(torn)).toBe(true);
  });

  it("goes on a second time after a second torn line", async () => {
    writeSession(path(), `${jsonl(LINEAR4())}{"type":"mess`);
    await (await REOPEN(path())).close();
    truncateSync(path(), statSync(path()).size - 20);
    const reopened = await REOPEN(path());
    expect(contextOf(reopened)).toBe(`u1 a1 u2 a2 new-user ${APPENDED}`);
  });

  it("tells how much was skipped", async () => {
    const torn = '{"type":"message","id":"torn","parentId":"m299","mess';
    writeSession(path(), jsonl(chain(300)) + torn);
    const manager = await SessionManager.open(path());
    expect(manager.getEntries()).toHaveLength(300);
    expect(manager.getLoadReport()).toEqual({
      entries: 300,
      skippedLines: 1,
      skippedBytes: torn.length,
      recoveredEntries: 0,
      headerSalvaged: false,
      tornTail: true,
    });
  });

  it("is told apart from a file without damage", async () => {
    writeSession(path(), LINEAR4());
    expect((await SessionManager.open(path())).getLoadReport()).toEqual({
      entries: 4,
      skippedLines: 0,
      skippedBytes: 0,
      recoveredEntries: 0,
      headerSalvaged: false,
      tornTail: false,
    });
  });
});

describe("a file without a final line feed", () => {
  it("loads its last line, and an append starts a line of its own", async () => {
    const text = jsonl(LINEAR4()).slice(0, -1);
    writeSession(path(), text);
    expect(contextOf(await SessionManager.open(path()))).toBe("u1 a1 u2 a2");
    const reopened = await REOPEN(path());
    expect(contextOf(reopened)).toBe(`u1 a1 u2 a2 ${APPENDED}`);
    expect(idsOf(reopened)).toHaveLength(6);
    expect(readFileSync(path(), "utf8").startsWith(`${text}\n{`)).toBe(true);
    expect(damagedLinesOf(path())).toEqual([]);
  });

  it("is not changed by opening and closing", async () => {
    const text = jsonl(LINEAR4()).slice(0, -1);
    writeSession(path(), text);
    const manager = await SessionManager.open(path());
    await manager.flush();
    await manager.close();
    expect(readFileSync(path(), "utf8")).toBe(text);
  });

  it("may end in a header", async () => {
    writeSession(path(), JSON.stringify(H()));
    expect(contextOf(await REOPEN(path()))).toBe(APPENDED);
    expect(linesOf(path())).toHaveLength(3);
    expect(linesOf(path())[0]).toBe(JSON.stringify(H()));
  });
});

describe("damaged bytes between good lines", () => {
  it("of a run of NULs cost nothing else", async () => {
    writeSession(path(), [
      H(),
      U("u1", null),
      A("a1", "u1"),
      "\0".repeat(300),
      U("u2", "a1"),
      A("a2", "u2"),
    ]);
    const manager = await SessionManager.open(path());
    expect(contextOf(manager)).toBe("u1 a1 u2 a2");
    expect(manager.getLoadReport()).toMatchObject({ entries: 4, tornTail: false });
    expect(contextOf(await REOPEN(path()))).toBe(`u1 a1 u2 a2 ${APPENDED}`);
  });

  it("of a run of NULs at the end are left where they are", async () => {
    const bytes = Buffer.from(jsonl(LINEAR4()) + "\0".repeat(4096));
    writeSession(path(), bytes);
    expect(contextOf(await REOPEN(path()))).toBe(`u1 a1 u2 a2 ${APPENDED}`);
    expect(readFileSync(path()).subarray(0, bytes.length).equals(bytes)).toBe(true);
  });

  const [, u1, a1, u2, a2] = LINEAR4().map((line) => JSON.stringify(line));
  for (const [what, line] of [
    ["two records on one line", `${a1}${u2}`],
    ["two records with a space between", `${a1} ${u2}`],
    ["a record behind a torn piece", `{"type":"message","id":"x","par${a1}\n${u2}`],
    ["a record behind a run of NULs", `${"\0".repeat(700)}${a1}\n${u2}`],
    ["a record in front of a run of NULs", `${a1}${"\0".repeat(700)}\n${u2}`],
    ["records behind a torn piece and NULs", `{"type":"mess${"\0".repeat(9)}${a1}${u2}`],
  ] as const) {
    it(`do not cost whole entries: ${what}`, async () => {
      writeSession(path(), [H(), u1 as string, line, a2 as string]);
      const before = readFileSync(path(), "utf8");
      const manager = await SessionManager.open(path());
      expect(contextOf(manager)).toBe("u1 a1 u2 a2");
      expect(manager.getLoadReport().recoveredEntries).toBeGreaterThan(0);
      await manager.close();
      expect(readFileSync(path(), "utf8")).toBe(before);
      await (await REOPEN(path())).rewriteEntries();
      expect(contextOf(await SessionManager.open(path()))).toBe(`u1 a1 u2 a2 ${APPENDED}`);
    });
  }

  it("of one line in the middle hide nothing behind it", async () => {
    const lines = chain(999);
    lines.splice(500, 0, X("x", "m499"));
    writeSession(path(), lines);
    expect((await SessionManager.open(path())).getEntries()).toHaveLength(1000);
    lines[500] = '{"type":"custom","id":"x"';
    writeSession(path(), lines);
    const before = readFileSync(path());
    const manager = await SessionManager.open(path());
    expect(manager.getEntries()).toHaveLength(999);
    expect(manager.buildSessionContext().messages).toHaveLength(999);
    expect(manager.getLoadReport()).toMatchObject({ entries: 999, skippedLines: 1 });
    await manager.close();
    expect(readFileSync(path()).equals(before)).toBe(true);
  });

  it("split by a real line feed inside a string become no entries", async () => {
    const broken = JSON.stringify(U("split", "u1")).replace("split", "spl\nit");
    writeSession(path(), [H(), U("u1", null), broken, A("a1", "split"), U("u2", "a1")]);
    const manager = await SessionManager.open(path());
    expect(idsOf(manager)).toEqual(["u1", "a1", "u2"]);
    expect(contextOf(manager)).toBe("a1 u2");
    expect(manager.getLoadReport().skippedLines).toBe(2);
    const again = await REOPEN(path());
    expect(contextOf(again)).toBe(`a1 u2 ${APPENDED}`);
  });

  for (const [what, line] of [
    [
      "a raw tab in a string",
      JSON.stringify(U("tab", "u1")).replace('"content":"', '"content":"\t'),
    ],
    ["single quotes", "{'type':'message'}"],
    ["a trailing comma", '{"type":"message","id":"c",}'],
    ["a number with a leading zero", '{"type":"message","id":"c","n":01}'],
    ["invalid UTF-8", Buffer.from([0x7b, 0xff, 0xfe, 0x7d]).toString("latin1")],
  ] as const) {
    it(`cost one line only: ${what}`, async () => {
      writeSession(path(), [H(), U("u1", null), line, A("a1", "u1"), U("u2", "a1")]);
      const manager = await SessionManager.open(path());
      expect(idsOf(manager)).toEqual(["u1", "a1", "u2"]);
      expect(manager.getLoadReport().skippedLines).toBe(1);
    });
  }
});

describe("a byte-order mark", () => {
  const marked = () => `\uFEFF${jsonl(LINEAR4())}`;

  it("is ignored by opening, listing and forking", async () => {
    writeSession(path(), marked());
    const dir = join(sandbox(), "dir");
    expect(contextOf(await SessionManager.open(path()))).toBe("u1 a1 u2 a2");
    expect((await SessionManager.list("/w/p", dir)).map((info) => info.id)).toEqual(["s1"]);
    const fork = await SessionManager.forkFrom(path(), "/w/p", join(sandbox(), "forks"));
    expect(contextOf(fork)).toBe("u1 a1 u2 a2");
    expect(fork.getHeader()?.parentSession).toBe("s1");
  });

  it("never ends up in the middle", async () => {
    writeSession(path(), marked());
    const reopened = await REOPEN(path());
    expect(contextOf(reopened)).toBe(`u1 a1 u2 a2 ${APPENDED}`);
    await reopened.rewriteEntries();
    expect(readFileSync(path(), "utf8").lastIndexOf("\uFEFF")).toBeLessThanOrEqual(0);
    expect(contextOf(await SessionManager.open(path()))).toBe(`u1 a1 u2 a2 ${APPENDED}`);
    appendFileSync(path(), "\n");
    expect(contextOf(await SessionManager.open(path()))).toBe(`u1 a1 u2 a2 ${APPENDED}`);
  });
});
