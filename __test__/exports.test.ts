// The declarations and the code describe the same package.

import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.resolve(here, "..");
const pkg: Record<string, unknown> = createRequire(import.meta.url)("../index.js");

const program = ts.createProgram([path.join(root, "index.d.ts")], {
  module: ts.ModuleKind.NodeNext,
  target: ts.ScriptTarget.ES2023,
  types: ["node"],
  typeRoots: [path.join(root, "node_modules/@types")],
  strict: true,
});
const checker = program.getTypeChecker();

interface Member {
  name: string;
  isStatic: boolean;
  isMethod: boolean;
  returnsPromise: boolean;
}

function resolved(symbol: ts.Symbol): ts.Symbol {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

function exportedSymbols(): ts.Symbol[] {
  const file = program.getSourceFile(path.join(root, "index.d.ts"));
  const module = file && checker.getSymbolAtLocation(file);
  if (!module) {
    throw new Error("index.d.ts is no module");
  }
  return checker.getExportsOfModule(module).map(resolved);
}

const declared = exportedSymbols();
const values = declared.filter((symbol) => symbol.flags & ts.SymbolFlags.Value);
const classes = values.filter((symbol) => symbol.flags & ts.SymbolFlags.Class);

/** What a caller can rely on seeing in the type of a value, in one word. */
function kindOf(symbol: ts.Symbol): string {
  if (symbol.flags & ts.SymbolFlags.Class) {
    return "class";
  }
  const type = checker.getTypeOfSymbol(symbol);
  return type.getCallSignatures().length > 0 ? "function" : checker.typeToString(type);
}

function runtimeKindOf(value: unknown): string {
  if (typeof value !== "function") {
    return JSON.stringify(value);
  }
  return /^class\b/.test(Function.prototype.toString.call(value)) ? "class" : "function";
}

function returnsPromise(symbol: ts.Symbol): boolean {
  const results = checker
    .getTypeOfSymbol(symbol)
    .getCallSignatures()
    .map((signature) => signature.getReturnType().symbol?.name === "Promise");
  return results.length > 0 && results.every(Boolean);
}

/** Whether a member is declared here, not inherited from a class of the language. */
function isOurs(member: ts.Symbol): boolean {
  const files = (member.declarations ?? []).map((it) => it.getSourceFile().fileName);
  return files.some((file) => file.startsWith(root) && !file.includes("/node_modules/"));
}

function membersOf(symbol: ts.Symbol): Member[] {
  const describeMember = (member: ts.Symbol, isStatic: boolean): Member => ({
    name: member.name,
    isStatic,
    isMethod: (member.flags & ts.SymbolFlags.Method) !== 0,
    returnsPromise: returnsPromise(member),
  });
  const instance = checker
    .getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol))
    .filter(isOurs);
  const statics = checker
    .getPropertiesOfType(checker.getTypeOfSymbol(symbol))
    .filter((member) => member.flags & ts.SymbolFlags.Method && isOurs(member));
  return [
    ...instance.map((member) => describeMember(member, false)),
    ...statics.map((member) => describeMember(member, true)),
  ];
}

function holderOf(owner: ts.Symbol, isStatic: boolean): object {
  const classObject = pkg[owner.name] as { prototype: object };
  return isStatic ? classObject : classObject.prototype;
}

const isAsync = (value: unknown) => Object.getPrototypeOf(value) !== Function.prototype;
const byName = (a: string, b: string) => (a < b ? -1 : 1);

describe("exports", () => {
  const names = values.map(({ name }) => name).sort(byName);

  it("are the same in the declarations and in the code", () => {
    expect(Object.keys(pkg).sort(byName)).toEqual(names);
  });

  it("are of the declared kinds", () => {
    const expected = Object.fromEntries(values.map((symbol) => [symbol.name, kindOf(symbol)]));
    const actual = Object.fromEntries(names.map((name) => [name, runtimeKindOf(pkg[name])]));
    expect(actual).toEqual(expected);
  });

  it("return promises where they say so, even for wrong arguments", () => {
    const functions = values.filter((symbol) => kindOf(symbol) === "function");
    const actual = functions.filter(({ name }) => isAsync(pkg[name])).map(({ name }) => name);
    expect(actual).toEqual(functions.filter(returnsPromise).map(({ name }) => name));
  });

  it("can be imported by name from an ES module", () => {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), "exports-"));
    try {
      const script = path.join(dir, "import.mjs");
      const target = JSON.stringify(pathToFileURL(path.join(root, "index.js")).href);
      fs.writeFileSync(
        script,
        `import { ${names.join(", ")} } from ${target};
        console.log(JSON.stringify([${names.map((name) => `typeof ${name}`)}]));`,
      );
      const output = execFileSync(process.execPath, [script], { encoding: "utf8" });
      expect(JSON.parse(output)).toEqual(names.map((name) => typeof pkg[name]));
    } finally {
      fs.rmSync(dir, { recursive: true });
    }
  });
});

