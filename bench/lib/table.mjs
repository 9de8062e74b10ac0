/** Prints figures as a table. */

import { peers } from "./peers.mjs";

const COLUMN = 30;

function time(value) {
  if (value === undefined) {
    return "";
  }
  if (value < 0.1) {
    return `${(value * 1_000).toFixed(value < 0.01 ? 2 : 1)} us`;
  }
  return `${value.toFixed(value < 10 ? 2 : 0)} ms`;
}

function cell(figures) {
  if (!figures) {
    return "-";
  }
  const gap =
    figures.gap === undefined ? "" : ` gap ${figures.gap.toFixed(figures.gap < 10 ? 1 : 0)}`;
  const growth = figures.growth === undefined ? "" : ` +${Math.round(figures.growth / (1 << 20))}M`;
  return `${time(figures.time)}${gap}${growth}`;
}

/** How many times faster the slower of ours is than the faster of the others. */
function ratio(row) {
  const of = (isOurs) =>
    Object.entries(row)
      .filter(([peer]) => peer.startsWith("ours") === isOurs)
      .map(([, figures]) => figures.time)
      .filter((value) => value !== undefined);
  const ours = of(true);
  const theirs = of(false);
  if (ours.length === 0 || theirs.length === 0) {
    return "";
  }
  return `${(Math.min(...theirs) / Math.max(...ours)).toFixed(1)}x`;
}

/** Prints the rows of one scenario. */
export function printTable(name, rows, chosen) {
  const titles = chosen.map((peer) => peers[peer].title.padEnd(COLUMN));
  const lines = [`\n${name}`.padEnd(COLUMN + 1) + titles.join("") + "ratio"];
  for (const [row, figures] of Object.entries(rows)) {
    const cells = chosen.map((peer) => cell(figures[peer]).padEnd(COLUMN));
    lines.push(`  ${row}`.padEnd(COLUMN) + cells.join("") + ratio(figures));
  }
  process.stdout.write(`${lines.join("\n")}\n`);
}
