"use strict";

/**
 * Recognises a binary that was cut short, for example by a full disk during installation. The
 * system's loader does not: it maps the missing part and the process dies on a signal.
 */

const fs = require("node:fs");

const HEADER_BYTES = 64;
const SECTION_TABLE_OFFSET = 40;
const SECTION_ENTRY_SIZE = 58;
const SECTION_COUNT = 60;

/**
 * Throws when the file is a 64-bit little-endian ELF image that ends before its last table.
 * Everything else, a missing file included, is left to the loader, which has good words for it.
 */
function assertWholeBinary(file) {
  if (process.platform !== "linux" || !fs.existsSync(file)) {
    return;
  }
  const { header, size } = readHeader(file);
  const isElf64 = header.length === HEADER_BYTES && header.readUInt32BE(0) === 0x7f454c46;
  if (!isElf64 || header[4] !== 2 || header[5] !== 1) {
    return;
  }
  const tableBytes = header.readUInt16LE(SECTION_ENTRY_SIZE) * header.readUInt16LE(SECTION_COUNT);
  const needed = Number(header.readBigUInt64LE(SECTION_TABLE_OFFSET)) + tableBytes;
  if (size < needed) {
    throw new Error(`the file is cut short: ${size} of at least ${needed} bytes`);
  }
}

function readHeader(file) {
  const descriptor = fs.openSync(file, "r");
  try {
    const buffer = Buffer.alloc(HEADER_BYTES);
    const length = fs.readSync(descriptor, buffer, 0, HEADER_BYTES, 0);
    return { header: buffer.subarray(0, length), size: fs.fstatSync(descriptor).size };
  } finally {
    fs.closeSync(descriptor);
  }
}

module.exports = { assertWholeBinary };
