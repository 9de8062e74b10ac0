/** Session files of hundreds of megabytes, written in a second or two. */

import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { A, H, type Line, toolResult, U } from "./fixtures.js";

const MIB = 1 << 20;

/** Writes a file piece by piece. */
class Output {
  #fd: number;

  constructor(path: string) {
    mkdirSync(dirname(path), { recursive: true });
    this.#fd = openSync(path, "w");
  }

  line(line: Line) {
    this.write(Buffer.from(`${typeof line === "string" ? line : JSON.stringify(line)}\n`));
  }

  write(bytes: Uint8Array) {
    for (let from = 0; from < bytes.length; ) {
      from += writeSync(this.#fd, bytes, from);
    }
  }

  close() {
    closeSync(this.#fd);
  }
}

/** What a file of {@link writeHugeSession} holds. */
export interface HugeSession {
  /** Entries of all branches. */
  entries: number;
  /** Ids of the active path. */
  path: string[];
}

/**
 * Writes a session of about 650 MB: two abandoned branches, one of 600 tool results of a mebibyte each,
 * one of 100,000 short ones, and an active path of four entries.
 */
export function writeHugeSession(path: string): HugeSession {
  const [long, short] = [600, 100_000];
  const output = new Output(path);
  output.line(H());
  output.line(U("u1", null));
  const [before, between, after] = JSON.stringify(
    U("ID", "PARENT", { message: toolResult("TEXT") }),
  ).split(/"ID"|"PARENT"/) as [string, string, string];
  const text = Buffer.from(after.replace("TEXT", "0123456789abcdef".repeat(MIB / 16)));
  for (let n = 0; n < long; n++) {
    const parent = n === 0 ? "u1" : `long${n - 1}`;
    const head = Buffer.from(`${before}"long${n}"${between}"${parent}"`);
    output.write(Buffer.concat([head, text, Buffer.from("\n")]));
  }
  let batch = "";
  for (let n = 0; n < short; n++) {
    batch += `${JSON.stringify(A(`short${n}`, n === 0 ? "u1" : `short${n - 1}`))}\n`;
    if (batch.length > MIB || n === short - 1) {
      output.write(Buffer.from(batch));
      batch = "";
    }
  }
  output.line(A("a1", "u1"));
  output.line(U("u2", "a1"));
  output.line(A("a2", "u2"));
  output.close();
  return { entries: 1 + long + short + 3, path: ["u1", "a1", "u2", "a2"] };
}

/**
 * Writes `u1`, an entry `giant` whose text has about so many bytes, and a conversation `a1`, `u2`
 * that goes on from `u1`.
 */
export function writeSessionWithLine(path: string, bytes: number) {
  const output = new Output(path);
  output.line(H());
  output.line(U("u1", null));
  const [before, after] = JSON.stringify(U("giant", "u1")).split('"content":"giant"') as [
    string,
    string,
  ];
  output.write(Buffer.from(`${before}"content":"`));
  const block = Buffer.alloc(MIB, "0123456789abcdef");
  for (let left = bytes; left > 0; left -= block.length) {
    output.write(block.subarray(0, Math.min(left, block.length)));
  }
  output.write(Buffer.from(`"${after}\n`));
  output.line(A("a1", "u1"));
  output.line(U("u2", "a1"));
  output.close();
}
