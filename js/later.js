"use strict";

/** Properties whose value is worked out when somebody reads it. */

/**
 * Gives an object a property that behaves like one that holds a value: its own, enumerable, writable.
 * The value is made when it is first read, and from then on it is a plain property. Whoever reads all
 * properties, like `JSON.stringify`, a spread or `structuredClone`, gets the value; copies hold it. A
 * frozen object keeps the accessor, which then keeps the value.
 *
 * @param {object} owner
 * @param {string} name
 * @param {() => unknown} make Is called once at most.
 */
function defineLater(owner, name, make) {
  let waiting = make;
  let value;
  const define = (target, next) =>
    Object.defineProperty(target, name, {
      value: next,
      writable: true,
      enumerable: true,
      configurable: true,
    });
  Object.defineProperty(owner, name, {
    enumerable: true,
    configurable: true,
    get() {
      if (waiting !== undefined) {
        value = waiting();
        waiting = undefined;
        if (Object.getOwnPropertyDescriptor(owner, name)?.configurable) {
          define(owner, value);
        }
      }
      return value;
    },
    // Called on what inherits from the owner or stands in for it, too.
    set(next) {
      if (this === owner && Object.isFrozen(owner)) {
        throw new TypeError(`Cannot assign to read only property '${name}' of object`);
      }
      if (this === owner && Object.isSealed(owner)) {
        [value, waiting] = [next, undefined];
      } else {
        define(this, next);
      }
    },
  });
}

module.exports = { defineLater };
