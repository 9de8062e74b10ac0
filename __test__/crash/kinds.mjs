/**
 * The kinds of work that are killed: what is prepared for each, and what must hold afterwards. A
 * check gets the reports of the child and gives `files` to be opened by the package, with the keys
 * that must be found, and `leftovers`, the number of temporary files.
 */

import fs from "node:fs";
import path from "node:path";

import { checkBlobs, checkOrder, checkParents, leftovers, must, readSession } from "./files.mjs";

const AT = "2026-01-02T03:04:05.678Z";

function entry(key, id, parentId) {
  const message = { role: "user", content: `${key} `, timestamp: 1 };
  return { type: "message", id, parentId, timestamp: AT, message };
}

function sessionText(name, count, extra = {}) {
  const header = { type: "session", version: 3, id: name, timestamp: AT, cwd: "/", ...extra };
  const lines = [header];
  for (let n = 0; n < count; n++) {
    const parent = n === 0 ? null : `${name}-${n - 1}`;
    lines.push(entry(`${name}${n}`, `${name}-${n}`, parent));
  }
  // An answer of the model, so that everything is written at once.
  lines.at(-1).message.role = "assistant";
  lines.at(-1).message.content = [{ type: "text", text: lines.at(-1).message.content }];
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

function preparedKeys(name, count) {
  return Array.from({ length: count }, (_, n) => `${name}${n}`);
}

function write(file, text) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text);
}

/** Arguments of all reports with this name. */
function told(reports, name) {
  return reports.filter(([first]) => first === name).map(([, ...rest]) => rest);
}

/** Keys that were told for a file under one name. */
function keysOf(reports, name, file) {
  return told(reports, name)
    .filter(([of]) => of === file)
    .flatMap(([, keys]) => keys);
}

const isSession = (name) => name.endsWith(".jsonl");

function sessionsIn(dir) {
  const names = fs.existsSync(dir) ? fs.readdirSync(dir) : [];
  return names.filter((name) => isSession(name) && !name.startsWith("."));
}

/** A session that begins with `first` and was appended to. */
function checkAppended(file, first, reports) {
  const name = path.basename(file);
  const session = readSession(file, { mayBeTorn: true });
  checkParents(session, file);
  const flushed = [...first, ...keysOf(reports, "flushed", name)];
  checkOrder(session.keys, [...first, ...keysOf(reports, "added", name)], flushed, file);
  return { file, keys: session.keys, header: session.header, entries: session.entries };
}

const PREPARED = 12;
const sessionsOf = (dir) => path.join(dir, "sessions");
const preparedOf = (dir) => path.join(sessionsOf(dir), "prepared.jsonl");
const blobsOf = (dir) => path.join(dir, "agent", "blobs");

function prepare(dir) {
  write(preparedOf(dir), sessionText("prepared", PREPARED));
}

function checkPrepared(dir, reports) {
  return checkAppended(preparedOf(dir), preparedKeys("prepared", PREPARED), reports);
}

/** The last that was begun and the last that was finished; one of them must be on disk. */
function oneOf(value, reports, begun, done, start) {
  const candidates = [
    told(reports, begun).at(-1)?.[0] ?? start,
    told(reports, done).at(-1)?.[0] ?? start,
  ];
  must(candidates.includes(value), `${value} is on disk, ${candidates.join(" or ")} should be`);
}

const OLD_FILES = 6;

/** Sessions of version 1: no ids, no parents. */
function oldText(name) {
  const lines = sessionText(name, PREPARED)
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  delete lines[0].version;
  for (const line of lines.slice(1)) {
    delete line.id;
    delete line.parentId;
  }
  return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
}

/** Name of a project's folder in earlier versions. */
function earlierFolder(dir) {
  return `--${path.join(dir, "project0").slice(1).replaceAll("/", "-")}--`;
}

