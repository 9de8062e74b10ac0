/**
 * The package test: packs both packages, installs the tarballs into an empty folder without
 * network, compiler and install scripts, and uses the result from every runtime; then breaks the
 * installation in the ways that happen in the field. The last line says how many checks passed.
 */

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

import { describeRuntime, root, runtimes, step } from "./lib.mjs";
import { binary, packAll } from "./pack.mjs";

/** Newest glibc symbol version that the binary may ask for; README.md states it as requirement. */
const GLIBC_FLOOR = "2.34";

/** Libraries the binary may depend on: all are part of glibc or of the compiler's run time. */
const ALLOWED_LIBRARIES = /^(libc|libm|libgcc_s|libdl|libpthread|ld-linux-x86-64)\.so\.\d+$/;

const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "session-package-"));

/** The only folder in the consumer's PATH: no compiler, no cargo, nothing to build with. */
const bareBin = path.join(scratch, "bin");
const fixtures = path.join(root, "__test__/package");
const counts = { passed: 0, failed: 0 };

function check(title, body) {
  try {
    body();
    counts.passed++;
    console.log(`  ok      ${title}`);
  } catch (error) {
    counts.failed++;
    console.log(
      `  FAILED  ${title}\n${String(error?.stack ?? error).replace(/^/gm, "          ")}`,
    );
  }
}

/** Makes `bareBin`: Node, and the shell and `env` that npm is started with. */
function makeBareBin() {
  fs.mkdirSync(bareBin);
  fs.symlinkSync(process.execPath, path.join(bareBin, "node"));
  for (const name of ["sh", "env"]) {
    const found = execFileSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim();
    fs.symlinkSync(found, path.join(bareBin, name));
  }
}

/** The consumer's environment. */
function bareEnvironment(extra = {}) {
  return { ...process.env, PATH: bareBin, NO_COLOR: "1", ...extra };
}

/** Runs a script of the consumer in one runtime; returns what it printed as JSON. */
function runScript(runtime, cwd, args, env = {}) {
  const child = spawnSync(runtime.program, args, {
    cwd,
    encoding: "utf8",
    timeout: 120_000,
    env: bareEnvironment(env),
  });
  const said = `${child.stdout}\n${child.stderr}`;
  assert.equal(child.signal, null, `ended by ${child.signal}: ${said}`);
  assert.equal(child.status, 0, said);
  return JSON.parse(child.stdout);
}

/** A folder with the given tarballs installed and the consumer scripts copied in. */
function install(name, tarballs) {
  const dir = path.join(scratch, name);
  fs.mkdirSync(dir);
  fs.writeFileSync(path.join(dir, "package.json"), '{ "private": true }\n');
  const cache = path.join(scratch, "empty-npm-cache");
  const offline = ["--offline", "--cache", cache, "--ignore-scripts", "--no-audit", "--no-fund"];
  const npm = execFileSync("sh", ["-c", "command -v npm"], { encoding: "utf8" }).trim();
  execFileSync(npm, ["install", ...offline, "--loglevel=error", ...tarballs], {
    cwd: dir,
    env: bareEnvironment(),
    stdio: ["ignore", "ignore", "inherit"],
  });
  for (const file of fs.readdirSync(fixtures)) {
    fs.copyFileSync(path.join(fixtures, file), path.join(dir, file));
  }
  return dir;
}

function installedBinary(dir) {
  return path.join(
    dir,
    "node_modules/session-manager-native-linux-x64-gnu/session-manager-native.linux-x64-gnu.node",
  );
}

/** Size and time of every installed file, to notice a package that writes into itself. */
function fingerprint(dir) {
  const modules = path.join(dir, "node_modules");
  return fs
    .readdirSync(modules, { recursive: true })
    .map((name) => {
      const { size, mtimeMs } = fs.statSync(path.join(modules, name));
      return `${name} ${size} ${mtimeMs}`;
    })
    .sort();
}

