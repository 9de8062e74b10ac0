import { SessionManager } from "../../index.js";
import { type Loose, loose, type Unchecked } from "./loose.js";
import { createIn, fileOf } from "./managers.js";
import { assistantMessage } from "./messages.js";
import { rawLines } from "./session-files.js";

/** The ways in which an entry reaches a file. */
export const WAYS = ["append", "first write", "rewrite", "fork", "branched session"] as const;

/** One of {@link WAYS}. */
export type Way = (typeof WAYS)[number];

/** An entry as it was written. */
export interface Written {
  /** The line, without its line feed. */
  text: string;
  /** The parsed line. */
  line: Loose;
  /** The session file. */
  file: string;
  /** The manager that wrote it. */
  manager: SessionManager;
}

/** Lets `append` add an entry to a new session, writes it in the given way and reads it back. */
export async function written(
  dir: string,
  way: Way,
  append: (manager: SessionManager) => string,
): Promise<Written> {
  const manager = createIn(dir);
  manager.appendMessage(assistantMessage());
  if (way === "append") {
    await manager.flush();
  }
  const id = append(manager);
  if (way === "branched session") {
    manager.createBranchedSession(id);
    await manager.flush();
  } else if (way === "fork") {
    await manager.fork();
  } else {
    await manager.flush();
  }
  if (way === "rewrite") {
    await manager.rewriteEntries();
  }
  return { ...found(fileOf(manager), id), file: fileOf(manager), manager };
}

/** The same for custom data; `line.data` is what became of it. */
export function writtenData(dir: string, way: Way, data: unknown): Promise<Written> {
  return written(dir, way, (manager) => manager.appendCustomEntry("ct", data));
}

/** The same for a message. */
export function writtenMessage(dir: string, way: Way, message: Unchecked): Promise<Written> {
  return written(dir, way, (manager) => manager.appendMessage(message));
}

/** The entry as a fresh manager reads it. */
export async function reopened(result: Written): Promise<Loose> {
  const manager = await SessionManager.open(result.file);
  return loose(manager.getEntry(result.line.id));
}

function found(file: string, id: string): { text: string; line: Loose } {
  for (const text of rawLines(file)) {
    const line = JSON.parse(text) as Loose;
    if (line.id === id) {
      return { text, line };
    }
  }
  throw new Error(`${file} has no entry ${id}`);
}
