/**
 * Runs one sequence on one implementation and records, step by step, everything that can be observed.
 * Both runs use the same root path, one after the other, so paths need no translation.
 */

import fs from "node:fs";
import path from "node:path";
import { COMMANDS } from "./actions.mjs";
import { customStorage } from "./custom-storage.mjs";
import { Disk, MemoryDisk } from "./disk.mjs";
import { CWDS, fixtureText } from "./fixtures.mjs";
import { Lens } from "./view.mjs";

const MAX_MANAGERS = 3;
const TERMINAL = "KITTY_WINDOW_ID";

/**
 * Breadcrumbs are written behind the back of the caller; this long (ms) is waited for them at least, and
 * up to the other limit for one that names the manager's file.
 */
const TERMINAL_WAIT = 10;
const TERMINAL_LIMIT = 300;

function realCwds() {
  return CWDS.map((cwd) =>
    cwd.replace("$HOME", process.env.HOME).replace("$TMP", process.env.TMPDIR),
  );
}

/** One manager with what the harness knows about it without asking it. */
export class Slot {
  constructor(manager, ids = []) {
    this.manager = manager;
    this.ids = ids;
    this.snapshots = [];
    /** Every entry is written at once, because the session came from a file. */
    this.ensured = false;
    /** The file that appeared after the snapshot of the session that is restored now. */
    this.later = undefined;
  }
}

export class World {
  constructor(api, root, plan) {
    this.api = api;
    this.root = root;
    this.plan = plan;
    this.lens = new Lens();
    this.cwds = realCwds();
    this.slots = [];
    this.dirs = [undefined, undefined, path.join(root, "extra"), path.join(root, "other")];
  }

  /** Lays out the fixtures and starts from a clean directory; gives what is there then. */
  async prepare() {
    const { api, plan, root } = this;
    fs.mkdirSync(path.join(root, "agent"), { recursive: true });
    api.setAgentDir(path.join(root, "agent"));
    delete process.env[TERMINAL];
    if (plan.terminal) {
      process.env[TERMINAL] = "9";
    }
    if (plan.storage === "memory") {
      this.storage = new api.MemorySessionStorage();
    } else if (plan.storage === "explicit") {
      this.storage = new api.FileSessionStorage();
    } else if (plan.storage === "custom") {
      this.storage = customStorage();
    }
    this.#chooseDisk();
    this.files = [];
    for (const [n, spec] of plan.fixtures.entries()) {
      this.files.push(this.#layFixture(spec, n));
      await this.#tick();
    }
    this.files.push(path.join(root, "extra", "missing.jsonl"));
    this.folder = path.join(root, "folder.jsonl");
    fs.mkdirSync(this.folder);
    return this.disk.changes(0);
  }

  #chooseDisk() {
    if (this.plan.storage !== "memory") {
      this.disk = new Disk(this.root);
      return;
    }
    const defaults = this.cwds.map((cwd) =>
      this.api.SessionManager.getDefaultSessionDir(cwd, undefined, this.storage),
    );
    const explicit = [this.dirs[2], this.dirs[3], path.join(this.root, "extra", "sub")];
    this.disk = new MemoryDisk(this.storage, [...new Set([...defaults, ...explicit])]);
  }

