const d = require("./directories.js");
const l = require("./listing.js");
class SessionManager {
  static getDefaultSessionDir(cwd, agentDir, storage) { return d.getDefaultSessionDir(cwd, agentDir, storage); }
  static list(cwd, dir, storage) { return l.list(cwd, dir, storage); }
  static listAll(storage) { return l.listAll(storage); }
}
module.exports = { SessionManager };
