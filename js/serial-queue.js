"use strict";

/** Runs work that belongs to the same key one after the other; a failure does not stop the next. */
class SerialQueue {
  /** The last promise of every key that has work; it never rejects. */
  #tails = new Map();

  /**
   * @template T
   * @param {string} key
   * @param {() => Promise<T>} work
   * @returns {Promise<T>}
   */
  run(key, work) {
    const before = this.#tails.get(key);
    const result = before === undefined ? startNow(work) : before.then(work);
    const tail = result.then(ignore, ignore).then(() => {
      if (this.#tails.get(key) === tail) {
        this.#tails.delete(key);
      }
    });
    this.#tails.set(key, tail);
    return result;
  }

  /** Resolves when the work that was given so far, of one key or of all, is done. */
  async idle(key) {
    await (key === undefined ? Promise.all(this.#tails.values()) : this.#tails.get(key));
  }
}

async function startNow(work) {
  return work();
}

function ignore() {}

module.exports = { SerialQueue };