function checkTarballs({ main, platform }) {
  step("Contents of the tarballs");
  check(
    "the main package holds the facade, the types, the program, the demo and nothing else",
    () => {
      const from = (dir, ending) =>
        fs
          .readdirSync(path.join(root, dir))
          .filter((name) => name.endsWith(ending))
          .map((name) => `${dir}/${name}`);
      const code = [...from("bin", ".js"), ...from("js", ".js"), ...from("js/cli", ".js")];
      const folders = [...code, ...from("types", ".d.ts")];
      const others = ["CHANGELOG.md", "LICENSE", "README.md", "index.d.ts", "index.js"];
      const demo = ["demo/run.js", "demo/sample-session.jsonl"];
      assert.deepEqual(main.files, ["package.json", ...others, ...demo, ...folders].sort());
    },
  );
  check("the platform package holds the binary and nothing else", () => {
    const expected = ["LICENSE", "README.md", "package.json", path.basename(binary)];
    assert.deepEqual(platform.files, expected.sort());
  });
  check("the platform package is limited to its system, processor and C library", () => {
    const { os: systems, cpu, libc } = platform.manifest;
    assert.deepEqual({ systems, cpu, libc }, { systems: ["linux"], cpu: ["x64"], libc: ["glibc"] });
  });
  check("nothing runs at installation", () => {
    for (const { manifest } of [main, platform]) {
      for (const hook of ["preinstall", "install", "postinstall", "prepare"]) {
        assert.equal(manifest.scripts?.[hook], undefined, hook);
      }
    }
    assert.equal(main.manifest.dependencies, undefined);
  });
}

function checkBinary() {
  step("The binary");
  const newest = (versions) =>
    versions.sort((a, b) => a.localeCompare(b, "en", { numeric: true })).at(-1);
  const dynamic = execFileSync("readelf", ["-dW", binary], { encoding: "utf8" });
  const versions = execFileSync("readelf", ["-VW", binary], { encoding: "utf8" });
  const needed = [...versions.matchAll(/GLIBC_(\d+(?:\.\d+)+)/g)].map((match) => match[1]);
  console.log(`  ${fs.statSync(binary).size} bytes, needs glibc ${newest(needed)}`);
  check(`needs no glibc newer than ${GLIBC_FLOOR}`, () => {
    assert.equal(newest([...needed, GLIBC_FLOOR]), GLIBC_FLOOR);
  });
  check("the README states that glibc version", () => {
    const readme = fs.readFileSync(path.join(root, "README.md"), "utf8");
    assert.match(readme, new RegExp(`glibc ${GLIBC_FLOOR.replace(".", "\\.")}`));
  });
  check("depends on no library beside the C library", () => {
    const libraries = [...dynamic.matchAll(/\(NEEDED\).*\[(.+)\]/g)].map((match) => match[1]);
    assert.ok(libraries.includes("libc.so.6"));
    assert.deepEqual(
      libraries.filter((name) => !ALLOWED_LIBRARIES.test(name)),
      [],
    );
  });
}

