import fs from "node:fs";
import type { Unchecked } from "./loose.js";

/** Recorded inputs with the results that they must give. */
export function vectors(name: string): Unchecked {
  const file = new URL(`../vectors/${name}.json`, import.meta.url);
  return JSON.parse(fs.readFileSync(file, "utf8"));
}
