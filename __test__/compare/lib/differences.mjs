/**
 * The written list of differences (differences.md) as code. A rule looks at one difference and says
 * "same" (explained, go on) or "stop" (explained, but what follows cannot be compared), or nothing.
 */

export const RULES = [];

/** Explains a difference, or returns undefined. */
export function explain(context, difference) {
  for (const rule of RULES) {
    const verdict = rule.judge(context, difference);
    if (verdict !== undefined) {
      return { rule: rule.name, verdict };
    }
  }
  return undefined;
}
