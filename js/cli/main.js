"use strict";

/** Chooses the command, and turns what goes wrong into words and an exit code. */

const { version } = require("../../package.json");
const { UsageError, helpOf, parse } = require("./arguments.js");
const doctor = require("./doctor.js");
const list = require("./list.js");
const show = require("./show.js");
const { EXIT, Terminal, printable } = require("./terminal.js");

const NAME = "session-manager-native";

const commands = { doctor, list, show };

function overview() {
  const width = Math.max(...Object.keys(commands).map((name) => name.length));
  const lines = Object.entries(commands).map(
    ([name, { definition }]) => `  ${name.padEnd(width)}  ${definition.summary}`,
  );
  return [
    `Usage: ${NAME} <command> [options]`,
    "",
    "Commands:",
    ...lines,
    "",
    "Options:",
    "  -h, --help     what a command does, and its options",
    "  -V, --version  the version of the package",
    "",
  ].join("\n");
}

/**
 * Runs the program; gives its exit code.
 *
 * @param {string[]} args what follows the program's name
 * @param {{ stdout: object, stderr: object, env: object }} host
 */
async function run(args, host) {
  const terminal = new Terminal(host);
  try {
    return await dispatch(args, terminal);
  } catch (error) {
    if (error instanceof UsageError) {
      await terminal.complain(`${NAME}: ${error.message}\nTry "${NAME} --help".\n`);
      return EXIT.usage;
    }
    await terminal.complain(`${NAME}: ${printable(error?.message ?? String(error))}\n`);
    return EXIT.unreadable;
  }
}

async function dispatch([name, ...rest], terminal) {
  if (name === "-V" || name === "--version") {
    await terminal.print(`${version}\n`);
    return EXIT.fine;
  }
  if (name === "-h" || name === "--help" || name === "help") {
    await terminal.print(overview());
    return EXIT.fine;
  }
  if (name === undefined) {
    throw new UsageError("a command is needed");
  }
  if (!Object.hasOwn(commands, name)) {
    throw new UsageError(`there is no command ${JSON.stringify(name)}`);
  }
  const { definition, run: runCommand } = commands[name];
  const { values, positionals } = parse(definition, rest);
  if (values.help) {
    await terminal.print(helpOf(NAME, name, definition));
    return EXIT.fine;
  }
  return runCommand({ values, positionals, terminal });
}

module.exports = { run };
