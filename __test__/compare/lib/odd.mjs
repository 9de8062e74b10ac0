/** Messages that are none, and how each kind is called. */

/** Kinds of odd messages; see `ODD_MESSAGES`. */
export const ODD_KINDS = { noUsage: 1, noCost: 2, nothing: 3, bigint: 4, cycle: 5, noCounts: 6 };

/** Messages that the original cannot count or cannot write; rare, because they end most comparisons. */
export const ODD_MESSAGES = {
  [ODD_KINDS.noUsage]: () => ({ role: "assistant", content: [], provider: "p", model: "m" }),
  [ODD_KINDS.noCost]: () => ({
    role: "assistant",
    content: [],
    provider: "p",
    model: "m",
    usage: { input: 1, output: 1 },
  }),
  [ODD_KINDS.nothing]: () => null,
  [ODD_KINDS.bigint]: () => ({ role: "user", content: "x", extra: 7n }),
  [ODD_KINDS.cycle]: () => {
    const message = { role: "user", content: "x" };
    message.self = message;
    return message;
  },
  [ODD_KINDS.noCounts]: () => ({
    role: "assistant",
    content: "text",
    provider: "p",
    model: "m",
    usage: { cost: {} },
  }),
};
