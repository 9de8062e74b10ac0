/**
 * Opens a session and makes every call that follows parent links, one after another; prints what
 * each gave and how long it took. Arguments: session file, scratch directory.
 */

const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { buildSessionContext, SessionManager } = require("../../../index.js");

const [path, scratch] = process.argv.slice(2);
const results = {};

async function measure(name, call) {
  const start = performance.now();
  const value = (await call()) ?? null;
  results[name] = { milliseconds: performance.now() - start, value };
}

function words(context) {
  return context.messages.map(({ content }) =>
    typeof content === "string" ? content : content[0].text,
  );
}

function tree(manager) {
  const roots = manager.getTree();
  const ids = [];
  const open = [...roots];
  for (let node = open.pop(); node; node = open.pop()) {
    ids.push(node.entry.id);
    open.push(...node.children);
  }
  return { ids, roots: roots.map((node) => node.entry.id) };
}

async function main() {
  let manager;
  await measure("open", async () => {
    manager = await SessionManager.open(path);
  });
  const leaf = manager.getLeafId();
  const ids = (entries) => entries.map((entry) => entry.id);
  await measure("getEntries", () => ids(manager.getEntries()));
  await measure("getBranch", () => ids(manager.getBranch()));
  await measure("getTree", () => tree(manager));
  await measure("buildSessionContext", () => words(manager.buildSessionContext()));
  await measure("free buildSessionContext", () => words(buildSessionContext(manager.getEntries())));
  await measure("getLastModelChangeRole", () => manager.getLastModelChangeRole());
  await measure("getInjectedTtsrRules", () => manager.getInjectedTtsrRules());
  await measure("getChildren", () => ids(manager.getChildren(leaf)));
  await measure("forkFrom", async () => {
    const fork = await SessionManager.forkFrom(path, "/w/p", join(scratch, "forks"));
    return ids(fork.getEntries());
  });
  await measure("rewriteEntries and reopen", async () => {
    await manager.rewriteEntries();
    return (await SessionManager.open(path)).getEntries().length;
  });
  await measure("createBranchedSession", () => {
    const file = manager.createBranchedSession(leaf);
    const lines = readFileSync(file, "utf8").trimEnd().split("\n").slice(1);
    return lines.map((line) => JSON.parse(line).id);
  });
  console.log(JSON.stringify({ results }));
}

main();
