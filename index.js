"use strict";

/** The public interface; see `index.d.ts`. */

const artifacts = require("./js/artifacts.js");
const blobs = require("./js/blob-store.js");
const branchSummary = require("./js/branch-summary.js");
const compaction = require("./js/compaction.js");
const context = require("./js/context.js");
const conversationText = require("./js/conversation-text.js");
const convert = require("./js/convert.js");
const directories = require("./js/directories.js");
const doctor = require("./js/doctor.js");
const entries = require("./js/entries.js");
const eventCodec = require("./js/event-codec.js");
const eventLog = require("./js/event-log.js");
const eventLogErrors = require("./js/event-log-errors.js");
const executionText = require("./js/execution-text.js");
const fileOperations = require("./js/file-operations.js");
const fileStorage = require("./js/file-session-storage.js");
const history = require("./js/history-storage.js");
const flatTree = require("./js/flat-tree.js");
const fuzzy = require("./js/fuzzy.js");
const listing = require("./js/listing.js");
const logger = require("./js/logger.js");
const memoryStorage = require("./js/memory-session-storage.js");
const constructors = require("./js/message-constructors.js");
const prune = require("./js/prune.js");
const navigation = require("./js/navigation.js");
const recents = require("./js/recents.js");
const replayMetadata = require("./js/replay-metadata.js");
const manager = require("./js/session-manager.js");
const sessionDump = require("./js/session-dump.js");
const summaryTemplate = require("./js/summary-template.js");
const tokens = require("./js/tokens.js");

module.exports.CURRENT_SESSION_VERSION = entries.CURRENT_SESSION_VERSION;
module.exports.SessionManager = manager.SessionManager;
module.exports.buildSessionContext = context.buildSessionContext;
module.exports.getLatestCompactionEntry = context.getLatestCompactionEntry;
module.exports.migrateSessionEntries = entries.migrateSessionEntries;
module.exports.parseSessionEntries = entries.parseSessionEntries;
module.exports.loadEntriesFromFile = entries.loadEntriesFromFile;
module.exports.findMostRecentSession = recents.findMostRecentSession;
module.exports.getRecentSessions = recents.getRecentSessions;
module.exports.resolveResumableSession = listing.resolveResumableSession;
module.exports.searchSessions = listing.searchSessions;
module.exports.fuzzyMatch = fuzzy.fuzzyMatch;
module.exports.fuzzyFilter = fuzzy.fuzzyFilter;

module.exports.collectEntriesForBranchSummary = navigation.collectEntriesForBranchSummary;
module.exports.renderTreePrefix = flatTree.renderTreePrefix;

module.exports.FileSessionStorage = fileStorage.FileSessionStorage;
module.exports.MemorySessionStorage = memoryStorage.MemorySessionStorage;

module.exports.BlobStore = blobs.BlobStore;
module.exports.isBlobRef = blobs.isBlobRef;
module.exports.parseBlobRef = blobs.parseBlobRef;
module.exports.isImageDataUrl = blobs.isImageDataUrl;
module.exports.externalizeImageData = blobs.externalizeImageData;
module.exports.externalizeImageDataUrl = blobs.externalizeImageDataUrl;
module.exports.resolveImageData = blobs.resolveImageData;
module.exports.resolveImageDataUrl = blobs.resolveImageDataUrl;

module.exports.ArtifactManager = artifacts.ArtifactManager;

module.exports.HistoryStorage = history.HistoryStorage;

module.exports.JsonlSessionPersistence = eventLog.JsonlSessionPersistence;
module.exports.SessionFormatUnsupportedError = eventLogErrors.SessionFormatUnsupportedError;
module.exports.SessionPersistenceCorruptionError = eventLogErrors.SessionPersistenceCorruptionError;
module.exports.encodeSegment = eventCodec.encodeSegment;
module.exports.projectKey = eventCodec.projectKey;
module.exports.packChunkRuns = eventCodec.packChunkRuns;
module.exports.decodeStorageRecord = eventCodec.decodeStorageRecord;
module.exports.interruptedTurnClosers = eventCodec.interruptedTurnClosers;

module.exports.getAgentDir = directories.getAgentDir;
module.exports.setAgentDir = directories.setAgentDir;
module.exports.getSessionsDir = directories.getSessionsDir;
module.exports.getBlobsDir = directories.getBlobsDir;
module.exports.getTerminalSessionsDir = directories.getTerminalSessionsDir;
module.exports.getHistoryDbPath = directories.getHistoryDbPath;
module.exports.getTerminalId = directories.getTerminalId;

module.exports.setLogger = logger.setLogger;

module.exports.examineSession = doctor.examineSession;
module.exports.repairSession = doctor.repairSession;

module.exports.SKILL_PROMPT_MESSAGE_TYPE = constructors.SKILL_PROMPT_MESSAGE_TYPE;
module.exports.createBranchSummaryMessage = constructors.createBranchSummaryMessage;
module.exports.createCompactionSummaryMessage = constructors.createCompactionSummaryMessage;
module.exports.createCustomMessage = constructors.createCustomMessage;
module.exports.bashExecutionToText = executionText.bashExecutionToText;
module.exports.pythonExecutionToText = executionText.pythonExecutionToText;
module.exports.formatOutputNotice = executionText.formatOutputNotice;
module.exports.sanitizeRehydratedOpenAIResponsesAssistantMessage =
  replayMetadata.sanitizeRehydratedOpenAIResponsesAssistantMessage;
module.exports.renderSummaryTemplate = summaryTemplate.renderSummaryTemplate;
module.exports.convertToLlm = convert.convertToLlm;
module.exports.serializeConversation = conversationText.serializeConversation;
module.exports.formatSessionDumpText = sessionDump.formatSessionDumpText;

module.exports.estimateTokens = tokens.estimateTokens;
module.exports.calculateContextTokens = tokens.calculateContextTokens;
module.exports.calculatePromptTokens = tokens.calculatePromptTokens;
module.exports.getLastAssistantUsage = tokens.getLastAssistantUsage;
module.exports.shouldCompact = compaction.shouldCompact;
module.exports.findTurnStartIndex = compaction.findTurnStartIndex;
module.exports.findCutPoint = compaction.findCutPoint;
module.exports.prepareCompaction = compaction.prepareCompaction;
module.exports.prepareBranchEntries = branchSummary.prepareBranchEntries;
module.exports.computeFileLists = fileOperations.computeFileLists;
module.exports.upsertFileOperations = fileOperations.upsertFileOperations;
module.exports.pruneToolOutputs = prune.pruneToolOutputs;
