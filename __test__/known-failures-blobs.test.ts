import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { SessionManager, setLogger } from "../index.js";
import {
  contextOf,
  fileOf,
  idsOf,
  idsOnDisk,
  linesOf,
  namesIn,
  startSession,
  toolResult,
  userMessage,
  useSandbox,
} from "./support/fixtures.js";

const sandbox = useSandbox();
const sessions = () => join(sandbox(), "sessions");
const blobs = () => join(sandbox(), "agent", "blobs");

const BYTES = Buffer.from(Array.from({ length: 3000 }, (_, n) => (n * 7) % 256));
const DATA = BYTES.toString("base64");
const HASH = createHash("sha256").update(BYTES).digest("hex");
const REF = `blob:sha256:${HASH}`;

afterEach(() => setLogger(undefined));

function picture(data = DATA) {
  const message = toolResult("picture");
  const image = { type: "image" as const, data, mimeType: "image/png" };
  return { ...message, content: [...message.content, image] };
}

function imageData(manager: SessionManager, index: number): unknown {
  const entry = manager.getEntries()[index] as unknown as {
    message: { content: { data?: string }[] };
  };
  return entry.message.content[1]?.data;
}

async function sessionWithImage(): Promise<SessionManager> {
  const manager = await startSession(sessions());
  manager.appendMessage(picture());
  manager.appendMessage(userMessage("u2"));
  await manager.close();
  expect(namesIn(blobs())).toEqual([HASH]);
  return manager;
}

describe("an image whose blob is not there", () => {
  const losses: [string, () => void][] = [
    ["was deleted", () => rmSync(join(blobs(), HASH))],
    ["was emptied", () => truncateSync(join(blobs(), HASH), 0)],
    ["was cut short", () => truncateSync(join(blobs(), HASH), 1000)],
    ["has other content", () => writeFileSync(join(blobs(), HASH), "other")],
    [
      "is a directory",
      () => {
        rmSync(join(blobs(), HASH));
        mkdirSync(join(blobs(), HASH));
      },
    ],
    [
      "cannot be reached",
      () => {
        rmSync(blobs(), { recursive: true });
        writeFileSync(blobs(), "a file");
      },
    ],
  ];

  for (const [what, lose] of losses) {
    it(`because it ${what} stays a reference, with one warning`, async () => {
      const file = fileOf(await sessionWithImage());
      lose();
      const warnings: [string, unknown][] = [];
      setLogger((level, message, context) => {
        if (level === "warn") {
          warnings.push([message, context]);
        }
      });
      const manager = await SessionManager.open(file);
      expect(contextOf(manager)).toBe("u1 a1 picture u2");
      expect(imageData(manager, 2)).toBe(REF);
      expect(manager.getEntries()).toHaveLength(4);
      manager.buildSessionContext();
      expect(warnings).toHaveLength(1);
      expect(warnings[0]).toEqual([
        "Blob not found for image reference",
        expect.objectContaining({ hash: HASH }),
      ]);
      await manager.setSessionName("Name");
      expect(linesOf(file)[3]).toContain(`"data":"${REF}"`);
    });
  }

  it("comes back when the blob does", async () => {
    const file = fileOf(await sessionWithImage());
    renameSync(join(blobs(), HASH), join(sandbox(), "aside"));
    const without = await SessionManager.open(file);
    expect(imageData(without, 2)).toBe(REF);
    await without.rewriteEntries();
    renameSync(join(sandbox(), "aside"), join(blobs(), HASH));
    expect(imageData(await SessionManager.open(file), 2)).toBe(DATA);
  });
});

describe("a damaged blob", () => {
  it("is repaired by storing the same image again", async () => {
    const file = fileOf(await sessionWithImage());
    truncateSync(join(blobs(), HASH), 10);
    const manager = await startSession(sessions());
    manager.appendMessage(picture());
    await manager.close();
    expect(readFileSync(join(blobs(), HASH)).equals(BYTES)).toBe(true);
    expect(imageData(await SessionManager.open(file), 2)).toBe(DATA);
  });
});

describe("one image many times", () => {
  it("is one blob, whole at every moment", async () => {
    const managers = await Promise.all([startSession(sessions()), startSession(sessions())]);
    let done = false;
    for (const manager of managers) {
      for (let n = 0; n < 50; n++) {
        manager.appendMessage(picture());
      }
    }
    const writing = Promise.all(managers.map((manager) => manager.flush())).then(() => {
      done = true;
    });
    while (!done) {
      for (const name of namesIn(blobs()).filter((known) => known === HASH)) {
        expect(readFileSync(join(blobs(), name)).equals(BYTES)).toBe(true);
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    await writing;
    expect(namesIn(blobs())).toEqual([HASH]);
    for (const manager of managers) {
      expect(linesOf(fileOf(manager)).filter((line) => line.includes(REF))).toHaveLength(50);
      expect(readFileSync(fileOf(manager), "utf8")).not.toContain(DATA);
      const again = await SessionManager.open(fileOf(manager));
      expect(imageData(again, 51)).toBe(DATA);
    }
  });
});

describe("an image that cannot be stored", () => {
  it("puts no reference into the file, and is stored as soon as it can be", async () => {
    const manager = await startSession(sessions());
    mkdirSync(join(sandbox(), "agent"), { recursive: true });
    rmSync(blobs(), { recursive: true, force: true });
    writeFileSync(blobs(), "in the way");
    manager.appendMessage(picture());
    await expect(manager.flush()).rejects.toMatchObject({
      code: expect.stringMatching(/^(ENOTDIR|EEXIST)$/),
    });
    expect(readFileSync(fileOf(manager), "utf8")).not.toContain("blob:sha256:");
    expect(imageData(manager, 2)).toBe(DATA);
    expect(() => manager.appendMessage(userMessage("u2"))).toThrow();
    rmSync(blobs());
    await manager.flush();
    manager.appendMessage(userMessage("u3"));
    await manager.close();
    expect(idsOnDisk(fileOf(manager))).toEqual(idsOf(manager));
    expect(namesIn(blobs())).toEqual([HASH]);
    const again = await SessionManager.open(fileOf(manager));
    expect(contextOf(again)).toBe("u1 a1 picture u2 u3");
    expect(imageData(again, 2)).toBe(DATA);
  });

  it("keeps no order but the order of the appends", async () => {
    const manager = await startSession(sessions());
    for (let n = 0; n < 20; n++) {
      manager.appendMessage(
        n % 3 === 0 ? picture(Buffer.alloc(2000 + n, n).toString("base64")) : userMessage(`m${n}`),
      );
      if (n % 4 === 0) {
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    await manager.close();
    expect(idsOnDisk(fileOf(manager))).toEqual(idsOf(manager));
  });
});
