/** Random numbers that are the same in every run and every runtime. */

/** A generator of numbers in [0, 1) from a 32-bit seed. */
export function randomFrom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 0x1_0000_0000;
  };
}

/** A value of a log-normal distribution, by the method of Box and Muller. */
export function logNormal(random, median, sigma) {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return Math.round(median * Math.exp(sigma * normal));
}

/** A whole number in [low, high]. */
export function between(random, low, high) {
  return low + Math.floor(random() * (high - low + 1));
}

/** One of the values. */
export function pick(random, values) {
  return values[Math.floor(random() * values.length)];
}
