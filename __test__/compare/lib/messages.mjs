/** Arbitraries of messages and content blocks, as recipes. */

import fc from "fast-check";
import { longText, maybe, object, record, text, UNDEFINED, value } from "./recipes.mjs";

const str = fc.oneof({ weight: 40, arbitrary: text }, { weight: 1, arbitrary: longText });

/** Byte counts around the limit of 1,024 base64 characters (768 bytes make exactly 1,024). */
const imageBytes = fc.constantFrom(3, 765, 766, 767, 768, 769, 2000);

/** An image block whose data is canonical base64; other spellings are compared apart. */
const image = fc
  .record({ n: imageBytes, extra: fc.boolean(), late: fc.boolean() })
  .map(({ n, extra, late }) => {
    const data = ["data", { $: "base64", n, form: "std" }];
    const mime = ["mimeType", "image/png"];
    const pairs = [["type", "image"], ...(late ? [mime, data] : [data, mime])];
    return record(...pairs, ...(extra ? [["partialJson", "x"]] : []));
  });

const dataUrl = fc
  .record({ n: fc.constantFrom(3, 900), mime: fc.constantFrom("png", "svg+xml") })
  .map(({ n, mime }) => ({ $: "dataUrl", n, mime, form: "std" }));

/** References to blobs that do not exist: they are kept as they are, whatever they look like. */
const missing = fc
  .constantFrom(`blob:sha256:${"ab".repeat(32)}`, "blob:sha256:../nothing", "blob:sha256:")
  .map((ref) => record(["type", "image"], ["data", ref], ["mimeType", "image/png"]));

const imageUrl = dataUrl.map((url) => record(["type", "input_image"], ["image_url", url]));

/** A block whose `lineCount` has to follow its `content` when that is changed. */
const counted = fc
  .record({ content: str, transient: fc.boolean(), count: fc.constantFrom(1, 3, "3") })
  .map(({ content, transient, count }) =>
    record(
      ["type", "counted"],
      ["content", content],
      ["lineCount", count],
      ...(transient ? [["jsonlEvents", [1]]] : []),
    ),
  );

const textBlock = fc
  .tuple(str, maybe(text))
  .map(([t, sig]) =>
    record(["type", "text"], ["text", t], ...(sig === UNDEFINED ? [] : [["textSignature", sig]])),
  );

const thinking = fc
  .tuple(str, fc.oneof({ weight: 6, arbitrary: maybe(text) }, { weight: 1, arbitrary: longText }))
  .map(([t, sig]) => record(["type", "thinking"], ["thinking", t], ["thinkingSignature", sig]));

const toolCall = fc
  .tuple(object, fc.boolean())
  .map(([args, partial]) =>
    record(
      ["type", "toolCall"],
      ["id", "call_1"],
      ["name", "read"],
      ["arguments", args],
      ...(partial ? [["partialJson", '{"a"']] : []),
    ),
  );

const block = fc.oneof(
  { weight: 6, arbitrary: textBlock },
  { weight: 2, arbitrary: image },
  { weight: 1, arbitrary: imageUrl },
  { weight: 1, arbitrary: missing },
  { weight: 2, arbitrary: thinking },
  { weight: 2, arbitrary: toolCall },
  { weight: 1, arbitrary: counted },
);

export const blocks = fc.array(block, { maxLength: 4 });
export const content = fc.oneof({ weight: 2, arbitrary: str }, { weight: 3, arbitrary: blocks });

/** Whole, well-formed usage; malformed usage has a command of its own. */
export const usage = fc
  .record({
    input: fc.constantFrom(0, 1, 100, 0.5),
    output: fc.constantFrom(0, 7, 1e6),
    premium: fc.constantFrom(UNDEFINED, 1, 0.33),
    total: fc.constantFrom(0, 0.25, 1e-3),
  })
  .map(({ input, output, premium, total }) =>
    record(
      ["input", input],
      ["output", output],
      ["cacheRead", 3],
      ["cacheWrite", 0],
      ["totalTokens", 10],
      ["premiumRequests", premium],
      ["cost", record(["input", 0], ["output", 0], ["total", total])],
    ),
  );

const payload = fc.constantFrom(
  UNDEFINED,
  record(["type", "openaiResponsesHistory"], ["provider", "openai"], ["items", [1]]),
  record(["type", "other"], ["provider", "p"]),
);

const withPayload = (pairs, p) => (p === UNDEFINED ? pairs : [...pairs, ["providerPayload", p]]);

export const user = fc
  .tuple(fc.constantFrom("user", "user", "developer"), content, payload)
  .map(([role, c, p]) =>
    record(
      ...withPayload(
        [
          ["role", role],
          ["content", c],
          ["timestamp", 1],
        ],
        p,
      ),
    ),
  );

export const assistant = fc
  .record({ c: blocks, u: usage, model: fc.constantFrom("m-1", "m-2"), p: payload })
  .map(({ c, u, model, p }) =>
    record(
      ...withPayload(
        [
          ["role", "assistant"],
          ["content", c],
          ["api", "messages"],
          ["provider", "prov"],
          ["model", model],
          ["usage", u],
          ["stopReason", "stop"],
          ["timestamp", 2],
        ],
        p,
      ),
    ),
  );

const details = fc.oneof(
  { weight: 3, arbitrary: maybe(object) },
  { weight: 2, arbitrary: usage.map((u) => record(["usage", u])) },
  { weight: 1, arbitrary: fc.constant(null) },
);

const toolResult = fc
  .record({ tool: fc.constantFrom("task", "read"), c: content, d: details })
  .map(({ tool, c, d }) =>
    record(
      ["role", "toolResult"],
      ["toolCallId", "call_1"],
      ["toolName", tool],
      ["content", c],
      ["details", d],
      ["isError", false],
    ),
  );

const bash = text.map((output) =>
  record(["role", "bashExecution"], ["command", "ls"], ["output", output], ["exitCode", 0]),
);

const mention = counted.map((file) => record(["role", "fileMention"], ["files", [file]]));

const odd = fc
  .tuple(fc.constantFrom("custom", "hookMessage", "nobody"), value)
  .map(([role, extra]) => record(["role", role], ["content", "odd"], ["extra", extra]));

export const message = fc.oneof(
  { weight: 5, arbitrary: user },
  { weight: 5, arbitrary: assistant },
  { weight: 3, arbitrary: toolResult },
  { weight: 1, arbitrary: bash },
  { weight: 1, arbitrary: mention },
  { weight: 2, arbitrary: odd },
);
