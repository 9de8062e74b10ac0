import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { SessionManager } from "../index.js";
import {
  assistantMessage,
  contextOf,
  fileOf,
  idsOf,
  idsOnDisk,
  LINEAR4,
  namesIn,
  recordsOf,
  startSession,
  usage,
  userMessage,
  useSandbox,
  writeSession,
} from "./support/fixtures.js";

const sandbox = useSandbox();
const sessions = () => join(sandbox(), "sessions");

describe("appends around a rewrite", () => {
  /** Everything in memory is on disk, each entry once, in order. */
  async function expectOnceOnDisk(manager: SessionManager) {
    await manager.flush();
    expect(idsOnDisk(fileOf(manager))).toEqual(idsOf(manager));
  }

  for (const [what, rewrite] of [
    ["setSessionName", (manager: SessionManager) => manager.setSessionName("Name")],
    ["rewriteEntries", (manager: SessionManager) => manager.rewriteEntries()],
    ["ensureOnDisk", (manager: SessionManager) => manager.ensureOnDisk()],
  ] as const) {
    for (const ticks of [0, 1, 2, 3, 5, 10]) {
      it(`write each entry once when ${what} started ${ticks} microtasks earlier`, async () => {
        const manager = await startSession(sessions());
        manager.appendMessage(userMessage("before"));
        const rewriting = rewrite(manager);
        for (let n = 0; n < ticks; n++) {
          await Promise.resolve();
        }
        manager.appendMessage(userMessage("after 1"));
        manager.appendMessage(userMessage("after 2"));
        await rewriting;
        manager.appendMessage(userMessage("after 3"));
        await expectOnceOnDisk(manager);
      });
    }
  }

  it("write each entry once while the first exchange is being written", async () => {
    const manager = SessionManager.create("/w/p", sessions());
    manager.appendMessage(userMessage("u1"));
    manager.appendMessage(assistantMessage("a1"));
    for (let n = 0; n < 200; n++) {
      manager.appendMessage(userMessage(`more ${n}`));
      if (n % 3 === 0) {
        await Promise.resolve();
      }
      if (n % 50 === 0) {
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    await expectOnceOnDisk(manager);
  });

  it("write each entry once with many rewrites and appends mixed", async () => {
    const manager = await startSession(sessions());
    const pending: Promise<unknown>[] = [];
    for (let n = 0; n < 60; n++) {
      manager.appendMessage(userMessage(`m ${n}`));
      if (n % 4 === 0) {
        pending.push(manager.rewriteEntries());
      }
      if (n % 7 === 0) {
        pending.push(manager.setSessionName(`Name ${n}`));
      }
      if (n % 5 === 0) {
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    await Promise.all(pending);
    await expectOnceOnDisk(manager);
    expect(recordsOf(fileOf(manager))[0]?.title).toBe("Name 56");
  });

  it("put a change made in the same tick on disk", async () => {
    const manager = await startSession(sessions());
    const message = userMessage("first wording");
    manager.appendMessage(message);
    message.content = "second wording";
    await manager.flush();
    expect(readFileSync(fileOf(manager), "utf8")).toContain("second wording");
    expect(readFileSync(fileOf(manager), "utf8")).not.toContain("first wording");
  });
});

describe("closing", () => {
  it("waits until the first exchange is on disk", async () => {
    const manager = SessionManager.create("/w/p", sessions());
    manager.appendMessage(userMessage("u1"));
    manager.appendMessage(assistantMessage("a1"));
    await manager.close();
    expect(idsOnDisk(fileOf(manager))).toEqual(idsOf(manager));
  });

  it("waits for a rewrite and for appends behind it", async () => {
    const manager = await startSession(sessions());
    const naming = manager.setSessionName("Name");
    manager.appendMessage(userMessage("u2"));
    await manager.close();
    expect(recordsOf(fileOf(manager))[0]?.title).toBe("Name");
    expect(idsOnDisk(fileOf(manager))).toEqual(idsOf(manager));
    expect(await naming).toBe(true);
  });

  it("can be repeated and called twice at once, and leaves the manager usable", async () => {
    const manager = await startSession(sessions());
    manager.appendMessage(userMessage("u2"));
    await Promise.all([manager.close(), manager.close()]);
    await manager.close();
    manager.appendMessage(userMessage("u3"));
    await manager.close();
    expect(idsOnDisk(fileOf(manager))).toEqual(idsOf(manager));
  });
});

describe("a rewrite", () => {
  for (const mode of [0o600, 0o640, 0o644]) {
    it(`keeps the mode ${mode.toString(8)} of the file`, async () => {
      const manager = await startSession(sessions());
      chmodSync(fileOf(manager), mode);
      await manager.rewriteEntries();
      expect(statSync(fileOf(manager)).mode & 0o777).toBe(mode);
      await manager.setSessionName("Name");
      expect(statSync(fileOf(manager)).mode & 0o777).toBe(mode);
    });
  }

  it("follows a symbolic link and keeps it", async () => {
    const real = writeSession(join(sandbox(), "real", "data.jsonl"), LINEAR4());
    const link = join(sessions(), "s.jsonl");
    mkdirSync(sessions());
    symlinkSync(real, link);
    const manager = await SessionManager.open(link);
    await manager.setSessionName("Name");
    manager.appendMessage(userMessage("u3"));
    await manager.flush();
    expect(readlinkSync(link)).toBe(real);
    expect(idsOnDisk(real)).toEqual(idsOf(manager));
    expect(recordsOf(real)[0]?.title).toBe("Name");
    expect(namesIn(dirname(real))).toEqual(["data.jsonl"]);
  });

  it("leaves no temporary file behind", async () => {
    const manager = await startSession(sessions());
    await manager.rewriteEntries();
    expect(namesIn(sessions())).toHaveLength(1);
  });

  it("creates the directory again when it was removed", async () => {
    const manager = await startSession(sessions());
    rmSync(sessions(), { recursive: true });
    await manager.rewriteEntries();
    expect(idsOnDisk(fileOf(manager))).toEqual(idsOf(manager));
  });
});

describe("new files and directories", () => {
  it("are readable by their owner only", async () => {
    const dir = join(sandbox(), "new", "sessions");
    const manager = await startSession(dir);
    expect(statSync(fileOf(manager)).mode & 0o777).toBe(0o600);
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    expect(statSync(dirname(dir)).mode & 0o777).toBe(0o700);
  });
});

describe("an append after the session file vanished", () => {
  for (const [what, settle] of [
    ["while it was open", (manager: SessionManager) => manager.flush()],
    ["after closing", (manager: SessionManager) => manager.close()],
  ] as const) {
    it(`${what} writes the whole session again`, async () => {
      const manager = await startSession(sessions());
      manager.appendMessage(userMessage("u2"));
      await settle(manager);
      rmSync(fileOf(manager));
      manager.appendMessage(userMessage("u3"));
      await manager.flush();
      expect(recordsOf(fileOf(manager))[0]).toMatchObject({
        type: "session",
        id: manager.getSessionId(),
      });
      expect(idsOnDisk(fileOf(manager))).toEqual(idsOf(manager));
      const again = await SessionManager.open(fileOf(manager));
      expect(contextOf(again)).toBe("u1 a1 u2 u3");
    });
  }

  it("together with its directory writes the whole session again", async () => {
    const manager = await startSession(sessions());
    rmSync(sessions(), { recursive: true });
    manager.appendMessage(userMessage("u2"));
    await manager.flush();
    expect(idsOnDisk(fileOf(manager))).toEqual(idsOf(manager));
  });

  it("by a rename leaves the renamed file complete and writes a new one", async () => {
    const manager = await startSession(sessions());
    const aside = join(sandbox(), "aside.jsonl");
    const before = idsOf(manager);
    renameSync(fileOf(manager), aside);
    manager.appendMessage(userMessage("u2"));
    await manager.flush();
    expect(idsOnDisk(aside)).toEqual(before);
    expect(idsOnDisk(fileOf(manager))).toEqual(idsOf(manager));
  });
});

describe("appending messages that are not complete", () => {
  for (const [what, message] of [
    ["no usage", { role: "assistant", content: [{ type: "text", text: "x" }] }],
    ["no cost", { role: "assistant", content: [], usage: { ...usage(), cost: undefined } }],
    ["usage null", { role: "assistant", content: [], usage: null }],
    ["usage of texts", { role: "assistant", content: [], usage: { input: "a", cost: "b" } }],
    [
      "empty task usage",
      { role: "toolResult", toolName: "task", content: [], details: { usage: {} } },
    ],
  ] as const) {
    it(`works with ${what} and keeps the statistics numeric`, async () => {
      const manager = await startSession(sessions());
      const id = manager.appendMessage(message as never);
      expect(manager.getLeafId()).toBe(id);
      for (const value of Object.values(manager.getUsageStatistics())) {
        expect(Number.isFinite(value)).toBe(true);
      }
      manager.appendMessage(userMessage("next"));
      await manager.flush();
      expect(idsOnDisk(fileOf(manager))).toEqual(idsOf(manager));
    });
  }

  for (const value of [undefined, null]) {
    it(`refuses ${value} without changing the session`, async () => {
      const manager = await startSession(sessions());
      const before = { ids: idsOf(manager), leaf: manager.getLeafId() };
      expect(() => manager.appendMessage(value as never)).toThrow(TypeError);
      expect({ ids: idsOf(manager), leaf: manager.getLeafId() }).toEqual(before);
      await manager.flush();
      expect(idsOnDisk(fileOf(manager))).toEqual(before.ids);
      expect(existsSync(fileOf(manager))).toBe(true);
    });
  }
});
