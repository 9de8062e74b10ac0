/**
 * Session files as agents leave them: turns of a user, an assistant that thinks and calls tools, and
 * results whose length is log-normal; abandoned branches, labels, model changes, and a compaction
 * whenever the context has grown long. Some text is not ASCII. The same options give the same bytes.
 *
 * Entries carry the fields of every program that is measured, so that all of them read one file.
 */

import fs from "node:fs";
import path from "node:path";
import { between, logNormal, pick, randomFrom } from "./random.mjs";

const WORDS =
  "the of a to in is that it for on with as function return const value error file line test build cache index node path token buffer stream parse write read open close queue state branch leaf entry".split(
    " ",
  );
const WIDE = ["größer", "naïve", "東京都", "テスト", "файл", "ошибка", "✓", "🚀", "→", "“quoted”"];
const CODE = [
  'if (value === undefined) {\n  throw new Error("no value");\n}\n',
  "for (const [name, count] of totals) {\n\tconsole.log(`${name}: ${count}`);\n}\n",
  "src/server/routes/session.ts:118:23 - error TS2345: Argument of type 'string | undefined'\n",
  "  ✓ reads a file that ends without a line feed (3 ms)\n",
  'diff --git a/src/index.ts b/src/index.ts\n@@ -1,7 +1,9 @@\n-import fs from "fs";\n',
];

/** Characters of context after which an agent compacts. */
const WINDOW = 600_000;

/** Text of about a length, most of it prose or most of it code. */
function textOf(random, length, code) {
  const parts = [];
  for (let size = 0; size < length; ) {
    const draw = random();
    let part = `${pick(random, WORDS)} `;
    if (draw < code) {
      part = pick(random, CODE);
    } else if (draw > 0.985) {
      part = `${pick(random, WIDE)} `;
    } else if (draw > 0.97) {
      part = "\n";
    }
    parts.push(part);
    size += part.length;
  }
  return parts.join("");
}

/** Long text is cut from one long piece: making each anew would take longer than the benchmark. */
function textSource(random) {
  const prose = textOf(random, 400_000, 0.02);
  const code = textOf(random, 400_000, 0.4);
  return (kind, length) => {
    const source = kind === "code" ? code : prose;
    let text = "";
    while (text.length < length) {
      const from = between(random, 0, source.length - 1_000);
      text += source.slice(from, from + length - text.length);
    }
    // A cut may have halved a pair of surrogates.
    return text.toWellFormed();
  };
}

/**
 * Entries of one session, without end.
 *
 * @param options `seed`; `medianResult`: median length of a tool result; `compact`: whether the
 *   agent compacts
 */
