/** Prints what the runner found. */

const cut = (value, limit) => {
  const text = JSON.stringify(value) ?? "undefined";
  return text.length > limit ? `${text.slice(0, limit)}… (${text.length} characters)` : text;
};

function printPlan(plan) {
  const { fixtures, first, commands, ...rest } = plan;
  console.log(`  ${JSON.stringify(rest)}`);
  for (const [n, fixture] of fixtures.entries()) {
    console.log(`  fixture ${n}: ${cut(fixture, 1500)}`);
  }
  for (const [n, command] of [first, ...commands].entries()) {
    console.log(`  ${n}. ${cut(command, 700)}`);
  }
}

/** Narrows two versions of a file to the first line that differs. */
function firstLine({ path, left, right }) {
  if (path[0] !== "disk" || !Array.isArray(left) || !Array.isArray(right)) {
    return { path, left, right };
  }
  const at = left.findIndex((line, i) => line !== right[i]);
  const line = at < 0 ? left.length : at;
  return { path: [...path, `line ${line + 1}`], left: left[line], right: right[line] };
}

function printDifferences(text) {
  let outcome;
  try {
    outcome = JSON.parse(text);
  } catch {
    console.log(`  ${text}`);
    return;
  }
  console.log(`At step ${outcome.step} (${outcome.command.op}):`);
  for (const { path, left, right } of outcome.differences.slice(0, 8).map(firstLine)) {
    console.log(
      `  ${path.join(" / ")}\n    original: ${cut(left, 900)}\n    ours:     ${cut(right, 900)}`,
    );
  }
  if (outcome.differences.length > 8) {
    console.log(`  … and ${outcome.differences.length - 8} more differences`);
  }
}

/** One failing sequence, shrunk, with what is needed to replay it. */
export function printFailure(report, seed, file) {
  console.log("\n---- Failing sequence ----");
  if (report.crashed !== undefined) {
    console.log(`The process died (${report.crashed}) in this sequence, seed ${seed}:`);
    console.log(report.errors);
  }
  const replay = "npm run test:compare --";
  if (report.path) {
    console.log(`Replay with: ${replay} --seed ${report.seed} --path ${report.path}`);
  }
  console.log(`The sequence below alone: ${replay} --plan ${file}`);
  if (report.plan !== undefined) {
    printPlan(report.plan);
  }
  if (report.error !== undefined) {
    printDifferences(report.error);
  }
  console.log("--------------------------\n");
}

function printTable(title, table) {
  const rows = Object.entries(table).sort((a, b) => b[1] - a[1]);
  if (rows.length > 0) {
    console.log(title);
  }
  for (const [name, count] of rows) {
    console.log(`  ${String(count).padStart(7)}  ${name}`);
  }
}

/** The end of a run: how often each listed difference was met, and the result. */
export function printSummary({ passed, failed, seed, used, stopped, escaped, seconds }) {
  printTable("Listed differences met (places):", used);
  printTable("Sequences whose comparison ended at a listed difference:", stopped);
  printTable("Rejections that nobody handled:", escaped);
  console.log(`seed ${seed}, ${seconds.toFixed(1)} s in Bun`);
  console.log(`${passed} passed, ${failed} failed`);
}
