"use strict";

// Loads the package and tells what happened; the process itself must survive any outcome.

try {
  const native = require("session-manager-native");
  console.log(JSON.stringify({ loaded: true, exports: Object.keys(native).length }));
} catch (error) {
  const { code, message, cause } = error;
  console.log(JSON.stringify({ loaded: false, code, message, cause: cause?.message }));
}
