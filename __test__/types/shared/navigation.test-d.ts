// Navigation and searching: plans are told apart by their kind, options are all optional.

import {
  collectEntriesForBranchSummary,
  type FlatTree,
  type fuzzyFilter,
  type fuzzyMatch,
  type ReadonlySessionManager,
  renderTreePrefix,
  type SessionEntry,
  type SessionHit,
  SessionManager,
  searchSessions,
  type TreeRow,
} from "session-manager-native";
import { expectSame } from "./expect.js";

const manager = SessionManager.inMemory();

// A plan.
const plan = manager.prepareTreeNavigation("id", { wantSummary: true });
if (plan.kind === "move") {
  expectSame<typeof plan.newLeafId, string | null>();
  expectSame<typeof plan.targetKind, "user" | "custom_message" | "other">();
} else {
  expectSame<typeof plan.oldLeafId, string>();
  // @ts-expect-error nothing moves
  plan.newLeafId;
}
manager.commitTreeNavigation(plan);
manager.commitTreeNavigation(plan, { text: "summary", details: { files: [] } });
manager.commitTreeNavigation({ newLeafId: null });
// @ts-expect-error where to go is missing
manager.commitTreeNavigation({});
// @ts-expect-error a summary needs a text
manager.commitTreeNavigation(plan, { details: 1 });

// Works with the read-only part of a manager.
declare const readonlyManager: ReadonlySessionManager;
const collected = collectEntriesForBranchSummary(readonlyManager, null, "id");
expectSame<typeof collected, { entries: SessionEntry[]; commonAncestorId: string | null }>();

// A list.
const tree: FlatTree = manager.flattenTree({ filter: "no-tools", leafId: null });
expectSame<ReturnType<typeof tree.rows>, TreeRow[]>();
tree.refilter({ query: "x" }).refilter();
// @ts-expect-error lists are read-only
tree.length = 1;
// @ts-expect-error no such filter
manager.flattenTree({ filter: "none" });
expectSame<ReturnType<typeof renderTreePrefix>, string>();
renderTreePrefix({ depth: 0, connector: "none", gutters: [] }, { vertical: "|" });

// Searching.
const { signal } = new AbortController();
expectSame<ReturnType<typeof searchSessions>, Promise<SessionHit[]>>();
searchSessions("query", {
  scope: "all",
  limit: 5,
  signal,
  onProgress: (done, total) => done / total,
});
SessionManager.list("/w", undefined, undefined, { signal });
SessionManager.listAll(undefined, { onProgress: () => {} });

// @ts-expect-error texts are left out
searchSessions("query").then((hits) => hits[0]?.allMessagesText);

expectSame<ReturnType<typeof fuzzyMatch>, { matches: boolean; score: number }>();
expectSame<number[], ReturnType<typeof fuzzyFilter<number>>>();
