"use strict";

/** What a command says: on standard output the result, on standard error how far it is. */

/** Exit codes; part of the contract. */
const EXIT = { fine: 0, findings: 1, usage: 2, unreadable: 3 };

/** Text of others, with the characters escaped that control a terminal. Tabs and lines stay. */
function printable(text) {
  return text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** The same for a text that is to stay on one line. */
function oneLine(text) {
  return printable(text.replace(/[\t\n\r]+/g, " "));
}

/** The beginning of a text that is longer than some UTF-16 units; no character is split. */
function cut(text, width) {
  if (text.length <= width) {
    return text;
  }
  const end = /[\ud800-\udbff]/.test(text[width - 2]) ? width - 2 : width - 1;
  return `${text.slice(0, end)}…`;
}

/** A JSON document for programs, which a terminal can show too. */
function jsonText(value) {
  return `${JSON.stringify(value, undefined, 2).replace(
    /[\u007f-\u009f]/g,
    (character) => `\\u00${character.charCodeAt(0).toString(16)}`,
  )}\n`;
}

const STYLES = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39] };

class Terminal {
  #stdout;
  #stderr;
  #colours;
  #progress = "";

  constructor({ stdout, stderr, env }) {
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.#colours = Boolean(stdout.isTTY) && !env.NO_COLOR && env.TERM !== "dumb";
  }

  /** Columns of the terminal; undefined where there is none. */
  get width() {
    return this.#stdout.isTTY ? this.#stdout.columns : undefined;
  }

  /** Text in a style, where there are colours. */
  styled(style, text) {
    const [on, off] = STYLES[style];
    return this.#colours ? `\u001b[${on}m${text}\u001b[${off}m` : text;
  }

  /** Writes to standard output; resolves when it was taken. */
  print(text) {
    this.clearProgress();
    return write(this.#stdout, text);
  }

  json(value) {
    return this.print(jsonText(value));
  }

  complain(text) {
    this.clearProgress();
    return write(this.#stderr, text);
  }

  /** Shows how far long work is, if somebody looks. */
  progress(what, done, total) {
    if (!this.#stderr.isTTY || total < 2) {
      return;
    }
    const text = `${what}: ${done} of ${total}`;
    this.#stderr.write(`\r${text.padEnd(this.#progress.length)}`);
    this.#progress = text;
  }

  clearProgress() {
    if (this.#progress !== "") {
      this.#stderr.write(`\r${" ".repeat(this.#progress.length)}\r`);
      this.#progress = "";
    }
  }
}

/** Errors of standard output are handled where the program begins. */
function write(stream, text) {
  return new Promise((resolve) => {
    stream.write(text, () => resolve());
  });
}

module.exports = { EXIT, Terminal, cut, oneLine, printable };
