/**
 * A prompt history at the other end of a pipe: ours or the original, by the first argument. Reads a
 * call as JSON from each line of standard input and answers with a line.
 */

import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

const [which] = process.argv.slice(2);

const { HistoryStorage } =
  which === "ours"
    ? createRequire(import.meta.url)("../../../index.js")
    : await import("@oh-my-pi/pi-coding-agent/session/history-storage");

let history;

const calls = {
  open(file) {
    history = new HistoryStorage(file);
  },
  async add(prompts) {
    await Promise.all(prompts.map(([prompt, cwd]) => history.add(prompt, cwd)));
    // This version of the original resolves before it writes.
    if (which === "original") {
      await sleep(5);
    }
  },
  recent: (limit) => history.getRecent(limit),
  search: (query, limit) => history.search(query, limit),
};

for await (const line of createInterface({ input: process.stdin })) {
  const [name, ...args] = JSON.parse(line);
  let answer;
  try {
    answer = { value: (await calls[name](...args)) ?? null };
  } catch (error) {
    answer = { error: error.code ?? String(error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
process.exit(0);
