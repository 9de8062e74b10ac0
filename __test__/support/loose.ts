/** JSON read back from disk, and messages of any shape: tests look into them freely. */
// biome-ignore lint/suspicious/noExplicitAny: the point of this type is to be unchecked.
export type Loose = Record<string, any>;

/** A value that is handed to the store whatever its declared type asks for. */
// biome-ignore lint/suspicious/noExplicitAny: tests pass wrong and foreign values on purpose.
export type Unchecked = any;

/** Looks into a value without its declared type. */
export function loose(value: unknown): Loose {
  return value as Loose;
}

/** Passes a value of any shape where a declared type is asked for. */
export function unchecked(value: unknown): Unchecked {
  return value;
}
