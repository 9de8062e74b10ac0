/**
 * Asks for the default session directory of each working directory given, as several processes that
 * start at the same moment do. Arguments: moment in milliseconds since 1970, working directories.
 */

const { SessionManager } = require("../../../index.js");

const [moment, ...cwds] = process.argv.slice(2);

while (Date.now() < Number(moment)) {
  // Waiting without a timer starts all processes within a fraction of a millisecond.
}
console.log(JSON.stringify(cwds.map((cwd) => SessionManager.getDefaultSessionDir(cwd))));
