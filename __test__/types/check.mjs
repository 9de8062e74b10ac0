/**
 * Type-checks the declarations the way users meet them: installed in `node_modules` of another
 * project, under each way of resolving modules, from CommonJS and from ES modules, with and without
 * `exactOptionalPropertyTypes`. Prints what the compiler says and exits with 1 if it says anything.
 *
 *   node __test__/types/check.mjs
 */

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, "../..");

const { ModuleKind, ModuleResolutionKind: Resolution } = ts;
const settings = [
  { name: "node16, CommonJS", dir: "cjs", module: ModuleKind.Node16 },
  { name: "node16, ES modules", dir: "esm", module: ModuleKind.Node16, vitest: true },
  { name: "nodenext, CommonJS", dir: "cjs", module: ModuleKind.NodeNext, augment: true },
  { name: "nodenext, ES modules", dir: "esm", module: ModuleKind.NodeNext, augment: true },
  {
    name: "bundler",
    dir: "esm",
    module: ModuleKind.ESNext,
    moduleResolution: Resolution.Bundler,
    vitest: true,
    augment: true,
  },
];

/** A project with the package installed, once as CommonJS and once as ES modules. */
function makeProject() {
  const project = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "types-check-")));
  const modules = path.join(project, "node_modules");
  const installed = path.join(modules, "session-manager-native");
  fs.mkdirSync(path.join(modules, "@types"), { recursive: true });
  fs.mkdirSync(installed);
  for (const name of ["package.json", "index.js", "index.d.ts", "types"]) {
    fs.cpSync(path.join(root, name), path.join(installed, name), { recursive: true });
  }
  for (const name of ["@types/node", "vitest"]) {
    fs.symlinkSync(
      fs.realpathSync(path.join(root, "node_modules", name)),
      path.join(modules, name),
    );
  }
  for (const [dir, type] of [
    ["cjs", "commonjs"],
    ["esm", "module"],
  ]) {
    fs.cpSync(here, path.join(project, dir), { recursive: true });
    fs.writeFileSync(path.join(project, dir, "package.json"), JSON.stringify({ type }));
  }
  return project;
}

/** Parsed files, which are the same for all programs that see them in the same module format. */
const parsed = new Map();

function makeHost(options) {
  const host = ts.createCompilerHost(options);
  const read = host.getSourceFile;
  host.getSourceFile = (name, how, ...rest) => {
    const key = `${name}\n${JSON.stringify(how, ["languageVersion", "impliedNodeFormat"])}`;
    if (!parsed.has(key)) {
      parsed.set(key, read(name, how, ...rest));
    }
    return parsed.get(key);
  };
  return host;
}

/** Type-checks some folders of the project as one program; returns the diagnostics. */
function check(project, { dir, module, moduleResolution }, folders, extra) {
  const options = {
    module,
    moduleResolution,
    target: ts.ScriptTarget.ES2023,
    lib: ["lib.es2023.d.ts"],
    types: ["node"],
    typeRoots: [path.join(project, "node_modules/@types")],
    strict: true,
    noUncheckedIndexedAccess: true,
    noImplicitOverride: true,
    isolatedModules: true,
    esModuleInterop: true,
    noEmit: true,
    ...extra,
  };
  const files = folders.flatMap((folder) =>
    fs
      .readdirSync(path.join(project, dir, folder))
      .map((name) => path.join(project, dir, folder, name)),
  );
  const program = ts.createProgram(files, options, makeHost(options));
  // The package's own declarations are checked too; those of its neighbours are not ours to check.
  const installed = path.join(project, "node_modules/session-manager-native/");
  const own = program.getSourceFiles().filter(({ fileName }) => fileName.startsWith(installed));
  if (!own.some(({ fileName }) => fileName === `${installed}index.d.ts`)) {
    throw new Error(`The package was not resolved to its declarations in ${installed}`);
  }
  return [
    ...program.getOptionsDiagnostics(),
    ...program.getGlobalDiagnostics(),
    ...[...own, ...files.map((name) => program.getSourceFile(name))].flatMap((file) => [
      ...program.getSyntacticDiagnostics(file),
      ...program.getSemanticDiagnostics(file),
    ]),
  ];
}

function format(project, diagnostics) {
  return ts.formatDiagnostics(diagnostics, {
    getCanonicalFileName: (name) => name,
    getCurrentDirectory: () => project,
    getNewLine: () => "\n",
  });
}

function* runs() {
  for (const setting of settings) {
    const folders = setting.vitest ? ["shared", "esm-only"] : ["shared"];
    for (const exactOptionalPropertyTypes of [false, true]) {
      const title = `${setting.name}${exactOptionalPropertyTypes ? ", exact optional" : ""}`;
      yield { title, setting, folders, extra: { exactOptionalPropertyTypes } };
    }
    // Each augmentation changes the package for its whole program, so it needs one of its own.
    for (const folder of setting.augment ? ["augment-roles", "augment-override"] : []) {
      yield { title: `${setting.name}, ${folder}`, setting, folders: [folder], extra: {} };
    }
  }
}

const project = makeProject();
let failures = 0;
try {
  for (const { title, setting, folders, extra } of runs()) {
    const diagnostics = check(project, setting, folders, extra);
    console.log(`${diagnostics.length === 0 ? "ok  " : "FAIL"} ${title}`);
    if (diagnostics.length > 0) {
      console.log(format(project, diagnostics).trimEnd().replace(/^/gm, "     "));
    }
    failures += diagnostics.length;
  }
} finally {
  fs.rmSync(project, { recursive: true, force: true });
}
process.exitCode = failures === 0 ? 0 : 1;
