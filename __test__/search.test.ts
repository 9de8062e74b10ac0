import fs from "node:fs";
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { FileSessionStorage, SessionManager, searchSessions, setLogger } from "../index.js";
import { loose, unchecked } from "./support/loose.js";
import { assistantMessage, userMessage } from "./support/messages.js";
import { useSandbox } from "./support/sandbox.js";
import { headerLine, messageLine, writeLines } from "./support/session-files.js";

const box = useSandbox();
const CWD = "/work/project";

afterEach(() => setLogger(undefined));

interface Content {
  title?: unknown;
  first?: string;
  answer?: string;
  cwd?: string;
  age?: number;
  dir?: string;
}

/** Writes a session below the sandbox; its id and file name are `name`. */
function put(name: string, content: Content = {}): string {
  const { title, first, answer, cwd = CWD, age = 0, dir = box.makeDir("one") } = content;
  const lines = [headerLine({ id: name, cwd, title })];
  if (first !== undefined) {
    lines.push(messageLine("a", null, userMessage(first)));
  }
  if (answer !== undefined) {
    lines.push(messageLine("b", "a", assistantMessage(answer)));
  }
  const file = writeLines(`${dir}/${name}.jsonl`, lines);
  fs.utimesSync(file, 1_700_000_000 - age, 1_700_000_000 - age);
  return file;
}

class CalledStorage extends FileSessionStorage {
  override async readText(file: string): Promise<string> {
    return super.readText(file);
  }
}

