// The class `SessionManager`, member by member: synchronous or not, null or undefined.

import {
  type BlobPutResult,
  type BranchCandidate,
  type BranchPlan,
  type FlatTree,
  type ListingControl,
  type LoadReport,
  type ReadonlySessionManager,
  type SessionContext,
  type SessionEntry,
  type SessionHeader,
  type SessionHit,
  type SessionInfo,
  SessionManager,
  type SessionManagerSnapshot,
  type SessionSearchOptions,
  type SessionStorage,
  type SessionTreeNode,
  type TreeNavigationPlan,
  type TreeNavigationResult,
  type UsageStatistics,
} from "session-manager-native";
import { type Equal, expectSame } from "./expect.js";

type AnyFunction = (...args: never[]) => unknown;

/** The result of a method; other members are marked. */
type Results<T> = {
  [K in keyof T]: T[K] extends AnyFunction ? ReturnType<T[K]> : { property: T[K] };
};

interface InstanceResults {
  captureState: SessionManagerSnapshot;
  // biome-ignore lint/suspicious/noConfusingVoidType: a result type
  restoreState: void;
  setSessionFile: Promise<void>;
  newSession: Promise<string | undefined>;
  fork: Promise<{ oldSessionFile: string; newSessionFile: string } | undefined>;
  moveTo: Promise<void>;
  rewriteEntries: Promise<void>;
  ensureOnDisk: Promise<void>;
  flush: Promise<void>;
  close: Promise<void>;
  onPersistenceError: () => void;
  isPersisted: boolean;
  setSessionName: Promise<boolean>;
  sanitizeLoadedOpenAIResponsesReplayMetadata: boolean;
  putBlob: Promise<BlobPutResult>;
  getLoadReport: LoadReport;
  getCwd: string;
  getSessionDir: string;
  getSessionId: string;
  getSessionFile: string | undefined;
  getSessionName: string | undefined;
  titleSource: { property: "auto" | "user" | undefined };
  getHeader: SessionHeader | null;
  getUsageStatistics: UsageStatistics;
  getArtifactsDir: string | null;
  allocateArtifactPath: Promise<{ id?: string; path?: string }>;
  saveArtifact: Promise<string | undefined>;
  getArtifactPath: Promise<string | null>;
  appendMessage: string;
  appendThinkingLevelChange: string;
  appendServiceTierChange: string;
  appendModeChange: string;
  appendModelChange: string;
  appendContextChange: string;
  appendSessionInit: string;
  appendCompaction: string;
  appendCustomEntry: string;
  appendCustomMessageEntry: string;
  appendMCPToolSelection: string;
  appendTtsrInjection: string;
  appendLabelChange: string;
  getEntries: SessionEntry[];
  getEntry: SessionEntry | undefined;
  getLeafId: string | null;
  getLeafEntry: SessionEntry | undefined;
  getChildren: SessionEntry[];
  getLabel: string | undefined;
  getBranch: SessionEntry[];
  getLastModelChangeRole: string | undefined;
  getInjectedTtsrRules: string[];
  getTree: SessionTreeNode[];
  buildSessionContext: SessionContext;
  // biome-ignore lint/suspicious/noConfusingVoidType: a result type
  branch: void;
  // biome-ignore lint/suspicious/noConfusingVoidType: a result type
  resetLeaf: void;
  branchWithSummary: string;
  createBranchedSession: string | undefined;
  prepareTreeNavigation: TreeNavigationPlan;
  commitTreeNavigation: TreeNavigationResult;
  prepareBranch: BranchPlan;
  getBranchCandidates: BranchCandidate[];
  collectEntriesForBranchSummary: { entryIds: string[]; commonAncestorId: string | null };
  flattenTree: FlatTree;
}

interface StaticResults {
  getDefaultSessionDir: string;
  create: SessionManager;
  open: Promise<SessionManager>;
  continueRecent: Promise<SessionManager>;
  forkFrom: Promise<SessionManager>;
  inMemory: SessionManager;
  list: Promise<SessionInfo[]>;
  listAll: Promise<SessionInfo[]>;
  searchSessions: Promise<SessionHit[]>;
}

/** Names of the members that only one side has or that differ; a failure then names them. */
type Differences<A, B> = {
  [K in keyof A | keyof B]: K extends keyof A & keyof B
    ? Equal<A[K], B[K]> extends true
      ? never
      : K
    : K;
}[keyof A | keyof B];

expectSame<Differences<Results<SessionManager>, InstanceResults>, never>();
expectSame<Differences<Results<Omit<typeof SessionManager, "prototype">>, StaticResults>, never>();

// Arguments.
type StaticArguments<K extends keyof StaticResults> = Parameters<(typeof SessionManager)[K]>;
expectSame<
  StaticArguments<"create">,
  [cwd: string, sessionDir?: string, storage?: SessionStorage]
>();
expectSame<
  StaticArguments<"open">,
  [filePath: string, sessionDir?: string, storage?: SessionStorage]
>();
expectSame<
  StaticArguments<"continueRecent">,
  [cwd: string, sessionDir?: string, storage?: SessionStorage]
>();
expectSame<
  StaticArguments<"forkFrom">,
  [sourcePath: string, cwd: string, sessionDir?: string, storage?: SessionStorage]
>();
expectSame<StaticArguments<"inMemory">, [cwd?: string, storage?: SessionStorage]>();
expectSame<
  StaticArguments<"list">,
  [cwd: string, sessionDir?: string, storage?: SessionStorage, options?: ListingControl]
>();
expectSame<StaticArguments<"listAll">, [storage?: SessionStorage, options?: ListingControl]>();
expectSame<StaticArguments<"searchSessions">, [query: string, options?: SessionSearchOptions]>();
expectSame<
  StaticArguments<"getDefaultSessionDir">,
  [cwd: string, agentDir?: string, storage?: SessionStorage]
>();
expectSame<
  Parameters<SessionManager["setSessionName"]>,
  [name: string, source?: "auto" | "user"]
>();
expectSame<
  Parameters<SessionManager["branchWithSummary"]>,
  [branchFromId: string | null, summary: string, details?: unknown, fromExtension?: boolean]
>();
expectSame<
  Parameters<SessionManager["appendLabelChange"]>,
  [targetId: string, label: string | undefined]
>();

// The read-only part has exactly these members, with their types.
type ReadonlyNames =
  | "getCwd"
  | "getSessionDir"
  | "getSessionId"
  | "getSessionFile"
  | "getSessionName"
  | "getArtifactsDir"
  | "allocateArtifactPath"
  | "saveArtifact"
  | "getArtifactPath"
  | "getLeafId"
  | "getLeafEntry"
  | "getEntry"
  | "getLabel"
  | "getBranch"
  | "getHeader"
  | "getEntries"
  | "getTree"
  | "getUsageStatistics"
  | "putBlob";
expectSame<ReadonlySessionManager, Pick<SessionManager, ReadonlyNames>>();

// Only the factories make managers.
// @ts-expect-error the constructor is private
new SessionManager();
// @ts-expect-error and so the class cannot be extended
export class Extended extends SessionManager {}
// @ts-expect-error the title source is set through setSessionName
SessionManager.inMemory().titleSource = "user";
