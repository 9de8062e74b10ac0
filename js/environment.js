"use strict";

/**
 * What the outside world says at this moment. Asked again for every call, and through the host's
 * objects: programs change variables while they run, and tests replace these functions.
 */

const os = require("node:os");

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
    home: os.homedir(),
    temp: os.tmpdir(),
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

module.exports = { readEnvironment };
