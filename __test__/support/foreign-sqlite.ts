/**
 * Another program at the same database: the SQLite that comes with Bun, in a process of its own.
 * The same in all runtimes, Node 20 has none.
 */

import { spawn, spawnSync } from "node:child_process";
import * as path from "node:path";

const bun = path.join(import.meta.dirname, "../../node_modules/@oven/bun-linux-x64/bin/bun");

type Row = Record<string, unknown>;

/** Runs statements; gives the rows of the last. */
export function foreignSqlite(file: string, ...statements: string[]): Row[] {
  const script = `
    const { Database } = require("bun:sqlite");
    const db = new Database(${JSON.stringify(file)});
    const statements = ${JSON.stringify(statements)};
    const last = statements.pop();
    for (const statement of statements) db.run(statement);
    console.log(JSON.stringify(db.query(last).all()));`;
  const child = spawnSync(bun, ["-e", script], { encoding: "utf8" });
  if (child.status !== 0) {
    throw new Error(`foreign process failed: ${child.stderr}`);
  }
  return JSON.parse(child.stdout);
}

/** Runs statements, resolves, and keeps what they locked for some time before it commits. */
export async function lockDatabase(file: string, milliseconds: number, ...statements: string[]) {
  const script = `
    const { Database } = require("bun:sqlite");
    const db = new Database(${JSON.stringify(file)});
    for (const statement of ${JSON.stringify(statements)}) db.run(statement);
    console.log("locked");
    setTimeout(() => db.run("COMMIT"), ${milliseconds});`;
  const child = spawn(bun, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
  await new Promise((resolve, reject) => {
    child.stdout.once("data", resolve);
    child.once("close", () => reject(new Error("the lock was not taken")));
  });
}

/** Runs a script in Bun; gives its output. */
export function runInBun(script: string): string {
  const child = spawnSync(bun, ["-e", script], { encoding: "utf8" });
  if (child.status !== 0) {
    throw new Error(`process failed: ${child.stderr}`);
  }
  return child.stdout;
}
