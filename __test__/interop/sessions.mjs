/** The sessions that both stores write, the same in every run. */

function randomNumbers(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const TEXTS = ["", "a", " word", "é→😀", "\ud800", "\udc00x", '\0\u2028\n"\\', "長い文"];

function chunkOf(random, kind) {
  const text = TEXTS[random(TEXTS.length)];
  const index = random(2);
  switch (kind) {
    case 0:
      return { type: "text-delta", index: 0, text };
    case 1:
      return { type: "reasoning-delta", index: 0, text };
    case 2:
      return { type: "tool-call-delta", index: 1, id: "call", argumentsDelta: text };
    case 3:
      return { type: "tool-call-delta", index: 1, id: "call", name: "n", argumentsDelta: text };
    default:
      return { type: "text-delta", index, text };
  }
}

/** Batches of a few turns, which together hold every kind of row and what is not packed. */
function batchesOf(seed, turns) {
  const random = randomNumbers(seed);
  const batches = [];
  let batch = [];
  let seq = 0;
  let time = 1_760_000_000_000;
  const add = (type, data) => {
    batch.push({ type, seq, time, data });
    seq += 1;
    time += random(9) - 2;
    if (random(12) === 0) {
      batches.push(batch);
      batch = [];
    }
  };
  let deep = { z: 1, a: [1e21, -1.5, 5e-324] };
  for (let depth = 0; depth < 300; depth += 1) {
    deep = [deep];
  }
  for (let turn = 1; turn <= turns; turn += 1) {
    add("turn/start", { turn });
    add("step/start", { turn, step: 1 });
    for (let run = 0; run < 12; run += 1) {
      const kind = random(5);
      for (let left = 1 + random(6); left > 0; left -= 1) {
        add("assistant/chunk", { turn, step: 1, chunk: chunkOf(random, kind) });
      }
    }
    add("todo/write", { deep, 10: 1, 9: 2, "\ud83d": null });
    add("step/end", { turn, step: 1 });
    add("turn/end", { turn, reason: { kind: "completed" } });
  }
  return batch.length > 0 ? [...batches, batch] : batches;
}

const header = (id, rest) => ({ version: 0, id, createdAt: 1_760_000_000_000, ...rest });

/** Headers with the batches of their sessions. */
export const SESSIONS = [
  { meta: header("plain", { cwd: "/home/dev/project" }), batches: batchesOf(1, 3) },
  { meta: header("../weird ~\ud800é😀", { cwd: "/a:\\b/é" }), batches: batchesOf(2, 2) },
  { meta: header("."), batches: batchesOf(3, 1) },
  {
    meta: header("full", {
      cwd: "/home/dev/project",
      parentSession: "plain",
      seedLength: 0,
      origin: "subagent",
      delegationDepth: 2,
      agentPreset: "coder",
    }),
    batches: batchesOf(4, 2),
  },
];

/** A turn that is still open, for the end of a session. */
export function openTurn(first) {
  const time = 1_760_000_100_000;
  return [
    { type: "turn/start", seq: first, time, data: { turn: 99 } },
    { type: "step/start", seq: first + 1, time, data: { turn: 99, step: 1 } },
  ];
}
