import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";
import { afterEach, describe, expect, it, vi } from "vitest";
import { expectInvalidArgument, failureOf } from "./support/errors.ts";

const require = createRequire(import.meta.url);
const { log, setLogger } = require("../js/logger.js");

afterEach(() => setLogger(undefined));

describe("setLogger", () => {
  it("sends records to the function, one call each", () => {
    const logger = vi.fn();
    expect(setLogger(logger)).toBeUndefined();
    log("warn", "text", { hash: "x" });
    log("error", "other");
    expect(logger.mock.calls).toEqual([
      ["warn", "text", { hash: "x" }],
      ["error", "other", undefined],
    ]);
  });

  it.each([undefined, null])("is silent with %s, as from the start", (none) => {
    const consoles = (["log", "warn", "error", "debug"] as const).map((name) =>
      vi.spyOn(console, name).mockImplementation(() => {}),
    );
    const logger = vi.fn();
    log("error", "before");
    setLogger(logger);
    setLogger(none);
    log("error", "after");
    expect(logger).not.toHaveBeenCalled();
    for (const method of consoles) {
      expect(method).not.toHaveBeenCalled();
      method.mockRestore();
    }
  });

  it("takes functions only", async () => {
    for (const wrong of [1, {}, "console", true]) {
      expectInvalidArgument(await failureOf(() => setLogger(wrong)), "logger");
    }
  });

  it("does not let a failing logger break the caller", async () => {
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    for (const logger of [
      () => {
        throw new Error("thrown");
      },
      () => Promise.reject(new Error("rejected")),
      () => ({
        // biome-ignore lint/suspicious/noThenProperty: a logger may return anything.
        get then() {
          throw new Error("getter");
        },
      }),
    ]) {
      setLogger(logger);
      expect(log("warn", "text")).toBeUndefined();
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
    process.off("unhandledRejection", unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });

  it("is each worker's own", async () => {
    const logger = vi.fn();
    setLogger(logger);
    const script = `
      const { log } = require(${JSON.stringify(require.resolve("../js/logger.js"))});
      log("warn", "from the worker");
      require("node:worker_threads").parentPort.postMessage("done");`;
    const worker = new Worker(script, { eval: true });
    await new Promise((resolve, reject) => {
      worker.once("message", resolve);
      worker.once("error", reject);
    });
    await worker.terminate();
    expect(logger).not.toHaveBeenCalled();
  });
});
