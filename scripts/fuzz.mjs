/**
 * Fuzzes the parsers: `npm run test:fuzz [-- --seconds 30] [--target NAME] [--lanes 2]`. Builds the targets
 * of `fuzz/` as `cargo fuzz` does, without needing it, and runs each for the given time from the corpus in
 * the repository. What is found on the way goes to `.cache/fuzz`; an input that fails is kept there and
 * named. Ends with "N passed, N failed".
 */

import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";

import { cacheDir, root, run, step } from "./lib.mjs";

const TARGETS = ["scanner", "salvage", "spans", "header"];

/** What `cargo fuzz` passes to the compiler for a build without sanitizers. */
const RUSTFLAGS = [
  "--cfg fuzzing",
  "-Ccodegen-units=1",
  "-Cpasses=sancov-module",
  "-Cllvm-args=-sanitizer-coverage-level=4",
  "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
  "-Cllvm-args=-sanitizer-coverage-pc-table",
  "-Cllvm-args=-sanitizer-coverage-trace-compares",
].join(" ");

const { values: options } = parseArgs({
  options: {
    seconds: { type: "string", default: "30" },
    lanes: { type: "string", default: "2" },
    target: { type: "string", multiple: true },
  },
});

function hostTriple() {
  const arch = { x64: "x86_64", arm64: "aarch64" }[process.arch];
  return `${arch}-unknown-linux-gnu`;
}

function build() {
  step("Building the fuzz targets");
  const triple = hostTriple();
  const targetDir = process.env.CARGO_TARGET_DIR ?? path.join(root, "target");
  const dir = path.join(targetDir, "fuzz");
  // With a target, build scripts and procedural macros are not instrumented.
  const args = ["build", "--release", "--locked", "--manifest-path", "fuzz/Cargo.toml"];
  run("cargo", [...args, "--bins", "--target", triple, "--target-dir", dir], {
    env: { ...process.env, RUSTFLAGS },
  });
  return path.join(dir, triple, "release");
}

/** Runs one target; resolves with whether it survived. */
function fuzz(binaries, name) {
  const found = path.join(cacheDir, "fuzz", name, "corpus");
  const failures = path.join(cacheDir, "fuzz", name, "failures/");
  fs.mkdirSync(found, { recursive: true });
  fs.mkdirSync(failures, { recursive: true });
  const args = [
    found,
    path.join(root, "fuzz/corpus", name),
    `-max_total_time=${options.seconds}`,
    `-artifact_prefix=${failures}`,
    "-max_len=4096",
    "-timeout=20",
    "-rss_limit_mb=2048",
    "-print_final_stats=1",
  ];
  return new Promise((resolve) => {
    const child = spawn(path.join(binaries, name), args, { stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    const keep = (piece) => {
      output = (output + piece).slice(-20_000);
    };
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    child.on("error", (error) => keep(error.message));
    child.on("close", (code) => {
      const runs = /number_of_executed_units:\s*(\d+)/.exec(output)?.[1] ?? "?";
      console.log(`${name.padEnd(8)} ${code === 0 ? "passed" : "FAILED"}, ${runs} inputs`);
      if (code !== 0) {
        console.log(output);
      }
      resolve(code === 0);
    });
  });
}

async function main() {
  const binaries = build();
  const names = options.target ?? TARGETS;
  step(`Fuzzing ${names.join(", ")}, ${options.seconds} s each`);
  const waiting = [...names];
  const counts = { passed: 0, failed: 0 };
  async function lane() {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      counts[(await fuzz(binaries, name)) ? "passed" : "failed"] += 1;
    }
  }
  await Promise.all(Array.from({ length: Number(options.lanes) }, lane));
  console.log(`\n${counts.passed} passed, ${counts.failed} failed`);
  process.exitCode = counts.failed === 0 ? 0 : 1;
}

await main();
