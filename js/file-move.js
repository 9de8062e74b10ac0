"use strict";

/**
 * Moving a session's file and its artifacts into another directory: both or none, and never over
 * something that is there.
 */

const fs = require("node:fs");
const path = require("node:path");

const { log } = require("./logger.js");
const native = require("./native.js");

/** One move. It has arrived when the session is to go on in the other directory. */
class FileMove {
  #storage;
  #file;
  #moved;
  #artifacts;
  #movedArtifacts;
  #arrive;

  /**
   * @param storage tells whether there is a file
   * @param file the session file
   * @param target the other directory
   * @param arrive called with the new path before anything else can happen to the session
   */
  constructor(storage, file, target, arrive) {
    this.#storage = storage;
    this.#file = file;
    this.#moved = path.join(target, path.basename(file));
    this.#artifacts = native.artifactsDirOf(file);
    this.#movedArtifacts = path.join(target, path.basename(this.#artifacts));
    this.#arrive = arrive;
  }

  /** Where the file is moved to. */
  get destination() {
    return this.#moved;
  }

  /** Moves; gives whether there was a file. */
  async run() {
    const existed = this.#storage.existsSync(this.#file);
    if (this.#isInPlace() && existed === fs.existsSync(this.#file)) {
      this.#arrive(this.#moved);
      return existed;
    }
    refuseToReplace(this.#moved);
    const hadArtifacts = fs.existsSync(this.#artifacts);
    if (hadArtifacts) {
      refuseToReplace(this.#movedArtifacts);
      await move(this.#artifacts, this.#movedArtifacts);
    }
    if (existed) {
      try {
        await move(this.#file, this.#moved);
      } catch (error) {
        if (hadArtifacts) {
          await this.#rollBack();
        }
        throw error;
      }
    }
    this.#arrive(this.#moved);
    return existed;
  }

  /** For the end of the process, while `run` is under way: gives whether the session has arrived. */
  finishNow() {
    renameIfFree(this.#file, this.#moved);
    if (fs.existsSync(this.#file)) {
      return false;
    }
    renameIfFree(this.#artifacts, this.#movedArtifacts);
    this.#arrive(this.#moved);
    return true;
  }

  /** Whether the target is another spelling of the directory where the file is. */
  #isInPlace() {
    const [from, to] = [path.dirname(this.#file), path.dirname(this.#moved)];
    try {
      return from === to || fs.realpathSync(from) === fs.realpathSync(to);
    } catch {
      return false;
    }
  }

  async #rollBack() {
    try {
      await move(this.#movedArtifacts, this.#artifacts);
    } catch (error) {
      const message = `Failed to move artifacts and rollback: ${error.message}`;
      throw new Error(message, { cause: error });
    }
  }
}

function refuseToReplace(target) {
  if (fs.existsSync(target)) {
    throw Object.assign(new Error(`File already exists: ${target}`), {
      code: "EEXIST",
      path: target,
    });
  }
}

function renameIfFree(from, to) {
  try {
    if (!fs.existsSync(to)) {
      fs.renameSync(from, to);
    }
  } catch {
    // It is gone already, or stays where it is.
  }
}

/** Moves a file or directory, to another file system if need be. */
async function move(from, to) {
  try {
    await fs.promises.rename(from, to);
  } catch (error) {
    if (error.code !== "EXDEV") {
      throw error;
    }
    await copyOver(from, to);
  }
}

/** The copy gets its name when it is complete and durable; only then the original goes. */
async function copyOver(from, to) {
  const suffix = native.nextSnowflake(Date.now());
  const temp = path.join(path.dirname(to), `.${path.basename(to)}.${suffix}.tmp`);
  try {
    await fs.promises.cp(from, temp, {
      recursive: true,
      preserveTimestamps: true,
      verbatimSymlinks: true,
    });
    await makeDurable(temp);
    await fs.promises.rename(temp, to);
  } catch (error) {
    await remove(temp);
    throw error;
  }
  await remove(from);
}

/** Syncs a file, or a directory with everything in it. */
async function makeDurable(filePath) {
  const stat = await fs.promises.lstat(filePath);
  if (stat.isDirectory()) {
    for (const name of await fs.promises.readdir(filePath)) {
      await makeDurable(path.join(filePath, name));
    }
  }
  if (stat.isDirectory() || stat.isFile()) {
    const handle = await fs.promises.open(filePath, "r");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  }
}

/** Removes what is not needed any more; what cannot be removed stays. */
async function remove(filePath) {
  try {
    await fs.promises.rm(filePath, { recursive: true, force: true });
  } catch (error) {
    log("warn", "File could not be removed after it was copied.", {
      file: filePath,
      error: error.message,
    });
  }
}

module.exports = { FileMove };
