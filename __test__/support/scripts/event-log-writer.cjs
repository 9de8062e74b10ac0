"use strict";

// Writes to event logs until it is killed, and says what is acknowledged:
//
//   event-log-writer.cjs ROOT COMPRESSION create|append|repair
//
// "create" makes one session after the other, "append" adds batches to one, "repair" leaves torn tails
// and open turns behind and loads. Each line of output is a session's id and its number of events.

const fs = require("node:fs");
const { JsonlSessionPersistence } = require("../../../index.js");

const [root, compression, what] = process.argv.slice(2);
const logs = new JsonlSessionPersistence({ root, compression });
const meta = (id) => ({ version: 0, id, createdAt: 1, cwd: "/w" });
const event = (seq, type = "x/y") => ({
  type,
  seq,
  time: seq,
  data: { text: "t".repeat(seq % 99) },
});
const say = (id, count) => fs.writeSync(1, `${id} ${count}\n`);

async function create() {
  for (let at = 0; ; at += 1) {
    await logs.create(meta(`s${at}`));
    await logs.append(`s${at}`, [event(0), event(1)]);
    say(`s${at}`, 2);
  }
}

async function append() {
  await logs.create(meta("s"));
  for (let seq = 0; ; seq += 3) {
    await logs.append("s", [event(seq), event(seq + 1), event(seq + 2)]);
    say("s", seq + 3);
  }
}

async function repair() {
  const { path } = logs.locate(meta("s"));
  await logs.create(meta("s"));
  await logs.append("s", [event(0)]);
  for (let seq = 1; ; ) {
    await logs.append("s", [{ ...event(seq, "turn/start"), data: { turn: 1 } }]);
    say("s", seq + 1);
    fs.appendFileSync(path, compression === "zstd" ? Buffer.from([0x28, 0xb5, 0x2f]) : '{"a');
    const { events } = await logs.load("s");
    seq = events.length;
    say("s", seq);
  }
}

({ create, append, repair })[what]();
