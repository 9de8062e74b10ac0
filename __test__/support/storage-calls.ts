/** Every call that the package may make on a storage of the caller's own. */
export const STORAGE_CALLS = [
  "ensureDirSync",
  "existsSync",
  "writeTextSync",
  "statSync",
  "listFilesSync",
  "readText",
  "readTextPrefix",
  "rename",
  "unlink",
  "openWriter",
];
