"use strict";

/**
 * Arguments of commands, read by the host's own `util.parseArgs`. A command's definition names its
 * `options` in the form of that function, each with a `help` text and, if it takes one, a `value`.
 */

const { parseArgs } = require("node:util");

/** A call that makes no sense. */
class UsageError extends Error {}

const COMMON = {
  json: { type: "boolean", help: "one JSON document for programs" },
  help: { type: "boolean", short: "h", help: "this text" },
};

const optionsOf = (definition) => ({ ...definition.options, ...COMMON });

/** The options and operands of a command. */
function parse(definition, args) {
  const options = Object.fromEntries(
    Object.entries(optionsOf(definition)).map(([name, { type, short, multiple }]) => {
      return [name, { type, ...(short && { short }), ...(multiple && { multiple }) }];
    }),
  );
  let parsed;
  try {
    parsed = parseArgs({ args, options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(String(error.message).split("\n", 1)[0]);
  }
  const { values, positionals } = parsed;
  if (!values.help) {
    checkOperands(definition, positionals);
  }
  return { values, positionals };
}

function checkOperands({ operands, min, max }, positionals) {
  if (positionals.length < min) {
    throw new UsageError(`${operands} is needed`);
  }
  if (positionals.length > max) {
    throw new UsageError(`unexpected argument ${JSON.stringify(positionals[max])}`);
  }
}

function helpOf(program, name, definition) {
  const rows = Object.entries(optionsOf(definition)).map(([option, { short, value, help }]) => {
    const long = `--${option}${value ? ` <${value}>` : ""}`;
    return [short ? `-${short}, ${long}` : `    ${long}`, help];
  });
  const width = Math.max(...rows.map(([left]) => left.length));
  return [
    `Usage: ${program} ${name} ${definition.operands} [options]`,
    "",
    definition.description,
    "",
    "Options:",
    ...rows.map(([left, help]) => `  ${left.padEnd(width)}  ${help}`),
    "",
  ].join("\n");
}

module.exports = { UsageError, helpOf, parse };