export const kinds = {
  append: {
    prepare,
    check(dir, reports) {
      return {
        files: [checkPrepared(dir, reports)],
        leftovers: leftovers(sessionsOf(dir), isSession),
      };
    },
  },

  "first flush": {
    prepare() {},
    check(dir, reports) {
      const names = sessionsIn(sessionsOf(dir));
      const files = names.map((name) =>
        checkAppended(path.join(sessionsOf(dir), name), [], reports),
      );
      for (const [name] of told(reports, "flushed")) {
        must(names.includes(name), `${name} was flushed and is lost`);
      }
      return { files, leftovers: leftovers(sessionsOf(dir), isSession) };
    },
  },

  rewrite: {
    prepare,
    check(dir, reports) {
      const file = checkPrepared(dir, reports);
      const generations = new Set(file.entries.map(({ message }) => message.generation));
      must(generations.size === 1, `old and new content are mixed: ${[...generations]}`);
      oneOf([...generations][0], reports, "rewriting", "rewritten", undefined);
      return { files: [file], leftovers: leftovers(sessionsOf(dir), isSession) };
    },
  },

  rename: {
    prepare,
    check(dir, reports) {
      const file = checkPrepared(dir, reports);
      oneOf(file.header.title, reports, "renaming", "renamed", undefined);
      return { files: [file], leftovers: leftovers(sessionsOf(dir), isSession) };
    },
  },

  fork: {
    prepare(dir) {
      prepare(dir);
      write(path.join(sessionsOf(dir), "source.jsonl"), sessionText("source", 40));
    },
    check(dir, reports) {
      const source = path.join(sessionsOf(dir), "source.jsonl");
      must(fs.readFileSync(source, "utf8") === sessionText("source", 40), "the source was changed");
      const names = sessionsIn(sessionsOf(dir));
      for (const [name] of [...told(reports, "copied"), ...told(reports, "forked")]) {
        must(names.includes(name), `${name} was made and is lost`);
      }
      // Forks of the manager hold what it held: the prepared entries and all that were added to it.
      const own = told(reports, "added").filter(([, keys]) => keys.length === 1);
      const chain = [...preparedKeys("prepared", PREPARED), ...own.flatMap(([, keys]) => keys)];
      const files = names.map((name) => {
        const file = path.join(sessionsOf(dir), name);
        const session = readSession(file, { mayBeTorn: true });
        checkParents(session, file);
        const isCopy = session.header.parentSession === "source";
        const written = isCopy
          ? [...preparedKeys("source", 40), ...keysOf(reports, "added", name)]
          : name === "source.jsonl"
            ? preparedKeys("source", 40)
            : chain;
        const whole =
          isCopy || name === "source.jsonl" ? preparedKeys("source", 40) : chain.slice(0, PREPARED);
        const flushed = isCopy ? keysOf(reports, "flushed", name) : [];
        checkOrder(session.keys, written, [...whole, ...flushed], file);
        return { file, keys: session.keys };
      });
      return { files, leftovers: leftovers(sessionsOf(dir), isSession) };
    },
  },

  branch: {
    prepare,
    check(dir, reports) {
      const dirOf = sessionsOf(dir);
      const branches = told(reports, "branched");
      const names = sessionsIn(dirOf);
      for (const [name] of branches) {
        must(names.includes(name), `${name} was made and is lost`);
      }
      // A branch that was written but not told has the keys that were told before.
      const asked = told(reports, "branching");
      const files = names.map((name) => {
        const file = path.join(dirOf, name);
        const branch = branches.find(([of]) => of === name);
        const first =
          name === "prepared.jsonl"
            ? preparedKeys("prepared", PREPARED)
            : (branch?.[1] ?? asked.at(-1)[0]);
        return checkAppended(file, first, reports);
      });
      return { files, leftovers: leftovers(dirOf, isSession) };
    },
  },

  move: {
    prepare(dir, defaultDir) {
      for (const n of [0, 1]) {
        fs.mkdirSync(path.join(dir, `project${n}`));
      }
      const from = defaultDir(path.join(dir, "project0"));
      write(
        path.join(from, "m.jsonl"),
        sessionText("m", PREPARED, { cwd: path.join(dir, "project0") }),
      );
      write(path.join(from, "m", "0.bash.log"), "output");
    },
    check(dir, reports, defaultDir) {
      const places = [0, 1].map((n) => defaultDir(path.join(dir, `project${n}`)));
      const files = places
        .map((place) => path.join(place, "m.jsonl"))
        .filter((file) => fs.existsSync(file));
      must(files.length === 1, `the session is at ${files.length} places`);
      const artifacts = places
        .map((place) => path.join(place, "m", "0.bash.log"))
        .filter((file) => fs.existsSync(file) && fs.readFileSync(file, "utf8") === "output");
      must(artifacts.length === 1, `the artifact is at ${artifacts.length} places`);
      const known = (name) => isSession(name) || name === "m";
      return {
        files: [checkAppended(files[0], preparedKeys("m", PREPARED), reports)],
        leftovers: places.reduce((sum, place) => sum + leftovers(place, known), 0),
        artifact: path.join(path.dirname(files[0]), "m", "0.bash.log"),
      };
    },
  },

  blob: {
    prepare,
    check(dir, reports) {
      const file = checkPrepared(dir, reports);
      const whole = checkBlobs(blobsOf(dir), [file.file]);
      for (const [hash] of told(reports, "stored")) {
        must(whole.has(hash), `blob ${hash} was stored and is lost`);
      }
      const isBlob = (name) => whole.has(name);
      const left = leftovers(sessionsOf(dir), isSession) + leftovers(blobsOf(dir), isBlob);
      return { files: [file], leftovers: left };
    },
  },

  migration: {
    prepare(dir) {
      for (let n = 1; n <= OLD_FILES; n++) {
        write(path.join(sessionsOf(dir), `old${n}.jsonl`), oldText(`old${n}`));
      }
    },
    check(dir, reports) {
      const migrated = told(reports, "migrated").map(([name]) => name);
      const files = [];
      for (let n = 1; n <= OLD_FILES; n++) {
        const file = path.join(sessionsOf(dir), `old${n}.jsonl`);
        const keys = preparedKeys(`old${n}`, PREPARED);
        if (fs.readFileSync(file, "utf8") === oldText(`old${n}`)) {
          must(!migrated.includes(`old${n}.jsonl`), `${file} was migrated and is old`);
          files.push({ file, keys });
          continue;
        }
        const checked = checkAppended(file, keys, reports);
        must(checked.header.version === 3, `${file} has version ${checked.header.version}`);
        files.push(checked);
      }
      return { files, leftovers: leftovers(sessionsOf(dir), isSession) };
    },
  },

  folders: {
    prepare(dir, defaultDir) {
      fs.mkdirSync(path.join(dir, "project0"));
      // There is something in the new folder already, so that sessions move one by one.
      write(
        path.join(defaultDir(path.join(dir, "project0")), "there.jsonl"),
        sessionText("there", 3),
      );
      const earlier = path.join(dir, "agent", "sessions", earlierFolder(dir));
      for (let n = 0; n < OLD_FILES; n++) {
        const cwd = path.join(dir, "project0");
        write(path.join(earlier, `s${n}.jsonl`), sessionText(`s${n}`, 3, { cwd }));
        write(path.join(earlier, `s${n}`, "0.bash.log"), `output ${n}`);
      }
    },
    check(dir, _reports, defaultDir) {
      const root = path.join(dir, "agent", "sessions");
      const places = fs.readdirSync(root).map((name) => path.join(root, name));
      for (let n = 0; n < OLD_FILES; n++) {
        const at = places.filter((place) => fs.existsSync(path.join(place, `s${n}.jsonl`)));
        must(at.length === 1, `session ${n} is at ${at.length} places after the kill`);
      }
      // The next process finishes what the killed one began.
      const target = defaultDir(path.join(dir, "project0"));
      const files = [];
      for (let n = 0; n < OLD_FILES; n++) {
        const file = path.join(target, `s${n}.jsonl`);
        must(fs.readFileSync(file, "utf8").includes(`"s${n}"`), `${file} has other content`);
        const artifact = path.join(target, `s${n}`, "0.bash.log");
        must(fs.readFileSync(artifact, "utf8") === `output ${n}`, `${artifact} has other content`);
        files.push({ file, keys: preparedKeys(`s${n}`, 3) });
      }
      return { files, leftovers: 0 };
    },
  },

  history: {
    prepare() {},
    check(dir, reports, _defaultDir, openHistory) {
      const remembered = told(reports, "remembered").map(([prompt]) => prompt);
      const found = openHistory(path.join(dir, "history.db"));
      must(new Set(found).size === found.length, "a prompt is there twice");
      for (const prompt of remembered) {
        must(found.includes(prompt), `${prompt.slice(0, 30)} was acknowledged and is lost`);
      }
      return { files: [], leftovers: 0 };
    },
  },
};
