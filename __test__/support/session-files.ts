import * as fs from "node:fs";
import type { Loose } from "./loose.js";
import { assistantMessage, userMessage } from "./messages.js";

/** The fixed size of the first line of files that the store creates, line feed included. */
export const HEADER_LINE_BYTES = 512;

/** The raw lines of a file, without their line feeds; fails when the last line is unterminated. */
export function rawLines(file: string): string[] {
  const text = fs.readFileSync(file, "utf8");
  if (text === "") {
    return [];
  }
  if (!text.endsWith("\n")) {
    throw new Error(`The last line of ${file} is not terminated: ${text.slice(-80)}`);
  }
  return text.slice(0, -1).split("\n");
}

/** Every line of a session file, parsed strictly: header first. */
export function readSession(file: string): Loose[] {
  return rawLines(file).map((line) => JSON.parse(line) as Loose);
}

/** Every line except the header. */
export function readEntries(file: string): Loose[] {
  return readSession(file).filter((line) => line.type !== "session");
}

/** The ids of the entries of a session file, in file order. */
export function entryIds(file: string): string[] {
  return readEntries(file).map((entry) => entry.id as string);
}

/** Writes values as one JSON line each; strings are written as they are. Returns the path. */
export function writeLines(file: string, lines: readonly (Loose | string)[]): string {
  const text = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line)));
  fs.writeFileSync(file, text.map((line) => `${line}\n`).join(""));
  return file;
}

/** A header as an older program wrote it: no padding. */
export function headerLine(extra: Loose = {}): Loose {
  return {
    type: "session",
    version: 3,
    id: "15e1be0f427b9866",
    timestamp: "2026-01-02T03:04:05.678Z",
    cwd: "/work/project",
    ...extra,
  };
}

/** Entry timestamps one second apart. */
export function timestampAt(second: number): string {
  return new Date(Date.UTC(2026, 0, 2, 3, 4, 5) + second * 1000).toISOString();
}

/** Any entry; the base fields come first, as in files. */
export function entryLine(
  type: string,
  id: string,
  parentId: string | null,
  fields: Loose = {},
  second = 0,
): Loose {
  return { type, id, parentId, timestamp: timestampAt(second), ...fields };
}

/** A message entry. */
export function messageLine(
  id: string,
  parentId: string | null,
  message: Loose,
  second = 0,
): Loose {
  return entryLine("message", id, parentId, { message }, second);
}

/** Header, a user question and an assistant answer: the smallest complete session. */
export function smallSession(extraHeader: Loose = {}): Loose[] {
  return [
    headerLine(extraHeader),
    messageLine("aaaaaaa1", null, userMessage("question"), 1),
    messageLine("aaaaaaa2", "aaaaaaa1", assistantMessage("answer"), 2),
  ];
}

/** What must not change when a session is only read. */
export function fingerprint(file: string): { text: string; mtimeMs: number; ino: number } {
  const stat = fs.statSync(file);
  return { text: fs.readFileSync(file, "utf8"), mtimeMs: stat.mtimeMs, ino: stat.ino };
}