  #layFixture(spec, n) {
    const place = {
      default0: () => this.api.SessionManager.getDefaultSessionDir(this.cwds[0]),
      default1: () => this.api.SessionManager.getDefaultSessionDir(this.cwds[1]),
      extra: () => this.dirs[2],
      nested: () => path.join(this.dirs[2], "sub"),
    }[spec.place]();
    const name =
      spec.header.idForm === "hex"
        ? `2025-01-02T03-04-05-678Z_15d0000000000${n}ff.jsonl`
        : `Session-${n}.jsonl`;
    const file = path.join(place, name);
    const text = fixtureText(spec, n, this.cwds);
    if (this.storage !== undefined && this.plan.storage === "memory") {
      this.storage.writeTextSync(file, text);
    } else {
      fs.mkdirSync(place, { recursive: true });
      fs.writeFileSync(file, text);
    }
    return file;
  }

  // -- things that commands need -------------------------------------------------------------

  cwd(index) {
    return this.cwds[index % this.cwds.length];
  }

  dir(index) {
    return this.dirs[index % this.dirs.length];
  }

  /** A session file; now and then a path where there is none, or a directory. */
  file(index) {
    if (index === 30 && this.plan.storage !== "memory") {
      return this.folder;
    }
    return this.files[index % this.files.length];
  }

  /** A file to copy; seldom one that does not exist, and undefined when there is none. */
  source(index) {
    const there = this.files.filter((file) => this.disk.text(file) !== undefined);
    return index > 28 ? this.file(index) : there[index % there.length];
  }

  /** Arguments with the storage at the end, as far as the sequence gives one. */
  withStorage(...args) {
    return this.storage === undefined ? args : [...args, this.storage];
  }

  slot(command) {
    return this.slots.length === 0 ? undefined : this.slots[command.m % this.slots.length];
  }

  /** The first line of a session file as an object, or undefined. */
  headerIn(file) {
    try {
      return JSON.parse(
        this.disk
          .text(file)
          .replace(/^\ufeff/, "")
          .split("\n")[0],
      );
    } catch {
      return undefined;
    }
  }

  /** Ids in a session file, read without any of the two implementations. */
  idsIn(file) {
    const text = this.disk.text(file);
    if (text === undefined) {
      return [];
    }
    const ids = [];
    for (const line of text.split("\n").slice(1)) {
      try {
        const id = JSON.parse(line).id;
        if (typeof id === "string") {
          ids.push(id);
        }
      } catch {
        // Damaged lines have no id that the harness knows.
      }
    }
    return ids;
  }

  /** An id of the manager's session, an id that may have gone, or one that never existed. */
  pickId(slot, index) {
    return slot.ids.length === 0 || index % 13 === 12 ? "bogus" : slot.ids[index % slot.ids.length];
  }

  /** Closes managers that work on `file`, because one file has one writer here. */
  async claim(file, except) {
    for (const slot of [...this.slots]) {
      if (slot !== except && slot.manager.getSessionFile() === path.resolve(file)) {
        await this.drop(slot);
      }
    }
  }

  async drop(slot) {
    this.slots.splice(this.slots.indexOf(slot), 1);
    await slot.manager.flush().catch(() => {});
    await slot.manager.close().catch(() => {});
  }

  async add(manager, ids = []) {
    if (this.slots.length === MAX_MANAGERS) {
      await this.drop(this.slots[0]);
    }
    const slot = new Slot(manager, ids);
    this.slots.push(slot);
    return slot;
  }

  /** Runs a call and tells how it ended; sync results, throws, fulfilments and rejections differ. */
  async call(thunk, after) {
    let result;
    try {
      result = thunk();
    } catch (error) {
      return this.lens.error(error, "throws");
    }
    if (!(result instanceof Promise)) {
      await after?.(result);
      return { returns: this.lens.view(result) };
    }
    try {
      const value = await result;
      const shown = await after?.(value);
      return { resolves: this.lens.view(shown === undefined ? value : shown) };
    } catch (error) {
      return this.lens.error(error, "rejects");
    }
  }

  // -- steps -------------------------------------------------------------------------------------

  /** Executes one command; the observation is plain JSON. */
  async step(number, command) {
    this.lens.refresh();
    await this.#tick();
    const slot = this.slot(command);
    const action = COMMANDS[command.op];
    const observation = { op: command.op };
    this.facts = { reads: [], before: this.#factsOf(slot), after: [] };
    if (slot === undefined && !action.free) {
      return { op: command.op, skipped: "no manager" };
    }
    observation.result = await action.run(this, command, slot);
    observation.settled = await this.#settle();
    const acting = this.slot(command);
    if (acting !== undefined) {
      this.#noteFile(acting);
      observation.state = this.#state(acting);
    }
    observation.disk = await this.disk.changes(number);
    this.facts.after = this.slots.map((each) => this.#factsOf(each));
    return observation;
  }

  /** Notes that a command reads a file or a directory. */
  reads(file) {
    this.facts.reads.push(path.resolve(file));
  }

  /**
   * What the rules about listed differences need to know. Only the original is asked: asking makes entry
   * objects exist, which must stay up to the sequence in the other run.
   */
  #factsOf(slot) {
    if (slot === undefined || this.api.name !== "original") {
      return undefined;
    }
    const { manager } = slot;
    const file = manager.getSessionFile();
    const entries = manager.getEntries().map(({ id, parentId, type, message }) => ({
      id,
      parentId,
      type,
      role: message?.role,
    }));
    return {
      file,
      isLater: file !== undefined && file === slot.later,
      onDisk: file !== undefined && this.disk.text(file) !== undefined,
      leaf: manager.getLeafId(),
      persisted: manager.isPersisted(),
      entries,
      hasAssistant: entries.some((entry) => entry.role === "assistant"),
    };
  }

  /** Asks everything of every manager, at the end of a sequence. */
  finish() {
    this.lens.refresh();
    return this.slots.map((slot) => ({ cheap: this.cheap(slot), all: this.queries(slot) }));
  }

  async dispose() {
    for (const slot of [...this.slots]) {
      await this.drop(slot);
    }
    if (this.plan.terminal) {
      await Bun.sleep(TERMINAL_WAIT);
    }
  }

  /**
   * A memory storage takes its times from the clock, and the beginnings of generated ids that one can
   * resume by come from there too, so it must differ from step to step.
   */
  async #tick() {
    const { storage, commands } = this.plan;
    if (storage !== "memory" && !commands.some(({ op }) => op === "resume")) {
      return;
    }
    const now = Date.now();
    while (Date.now() === now) {
      await Bun.sleep(0);
    }
  }

  /** Waits until all queued writing is done; latched errors show up here. */
  async #settle() {
    const out = [];
    for (const slot of this.slots) {
      out.push(
        await slot.manager.flush().then(
          () => "ok",
          (error) => this.lens.error(error, "rejects"),
        ),
      );
    }
    await this.#writeHeldBack();
    if (this.plan.terminal) {
      await this.#awaitBreadcrumb();
    }
    return out;
  }

  async #awaitBreadcrumb() {
    const crumb = path.join(this.root, "agent", "terminal-sessions", "kitty-9");
    const wanted = this.slots.map(({ manager }) => `\n${manager.getSessionFile()}\n`);
    const until = Date.now() + TERMINAL_LIMIT;
    let seen = "";
    do {
      await Bun.sleep(TERMINAL_WAIT);
      seen = fs.existsSync(crumb) ? fs.readFileSync(crumb, "utf8") : "";
    } while (Date.now() < until && !wanted.some((text) => seen.endsWith(text)));
  }

  /** Bridges the one difference that would end most comparisons; see `writeFromNowOn`. */
  async #writeHeldBack() {
    for (const slot of this.api.writeFromNowOn === undefined ? [] : this.slots) {
      const { file, hasAssistant, persisted, isLater } = this.#factsOf(slot);
      if (persisted && !slot.ensured && !hasAssistant && !isLater && this.exists(file)) {
        slot.ensured = true;
        await this.api.writeFromNowOn(slot.manager, this.lens);
      }
    }
  }

  exists(file) {
    return this.storage === undefined ? fs.existsSync(file) : this.storage.existsSync(file);
  }

  #noteFile(slot) {
    const file = slot.manager.getSessionFile();
    if (file !== undefined && !this.files.includes(file)) {
      this.files.push(file);
    }
  }

  #state(slot) {
    if (this.plan.observe === "end") {
      return { leaf: slot.manager.getLeafId() ?? null };
    }
    const cheap = this.cheap(slot);
    return this.plan.observe === "all" ? { cheap, all: this.queries(slot) } : { cheap };
  }

  /** What questions give; the original cannot answer some about values that are no messages. */
  #ask(questions) {
    let answers;
    try {
      answers = questions();
    } catch (error) {
      return this.lens.error(error, "throws");
    }
    return this.lens.view(answers);
  }

  cheap({ manager }) {
    return this.#ask(() => ({
      cwd: manager.getCwd(),
      dir: manager.getSessionDir(),
      id: manager.getSessionId(),
      file: manager.getSessionFile(),
      name: manager.getSessionName(),
      source: this.api.titleSource(manager),
      leaf: manager.getLeafId(),
      persisted: manager.isPersisted(),
      artifacts: manager.getArtifactsDir(),
      role: manager.getLastModelChangeRole(),
      rules: manager.getInjectedTtsrRules(),
      usage: manager.getUsageStatistics(),
      header: manager.getHeader(),
    }));
  }

  /** Every query of the tree, with the identities of all that is returned. */
  queries({ manager, ids }) {
    const some = [...new Set([ids[0], ids.at(-1), ids[ids.length >> 1], "bogus"])].filter(
      (id) => id !== undefined,
    );
    return this.#ask(() => ({
      entries: manager.getEntries(),
      leafEntry: manager.getLeafEntry(),
      branch: manager.getBranch(),
      branches: some.map((id) => manager.getBranch(id)),
      found: some.map((id) => manager.getEntry(id)),
      labels: some.map((id) => manager.getLabel(id)),
      roots: manager.getChildren(null),
      children: some.map((id) => manager.getChildren(id)),
      tree: manager.getTree(),
      context: this.api.context(manager.buildSessionContext()),
      captured: this.captured(manager.captureState()),
    }));
  }

  /** The snapshot's documented keys; further keys are allowed. */
  captured({
    sessionId,
    sessionName,
    sessionFile,
    flushed,
    needsFullRewriteOnNextPersist,
    fileEntries,
  }) {
    return {
      sessionId,
      sessionName,
      sessionFile,
      flushed,
      needsFullRewriteOnNextPersist,
      fileEntries,
    };
  }
}
