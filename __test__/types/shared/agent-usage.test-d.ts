// The ways in which agents use a session store.

import {
  type CompactionEntry,
  type findMostRecentSession,
  getRecentSessions,
  loadEntriesFromFile,
  type ReadonlySessionManager,
  type RecentSessionInfo,
  type ResolvedSessionMatch,
  resolveResumableSession,
  type SessionContext,
  type SessionEntry,
  type SessionInfo,
  SessionManager,
  type SessionManagerSnapshot,
  type SessionTreeNode,
  type UsageStatistics,
} from "session-manager-native";
import { expectAssignable, expectSame } from "./expect.js";

declare const maybe: string | undefined;

// Optional arguments are passed on as they come.
const manager = SessionManager.create("/p", maybe);
SessionManager.create("/p", undefined, undefined);
SessionManager.create("/p", SessionManager.getDefaultSessionDir("/p", maybe));
SessionManager.inMemory(undefined);
void SessionManager.open("/p/s.jsonl", maybe);
void SessionManager.continueRecent("/p", maybe);
void SessionManager.forkFrom("/p/s.jsonl", "/p", maybe);
void resolveResumableSession("15e1", "/p", maybe);
void getRecentSessions("/d", undefined);
void manager.newSession({ parentSession: maybe });
void manager.newSession(undefined);
void manager.setSessionName("title", undefined);
manager.appendThinkingLevelChange(maybe);
manager.appendModelChange("anthropic/claude", maybe);
manager.appendModeChange("plan", undefined);
manager.appendCompaction("s", maybe, "a1b2c3d4", 100, undefined, undefined, undefined);
manager.appendCompaction<{ readFiles: string[] }>("s", maybe, "id", 1, { readFiles: [] }, true, {
  openaiRemoteCompaction: {},
});
manager.appendCustomEntry("plugin");
manager.appendCustomMessageEntry("plugin", "text", true, undefined, undefined);
manager.appendLabelChange("id", maybe);
manager.appendServiceTierChange(null);
manager.appendContextChange("c", "t", "n");
manager.appendSessionInit({ systemPrompt: "", task: "", tools: [] });
manager.appendSessionInit({ systemPrompt: "", task: "", tools: [], outputSchema: {} });
manager.appendMCPToolSelection(["a"] as const);
manager.appendTtsrInjection(["r"]);
manager.branchWithSummary(null, "summary", { any: 1 }, false);
// @ts-expect-error the label has to be given, if only as undefined
manager.appendLabelChange("id");
// @ts-expect-error null is not an id to branch from without a summary
manager.branch(null);

// Statics as bare functions, and handed to a helper.
const { list, listAll } = SessionManager;
declare function timed<A extends unknown[], R>(
  label: string,
  run: (...args: A) => R,
  ...args: A
): R;
expectSame<ReturnType<typeof list>, Promise<SessionInfo[]>>();
const timedList: Promise<SessionInfo[]> = timed("list", SessionManager.list, "/p", maybe);
void timedList.then((sessions) =>
  sessions.sort((a, b) => b.modified.getTime() - a.modified.getTime()),
);
void listAll().then((sessions) => sessions.map((session) => session.title ?? session.firstMessage));

// Promises are promises, all else is there at once.
void manager.flush().catch((error: unknown) => error);
void manager.close().finally(() => {});
void Promise.all([manager.rewriteEntries(), manager.ensureOnDisk(), manager.moveTo("/q")]);
const id: string = manager.appendMessage({ role: "user", content: "", timestamp: 0 });
const again: SessionEntry | undefined = manager.getEntry(id);
export const same: boolean = again === manager.getLeafEntry();
manager.getEntries().at(-1)?.id.slice(0, 8);
manager.getBranch().reverse().pop();
manager.getChildren(null);

// Null and undefined stay apart.
export const file: string | undefined = manager.getSessionFile();
export const artifacts: string | null = manager.getArtifactsDir();
export const leaf: string | null = manager.getLeafId();
// @ts-expect-error no session file is undefined, not null
export const notNull: string | null = manager.getSessionFile();
// @ts-expect-error no artifacts directory is null, not undefined
export const notUndefined: string | undefined = manager.getArtifactsDir();
expectSame<Awaited<ReturnType<typeof findMostRecentSession>>, string | null>();
expectSame<Awaited<ReturnType<typeof resolveResumableSession>>, ResolvedSessionMatch | undefined>();
expectSame<ResolvedSessionMatch["scope"], "local" | "global">();

