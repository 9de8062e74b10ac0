/**
 * What each command does. `free` commands need no manager. An action returns what the call gave or threw;
 * state and files are recorded by the world afterwards.
 */

import fs from "node:fs";
import path from "node:path";
import { ODD_MESSAGES } from "./odd.mjs";
import { READS, sessionDir } from "./reads.mjs";
import { build, buildAll, UNDEFINED } from "./recipes.mjs";

function append(world, slot, { call, args }) {
  return world.call(
    () => slot.manager[call](...buildAll(args)),
    (id) => {
      slot.ids.push(id);
    },
  );
}

/** Edits an entry or its message in place, as compaction and pruning do. */
export function applyEdit(target, header, kind) {
  const message = target?.message ?? target;
  switch (kind) {
    case "content":
      message.content = Array.isArray(message.content)
        ? [{ type: "text", text: "edited" }]
        : "edited";
      break;
    case "pushBlock":
      if (Array.isArray(message?.content)) {
        message.content.push({ type: "text", text: "pushed" });
      }
      break;
    case "extraKey":
      target.extra = { a: 1, ü: "\ud800" };
      break;
    case "dropKey":
      delete message.timestamp;
      delete target.futureField;
      break;
    case "undefinedKey":
      target.gone = undefined;
      break;
    case "header":
      if (header) {
        header.note = "n";
      }
      break;
    case "details":
      target.details = { added: true };
      break;
    default:
      throw new Error(`unknown edit ${kind}`);
  }
}

/** Registers the manager that a factory made; `fromFile` when it works on a file that was there. */
async function factory(world, thunk, { idsFrom, fromFile, finish }) {
  return world.call(thunk, async (manager) => {
    const file = manager.getSessionFile();
    const ids = idsFrom === undefined ? [] : world.idsIn(idsFrom);
    await finish?.(manager);
    const slot = await world.add(manager, ids);
    slot.ensured = fromFile ?? world.disk.text(file) !== undefined;
    const source = manager.getHeader()?.titleSource;
    world.api.noteTitleSource(manager, source);
    return { made: slot.manager.constructor.name, file };
  });
}

async function openFile(world, file, dir) {
  await world.claim(file);
  world.reads(file);
  const { SessionManager } = world.api;
  return factory(world, () => SessionManager.open(file, ...world.withStorage(dir)), {
    idsFrom: file,
    fromFile: true,
  });
}

