// Event logs.

import {
  decodeStorageRecord,
  encodeSegment,
  interruptedTurnClosers,
  packChunkRuns,
  projectKey,
  type SessionLogEvent,
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
