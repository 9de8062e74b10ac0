/** The demo command: installs and builds what is missing, then runs demo/run.js. */

import { build } from "./build.mjs";
import { run, step } from "./lib.mjs";

build();
step("Running the demo");
run(process.execPath, ["demo/run.js", ...process.argv.slice(2)]);
