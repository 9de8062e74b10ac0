// Conversion and compaction take an agent's own types and give what it passes on.

import {
  type AgentMessage,
  type AssistantMessage,
  bashExecutionToText,
  calculateContextTokens,
  calculatePromptTokens,
  computeFileLists,
  convertToLlm,
  createBranchSummaryMessage,
  createCompactionSummaryMessage,
  createCustomMessage,
  type DumpedTool,
  estimateTokens,
  findCutPoint,
  findTurnStartIndex,
  formatOutputNotice,
  formatSessionDumpText,
  getLastAssistantUsage,
  type Message,
  prepareBranchEntries,
  prepareCompaction,
  pruneToolOutputs,
  pythonExecutionToText,
  renderSummaryTemplate,
  type SessionDumpOptions,
  SessionManager,
  SKILL_PROMPT_MESSAGE_TYPE,
  type SkillPromptDetails,
  sanitizeRehydratedOpenAIResponsesAssistantMessage,
  serializeConversation,
  shouldCompact,
  upsertFileOperations,
} from "session-manager-native";
import { expectAssignable, expectSame } from "./expect.js";
import type * as foreign from "./foreign-messages.js";

const manager = SessionManager.inMemory();
const branch = manager.getBranch();

declare const theirs: foreign.AgentMessage[];
expectAssignable<(messages: foreign.AgentMessage[]) => foreign.Message[], typeof convertToLlm>();
const sent: Message[] = convertToLlm(theirs, { branchSummaryTemplate: "{{summary}}" });
convertToLlm(manager.buildSessionContext().messages, { missingResultNotice: undefined });
export const conversation: string = serializeConversation(sent);
declare const tool: DumpedTool;
const dumpOptions: SessionDumpOptions = {
  messages: theirs,
  model: { provider: "p", id: "m" },
  tools: [tool],
};
export const dump: string = formatSessionDumpText(dumpOptions);
// @ts-expect-error messages are required
formatSessionDumpText({ systemPrompt: "s" });
// @ts-expect-error the name of an option
convertToLlm(theirs, { template: "" });

declare const shell: foreign.BashExecutionMessage;
declare const python: foreign.PythonExecutionMessage;
export const texts: string[] = [
  bashExecutionToText(shell),
  pythonExecutionToText(python),
  formatOutputNotice(undefined),
  renderSummaryTemplate("{{summary}}", undefined),
];

expectSame<typeof SKILL_PROMPT_MESSAGE_TYPE, "skill-prompt">();
declare const skill: SkillPromptDetails;
export const made: AgentMessage[] = [
  createCustomMessage(SKILL_PROMPT_MESSAGE_TYPE, "text", true, skill, "2026-01-01T00:00:00Z"),
  createBranchSummaryMessage("s", "root", "2026-01-01T00:00:00Z"),
  createCompactionSummaryMessage("s", 1, "2026-01-01T00:00:00Z"),
];
expectSame<
  ReturnType<typeof createCustomMessage<SkillPromptDetails>>["details"],
  SkillPromptDetails | undefined
>();

declare const answer: AssistantMessage;
export const cleaned: AssistantMessage = sanitizeRehydratedOpenAIResponsesAssistantMessage(answer);

export function compact(window: number): void {
  const usage = getLastAssistantUsage(branch);
  if (usage && shouldCompact(calculateContextTokens(usage), window, { thresholdPercent: 80 })) {
    const prepared = prepareCompaction(branch, { keepRecentTokens: calculatePromptTokens(usage) });
    if (prepared) {
      const { readFiles, modifiedFiles } = computeFileLists(prepared.fileOps);
      const summary = upsertFileOperations("s", readFiles, modifiedFiles);
      manager.appendCompaction(
        summary,
        undefined,
        prepared.firstKeptEntryId,
        prepared.tokensBefore,
        { readFiles, modifiedFiles },
      );
    }
  }
  const { prunedCount } = pruneToolOutputs(branch, { protectedTools: ["read"] as const });
  expectSame<typeof prunedCount, number>();
}

const { firstKeptEntryIndex } = findCutPoint(branch, 0, branch.length, 20_000);
export const turn: number = findTurnStartIndex(branch, firstKeptEntryIndex, 0);
export const sizes: number[] = prepareBranchEntries(branch, 1000).messages.map(estimateTokens);
// @ts-expect-error a limit is a number
prepareBranchEntries(branch, "1000");
