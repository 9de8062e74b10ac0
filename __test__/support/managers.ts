import { SessionManager } from "../../index.js";
import { assistantMessage, userMessage } from "./messages.js";

/** The session file of a manager that must have one. */
export function fileOf(manager: SessionManager): string {
  const file = manager.getSessionFile();
  if (file === undefined) {
    throw new Error("The manager has no session file");
  }
  return file;
}

/** A persisting manager whose directory is `dir`; nothing is written yet. */
export function createIn(dir: string, cwd = dir): SessionManager {
  return SessionManager.create(cwd, dir);
}

/** A persisting manager with one question and one answer, on disk. */
export async function createWritten(dir: string, cwd = dir): Promise<SessionManager> {
  const manager = createIn(dir, cwd);
  manager.appendMessage(userMessage("question"));
  manager.appendMessage(assistantMessage("answer"));
  await manager.flush();
  return manager;
}

/** The base name of the file of a new session: time, underscore, id. */
export const SESSION_FILE_NAME = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z_[0-9a-f]{16}\.jsonl$/;

/** Entry ids of appends. */
export const ENTRY_ID = /^[0-9a-f]{8}$/;

/** Session ids. */
export const SESSION_ID = /^[0-9a-f]{16}$/;

/** The creation time that a session id carries, in milliseconds since 1970. */
export function timeOfSessionId(id: string): number {
  return Number(BigInt(`0x${id}`) >> 22n) + 1_420_070_400_000;
}
