import * as fs from "node:fs";
import { describe, expect, it } from "vitest";
import { SessionManager } from "../index.js";
import { createWritten, fileOf } from "./support/managers.js";
import { assistantMessage, userMessage } from "./support/messages.js";
import { useSandbox } from "./support/sandbox.js";
import { readEntries } from "./support/session-files.js";

const box = useSandbox();

/** Open descriptors of this process, a few of which come and go with the runtime. */
function descriptors(): number {
  return fs.readdirSync("/proc/self/fd").length;
}

describe("descriptors", () => {
  it("are given back by hundreds of branches in one turn", async () => {
    const manager = await SessionManager.open(fileOf(await createWritten(box.dir)));
    const leaf = manager.getLeafId() ?? "";
    const before = descriptors();
    for (let at = 0; at < 300; at++) {
      manager.createBranchedSession(leaf);
    }
    expect(descriptors() - before).toBeLessThan(20);
    expect(manager.getEntries()).toHaveLength(2);
    manager.appendMessage(userMessage("later"));
    await manager.flush();
    expect(readEntries(fileOf(manager))).toHaveLength(3);
    await manager.close();
  });

  it("do not run out when many sessions are opened and nobody asks for a collection", async () => {
    const file = fileOf(await createWritten(box.dir));
    const before = descriptors();
    let most = 0;
    for (let at = 0; at < 800; at++) {
      await (await SessionManager.open(file)).close();
      most = Math.max(most, descriptors() - before);
    }
    expect(most).toBeLessThan(500);
  }, 30_000);

  it("are given back when a manager goes through many sessions", async () => {
    const files = [];
    for (let at = 0; at < 5; at++) {
      files.push(fileOf(await createWritten(box.path(`s${at}`))));
    }
    const manager = SessionManager.create(box.dir, box.dir);
    const before = descriptors();
    for (let round = 0; round < 10; round++) {
      for (const file of files) {
        await manager.setSessionFile(file);
        manager.appendMessage(userMessage(`round ${round}`));
      }
    }
    await manager.close();
    expect(descriptors() - before).toBeLessThan(20);
    for (const file of files) {
      expect(readEntries(file)).toHaveLength(12);
    }
  });

  it("are given back after what was appended before a branch has been written", async () => {
    const manager = await SessionManager.open(fileOf(await createWritten(box.dir)));
    const before = descriptors();
    const files = [];
    for (let at = 0; at < 100; at++) {
      files.push(fileOf(manager));
      manager.appendMessage(assistantMessage(`answer ${at}`));
      manager.createBranchedSession(manager.getLeafId() ?? undefined);
    }
    await manager.flush();
    expect(descriptors() - before).toBeLessThan(20);
    files.forEach((file, at) => {
      expect(readEntries(file)).toHaveLength(3 + at);
    });
    await manager.close();
  });

  it("that a snapshot needs stay", async () => {
    const manager = await SessionManager.open(fileOf(await createWritten(box.dir)));
    const file = fileOf(manager);
    const snapshot = manager.captureState();
    await manager.newSession();
    fs.renameSync(file, `${file}.moved`);
    fs.writeFileSync(file, "another file");
    manager.restoreState(snapshot);
    expect(manager.getEntries()).toHaveLength(2);
  });
});
