/** Commands that only read: lists, recents, resuming, and the free functions. */

import path from "node:path";
import { fixtureText } from "./fixtures.mjs";
import { build } from "./recipes.mjs";

/** A recent item with its lazy getters; the class is not exported. */
function recent(item) {
  const { path: file, mtime, fullName, name, timeAgo } = item;
  return { keys: Object.keys(item), file, mtime, fullName, name, timeAgo };
}

/** Fixtures begin like this; the names of all other files come from the clock. */
const FIXTURE = /^(2025-|Session-|missing)/;

/**
 * What to look for when resuming: an id, a file name, its last part, or nothing that exists. Of generated
 * ids only the counter is cut off: which of them begin alike otherwise depends on the time.
 */
function resumeArgument(world, { file, cut: wanted, form }) {
  const base = path.basename(world.file(file), ".jsonl");
  const candidate = [
    base,
    base.slice(base.lastIndexOf("_") + 1),
    base.toUpperCase(),
    "nothing-like-it",
  ][form];
  const cut = FIXTURE.test(base) ? wanted : wanted % 6;
  return candidate.slice(0, cut === 0 ? candidate.length : Math.max(1, candidate.length - cut));
}

/** Loads a file's entries for the free functions, in whatever version it is. */
async function entriesOf(world, file) {
  world.reads(world.file(file));
  const entries = await world.api.loadEntriesFromFile(world.file(file), ...world.withStorage());
  return entries;
}

/** A session of a listing. Whether its texts are read before it or with it is nobody's business. */
const read = (info) => ({ ...info });

export const READS = {
  queries: {
    async run(world, _, slot) {
      return { cheap: world.cheap(slot), all: world.queries(slot) };
    },
  },

  list: {
    free: true,
    run(world, { cwd, dir }) {
      world.disk.settleTimes();
      world.reads(sessionDir(world, dir, cwd));
      const { list } = world.api.SessionManager;
      return world.call(
        () => list(world.cwd(cwd), ...world.withStorage(world.dir(dir))),
        (infos) => infos.map(read),
      );
    },
  },

  listAll: {
    free: true,
    run(world) {
      world.disk.settleTimes();
      world.reads(world.root);
      return world.call(
        () => world.api.SessionManager.listAll(...world.withStorage()),
        (infos) => infos.map(read),
      );
    },
  },

  findMostRecent: {
    free: true,
    run(world, { dir }) {
      world.disk.settleTimes();
      world.reads(sessionDir(world, dir));
      return world.call(() =>
        world.api.findMostRecentSession(sessionDir(world, dir), ...world.withStorage()),
      );
    },
  },

  recents: {
    free: true,
    run(world, { dir, limit }) {
      world.disk.settleTimes();
      world.reads(sessionDir(world, dir));
      return world.call(
        () =>
          world.api.getRecentSessions(sessionDir(world, dir), ...world.withStorage(build(limit))),
        (items) => items.map(recent),
      );
    },
  },

  resume: {
    free: true,
    run(world, command) {
      world.disk.settleTimes();
      world.reads(world.root);
      const cwd = world.cwd(command.cwd);
      const dir = world.dir(command.dir);
      const argument = resumeArgument(world, command);
      return world.call(
        () => world.api.resolveResumableSession(argument, cwd, ...world.withStorage(dir)),
        (match) => match && { ...match, session: read(match.session) },
      );
    },
  },

  loadEntries: {
    free: true,
    run: (world, { file }) => world.call(() => entriesOf(world, file)),
  },

  parse: {
    free: true,
    run(world, { file, cut, join }) {
      const specs = world.plan.fixtures;
      if (specs.length === 0) {
        return "no fixture";
      }
      const n = file % specs.length;
      let text = fixtureText(specs[n], n, world.cwds);
      if (join === 1) {
        text = text.slice(0, Math.max(0, text.length - cut));
      } else if (join === 2) {
        text = `${text}\n\n\r\n${text}`;
      }
      return world.call(() => world.api.parseSessionEntries(text));
    },
  },

  migrate: {
    free: true,
    async run(world, { file }) {
      let entries;
      const loaded = await world.call(async () => {
        entries = await entriesOf(world, file);
        return entries.length;
      });
      if (entries === undefined) {
        return loaded;
      }
      const outcome = await world.call(() => world.api.migrateSessionEntries(entries));
      return { outcome, entries: world.lens.view(entries) };
    },
  },

  freeContext: {
    free: true,
    async run(world, { file, leaf, withMap }) {
      const entries = [];
      const loaded = await world.call(async () => {
        const all = await entriesOf(world, file);
        world.api.migrateSessionEntries(all);
        entries.push(...all.filter((entry) => entry.type !== "session"));
        return entries.length;
      });
      const ids = [undefined, null, "", "bogus", ...entries.map((entry) => entry.id)];
      const args = [entries, ids[leaf % ids.length]];
      if (withMap) {
        args.push(new Map(entries.map((entry) => [entry.id, entry])));
      }
      const context = await world.call(() =>
        world.api.context(world.api.buildSessionContext(...args)),
      );
      const latest = await world.call(() => world.api.getLatestCompactionEntry(entries));
      return { loaded, context, latest };
    },
  },

  defaultDir: {
    free: true,
    run: (world, { cwd }) =>
      world.call(() => world.api.SessionManager.getDefaultSessionDir(world.cwd(cwd))),
  },
};

/** The directory that an index means; the default one is that of `cwd`. */
export function sessionDir(world, dir, cwd = dir) {
  return world.dir(dir) ?? world.api.SessionManager.getDefaultSessionDir(world.cwd(cwd));
}
