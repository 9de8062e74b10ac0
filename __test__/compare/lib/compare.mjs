/** Runs a sequence on both implementations and compares the traces. */

import fs from "node:fs";
import { explain, loadsDiffering } from "./differences.mjs";
import { diff, Normaliser } from "./normal.mjs";
import { showString } from "./view.mjs";
import { World } from "./world.mjs";

/** Runs the whole plan on one implementation. */
export async function trace(api, root, plan) {
  fs.rmSync(root, { recursive: true, force: true });
  fs.mkdirSync(root, { recursive: true });
  const window = { from: Date.now(), to: 0 };
  const world = new World(api, root, plan);
  const steps = [];
  const facts = [];
  const disk = await world.prepare();
  let number = 1;
  try {
    for (const command of [plan.first, ...plan.commands]) {
      steps.push(await world.step(number++, command));
      facts.push(world.facts);
    }
    steps.push({ op: "end", finish: world.finish() });
    facts.push({ ...world.facts, reads: [] });
  } catch (error) {
    // Questions that the harness asks beside the command; what came before is compared still.
    steps.push({ broken: error.stack });
    facts.push({ ...world.facts });
  }
  await world.dispose();
  window.to = Date.now();
  return { window, disk, steps, facts };
}

/** The lines that were appended to a file, or undefined when it changed otherwise. */
function appended(old, lines) {
  const isText = Array.isArray(old) && Array.isArray(lines) && old.at(-1) === "";
  const isKept = isText && old.slice(0, -1).every((line, i) => line === lines[i]);
  return isKept ? lines.slice(old.length - 1) : undefined;
}

/** True when both runs did nothing to their file but append the same lines. */
function sameAppended([oldA, oldB], [a, b]) {
  const lines = appended(oldA, a);
  return lines !== undefined && JSON.stringify(lines) === JSON.stringify(appended(oldB, b));
}

/** What both runs have on disk, and which files differ for a listed reason. */
class Files {
  #sides = [new Map(), new Map()];
  differing = new Set();

  /**
   * Takes in the changes of one step; returns the files that differ after it. A file that differs for a
   * listed reason may go on to do so while both runs append the same lines to it.
   */
  update(left, right) {
    const changes = [left ?? {}, right ?? {}];
    const files = new Set(changes.flatMap(Object.keys));
    const old = new Map([...files].map((file) => [file, this.both(file)]));
    changes.forEach((side, i) => {
      for (const [file, lines] of Object.entries(side)) {
        this.#sides[i].set(file, lines);
      }
    });
    const out = [];
    for (const file of files) {
      const [a, b] = this.both(file);
      if (this.differing.has(file) && sameAppended(old.get(file), [a, b])) {
        continue;
      }
      this.differing.delete(file);
      if (JSON.stringify(a) !== JSON.stringify(b)) {
        out.push({ path: ["disk", file], left: a, right: b });
      }
    }
    return out;
  }

  /** What each of the runs has in a file. */
  both(file) {
    return this.#sides.map((side) => side.get(file) ?? null);
  }
}

/** One step of both runs: every difference is explained by a rule, or is reported. */
function judgeStep(context, differences, used) {
  const unexplained = [];
  let stopped = loadsDiffering(context);
  for (const difference of differences) {
    const explained = explain(context, difference);
    if (explained === undefined) {
      unexplained.push(difference);
      continue;
    }
    used.set(explained.rule, (used.get(explained.rule) ?? 0) + 1);
    if (difference.path[0] === "disk" && explained.verdict !== "alike") {
      context.files.differing.add(difference.path[1]);
    }
    if (explained.verdict === "stop") {
      stopped ??= explained.rule;
    }
  }
  return { unexplained, stopped };
}

/** A difference without the whole text of long lines. */
function shortened({ path, left, right }) {
  const [a, b] = [left, right].map((side) => (Array.isArray(side) ? side.map(showString) : side));
  return { path, left: a, right: b };
}

/**
 * Compares two traces. The result is undefined when nothing differs but what is listed, `{ stopped }` when
 * the traces part at a listed difference, and `{ step, differences }` otherwise.
 */
export function compareTraces(plan, left, right, used) {
  const names = [new Normaliser(left.window), new Normaliser(right.window)];
  const commands = [plan.first, ...plan.commands, { op: "end" }];
  const files = new Files();
  files.update(...[left, right].map((run, i) => names[i].value({ disk: run.disk }).disk));
  for (let i = 0; i < commands.length; i++) {
    const broken = left.steps[i].broken ?? right.steps[i].broken;
    if (broken !== undefined) {
      return { step: i, command: commands[i], differences: [{ path: ["broken"], left: broken }] };
    }
    const { disk: diskA, ...a } = names[0].value(left.steps[i]);
    const { disk: diskB, ...b } = names[1].value(right.steps[i]);
    const facts = names[0].peek(left.facts[i]);
    const concerned = [...(facts?.reads ?? []), facts?.before?.file, facts?.after[0]?.file];
    const before = Object.fromEntries(concerned.map((file) => [file, files.both(file)]));
    const differences = [...diff(a, b), ...files.update(diskA, diskB)];
    const written = Object.keys(diskB ?? {});
    const context = { plan, command: commands[i], index: i, a, b, facts, before, files, written };
    const { unexplained, stopped } = judgeStep(context, differences, used);
    if (stopped !== undefined) {
      return { stopped, step: i };
    }
    if (unexplained.length > 0) {
      return { step: i, command: commands[i], differences: unexplained.map(shortened) };
    }
  }
  return undefined;
}