describe.each([
  ["natively", () => undefined],
  ["through a storage", () => new CalledStorage()],
])("searchSessions %s", (_, storageOf) => {
  const search = (query: string, options = {}) =>
    searchSessions(query, {
      cwd: CWD,
      sessionDir: box.path("one"),
      storage: storageOf(),
      ...options,
    });
  const ids = async (query: string, options = {}) =>
    (await search(query, options)).map((hit) => hit.id);

  it("gives what a listing gives, without texts and with a score", async () => {
    put("s1", { title: "A title", first: "question", answer: "reply" });
    const [info] = await SessionManager.list(CWD, box.path("one"));
    const { allMessagesText, ...rest } = loose(info);
    expect(allMessagesText).toBe("question reply");
    const hits = await search("reply");
    expect(hits).toEqual([{ ...rest, score: expect.any(Number) }]);
    expect(Object.keys(hits[0] ?? {})).toEqual([...Object.keys(rest), "score"]);
    expect(hits[0]?.modified).toBeInstanceOf(Date);
  });

  it("ranks hits, and equally good ones by age", async () => {
    put("x1", { title: "zebra crossing", age: 3 });
    put("x2", { first: "long before: z e b r a", age: 1 });
    put("x3", { first: "nothing", age: 2 });
    put("x4", { title: "zebra crossing", age: 1 });
    expect(await ids("zebra")).toEqual(["x4", "x1", "x2"]);
    const scores = (await search("zebra")).map((hit) => hit.score);
    expect(scores).toEqual([...scores].sort((left, right) => left - right));
    expect(scores[0]).toBe(scores[1]);
  });

  it("gives everything for a blank query, newest first", async () => {
    put("b1", { age: 2 });
    put("b2", { age: 1 });
    put("b3", { age: 3 });
    for (const query of ["", "  \n\u00a0"]) {
      expect(await ids(query)).toEqual(["b2", "b1", "b3"]);
      expect((await search(query)).map((hit) => hit.score)).toEqual([0, 0, 0]);
    }
  });

  it("looks at id, title, working directory, messages and path, all words", async () => {
    put("abc", { title: "Title", first: "ÜBER", answer: "unter", cwd: "/work/project" });
    for (const query of [
      "ABC",
      "title",
      "PROJECT",
      "über",
      "Unter",
      "one/abc.jsonl",
      "unter abc",
    ]) {
      expect(await ids(query), query).toEqual(["abc"]);
    }
    expect(await ids("abc missing!")).toEqual([]);
    put("def");
    expect(await ids("(no messages)")).toEqual(["def"]);
  });

  it("stops at the limit", async () => {
    for (const age of [1, 2, 3]) {
      put(`l${age}`, { age });
    }
    expect(await ids("", { limit: 2 })).toEqual(["l1", "l2"]);
    expect(await ids("l", { limit: 0 })).toEqual([]);
    expect(await ids("l", { limit: -1 })).toEqual([]);
    expect(await ids("l", { limit: Number.POSITIVE_INFINITY })).toHaveLength(3);
  });

  it("looks in one folder or in all", async () => {
    const dir = SessionManager.getDefaultSessionDir(CWD);
    const other = SessionManager.getDefaultSessionDir("/work/other");
    put("here", { dir, age: 1 });
    put("there", { dir: other, cwd: "/work/other", age: 2 });
    const storage = storageOf();
    const found = async (options: object) =>
      (await searchSessions("work", { storage, ...options })).map((hit) => hit.id);
    expect(await found({ cwd: CWD })).toEqual(["here"]);
    expect(await found({ cwd: CWD, scope: "folder" })).toEqual(["here"]);
    expect((await found({ scope: "all" })).sort()).toEqual(["here", "there"]);
    vi.spyOn(process, "cwd").mockReturnValue("/work/other");
    expect(await found({})).toEqual(["there"]);
  });

  it("leaves out sessions of a project whose folder has the same name, and broken files", async () => {
    const dir = SessionManager.getDefaultSessionDir("/work/a-b");
    put("ours", { dir, cwd: "/work/a-b" });
    put("theirs", { dir, cwd: "/work/a/b" });
    fs.writeFileSync(`${dir}/broken.jsonl`, "not a session");
    fs.mkdirSync(`${dir}/dir.jsonl`);
    expect(await ids("", { cwd: "/work/a-b", sessionDir: dir })).toEqual(["ours"]);
  });

  it("takes odd headers", async () => {
    put("odd1", { title: 5 });
    put("odd2", { title: { a: 1 } });
    put("odd3", { title: null });
    expect(await ids("odd")).toHaveLength(3);
    // Random digits of the folder's name may make others match, but not as well.
    expect((await ids("odd1 5"))[0]).toBe("odd1");
  });

  it("never throws, whatever is searched", async () => {
    put("any", { title: "😀 \ud83d", first: "İstanbul ΣΑΣ" });
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary" }), async (query) => {
        const hits = await search(query);
        expect(hits.length).toBeLessThanOrEqual(1);
      }),
      { numRuns: 60 },
    );
    expect(await ids("\ud83d")).toEqual(["any"]);
    expect(await ids("İstanbul σας")).toEqual(["any"]);
  });
});

describe("searchSessions", () => {
  it("is also a static method", async () => {
    put("s1");
    const options = { cwd: CWD, sessionDir: box.path("one") };
    expect(await SessionManager.searchSessions("s1", options)).toEqual(
      await searchSessions("s1", options),
    );
  });

  it("finds nothing in a missing folder and rejects for one that cannot be read", async () => {
    const sessionDir = box.path("missing");
    expect(await searchSessions("x", { cwd: CWD, sessionDir })).toEqual([]);
    const file = put("s1");
    expect(await searchSessions("x", { cwd: CWD, sessionDir: file })).toEqual([]);
  });

  it.each([
    [[5], "query"],
    [["q", { scope: "here" }], "options.scope"],
    [["q", { limit: "2" }], "options.limit"],
    [["q", { limit: Number.NaN }], "options.limit"],
    [["q", { cwd: 5 }], "options.cwd"],
    [["q", { sessionDir: {} }], "options.sessionDir"],
    [["q", "all"], "options"],
  ])("rejects for wrong arguments %j", async (args, name) => {
    const call = unchecked(searchSessions)(...args);
    await expect(call).rejects.toThrow(`The "${name}" argument must be`);
  });
});
