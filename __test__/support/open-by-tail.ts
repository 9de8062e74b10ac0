import { createRequire } from "node:module";
import type { Unchecked } from "./loose.js";

const native = createRequire(import.meta.url)("../../js/native.js") as Unchecked;

const { SessionCore } = native;

/** Opens a file like the store does: the end of a long one first. */
export type Open = (path: string, now: number) => Promise<Unchecked>;

/** Files of any length are opened like long ones, in windows from `firstWindow` bytes on. */
export function byTail(firstWindow = 64): Open {
  const reach = { shortestFile: 0, firstWindow, longestWindow: 2 ** 40 };
  return (path, now) => SessionCore.open(path, now, reach);
}

/** Files are read as a whole before they are there. */
export const asWhole: Open = (path, now) => SessionCore.load(path, now);

/** Lets sessions be opened in another way from now on. */
export function openWith(open: Open): void {
  native.SessionCore = class extends SessionCore {
    static open = open;
  };
}

/** Ends `openWith`. */
export function openAsUsual(): void {
  native.SessionCore = SessionCore;
}
