/** Runs a sequence on both implementations and compares the traces. */

import fs from "node:fs";
import { explain } from "./differences.mjs";
import { diff, Normaliser } from "./normal.mjs";
import { World } from "./world.mjs";

/** Runs the whole plan on one implementation. */
export async function trace(api, root, plan) {
  fs.rmSync(root, { recursive: true, force: true });
  fs.mkdirSync(root, { recursive: true });
  const window = { from: Date.now(), to: 0 };
  const world = new World(api, root, plan);
  const steps = [];
  await world.prepare();
  let number = 1;
  for (const command of [plan.first, ...plan.commands]) {
    steps.push(await world.step(number++, command));
  }
  steps.push({ op: "end", finish: world.finish() });
  await world.dispose();
  window.to = Date.now();
  return { window, steps };
}

/**
 * Compares two traces. The result is undefined when nothing differs, `{ stopped }` when the traces part
 * at a listed difference, and `{ step, differences }` otherwise.
 */
export function compareTraces(plan, left, right, used) {
  const names = [new Normaliser(left.window), new Normaliser(right.window)];
  const commands = [plan.first, ...plan.commands, { op: "end" }];
  for (let i = 0; i < commands.length; i++) {
    const a = names[0].value(left.steps[i]);
    const b = names[1].value(right.steps[i]);
    const context = { plan, command: commands[i], index: i, left: left.steps, right: right.steps, a, b };
    const unexplained = [];
    let stop;
    for (const difference of diff(a, b)) {
      const explained = explain(context, difference);
      if (explained === undefined) {
        unexplained.push(difference);
        continue;
      }
      used.set(explained.rule, (used.get(explained.rule) ?? 0) + 1);
      stop ??= explained.verdict === "stop" ? explained.rule : undefined;
    }
    if (stop === undefined && unexplained.length > 0) {
      return { step: i, command: commands[i], differences: unexplained };
    }
    if (stop !== undefined) {
      return { stopped: stop, step: i };
    }
  }
  return undefined;
}