function checkUse(dir, version) {
  for (const [name, runtime] of Object.entries(runtimes)) {
    step(`Installed package in ${describeRuntime(runtime)}`);
    let exported;
    check("loads from CommonJS", () => {
      const seen = runScript(runtime, dir, ["use.cjs"]);
      assert.equal(seen.version, version);
      assert.ok(seen.exports.includes("SessionManager"), seen.exports.join());
      exported = seen.exports;
    });
    check("gives an ES module the same names", () => {
      const seen = runScript(runtime, dir, ["use.mjs"]);
      assert.deepEqual(seen, { exports: exported, formatVersion: 3, messages: 1 });
    });
    check("does the demo's job", () => {
      const demo = "node_modules/session-manager-native/demo/run.js";
      const seen = runScript(runtime, dir, [demo, "--json"], { TMPDIR: scratch });
      assert.equal(seen.entries, 53);
      assert.equal(seen.contextMessages, 18);
      assert.equal(seen.branchContextMessages, 11);
      assert.equal(seen.listed.length, 2);
      assert.ok(seen.files.every((file) => fs.existsSync(file)));
    });
    check("answers on the command line", () => {
      const linked = path.join(dir, "node_modules/.bin/session-manager-native");
      const program = fs.realpathSync(linked);
      const sample = path.join(
        dir,
        "node_modules/session-manager-native/demo/sample-session.jsonl",
      );
      const seen = runScript(runtime, dir, [program, "doctor", "--no-blobs", "--json", sample]);
      assert.deepEqual([seen.summary.files, seen.summary.findings], [1, 0]);
    });
    check("loads in four workers at once", () => {
      const { lines, expected } = runScript(runtime, dir, ["workers.cjs"], { TMPDIR: scratch });
      assert.deepEqual(lines, Array(5).fill(expected));
    });
    check("loads twice from two copies", () => {
      const copy = path.join(scratch, `copy-${name}`);
      fs.cpSync(path.join(dir, "node_modules"), path.join(copy, "node_modules"), {
        recursive: true,
      });
      const other = path.join(copy, "node_modules/session-manager-native");
      const seen = runScript(runtime, dir, ["two-copies.cjs", other]);
      assert.deepEqual(seen, { distinct: true, entries: [1, 0] });
    });
  }
}

/** A program made by `bun build --compile` carries the binary and runs without node_modules. */
function checkCompiled(dir) {
  for (const name of ["bun", "bun-agent"]) {
    const runtime = runtimes[name];
    step(`Single-file program of ${describeRuntime(runtime)}`);
    check("carries the addon and runs from another folder", () => {
      const program = path.join(scratch, `compiled-${name}`, "program");
      fs.mkdirSync(path.dirname(program));
      const args = ["build", "--compile", "--outfile", program, "compiled.mjs"];
      execFileSync(runtime.program, args, { cwd: dir, stdio: ["ignore", "ignore", "inherit"] });
      const modules = path.join(dir, "node_modules");
      const hidden = path.join(dir, "node_modules.hidden");
      fs.renameSync(modules, hidden);
      try {
        const seen = runScript({ program }, path.dirname(program), []);
        assert.deepEqual(seen, { entries: 1, isLeaf: true });
      } finally {
        fs.renameSync(hidden, modules);
      }
    });
  }
}

function checkTypes(dir) {
  step("Types of the installed package");
  fs.writeFileSync(
    path.join(dir, "types.ts"),
    [
      'import { SessionManager, type SessionEntry } from "session-manager-native";',
      'const manager: SessionManager = SessionManager.inMemory("/work/project");',
      "const entries: SessionEntry[] = manager.getEntries();",
      "// @ts-expect-error: an entry list is not a string",
      "const wrong: string = manager.getEntries();",
      "export { entries, wrong };",
      "",
    ].join("\n"),
  );
  for (const [module, resolution] of [
    ["nodenext", "nodenext"],
    ["esnext", "bundler"],
  ]) {
    check(`resolve with module resolution "${resolution}"`, () => {
      const tsc = path.join(root, "node_modules/typescript/bin/tsc");
      const settings = ["--module", module, "--moduleResolution", resolution];
      const types = ["--typeRoots", path.join(root, "node_modules/@types"), "--types", "node"];
      const strict = ["--noEmit", "--strict", "--target", "es2022"];
      const child = spawnSync(
        process.execPath,
        [tsc, ...strict, ...settings, ...types, "types.ts"],
        {
          cwd: dir,
          encoding: "utf8",
        },
      );
      assert.equal(child.status, 0, child.stdout);
    });
  }
}

/** Asserts the documented failure: no crash, the code, every path tried, the loader's words. */
function assertNotLoaded(seen, tried, words) {
  assert.equal(seen.loaded, false);
  assert.equal(seen.code, "ERR_NATIVE_ADDON_NOT_LOADED");
  for (const part of tried) {
    assert.ok(seen.message.includes(part), `"${part}" is missing in: ${seen.message}`);
  }
  assert.match(seen.message, words);
  assert.ok(seen.cause, "the loader's error is the cause");
}

