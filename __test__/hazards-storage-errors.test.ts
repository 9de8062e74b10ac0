import { describe, expect, it } from "vitest";
import { MemorySessionStorage, SessionManager } from "../index.js";
import {
  type AnyEntry,
  assistantMessage,
  contextOf,
  fileOf,
  idsOf,
  userMessage,
  useSandbox,
} from "./support/fixtures.js";

useSandbox();

const DIR = "/virtual/sessions";

type Options = Parameters<MemorySessionStorage["openWriter"]>[1];

/** A storage in memory of which one call, counted over all that write, fails. */
class FlakyStorage extends MemorySessionStorage {
  calls = 0;
  failAt = Number.POSITIVE_INFINITY;
  /** How many calls in a row fail. */
  failures = 1;
  failed: string[] = [];

  #step(what: string): void {
    this.calls++;
    if (this.calls >= this.failAt && this.failed.length < this.failures) {
      this.failed.push(what);
      throw Object.assign(new Error(`refused: ${what}`), { code: "EIO" });
    }
  }

  override openWriter(path: string, options?: Options) {
    this.#step("openWriter");
    const writer = super.openWriter(path, options);
    const guard = <Args extends unknown[]>(
      what: string,
      call: (...args: Args) => Promise<void>,
    ) => {
      return async (...args: Args) => {
        this.#step(what);
        return call.apply(writer, args);
      };
    };
    return {
      writeLine: guard("writeLine", writer.writeLine),
      flush: guard("flush", writer.flush),
      fsync: guard("fsync", writer.fsync),
      close: guard("close", writer.close),
      getError: () => writer.getError(),
    };
  }

  override async rename(path: string, nextPath: string) {
    this.#step("rename");
    return super.rename(path, nextPath);
  }
}

async function settle(promise: Promise<unknown>): Promise<void> {
  await promise.catch(() => {});
}

/** A conversation with a rewrite and a closing in the middle; errors are taken as they come. */
async function converse(storage: FlakyStorage): Promise<SessionManager> {
  const manager = SessionManager.create("/w/p", DIR, storage);
  const append = (text: string) => {
    try {
      manager.appendMessage(text.startsWith("u") ? userMessage(text) : assistantMessage(text));
    } catch (error) {
      expect(error).toBeInstanceOf(Error);
    }
  };
  append("u1");
  append("a1");
  append("u2");
  await settle(manager.flush());
  append("a2");
  append("u3");
  await settle(manager.rewriteEntries());
  append("a3");
  await settle(manager.close());
  append("u4");
  append("a4");
  return manager;
}

async function expectComplete(manager: SessionManager, storage: FlakyStorage) {
  const text = await storage.readText(fileOf(manager));
  const lines = text.trimEnd().split("\n");
  const records = lines.map((line) => JSON.parse(line) as AnyEntry);
  expect(records[0]).toMatchObject({ type: "session", id: manager.getSessionId() });
  expect(records.slice(1).map((record) => record.id)).toEqual(idsOf(manager));
  const again = await SessionManager.open(fileOf(manager), DIR, storage);
  expect(contextOf(again)).toBe("u1 a1 u2 a2 u3 a3 u4 a4");
}

describe("a storage that refuses one call", () => {
  it("is used without refusals", async () => {
    const storage = new FlakyStorage();
    const manager = await converse(storage);
    await manager.flush();
    await manager.close();
    expect(storage.calls).toBeGreaterThan(10);
    await expectComplete(manager, storage);
  });

  for (const failures of [1, 2, 5]) {
    it(`or ${failures} in a row, wherever that is, costs nothing in the end`, async () => {
      const probe = new FlakyStorage();
      await (await converse(probe)).flush();
      for (let failAt = 1; failAt <= probe.calls; failAt++) {
        const storage = new FlakyStorage();
        storage.failAt = failAt;
        storage.failures = failures;
        const manager = await converse(storage);
        for (let n = 0; n <= failures; n++) {
          await settle(manager.flush());
        }
        await manager.flush();
        expect(storage.failed.length, `call ${failAt}`).toBeGreaterThan(0);
        await expectComplete(manager, storage);
        await manager.close();
      }
    });
  }

  it("for good leaves everything in memory, and closing ends", async () => {
    const storage = new FlakyStorage();
    storage.failAt = 1;
    storage.failures = Number.POSITIVE_INFINITY;
    const manager = await converse(storage);
    expect(contextOf(manager)).toBe("u1 a1 u2 a2 u3 a3 u4 a4");
    await expect(manager.flush()).rejects.toMatchObject({ code: "EIO" });
    await settle(manager.close());
    await settle(manager.close());
    expect(() => manager.appendMessage(userMessage("u5"))).toThrow("refused");
    expect(contextOf(manager)).toBe("u1 a1 u2 a2 u3 a3 u4 a4 u5");
  });
});
