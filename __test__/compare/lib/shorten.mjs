/** Makes a failing sequence short. */

/** Places of all arrays in a plan, the outermost first: commands, fixtures, arguments, keys of objects. */
function arrays(value, path = []) {
  const isObject = value !== null && typeof value === "object";
  const inner = isObject ? Object.entries(value) : [];
  const deeper = inner.flatMap(([key, item]) => arrays(item, [...path, key]));
  // Arguments, and keys with their values, go by position.
  const isPositional = path.at(-1) === "args" || path.at(-2) === "e";
  const own = Array.isArray(value) && value.length > 0 && !isPositional ? [path] : [];
  return [...own, ...deeper].sort((a, b) => a.length - b.length);
}

const valueAt = (value, path) => path.reduce((inner, key) => inner?.[key], value);

/** Length of the array at `path`; 0 when there is none any more. */
function lengthAt(value, path) {
  const array = valueAt(value, path);
  return Array.isArray(array) ? array.length : 0;
}

/** A copy of the plan without some elements of the array at `path`. */
function without(plan, path, at, count) {
  const copy = structuredClone(plan);
  valueAt(copy, path).splice(at, count);
  return copy;
}

/**
 * Leaves out elements of all arrays, long runs of them first, as long as `fails` holds, until nothing more
 * can go or the time `until` (ms) has come. Gives the shortest sequence found.
 */
export async function shorten(plan, fails, until) {
  let best = plan;
  let improved = true;
  while (improved) {
    improved = false;
    for (const path of arrays(best)) {
      for (let size = lengthAt(best, path); size >= 1; size >>= 1) {
        for (let at = lengthAt(best, path) - size; at >= 0; at -= size) {
          if (Date.now() > until) {
            return best;
          }
          const shorter = without(best, path, at, size);
          if (await fails(shorter)) {
            best = shorter;
            improved = true;
          }
        }
      }
    }
  }
  return best;
}
