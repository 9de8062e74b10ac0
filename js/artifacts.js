"use strict";

/** Numbered output files beside a session. */

const path = require("node:path");

const native = require("./native.js");
const { requireString } = require("./validate.js");

class ArtifactManager {
  #dir;
  #next = 0;
  /** The one look at the directory that all calls wait for; unset until the first call. */
  #scan;

  constructor(sessionFile) {
    this.#dir = native.artifactsDirOf(requireString(sessionFile, "sessionFile"));
  }

  get dir() {
    return this.#dir;
  }

  allocateId() {
    const id = this.#next;
    this.#next += 1;
    return id;
  }

  /** Reserves a number; the caller creates the file. */
  async allocatePath(toolType) {
    requireString(toolType, "toolType");
    await this.#scanned();
    const { id, name } = this.#used(
      await native.artifactsReserve(this.#dir, this.allocateId(), toolType),
    );
    return { id: String(id), path: path.join(this.#dir, name) };
  }

  async save(content, toolType) {
    requireString(content, "content");
    requireString(toolType, "toolType");
    await this.#scanned();
    const { id } = this.#used(
      await native.artifactsSave(this.#dir, this.allocateId(), toolType, content),
    );
    return String(id);
  }

  async exists(id) {
    return (await this.getPath(id)) !== null;
  }

  async listFiles() {
    return native.artifactsList(this.#dir);
  }

  async getPath(id) {
    const prefix = `${requireString(id, "id")}.`;
    const file = (await this.listFiles()).find((name) => name.startsWith(prefix));
    return file === undefined ? null : path.join(this.#dir, file);
  }

  #scanned() {
    this.#scan ??= native.artifactsScan(this.#dir).then(
      (next) => {
        this.#next = Math.max(this.#next, next);
      },
      (error) => {
        // The next call may find a directory that can be used.
        this.#scan = undefined;
        throw error;
      },
    );
    return this.#scan;
  }

  /** Others may have been at work in the directory: go on behind the number that was free. */
  #used(artifact) {
    this.#next = Math.max(this.#next, artifact.id + 1);
    return artifact;
  }
}

module.exports = { ArtifactManager };
