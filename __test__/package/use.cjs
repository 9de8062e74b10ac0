"use strict";

// Run in an empty project that installed the packed tarballs: the package from CommonJS.

const { version } = require("session-manager-native/package.json");
const native = require("session-manager-native");

console.log(JSON.stringify({ version, exports: Object.keys(native).sort() }));
