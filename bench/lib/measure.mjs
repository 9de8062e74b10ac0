/** What one process measures of itself. */

import fs from "node:fs";

/** A field of the kernel's account of this process, in bytes. */
function status(field) {
  const line = fs
    .readFileSync("/proc/self/status", "utf8")
    .match(new RegExp(`${field}:\\s+(\\d+)`));
  return Number(line[1]) * 1024;
}

function collect() {
  (globalThis.gc ?? globalThis.Bun?.gc)?.(true);
}

/**
 * Runs a function and gives its result with the wall time (ms), the longest time in which the event
 * loop did not turn (ms), and how far the resident memory rose above where it was (bytes).
 */
export async function measure(work) {
  collect();
  let gap = 0;
  let last = performance.now();
  let stopped = false;
  // A timer, not setImmediate: the loop sleeps between turns, as that of a program that waits does, and
  // leaves the processors to those who work.
  const turn = () => {
    const now = performance.now();
    gap = Math.max(gap, now - last);
    last = now;
    if (!stopped) {
      setTimeout(turn, 1);
    }
  };
  await new Promise((resolve) => setImmediate(resolve));
  const before = status("VmRSS");
  // Sets the peak back to the present size.
  fs.writeFileSync("/proc/self/clear_refs", "5");
  last = performance.now();
  setTimeout(turn, 1);
  const begun = performance.now();
  const value = await work();
  const time = performance.now() - begun;
  turn();
  stopped = true;
  await new Promise((resolve) => setImmediate(resolve));
  const growth = Math.max(0, status("VmHWM") - before);
  return { value, figures: { time, gap, growth } };
}