export const COMMANDS = {
  ...READS,

  create: {
    free: true,
    async run(world, { cwd, dir }) {
      const { SessionManager } = world.api;
      let made;
      const outcome = await world.call(
        () => {
          made = SessionManager.create(world.cwd(cwd), ...world.withStorage(world.dir(dir)));
          return made.constructor.name;
        },
        () => world.add(made),
      );
      return outcome;
    },
  },

  inMemory: {
    free: true,
    async run(world, { cwd }) {
      const { SessionManager } = world.api;
      let made;
      return world.call(
        () => {
          made = SessionManager.inMemory(world.cwd(cwd), ...world.withStorage());
          return made.constructor.name;
        },
        () => world.add(made),
      );
    },
  },

  open: {
    free: true,
    run: (world, { file, dir }) =>
      openFile(world, world.file(file), dir > 3 ? undefined : world.dir(dir)),
  },

  continueRecent: {
    free: true,
    async run(world, { cwd, dir }) {
      for (const slot of [...world.slots]) {
        await world.drop(slot);
      }
      world.disk.settleTimes();
      world.reads(sessionDir(world, dir, cwd));
      if (world.plan.terminal) {
        world.reads(path.join(world.root, "agent", "terminal-sessions"));
      }
      const { SessionManager } = world.api;
      return factory(
        world,
        () => SessionManager.continueRecent(world.cwd(cwd), ...world.withStorage(world.dir(dir))),
        {},
      );
    },
  },

  forkFrom: {
    free: true,
    async run(world, { file, cwd, dir }) {
      const { SessionManager } = world.api;
      const source = world.source(file);
      if (source === undefined) {
        return COMMANDS.create.run(world, { cwd, dir });
      }
      world.reads(source);
      return factory(
        world,
        () => SessionManager.forkFrom(source, world.cwd(cwd), ...world.withStorage(world.dir(dir))),
        {
          idsFrom: source,
          finish: (manager) => world.api.afterFork(manager, world.headerIn(source)?.titleSource),
        },
      );
    },
  },

  append: { run: (world, command, slot) => append(world, slot, command) },

  appendCompaction: {
    run(world, { target, args: [summary, ...rest] }, slot) {
      const [short, tokens, details, fromExtension, preserve] = buildAll(rest);
      const kept = world.pickId(slot, target);
      return world.call(
        () =>
          slot.manager.appendCompaction(
            build(summary),
            short,
            kept,
            tokens,
            details,
            fromExtension,
            preserve,
          ),
        (id) => void slot.ids.push(id),
      );
    },
  },

  burst: {
    async run(world, { list }, slot) {
      const pending = list.map((item) => append(world, slot, item));
      return Promise.all(pending);
    },
  },

  lateEdit: {
    run(world, { message, edit }, slot) {
      return world.call(
        () => {
          const passed = build(message);
          const id = slot.manager.appendMessage(passed);
          applyEdit({ message: passed }, undefined, edit === "details" ? "content" : edit);
          return id;
        },
        (id) => void slot.ids.push(id),
      );
    },
  },

  appendAndLook: {
    async run(world, { text }, slot) {
      const file = slot.manager.getSessionFile();
      const { flushed, needsFullRewriteOnNextPersist } = slot.manager.captureState();
      const settled = flushed && !needsFullRewriteOnNextPersist;
      const written = settled && file !== undefined && fs.existsSync(file);
      const outcome = await world.call(
        () => slot.manager.appendMessage({ role: "user", content: text }),
        async (id) => {
          slot.ids.push(id);
          await Bun.sleep(0);
        },
      );
      // Without flush(), a line of a file that was written arrives within the same turn.
      const arrived = written && fs.readFileSync(file, "utf8").includes(slot.ids.at(-1));
      return { outcome, arrived };
    },
  },

  odd: {
    run(world, { kind }, slot) {
      const message = ODD_MESSAGES[kind]?.();
      if (message === undefined) {
        return "nothing odd";
      }
      return world.call(
        () => slot.manager.appendMessage(message),
        (id) => void slot.ids.push(id),
      );
    },
  },

  appendLabelChange: {
    run(world, { target, label }, slot) {
      const id = world.pickId(slot, target);
      return world.call(
        () => slot.manager.appendLabelChange(id, build(label)),
        (made) => void slot.ids.push(made),
      );
    },
  },

  branch: {
    run: (world, { target }, slot) =>
      world.call(() => slot.manager.branch(world.pickId(slot, target))),
  },

  resetLeaf: { run: (world, _, slot) => world.call(() => slot.manager.resetLeaf()) },

  branchWithSummary: {
    run(world, { target, args }, slot) {
      const from = target % 5 === 4 ? null : world.pickId(slot, target);
      return world.call(
        () => slot.manager.branchWithSummary(from, ...buildAll(args)),
        (id) => void slot.ids.push(id),
      );
    },
  },

  createBranchedSession: {
    run(world, { target }, slot) {
      const before = slot.manager.getEntries();
      return world.call(
        () => slot.manager.createBranchedSession(world.pickId(slot, target)),
        () => world.api.afterBranchedSession(slot.manager, before, world.lens),
      );
    },
  },

  setSessionName: {
    run(world, { name, source }, slot) {
      return world.call(() => world.api.setSessionName(slot.manager, build(name), build(source)));
    },
  },

  fork: {
    run(world, _, { manager }) {
      return world.call(
        () => manager.fork(),
        async (result) => {
          if (result !== undefined) {
            await world.api.afterFork(manager, world.api.titleSource(manager));
          }
        },
      );
    },
  },

  moveTo: {
    async run(world, { cwd }, slot) {
      const before = slot.manager.getSessionFile();
      const outcome = await world.call(() => slot.manager.moveTo(world.cwd(cwd)));
      if (slot.manager.getSessionFile() !== before) {
        slot.snapshots = [];
      }
      return outcome;
    },
  },

  newSession: {
    run(world, { parent }, slot) {
      const options = parent === "none" ? {} : { parentSession: parent };
      return world.call(
        () => slot.manager.newSession(...(parent === UNDEFINED ? [] : [options])),
        () => {
          slot.ids = [];
          slot.ensured = false;
          world.api.noteTitleSource(slot.manager, undefined);
        },
      );
    },
  },

  setSessionFile: {
    async run(world, { file }, slot) {
      return load(world, slot, world.file(file));
    },
  },

  reload: {
    async run(world, _, slot) {
      const file = slot.manager.getSessionFile();
      return file === undefined ? "no file" : load(world, slot, file);
    },
  },

  captureState: {
    run(world, _, slot) {
      const state = slot.manager.captureState();
      slot.snapshots.push({
        state,
        leaf: slot.manager.getLeafId(),
        ids: [...slot.ids],
        onDisk: state.sessionFile !== undefined && world.exists(state.sessionFile),
        source: world.api.titleSource(slot.manager),
      });
      return {
        returns: world.lens.view(world.captured(state)),
        keys: Object.keys(state).slice(0, 2),
      };
    },
  },

  restoreState: {
    async run(world, { snapshot }, slot) {
      if (slot.snapshots.length === 0) {
        return "no snapshot";
      }
      const { state, leaf, ids, source, onDisk } = slot.snapshots[snapshot % slot.snapshots.length];
      if (state.sessionFile !== undefined) {
        await world.claim(state.sessionFile, slot);
      }
      slot.ids = [...ids];
      slot.later = onDisk ? undefined : state.sessionFile;
      world.api.noteTitleSource(slot.manager, source);
      return world.call(
        () => slot.manager.restoreState(state),
        () => world.api.afterRestore(slot.manager, leaf),
      );
    },
  },

  editAndRewrite: {
    run(world, { target, edit, rewrite }, slot) {
      const entries = slot.manager.getEntries();
      const entry = entries.length === 0 ? undefined : entries[target % entries.length];
      return world.call(() => {
        if (entry !== undefined) {
          applyEdit(entry, slot.manager.getHeader(), edit);
        }
        return rewrite ? slot.manager.rewriteEntries() : undefined;
      });
    },
  },

  reopen: {
    async run(world, _, slot) {
      const file = slot.manager.getSessionFile();
      if (file === undefined || !slot.manager.isPersisted()) {
        return "not persisted";
      }
      const dir = slot.manager.getSessionDir();
      await world.drop(slot);
      return openFile(world, file, dir);
    },
  },

  rewriteEntries: { run: (world, _, slot) => world.call(() => slot.manager.rewriteEntries()) },
  ensureOnDisk: { run: (world, _, slot) => world.call(() => slot.manager.ensureOnDisk()) },
  flush: { run: (world, _, slot) => world.call(() => slot.manager.flush()) },
  close: { run: (world, _, slot) => world.call(() => slot.manager.close()) },
  sanitize: {
    run: (world, _, slot) =>
      world.call(() => slot.manager.sanitizeLoadedOpenAIResponsesReplayMetadata()),
  },

  putBlob: {
    async run(world, { n }, slot) {
      // Whether the reference is an accessor or a plain property is nobody's business.
      const put = async () => ({ ...(await slot.manager.putBlob(build({ $: "buffer", n }))) });
      return world.call(put);
    },
  },

  artifact: {
    async run(world, { content, tool }, slot) {
      const { manager } = slot;
      let id;
      const saved = await world.call(
        () => manager.saveArtifact(build(content), tool),
        (made) => {
          id = made;
        },
      );
      const found = await world.call(() => manager.getArtifactPath(id ?? "0"));
      const next = await world.call(
        () => manager.allocateArtifactPath(tool),
        ({ path: file }) => file && fs.writeFileSync(file, "made by the caller"),
      );
      return { saved, found, next };
    },
  },
};

/** Switches a manager to a file; after a failure it must be as it was. */
async function load(world, slot, file) {
  await world.claim(file, slot);
  world.reads(file);
  const before = world.api.beforeLoad(slot.manager);
  const outcome = await world.call(
    () => slot.manager.setSessionFile(file),
    () => {
      slot.ids = world.idsIn(path.resolve(file));
      slot.ensured = true;
      world.api.noteTitleSource(slot.manager, slot.manager.getHeader()?.titleSource);
    },
  );
  if (outcome.rejects !== undefined) {
    world.api.afterFailedLoad(slot.manager, before, world.lens);
  }
  return outcome;
}
