/// <reference types="node" />

/** Large data outside the session files, by content: images above all. */

/** Outcome of storing a blob. */
export interface BlobPutResult {
  /** SHA-256 of the bytes, 64 lower-case hex digits. */
  hash: string;
  /** The file that holds the bytes. */
  path: string;
  /** Text that stands for the blob in a session file: `blob:sha256:<hash>`. */
  readonly ref: string;
}

/** Bytes in files named after their SHA-256. Equal content is stored once; nothing is deleted. */
export declare class BlobStore {
  /** The directory is created when the first blob is stored. */
  constructor(dir: string);
  /** The directory of the blobs. */
  readonly dir: string;
  /** Stores bytes. Promise; rejects with the error of the system. */
  put(data: Uint8Array): Promise<BlobPutResult>;
  /**
   * The bytes of a blob, or `null` when it is missing. Promise; rejects with other errors of the
   * system. Content that does not fit its hash, and a hash that is none, count as missing.
   */
  get(hash: string): Promise<Buffer | null>;
  /** Whether a blob is there. Promise, never rejects. */
  has(hash: string): Promise<boolean>;
}

/** Whether a text stands for a blob. Synchronous. */
export declare function isBlobRef(data: string): boolean;

/** The hash in a blob reference, unchecked and possibly empty; `null` for other texts. Synchronous. */
export declare function parseBlobRef(data: string): string | null;

/** Whether a text is a base64 `data:` URL of an image. Synchronous. */
export declare function isImageDataUrl(data: string): boolean;

/**
 * Stores the text of a `data:` URL and gives the reference for it. Promise. A text that is a reference
 * already comes back unchanged.
 */
export declare function externalizeImageDataUrl(
  blobStore: Pick<BlobStore, "put">,
  dataUrl: string,
): Promise<string>;

/**
 * Stores the bytes behind base64 text and gives the reference for them. Promise. A text that is a
 * reference already comes back unchanged.
 */
export declare function externalizeImageData(
  blobStore: Pick<BlobStore, "put">,
  base64Data: string,
): Promise<string>;

/**
 * The `data:` URL behind a reference. Promise. A text that is no reference comes back unchanged, and
 * so does one whose blob is missing, after a warning to the logger.
 */
export declare function resolveImageDataUrl(
  blobStore: Pick<BlobStore, "get">,
  data: string,
): Promise<string>;

/**
 * The base64 text behind a reference, in canonical form. Promise. A text that is no reference comes
 * back unchanged, and so does one whose blob is missing, after a warning to the logger.
 */
export declare function resolveImageData(
  blobStore: Pick<BlobStore, "get">,
  data: string,
): Promise<string>;
