/** `true` when two types are the same, `any` and optional keys included. */
export type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Compiles only when the two types are the same. */
export declare function expectSame<A, B>(...proof: Equal<A, B> extends true ? [] : [never]): void;

/** Compiles only when a value of `From` can be used as a `To`. */
export declare function expectAssignable<To, From extends To>(from?: From): void;
