import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { describe, expect, it } from "vitest";
import { BlobStore, FileSessionStorage, SessionManager } from "../index.js";
import { failureOf } from "./support/errors.js";
import { assistantMessage, userMessage } from "./support/messages.js";
import { useSandbox } from "./support/sandbox.js";
import { entryLine, headerLine, readSession, writeLines } from "./support/session-files.js";

const box = useSandbox();

const HASH = "ab".repeat(32);

/** Things that are no regular file; each is made at a path and is not to be waited for or read. */
const SPECIAL: Record<string, (file: string) => void> = {
  "a pipe": (file) => expect(spawnSync("mkfifo", [file]).status).toBe(0),
  "a directory": (file) => fs.mkdirSync(file),
  "a device without end": (file) => fs.symlinkSync("/dev/zero", file),
  "a link to itself": (file) => fs.symlinkSync(path.basename(file), file),
  "two links in a circle": (file) => {
    fs.symlinkSync(path.basename(file), `${file}.other`);
    fs.symlinkSync(`${path.basename(file)}.other`, file);
  },
};

/** A whole session in a directory. */
function putGood(dir: string, ...more: object[]) {
  const file = path.join(dir, "good.jsonl");
  writeLines(file, [headerLine({ cwd: box.dir }), ...more]);
  return file;
}

/** What kind of thing is at a path, without following links. */
function kindOf(file: string) {
  const stat = fs.lstatSync(file);
  return [stat.isFIFO(), stat.isDirectory(), stat.isSymbolicLink(), stat.ino];
}

for (const [what, make] of Object.entries(SPECIAL)) {
  describe(what, () => {
    it("under the name of a session is refused and stays", async () => {
      const file = path.join(box.makeDir("s"), "x.jsonl");
      make(file);
      const before = kindOf(file);
      expect((await failureOf(() => SessionManager.open(file))).code).toBeTypeOf("string");
      await failureOf(() => SessionManager.forkFrom(file, box.dir, box.makeDir("forks")));
      expect(fs.readdirSync(box.path("forks"))).toEqual([]);
      expect(kindOf(file)).toEqual(before);
    });

    it("does not keep others from being found", async () => {
      const dir = box.makeDir("s");
      const good = putGood(dir, entryLine("custom", "a", null, { customType: "t" }));
      make(path.join(dir, "x.jsonl"));
      const listed = await SessionManager.list(box.dir, dir);
      expect(listed.map((session) => session.path)).toEqual([good]);
      const recent = await SessionManager.continueRecent(box.dir, dir);
      expect(recent.getSessionFile()).toBe(good);
    });

    it("is no text for a storage", async () => {
      const file = path.join(box.makeDir("s"), "x.jsonl");
      make(file);
      const storage = new FileSessionStorage();
      await failureOf(() => storage.readText(file));
      await failureOf(() => storage.readTextSync(file));
    });

    it("is no blob", async () => {
      fs.mkdirSync(box.blobsDir, { recursive: true });
      make(path.join(box.blobsDir, HASH));
      const data = `blob:sha256:${HASH}`;
      const content = [{ type: "image", data, mimeType: "image/png" }];
      const message = { ...userMessage(), content };
      const file = putGood(box.makeDir("s"), entryLine("message", "a", null, { message }));
      const manager = await SessionManager.open(file);
      expect(JSON.stringify(manager.getEntries())).toContain(data);
      await failureOf(() => new BlobStore(box.blobsDir).get(HASH));
      manager.appendMessage(assistantMessage());
      await manager.close();
      expect(JSON.stringify(readSession(file))).toContain(data);
    });
  });
}
