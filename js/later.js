"use strict";

/** Properties whose value is worked out when somebody reads it. */

/** What is known of one such property of one object. */
class Pending {
  constructor(owner, about) {
    this.owner = owner;
    this.about = about;
    this.isSettled = false;
    this.value = undefined;
  }

  settle(value) {
    this.value = value;
    this.isSettled = true;
    this.about = undefined;
  }
}

function defineValue(target, name, value) {
  Object.defineProperty(target, name, {
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  });
}

/**
 * Makes a function `(owner, about)` that gives an object a property which behaves like one that holds a
 * value: its own, enumerable, writable. The value is `read(about)`, worked out when it is first read;
 * from then on it is a plain property. Whoever reads all properties, like `JSON.stringify`, a spread or
 * `structuredClone`, gets the value; copies hold it. A frozen object keeps the accessor, which then
 * keeps the value.
 *
 * All objects share the accessor and find what is pending by a hidden symbol, which also works through
 * proxies and heirs: with accessors of their own, engines make slow dictionaries of them.
 *
 * @template T
 * @param {string} name
 * @param {(about: T) => unknown} read Is called once at most for each object.
 * @returns {(owner: object, about: T) => void}
 */
function laterProperty(name, read) {
  const PENDING = Symbol(name);
  const accessor = {
    enumerable: true,
    configurable: true,
    get() {
      const pending = this[PENDING];
      if (!pending.isSettled) {
        pending.settle(read(pending.about));
        if (Object.getOwnPropertyDescriptor(pending.owner, name)?.configurable) {
          defineValue(pending.owner, name, pending.value);
        }
      }
      return pending.value;
    },
    set(next) {
      const { owner } = this[PENDING];
      if (this === owner && Object.isFrozen(owner)) {
        throw new TypeError(`Cannot assign to read only property '${name}' of object`);
      }
      if (this === owner && Object.isSealed(owner)) {
        this[PENDING].settle(next);
      } else {
        defineValue(this, name, next);
      }
    },
  };
  return (owner, about) => {
    Object.defineProperty(owner, PENDING, { value: new Pending(owner, about) });
    Object.defineProperty(owner, name, accessor);
  };
}

module.exports = { laterProperty };
