/** What is on disk after a kill, read without the package. */

import crypto from "node:crypto";
import fs from "node:fs";
import path from "node:path";

/**
 * Names that the package uses while it works, all hidden: new content, with sixteen hex digits before the
 * ending; the lock of a rewrite; the second name of the file that a rewrite replaces.
 */
const TEMPORARY = /^\..+\.([0-9a-f]{16}\.tmp|lock|previous)$/;
const BLOB_REFERENCE = /"blob:sha256:([^"]*)"/g;

/** Something was lost, doubled or mixed. */
export class Lost extends Error {}

/** Throws when the condition does not hold. */
export function must(condition, text) {
  if (!condition) {
    throw new Lost(text);
  }
}

/** The key that the text of a message begins with. */
export function keyOf(record) {
  const content = record.message?.content;
  const text = typeof content === "string" ? content : content?.[0]?.text;
  must(typeof text === "string", `entry without a key: ${JSON.stringify(record).slice(0, 200)}`);
  return text.slice(0, text.indexOf(" "));
}

/**
 * Header and entries of a session file. Every line must be whole; only the last may be torn, and only
 * if the kind of work appends.
 */
export function readSession(file, { mayBeTorn = false } = {}) {
  const lines = fs.readFileSync(file, "utf8").split("\n");
  const rest = lines.pop();
  must(rest === "" || mayBeTorn, `${file} ends in the middle of a line`);
  const records = lines.map((line, at) => {
    try {
      return JSON.parse(line);
    } catch {
      throw new Lost(`line ${at + 1} of ${file} is damaged: ${line.slice(0, 200)}`);
    }
  });
  const [header, ...entries] = records;
  must(header?.type === "session", `${file} does not begin with a header`);
  return { header, entries, keys: entries.map(keyOf), isTorn: rest !== "" };
}

/** Every record's parent must be there before it. */
export function checkParents({ entries }, file) {
  const seen = new Set([null]);
  for (const { id, parentId } of entries) {
    must(seen.has(parentId), `${file}: the parent of ${id} is not on disk`);
    must(!seen.has(id), `${file}: ${id} is there twice`);
    seen.add(id);
  }
}

/** `found` must be the beginning of `written` and reach at least as far as every acknowledged key. */
export function checkOrder(found, written, acknowledged, file) {
  found.forEach((key, at) => {
    must(key === written[at], `${file}: ${key} where ${written[at]} belongs (record ${at + 1})`);
  });
  const there = new Set(found);
  for (const key of acknowledged) {
    must(there.has(key), `${file}: ${key} was flushed and is lost`);
  }
}

/** Names of leftover temporary files in a directory; any other unknown name is a fault. */
export function leftovers(dir, isKnown) {
  const names = fs.existsSync(dir) ? fs.readdirSync(dir) : [];
  const unknown = names.filter((name) => !isKnown(name));
  for (const name of unknown) {
    must(TEMPORARY.test(name), `${dir} holds ${name}, which nobody would recognise`);
  }
  return unknown.length;
}

/** Every blob must have the content that its name says, and be there for each reference. */
export function checkBlobs(blobsDir, sessionFiles) {
  const names = fs.existsSync(blobsDir) ? fs.readdirSync(blobsDir) : [];
  const whole = new Set(names.filter((name) => /^[0-9a-f]{64}$/.test(name)));
  for (const name of whole) {
    const content = fs.readFileSync(path.join(blobsDir, name));
    const hash = crypto.createHash("sha256").update(content).digest("hex");
    must(hash === name, `blob ${name} is not whole`);
  }
  for (const file of sessionFiles) {
    for (const [, hash] of fs.readFileSync(file, "utf8").matchAll(BLOB_REFERENCE)) {
      must(whole.has(hash), `${file} refers to ${hash}, which is missing`);
    }
  }
  return whole;
}