// Results taken apart.
export async function use(): Promise<string> {
  const forked = await manager.fork();
  const { id: artifactId, path } = await manager.allocateArtifactPath("bash");
  const saved = await manager.saveArtifact("content", "bash");
  const found = saved === undefined ? null : await manager.getArtifactPath(saved);
  const { ref, hash } = await manager.putBlob(Buffer.from("x"));
  const [recent] = await getRecentSessions("/d", 1);
  const records = await loadEntriesFromFile("/d/s.jsonl");
  const renamed: boolean = await manager.setSessionName("t", "user");
  return [
    forked?.newSessionFile.slice(0, -6),
    artifactId,
    path,
    found,
    ref,
    hash,
    recent && `${recent.name} ${recent.timeAgo} ${recent.fullName} ${recent.mtime.toFixed()}`,
    records.length,
    renamed,
    manager.titleSource satisfies "auto" | "user" | undefined,
  ].join();
}
declare const recent: RecentSessionInfo;
// @ts-expect-error a finding is read-only
recent.path = "";

// The snapshot goes back in, also one made by hand.
const snapshot = manager.captureState();
manager.restoreState(snapshot);
manager.restoreState({
  sessionId: "x",
  sessionName: undefined,
  titleSource: undefined,
  sessionFile: undefined,
  flushed: false,
  needsFullRewriteOnNextPersist: false,
  fileEntries: [],
});
expectSame<typeof snapshot, SessionManagerSnapshot>();
expectSame<
  ReturnType<SessionManager["captureState"]>,
  Parameters<SessionManager["restoreState"]>[0]
>();

// Usage statistics spread into six numbers.
const usage: UsageStatistics = { ...manager.getUsageStatistics() };
export const spent: number = usage.cost + usage.premiumRequests + usage.input + usage.output;
expectSame<
  keyof UsageStatistics,
  "input" | "output" | "cacheRead" | "cacheWrite" | "premiumRequests" | "cost"
>();

// The header is live and edited in place.
const header = manager.getHeader();
if (header) {
  header.title = "t";
  header.titleSource = "auto";
}

// Trees are walked.
export function count(nodes: SessionTreeNode[]): number {
  return nodes.reduce((sum, node) => sum + 1 + count(node.children) + (node.label ?? "").length, 0);
}
count(manager.getTree());
export const node: SessionTreeNode = {
  entry: snapshot.fileEntries[1] as SessionEntry,
  children: [],
};

// The context of a session, full and empty.
const context: SessionContext = manager.buildSessionContext();
export const model: string | undefined = context.models["default"];
export const empty: SessionContext = {
  messages: [],
  models: {},
  injectedTtsrRules: [],
  selectedMCPToolNames: [],
  hasPersistedMCPToolSelection: false,
  mode: "none",
};

// Parts of the manager as parameters.
export function render(session: Pick<SessionManager, "getCwd" | "getSessionName">): string {
  return session.getSessionName() ?? session.getCwd();
}
render(manager);
render({ getCwd: () => "/p", getSessionName: () => undefined });
export function readOnly(session: ReadonlySessionManager): number {
  // @ts-expect-error not in the read-only part
  session.appendCustomEntry?.("x");
  return session.getEntries().length;
}
readOnly(manager);

// Fakes: complete for a part, cast for the rest, with optional calls.
const partial = {
  getCwd: () => "/p",
  getSessionFile: () => undefined,
  getEntries: () => [],
} satisfies Partial<SessionManager>;
const fake = partial as unknown as SessionManager;
export const sessionId: string | undefined = fake.getSessionId?.();
const loose: Partial<ReadonlySessionManager> = { getLeafId: () => null };
loose.getLeafId?.();
class Wrapper implements Pick<SessionManager, "appendCustomEntry" | "flush"> {
  appendCustomEntry(customType: string): string {
    return customType;
  }
  async flush(): Promise<void> {}
}
expectAssignable<Pick<SessionManager, "flush">, Wrapper>();
export const instance = (value: unknown): boolean => value instanceof SessionManager;

// The latest compaction on a branch.
export const latest = manager
  .getBranch()
  .filter((entry): entry is CompactionEntry => entry.type === "compaction")
  .at(-1)?.preserveData?.["key"];