/** Methods whose calls share a promise; they throw for wrong arguments. */
const SHARING = new Set(["HistoryStorage.add"]);

describe.each(classes.map((symbol) => [symbol.name, symbol] as const))("class %s", (_, owner) => {
  const members = membersOf(owner);
  const methods = members.filter(({ isMethod }) => isMethod);

  it.each([false, true])("has the declared members (static: %s)", (isStatic) => {
    const builtIn = isStatic ? ["length", "name", "prototype"] : ["constructor"];
    const own = Object.getOwnPropertyNames(holderOf(owner, isStatic)).filter(
      (name) => !builtIn.includes(name) && !name.startsWith("_"),
    );
    const known = members.filter((member) => member.isStatic === isStatic);
    expect(own.filter((name) => !known.some((member) => member.name === name))).toEqual([]);
    const missing = known.filter(({ name, isMethod }) => isMethod && !own.includes(name));
    expect(missing.map(({ name }) => name)).toEqual([]);
  });

  it("returns promises exactly where it says so, even for wrong arguments", () => {
    const actual = methods.map(({ name, isStatic }) => {
      const method = Reflect.get(holderOf(owner, isStatic), name);
      const isPromise = isAsync(method) || SHARING.has(`${owner.name}.${name}`);
      return `${name}: ${isPromise ? "promise" : "value"}`;
    });
    expect(actual).toEqual(
      methods.map((member) => `${member.name}: ${member.returnsPromise ? "promise" : "value"}`),
    );
  });

  it("has methods that can be replaced and are not listed", () => {
    for (const { name, isStatic } of methods) {
      const property = Object.getOwnPropertyDescriptor(holderOf(owner, isStatic), name);
      expect({ name, ...property, value: undefined }).toEqual({
        name,
        value: undefined,
        writable: true,
        configurable: true,
        enumerable: false,
      });
    }
  });
});

describe("declarations", () => {
  const isDocumented = (symbol: ts.Symbol) => symbol.getDocumentationComment(checker).length > 0;

  it("explain every exported name", () => {
    expect(declared.filter((symbol) => !isDocumented(symbol)).map(({ name }) => name)).toEqual([]);
  });

  it("explain every member of classes and every method of interfaces", () => {
    const silent: string[] = [];
    for (const symbol of declared) {
      const isClass = (symbol.flags & ts.SymbolFlags.Class) !== 0;
      if (!isClass && !(symbol.flags & ts.SymbolFlags.Interface)) {
        continue;
      }
      const members = [
        ...checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(symbol)),
        ...(isClass ? checker.getPropertiesOfType(checker.getTypeOfSymbol(symbol)) : []),
      ].filter((member) => (isClass ? isOurs(member) : member.flags & ts.SymbolFlags.Method));
      for (const member of members) {
        if (member.name !== "prototype" && !isDocumented(member)) {
          silent.push(`${symbol.name}.${member.name}`);
        }
      }
    }
    expect(silent).toEqual([]);
  });

  it("are all used by the type tests", () => {
    const dir = path.join(here, "types/shared");
    const used = new Set<string>();
    for (const name of fs.readdirSync(dir).filter((file) => file.endsWith(".test-d.ts"))) {
      const text = fs.readFileSync(path.join(dir, name), "utf8");
      for (const statement of ts.createSourceFile(name, text, ts.ScriptTarget.ES2023).statements) {
        const clause = ts.isImportDeclaration(statement) && statement.importClause;
        if (clause && clause.namedBindings && ts.isNamedImports(clause.namedBindings)) {
          for (const { name: imported, propertyName } of clause.namedBindings.elements) {
            used.add((propertyName ?? imported).text);
          }
        }
      }
    }
    expect(declared.map(({ name }) => name).filter((name) => !used.has(name))).toEqual([]);
  });
});
