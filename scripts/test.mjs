/**
 * The test command: Rust tests, then the same JavaScript tests in each runtime. Complete by itself:
 * it installs and builds first. Names of suites as arguments select some of them. The last line
 * says how many tests passed and failed; the exit code is 0 only when none failed.
 */

import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";

import { beginBuild } from "./build.mjs";
import { cacheDir, describeRuntime, root, runtimes, step } from "./lib.mjs";
import { setup } from "./setup.mjs";

/** Longest time one suite may take before it counts as hanging. */
const SUITE_TIMEOUT_MS = 10 * 60_000;

const suites = ["rust", ...Object.keys(runtimes)];

/** Runs a program, shows its output and returns it with the exit code. */
function runAndRead(program, args) {
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
    const timer = setTimeout(() => {
      process.stderr.write(`\nNo end after ${SUITE_TIMEOUT_MS / 60_000} minutes, stopped.\n`);
      child.kill("SIGKILL");
    }, SUITE_TIMEOUT_MS);
    let output = "";
    child.stdout.on("data", (chunk) => {
      output += chunk;
      process.stdout.write(chunk);
    });
    child.on("error", (error) => process.stderr.write(`${program}: ${error.message}\n`));
    child.on("close", (code) => {
      clearTimeout(timer);
      resolve({ code: code ?? 1, output });
    });
  });
}

/** A suite that ends badly without naming a failed test has failed all the same. */
function verdict({ passed, failed, skipped }, code) {
  const incomplete = code !== 0 || passed === 0;
  return { passed, failed: failed === 0 && incomplete ? 1 : failed, skipped };
}

async function testRust() {
  const { code, output } = await runAndRead("cargo", ["test", "--no-fail-fast"]);
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const results = /^test result: .*?(\d+) passed; (\d+) failed; (\d+) ignored/gm;
  for (const [, passed, failed, ignored] of output.matchAll(results)) {
    counts.passed += Number(passed);
    counts.failed += Number(failed);
    counts.skipped += Number(ignored);
  }
  return verdict(counts, code);
}

async function testRuntime(name) {
  const { program, flags } = runtimes[name];
  const report = path.join(cacheDir, "test", `${name}.json`);
  fs.rmSync(report, { force: true });
  const vitest = path.join(root, "node_modules/vitest/vitest.mjs");
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const { code } = await runAndRead(program, [...flags, vitest, "run", ...reporters]);
  return verdict(readReport(report), code);
}

function readReport(file) {
  if (!fs.existsSync(file)) {
    return { passed: 0, failed: 0, skipped: 0 };
  }
  const report = JSON.parse(fs.readFileSync(file, "utf8"));
  // A file that cannot even be loaded fails without a failed test in it.
  const broken = report.testResults.filter(
    ({ status, assertionResults }) =>
      status === "failed" && !assertionResults.some((result) => result.status === "failed"),
  );
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + broken.length,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

async function main() {
  const chosen = process.argv.length > 2 ? process.argv.slice(2) : suites;
  const unknown = chosen.filter((name) => !suites.includes(name));
  if (unknown.length > 0) {
    throw new Error(`No suite ${unknown.join(", ")}; there are: ${suites.join(", ")}`);
  }
  setup();
  const built = chosen.some((name) => name in runtimes) ? beginBuild() : undefined;
  const results = [];
  for (const name of chosen) {
    if (name in runtimes && (await built) !== 0) {
      throw new Error("The addon could not be built");
    }
    const title = name === "rust" ? "Rust" : describeRuntime(runtimes[name]);
    step(`Testing: ${title}`);
    results.push({ title, ...(name === "rust" ? await testRust() : await testRuntime(name)) });
  }
  return report(results);
}

/** Prints the table and the closing line; returns the exit code. */
function report(results) {
  step("Results");
  const total = { passed: 0, failed: 0 };
  for (const { title, passed, failed, skipped } of results) {
    total.passed += passed;
    total.failed += failed;
    console.log(`${title.padEnd(14)} ${passed} passed, ${failed} failed, ${skipped} skipped`);
  }
  console.log(`\n${total.passed} passed, ${total.failed} failed`);
  return total.failed === 0 ? 0 : 1;
}

process.exitCode = await main();
