"use strict";
module.exports = { ...require("./js/directories.js"), ...require("./js/listing.js"), ...require("./js/recents.js"), ...require("./js/session-manager.js"), ...require("./js/file-session-storage.js"), ...require("./js/memory-session-storage.js"), ...require("./js/logger.js") };
