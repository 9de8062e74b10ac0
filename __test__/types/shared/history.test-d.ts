// Prompt history.

import { type HistoryEntry, HistoryStorage } from "session-manager-native";
import { expectAssignable, expectSame } from "./expect.js";

const history: HistoryStorage = HistoryStorage.open();
HistoryStorage.open("/d/history.db");
HistoryStorage.open(undefined);
HistoryStorage.resetInstance();
// @ts-expect-error only `open` makes instances
new HistoryStorage("/d/history.db");
// @ts-expect-error a path is a string
HistoryStorage.open(1);

void history.add("prompt");
void history.add("prompt", "/cwd");
void history.add("prompt", undefined);
void history.add("prompt", null);
history.add("prompt").catch(() => {});
// @ts-expect-error the limit must be given
history.getRecent();
// @ts-expect-error the limit must be given
history.search("text");

expectSame<ReturnType<HistoryStorage["add"]>, Promise<void>>();
expectSame<ReturnType<HistoryStorage["getRecent"]>, HistoryEntry[]>();
expectSame<ReturnType<HistoryStorage["search"]>, HistoryEntry[]>();
expectSame<ReturnType<typeof HistoryStorage.resetInstance>, void>();
expectSame<keyof HistoryStorage, "add" | "getRecent" | "search">();
expectSame<keyof HistoryEntry, "id" | "prompt" | "created_at" | "cwd">();
expectSame<HistoryEntry["cwd"], string | undefined>();
expectAssignable<HistoryEntry, { id: number; prompt: string; created_at: number }>();