function checkDamage(dir, withoutOptional) {
  const target = installedBinary(dir);
  const whole = fs.readFileSync(target);
  const platformPackage = "session-manager-native-linux-x64-gnu";
  const localBinary = path.join(
    dir,
    "node_modules/session-manager-native/session-manager-native.linux-x64-gnu.node",
  );
  const wrongProcessor = Buffer.from(whole);
  wrongProcessor.writeUInt16LE(183, 18);
  const damages = [
    ["not a binary", Buffer.from("this is text, not a shared library\n"), /too short|invalid ELF/],
    ["an empty file", Buffer.alloc(0), /too short/],
    ["cut short", whole.subarray(0, 100_000), /cut short/],
    ["made for another processor", wrongProcessor, /shared object|wrong ELF|architecture/],
  ];
  for (const runtime of Object.values(runtimes)) {
    step(`Damaged installations in ${describeRuntime(runtime)}`);
    check("the platform package is missing", () => {
      const seen = runScript(runtime, withoutOptional, ["load.cjs"]);
      const own = localBinary.replace(dir, withoutOptional);
      assertNotLoaded(seen, [own, platformPackage], /Cannot find (module|package)/);
    });
    for (const [title, bytes, words] of damages) {
      check(`the binary is ${title}`, () => {
        fs.writeFileSync(target, bytes);
        try {
          const seen = runScript(runtime, dir, ["load.cjs"]);
          assertNotLoaded(seen, [localBinary, platformPackage], words);
        } finally {
          fs.writeFileSync(target, whole);
        }
      });
    }
    check("the platform package has another version", () => {
      const manifest = path.join(path.dirname(target), "package.json");
      const text = fs.readFileSync(manifest, "utf8");
      fs.writeFileSync(manifest, text.replace('"version": "', '"version": "9.'));
      try {
        const seen = runScript(runtime, dir, ["load.cjs"]);
        assertNotLoaded(seen, [platformPackage], /version 9\.\S+ is installed/);
      } finally {
        fs.writeFileSync(manifest, text);
      }
    });
    check("SESSION_MANAGER_NATIVE_PATH names a missing file", () => {
      const missing = path.join(scratch, "nowhere", "addon.node");
      const seen = runScript(runtime, dir, ["load.cjs"], { SESSION_MANAGER_NATIVE_PATH: missing });
      assertNotLoaded(seen, [missing, "SESSION_MANAGER_NATIVE_PATH"], /Cannot find module/);
      assert.ok(!seen.message.includes(localBinary), "nothing else is tried");
    });
    check("SESSION_MANAGER_NATIVE_PATH names a good file", () => {
      const seen = runScript(runtime, withoutOptional, ["load.cjs"], {
        SESSION_MANAGER_NATIVE_PATH: path.relative(withoutOptional, target),
      });
      assert.equal(seen.loaded, true);
    });
  }
}

function main() {
  const packages = packAll();
  checkTarballs(packages);
  checkBinary();
  step("Installing the tarballs into an empty folder, without network and without a compiler");
  makeBareBin();
  check("no compiler is within reach", () => {
    for (const name of ["cc", "cargo", "rustc"]) {
      assert.equal(spawnSync(name, [], { env: bareEnvironment() }).error?.code, "ENOENT", name);
    }
  });
  const dir = install("consumer", [packages.main.file, packages.platform.file]);
  const withoutOptional = install("without-optional", ["--omit=optional", packages.main.file]);
  const before = fingerprint(dir);
  checkUse(dir, packages.main.manifest.version);
  checkCompiled(dir);
  checkTypes(dir);
  check("using the package wrote nothing into it", () => {
    assert.deepEqual(fingerprint(dir), before);
  });
  checkDamage(dir, withoutOptional);
}

try {
  main();
} finally {
  fs.rmSync(scratch, { recursive: true, force: true });
}
console.log(`\n${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.failed === 0 ? 0 : 1;
