"use strict";

/** Callbacks of a program that wants to be told of something. */

const { log } = require("./logger.js");

class Listeners {
  #calls = new Set();
  #name;

  /** @param name name of the method that takes the callbacks, for log records */
  constructor(name) {
    this.#name = name;
  }

  /** Whether anybody listens. */
  get isEmpty() {
    return this.#calls.size === 0;
  }

  /**
   * Adds a callback; gives the function that takes it away.
   *
   * @param current gives what is the case already, or undefined; told a microtask later
   */
  add(callback, current) {
    const call = { callback, told: undefined };
    this.#calls.add(call);
    if (current) {
      Promise.resolve().then(() => this.#tell(call, current()));
    }
    return () => {
      this.#calls.delete(call);
    };
  }

  /** Tells all of them; what they throw or reject with goes to the logger. Nobody is told twice. */
  tell(value) {
    for (const call of [...this.#calls]) {
      this.#tell(call, value);
    }
  }

  /** Tells all who listen then, when the caller's own work is done. */
  tellSoon(value) {
    Promise.resolve().then(() => this.tell(value));
  }

  #tell(call, value) {
    if (value === undefined || call.told === value || !this.#calls.has(call)) {
      return;
    }
    call.told = value;
    try {
      const result = call.callback(value);
      if (typeof result?.then === "function") {
        result.then(undefined, (error) => this.#failed(error));
      }
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error) {
    log("warn", "A callback failed.", {
      method: this.#name,
      error: String(error?.message ?? error),
    });
  }
}

module.exports = { Listeners };
