"use strict";

/** The public interface; see `index.d.ts`. */

const artifacts = require("./js/artifacts.js");
const blobs = require("./js/blob-store.js");
const context = require("./js/context.js");
const directories = require("./js/directories.js");
const entries = require("./js/entries.js");
const fileStorage = require("./js/file-session-storage.js");
const listing = require("./js/listing.js");
const logger = require("./js/logger.js");
const memoryStorage = require("./js/memory-session-storage.js");
const recents = require("./js/recents.js");
const manager = require("./js/session-manager.js");

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

module.exports.getAgentDir = directories.getAgentDir;
module.exports.setAgentDir = directories.setAgentDir;
module.exports.getSessionsDir = directories.getSessionsDir;
module.exports.getBlobsDir = directories.getBlobsDir;
module.exports.getTerminalSessionsDir = directories.getTerminalSessionsDir;
module.exports.getHistoryDbPath = directories.getHistoryDbPath;
module.exports.getTerminalId = directories.getTerminalId;

module.exports.setLogger = logger.setLogger;
