"use strict";

/** Summaries as text for the model: a template around them, and blank lines in order. */

const { requireString } = require("./validate.js");
const { textOf } = require("./values.js");

/** The wording of programs that bring none of their own. */
const BRANCH_SUMMARY_TEMPLATE = `The conversation was taken up again at an earlier point. What happened on the path that was left, in short:

<branch-summary>
{{summary}}
</branch-summary>`;

const COMPACTION_SUMMARY_TEMPLATE = `The beginning of this conversation is no longer shown. This summary stands in its place:

<conversation-summary>
{{summary}}
</conversation-summary>`;

const PLACEHOLDER = "{{summary}}";

/** Puts a summary into a template and tidies the result. */
function renderSummaryTemplate(template, summary) {
  requireString(template, "template");
  // A function, because a text would be searched for patterns like "$&".
  return tidy(template.replaceAll(PLACEHOLDER, () => textOf(summary ?? "")));
}

const FENCE = /^\s*(?:`{3}|~{3})/;
const LIST_ITEM = /^(?:[-*]|\d+\.)\s/;
const OPENING_TAG = /^<[a-z_-]+(?:\s[^>]*)?>$/;
const CLOSING_TAG = /^<\/[a-z_-]+>$/;

/**
 * Removes blanks at the ends of lines, blank lines that separate nothing, and blanks around the
 * cells of tables. Code between fences keeps its lines.
 */
function tidy(text) {
  const lines = text.split("\n").map((line) => line.trimEnd());
  const out = [];
  let inCode = false;
  lines.forEach((line, at) => {
    if (FENCE.test(line)) {
      inCode = !inCode;
      out.push(line);
    } else if (inCode) {
      out.push(line);
    } else if (line !== "") {
      if (CLOSING_TAG.test(line.trimStart())) {
        dropBlankEnd(out);
      }
      out.push(tableLine(line));
    } else if (separates(out.at(-1)?.trim() ?? "", lines[at + 1]?.trim() ?? "")) {
      out.push(line);
    }
  });
  dropBlankEnd(out);
  return out.join("\n");
}

function dropBlankEnd(lines) {
  while (lines.at(-1) === "") {
    lines.pop();
  }
}

/** Whether a blank line between these two lines is to be kept. */
function separates(before, after) {
  return !(
    before === "" ||
    OPENING_TAG.test(before) ||
    CLOSING_TAG.test(after) ||
    LIST_ITEM.test(after)
  );
}

/** A line of a table without blanks around its cells; any other line as it is. */
function tableLine(line) {
  const row = line.trimStart();
  if (row.length < 2 || !row.startsWith("|") || !row.endsWith("|")) {
    return line;
  }
  const cells = row.split("|").map((cell) => cell.trim());
  const indent = line.slice(0, line.length - row.length);
  if (row.length > 2 && /^[-:|\s]*$/.test(row)) {
    return `${indent}|${cells
      .filter((cell) => cell !== "")
      .map(alignment)
      .join("|")}|`;
  }
  return indent + cells.join("|");
}

/** A cell of the line below a table's heading. */
function alignment(cell) {
  return `${cell.startsWith(":") ? ":" : ""}---${cell.endsWith(":") ? ":" : ""}`;
}

module.exports = { BRANCH_SUMMARY_TEMPLATE, COMPACTION_SUMMARY_TEMPLATE, renderSummaryTemplate };
