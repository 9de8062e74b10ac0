import { expect } from "vitest";

/** What the function throws, or what its promise rejects with; fails when it does neither. */
export async function failureOf(action: () => unknown): Promise<Error & Record<string, unknown>> {
  try {
    await action();
  } catch (error) {
    return error as Error & Record<string, unknown>;
  }
  throw new Error("nothing was thrown");
}

/** Checks an error of the operating system: the host's class and all its members. */
export function expectSystemError(
  error: Record<string, unknown>,
  code: string,
  syscall: string,
  path: string,
): void {
  expect(error).toBeInstanceOf(Error);
  expect(error).toMatchObject({ code, syscall, path });
  expect(error.errno).toBeLessThan(0);
  expect(error.message).toMatch(new RegExp(`^${code}: .*, ${syscall} '`));
}

/** Checks the error for an argument of the wrong type. */
export function expectInvalidArgument(error: Record<string, unknown>, name: string): void {
  expect(error).toBeInstanceOf(TypeError);
  expect(error.code).toBe("ERR_INVALID_ARG_TYPE");
  expect(error.message).toContain(`The "${name}" argument must be `);
  expect(error.message).toContain(". Received ");
}

/** What is thrown for an id that names no entry, to compare with. */
export function unknownEntry(id: unknown): Error {
  return Object.assign(new Error(`Entry ${id} not found`), { code: "ENTRY_NOT_FOUND" });
}
