/**
 * Faults of the real system: a disk that is full, a disk that becomes read-only, a process without
 * free descriptors.
 *
 *   node __test__/faults/run.mjs
 *
 * A small file system in memory is mounted in a mount namespace of its own, so nothing of it is seen
 * outside. That takes root, or a system where users may have namespaces; without either the program
 * fails. Every operation meets every amount of free space. While the fault lasts, errors must reach
 * `flush()` with their code; once it is gone, everything must be on disk, once and in order. Failures of
 * single operations in the core are tested in Rust, see `journal::queue`. Ends with "N passed, N failed".
 */

import { spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { withoutDescriptors } from "./descriptors.mjs";
import { onFullDisk } from "./full-disk.mjs";
import { onReadOnlyDisk } from "./read-only.mjs";

const INSIDE = "SESSION_FAULTS_INSIDE";
/** Descriptors that a process may have; the tests use up what is left of them. */
const DESCRIPTORS = 96;

/** Starts this program again where it may mount. */
function enterNamespace() {
  const again = [process.execPath, "--expose-gc", fileURLToPath(import.meta.url)];
  const limited = ["sh", "-c", `ulimit -n ${DESCRIPTORS}; exec "$@"`, "sh", ...again];
  const asUser = process.getuid() === 0 ? [] : ["--map-root-user"];
  const { status, error } = spawnSync("unshare", ["--mount", ...asUser, ...limited], {
    stdio: "inherit",
    env: { ...process.env, [INSIDE]: "1" },
  });
  if (error || status === null || status === 127) {
    throw new Error(`unshare could not be run: ${error?.message ?? status}`);
  }
  return status;
}

function mount(dir, ...args) {
  const { status, stderr } = spawnSync("mount", [...args, dir], { encoding: "utf8" });
  if (status !== 0) {
    throw new Error(`Nothing can be mounted here: ${stderr.trim()}`);
  }
}

async function runCases(cases) {
  const counts = { passed: 0, failed: 0 };
  for (const [name, run] of cases) {
    // Sessions that were opened hold their file, and so its space, until they are collected.
    globalThis.gc();
    await new Promise((resolve) => setImmediate(resolve));
    try {
      await run();
      counts.passed += 1;
    } catch (error) {
      counts.failed += 1;
      console.log(`FAILED ${name}: ${error.stack}`);
    }
  }
  return counts;
}

async function runInside() {
  const base = fs.mkdtempSync(path.join(os.tmpdir(), "session-faults-"));
  const small = path.join(base, "small");
  fs.mkdirSync(small);
  mount(small, "-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs");
  process.env.PI_CODING_AGENT_DIR = path.join(small, "agent");
  const suites = [
    ["Full disk", onFullDisk(small, base)],
    ["Read-only disk", onReadOnlyDisk(small, (mode) => mount(small, "-o", `remount,bind,${mode}`))],
    ["No descriptors", withoutDescriptors(base)],
  ];
  const total = { passed: 0, failed: 0 };
  for (const [title, cases] of suites) {
    const { passed, failed } = await runCases(cases);
    console.log(`${title.padEnd(15)} ${passed} passed, ${failed} failed`);
    total.passed += passed;
    total.failed += failed;
  }
  spawnSync("umount", [small]);
  fs.rmSync(base, { recursive: true, force: true });
  console.log(`\n${total.passed} passed, ${total.failed} failed`);
  return total.failed === 0 && total.passed > 0 ? 0 : 1;
}

process.exitCode = process.env[INSIDE] === "1" ? await runInside() : enterNamespace();
