/**
 * The programs that are measured, behind one shape. What a program does not have is missing here, and
 * its column stays empty.
 */

import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
const bun = path.join(root, "node_modules/@oven/bun-linux-x64/bin/bun");
const node = [process.execPath, "--expose-gc"];

/** Peers by name: how they are run and what they are called. */
export const peers = {
  "ours-node": { title: "ours, Node", program: node, load: ours },
  "ours-bun": { title: "ours, Bun", program: [bun], load: ours },
  omp: { title: "omp 13.19, Bun", program: [bun], load: omp },
  pi: { title: "pi 0.73, Node", program: node, load: pi },
};

/** Shape of the two programs with the interface of the contract. */
function managerPeer(SessionManager, getRecentSessions) {
  return {
    open: (file) => SessionManager.open(file),
    create: (cwd, folder) => SessionManager.create(cwd, folder),
    list: (cwd, folder) => SessionManager.list(cwd, folder),
    recents: (folder) => getRecentSessions(folder, 10),
    rename: (manager, name) => manager.setSessionName(name, "user"),
    flush: (manager) => manager.flush(),
    close: (manager) => manager.close(),
    fork: (manager) => manager.fork(),
    hasBlobs: true,
  };
}

async function ours() {
  const { SessionManager, getRecentSessions } = createRequire(import.meta.url)(root);
  return managerPeer(SessionManager, getRecentSessions);
}

async function omp() {
  const { SessionManager, getRecentSessions } = await import(
    "@oh-my-pi/pi-coding-agent/session/session-manager"
  );
  return managerPeer(SessionManager, getRecentSessions);
}

async function pi() {
  const { SessionManager } = await import("@mariozechner/pi-coding-agent");
  return {
    open: async (file) => SessionManager.open(file),
    create: (cwd, folder) => SessionManager.create(cwd, folder),
    list: (cwd, folder) => SessionManager.list(cwd, folder),
    rename: async (manager, name) => manager.appendSessionInfo(name),
    // Its appends are written before they return, and never made durable.
    flush: async () => {},
    close: async () => {},
  };
}
