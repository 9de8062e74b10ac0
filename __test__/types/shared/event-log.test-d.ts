// Event logs.

import {
  decodeStorageRecord,
  encodeSegment,
  interruptedTurnClosers,
  JsonlSessionPersistence,
  packChunkRuns,
  projectKey,
  SessionFormatUnsupportedError,
  type SessionLogEvent,
  type SessionLogHeader,
  type SessionLogSnapshot,
  SessionPersistenceCorruptionError,
} from "session-manager-native";
import { expectSame } from "./expect.js";

const event: SessionLogEvent = { type: "turn/start", seq: 0, time: 1, data: { turn: 1 } };
const events: SessionLogEvent[] = packChunkRuns([event]).flatMap(decodeStorageRecord);
// @ts-expect-error: a sequence number is needed.
const wrong: SessionLogEvent = { type: "turn/start", time: 1 };

export const closers: SessionLogEvent[] = interruptedTurnClosers(events);
const names = [encodeSegment("id"), projectKey("/cwd")];
expectSame<typeof names, string[]>();

export { events, wrong };

const logs = new JsonlSessionPersistence({ root: "/r", compression: "none", packChunks: false });
// @ts-expect-error there is no such compression
new JsonlSessionPersistence({ root: "/r", compression: "gzip" });
const header: SessionLogHeader = { version: 0, id: "s", createdAt: 1 };
export async function use(signal: AbortSignal): Promise<void> {
  await logs.create(header);
  await logs.append("s", events);
  const { meta, events: stored } = await logs.load("s");
  expectSame<typeof meta, SessionLogHeader>();
  expectSame<typeof stored, SessionLogEvent[]>();
  await logs.inspect("s", signal);
  await logs.readFrom("s", 1, signal);
  const prefix = await logs.loadStored("s", signal);
  await logs.commitRepair(header, prefix?.tornMarker, []);
  await logs.appendBatch(header, events, true);
  const [snapshot] = await logs.listSnapshots(signal);
  expectSame<typeof snapshot, SessionLogSnapshot | undefined>();
  const raw: string | undefined = (await logs.readRaw("s"))?.content;
  const { kind, path } = logs.locate(header);
  expectSame<typeof kind, "jsonl">();
  await logs.flush();
  await logs.dispose();
  try {
    await logs.list(signal);
  } catch (error) {
    if (error instanceof SessionFormatUnsupportedError) {
      console.log(error.location.path, raw, path);
    } else if (error instanceof SessionPersistenceCorruptionError) {
      console.log(error.code);
    }
  }
}
