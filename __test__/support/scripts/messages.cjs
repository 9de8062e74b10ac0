/** Messages for the scripts beside this file. */

const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };

exports.user = (content) => ({ role: "user", content, timestamp: 1 });

exports.assistant = (text) => ({
  role: "assistant",
  content: [{ type: "text", text }],
  provider: "test",
  model: "model",
  usage: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0, totalTokens: 3, cost },
  stopReason: "stop",
  timestamp: 1,
});