function* entriesOf({ seed, medianResult = 1_600, compact = true }) {
  const random = randomFrom(seed);
  const text = textSource(random);
  let clock = Date.UTC(2026, 0, 5, 8) + (seed % 1_000) * 3_600_000;
  let leaf = null;
  let window = 0;
  const used = new Set();
  const turnStarts = [];

  const newId = () => {
    for (;;) {
      const id = Math.floor(random() * 0x1_0000_0000)
        .toString(16)
        .padStart(8, "0");
      if (!used.has(id)) {
        used.add(id);
        return id;
      }
    }
  };
  const entry = (type, fields) => {
    clock += between(random, 5, 8_000);
    const made = {
      type,
      id: newId(),
      parentId: leaf,
      timestamp: new Date(clock).toISOString(),
      ...fields,
    };
    leaf = made.id;
    return made;
  };
  const message = (fields, length) => {
    window += length;
    return entry("message", { message: { ...fields, timestamp: clock } });
  };
  const user = () => {
    const length = Math.min(logNormal(random, 180, 1), 20_000);
    return message({ role: "user", content: text("prose", length), attribution: "user" }, length);
  };
  const assistant = (calls) => {
    const thinking = text("prose", Math.min(logNormal(random, 400, 0.9), 20_000));
    const answer = text("prose", Math.min(logNormal(random, 300, 0.9), 20_000));
    const content = [
      { type: "thinking", thinking, thinkingSignature: text("code", 120) },
      { type: "text", text: answer },
      ...calls.map((id) => ({
        type: "toolCall",
        id,
        name: pick(random, ["read", "bash", "edit", "grep"]),
        arguments: { path: `src/${pick(random, WORDS)}/${pick(random, WORDS)}.ts`, limit: 200 },
      })),
    ];
    const usage = {
      input: between(random, 2_000, 150_000),
      output: between(random, 50, 3_000),
      cacheRead: between(random, 0, 100_000),
      cacheWrite: between(random, 0, 4_000),
      totalTokens: between(random, 3_000, 200_000),
      cost: { input: 0.012, output: 0.003, cacheRead: 0.0004, cacheWrite: 0.0001, total: 0.0155 },
    };
    const fields = {
      role: "assistant",
      content,
      api: "anthropic-messages",
      provider: "anthropic",
      model: "claude-sonnet-4-5",
      usage,
      stopReason: calls.length > 0 ? "toolUse" : "stop",
    };
    return message(fields, thinking.length + answer.length + 200);
  };
  const result = (toolCallId) => {
    const length = Math.min(Math.max(logNormal(random, medianResult, 1.4), 20), 200_000);
    const content = [{ type: "text", text: text("code", length) }];
    const fields = { role: "toolResult", toolCallId, toolName: "bash", content, isError: false };
    return message(fields, length);
  };

  const model = { model: "anthropic/claude-sonnet-4-5", role: "default" };
  yield entry("model_change", { ...model, provider: "anthropic", modelId: "claude-sonnet-4-5" });
  yield entry("thinking_level_change", { thinkingLevel: "medium" });
  for (let turn = 0; ; turn++) {
    turnStarts.push(leaf);
    yield user();
    for (let step = between(random, 0, 5); step >= 0; step--) {
      const calls = Array.from(
        { length: step === 0 ? 0 : between(random, 1, 3) },
        () => `toolu_${newId()}`,
      );
      yield assistant(calls);
      for (const id of calls) {
        yield result(id);
      }
    }
    if (random() < 0.04) {
      const label = `checkpoint ${turn}`;
      yield entry("label", { targetId: leaf, label });
    }
    if (random() < 0.03 && turnStarts.length > 3) {
      leaf = turnStarts[turnStarts.length - between(random, 1, 3)];
    }
    if (compact && window > WINDOW) {
      yield entry("compaction", {
        summary: text("prose", 6_000),
        shortSummary: text("prose", 120),
        firstKeptEntryId: turnStarts.at(-1) ?? leaf,
        tokensBefore: Math.round(window / 4),
      });
      turnStarts.length = 0;
      window = 0;
    }
  }
}

/** Header line of a session. */
function headerOf(cwd, seed) {
  return {
    type: "session",
    version: 3,
    id: seed.toString(16).padStart(16, "0"),
    timestamp: new Date(Date.UTC(2026, 0, 5, 8) + (seed % 1_000) * 3_600_000).toISOString(),
    cwd,
    title: `Session number ${seed}`,
  };
}

/**
 * Writes a session file of at least a size.
 *
 * @param file where; its folder must exist
 * @param options `bytes`, `cwd` and those of the entries
 * @returns number of entries
 */
export function writeSession(file, options) {
  const descriptor = fs.openSync(file, "w");
  let written = fs.writeSync(
    descriptor,
    `${JSON.stringify(headerOf(options.cwd, options.seed))}\n`,
  );
  let count = 0;
  let lines = [];
  let pending = 0;
  let endsTurn = false;
  for (const entry of entriesOf(options)) {
    // Ends where the model has answered.
    if (endsTurn && written + pending >= options.bytes) {
      break;
    }
    const line = `${JSON.stringify(entry)}\n`;
    lines.push(line);
    pending += Buffer.byteLength(line);
    count += 1;
    endsTurn = entry.message?.stopReason === "stop";
    if (pending > 4 << 20) {
      written += fs.writeSync(descriptor, lines.join(""));
      lines = [];
      pending = 0;
    }
  }
  fs.writeSync(descriptor, lines.join(""));
  fs.closeSync(descriptor);
  return count;
}

/** Writes a folder of sessions whose sizes are given by `sizeOf(position)`. */
export function writeFolder(folder, { count, cwd, seed, sizeOf }) {
  fs.mkdirSync(folder, { recursive: true });
  for (let at = 0; at < count; at++) {
    const header = headerOf(cwd, seed + at);
    const name = `${header.timestamp.replace(/[:.]/g, "-")}_${header.id}.jsonl`;
    writeSession(path.join(folder, name), { bytes: sizeOf(at), cwd, seed: seed + at });
  }
}
