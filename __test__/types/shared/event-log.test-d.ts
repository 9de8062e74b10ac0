import { decodeStorageRecord, packChunkRuns, type SessionLogEvent } from "session-manager-native";

const event: SessionLogEvent = { type: "turn/start", seq: 0, time: 1, data: { turn: 1 } };
const events: SessionLogEvent[] = packChunkRuns([event]).flatMap(decodeStorageRecord);
// @ts-expect-error: a sequence number is needed.
const wrong: SessionLogEvent = { type: "turn/start", time: 1 };

export { events, wrong };
