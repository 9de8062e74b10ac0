"use strict";

/**
 * What the outside world says at this moment. Asked again for every call, and through the host's
 * objects: programs change variables while they run, and tests replace these functions.
 */

const os = require("node:os");

/**
 * In Bun, members of `import * as os` can be replaced on their own. The object is there one turn
 * after this module was loaded.
 */
let namespace = os;
const { homedir, tmpdir } = os;
if (process.versions.bun) {
  import("node:os").then((imported) => {
    namespace = imported;
  });
}

/** The user's home directory, as the host tells it at this moment. */
function home() {
  return namespace.homedir === homedir ? os.homedir() : namespace.homedir();
}

/** The directory for temporary files, as the host tells it at this moment. */
function temp() {
  return namespace.tmpdir === tmpdir ? os.tmpdir() : namespace.tmpdir();
}

/** The working directory, or nothing when it has been removed. */
function workingDirectory() {
  try {
    return process.cwd();
  } catch {
    return undefined;
  }
}

/** The values that the native functions about directories and terminals take as an argument. */
function readEnvironment() {
  const { env } = process;
  return {
    workingDirectory: workingDirectory(),
    home: home(),
    temp: temp(),
    configDir: env.PI_CONFIG_DIR,
    agentDir: env.PI_CODING_AGENT_DIR,
    xdgDataHome: env.XDG_DATA_HOME,
    xdgStateHome: env.XDG_STATE_HOME,
    kittyWindowId: env.KITTY_WINDOW_ID,
    tmuxPane: env.TMUX_PANE,
    termSessionId: env.TERM_SESSION_ID,
    wtSession: env.WT_SESSION,
  };
}

module.exports = { home, readEnvironment };
