//! `SessionCore`: the tree of one session and the texts of its loaded entries.
//!
//! Entries are named by slots. The JavaScript side keeps the entry objects in an array of the same
//! numbering, so that both sides agree without passing objects.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::sync::Arc;

use napi::JsString;
use napi::bindgen_prelude::{
    Either, Either4, Env, Float64Array, Null, ObjectFinalize, Uint8Array, Uint32Array, Undefined,
};
use napi_derive::napi;

use super::error::{OrThrow, to_js};
use super::functions::packed;
use super::loaded::{JsReach, LoadedSession};
use super::task::Promised;
use super::{SNOWFLAKES, text};
use crate::journal::adapt::{adapt, adapt_for_view};
use crate::journal::resolve::{Missing, Place, resolve};
use crate::journal::tail::Reach;
use crate::journal::texts::{SharedTexts, TextTable};
use crate::session::context::pack;
use crate::session::{
    EntryKind, Interner, Parent, Record, Role, Slot, Symbol, Tree, Usage, snowflake,
};
use crate::storage::blob::BlobStore;

/// An id as JavaScript gives it.
pub(super) type JsId<'a> = Either<JsString<'a>, f64>;
/// A parent link as JavaScript gives it; `undefined` and other values count as absent.
pub(super) type JsParent<'a> = Either4<JsString<'a>, f64, Null, Undefined>;

/// The tree of one session.
#[napi(custom_finalize)]
pub struct SessionCore {
    tree: RefCell<Arc<Tree>>,
    texts: RefCell<SharedTexts>,
    blobs: BlobStore,
    missing: RefCell<Vec<Missing>>,
    /// Where the last call of `readTexts` stopped.
    next_text: Cell<u32>,
    /// Bytes of native memory that the engine was told of: it decides by them when to collect.
    reported: Cell<i64>,
}

/// What a session counts for with the engine, in bytes. It may hold a descriptor, of which processes
/// often have no more than a thousand: a few hundred forgotten sessions must be reason to collect.
fn weight(tree: &Tree, texts: &TextTable) -> i64 {
    const DESCRIPTOR: usize = 256 << 10;
    (DESCRIPTOR + tree.memory() + texts.memory()) as i64
}

impl ObjectFinalize for SessionCore {
    fn finalize(self, env: Env) -> napi::Result<()> {
        match self.reported.get() {
            0 => Ok(()),
            bytes => env.adjust_external_memory(-bytes).map(|_| ()),
        }
    }
}

#[napi]
impl SessionCore {
    /// An empty session whose images live in `blobs_dir`.
    #[napi(constructor, catch_unwind)]
    pub fn new(blobs_dir: String) -> Self {
        Self {
            tree: RefCell::default(),
            texts: RefCell::default(),
            blobs: BlobStore::new(PathBuf::from(blobs_dir)),
            missing: RefCell::default(),
            next_text: Cell::default(),
            reported: Cell::default(),
        }
    }

    pub(super) fn tree(&self) -> Arc<Tree> {
        Arc::clone(&self.tree.borrow())
    }

    pub(super) fn texts(&self) -> SharedTexts {
        self.texts.borrow().clone()
    }

    /// Changes the tree; copies it first when a snapshot or a running rewrite still uses it.
    fn change<T>(&self, change: impl FnOnce(&mut Tree) -> T) -> T {
        change(Arc::make_mut(&mut self.tree.borrow_mut()))
    }

    /// A session that was read. It can be taken once.
    #[napi(catch_unwind)]
    pub fn from_loaded(
        env: &Env,
        loaded: &LoadedSession,
        blobs_dir: String,
    ) -> napi::Result<SessionCore> {
        let core = Self::new(blobs_dir);
        if let Some(session) = loaded.take() {
            let bytes = weight(&session.tree, &session.texts);
            core.reported.set(bytes);
            env.adjust_external_memory(bytes)?;
            *core.tree.borrow_mut() = Arc::new(session.tree);
            *core.texts.borrow_mut() = SharedTexts::new(session.texts);
        }
        Ok(core)
    }

    /// Takes over all entries of a session of which only the last ones are known: those before them
    /// get the first slots. Reads the file or waits for it to be read. Blocks.
    #[napi(catch_unwind)]
    pub fn complete(&self, env: &Env, loaded: &LoadedSession) -> napi::Result<()> {
        if let Some((tree, texts)) = loaded.take_whole().or_throw(env)? {
            let bytes = weight(&tree, &texts);
            env.adjust_external_memory(bytes - self.reported.replace(bytes))?;
            *self.tree.borrow_mut() = Arc::new(tree);
            *self.texts.borrow_mut() = SharedTexts::new(texts);
        }
        Ok(())
    }

    /// Whether the way up from a slot ends at a parent that is not known.
    #[napi(catch_unwind)]
    pub fn is_orphan(&self, slot: u32) -> bool {
        self.tree.borrow().is_orphan(slot)
    }

    /// A session with the same entries, which goes its own way from now on.
    #[napi(catch_unwind)]
    pub fn copy(&self) -> SessionCore {
        Self {
            tree: RefCell::new(self.tree()),
            texts: RefCell::new(self.texts().fork()),
            blobs: self.blobs.clone(),
            missing: RefCell::default(),
            next_text: Cell::default(),
            reported: Cell::default(),
        }
    }

    /// A new entry id that this session does not use yet.
    #[napi(catch_unwind)]
    pub fn fresh_id(&self, now: f64) -> String {
        let tree = self.tree.borrow();
        snowflake::entry_id(|id| tree.find(id.as_bytes()).is_some(), &SNOWFLAKES, now)
    }

    /// Adds an entry below the leaf and makes it the leaf; gives its new id. `usage` holds the six
    /// numbers of an entry that counts.
    #[napi(catch_unwind)]
    pub fn append(&self, kind: u32, role: u32, now: f64, usage: Option<&[f64]>) -> String {
        self.change(|tree| {
            let id = snowflake::entry_id(|id| tree.find(id.as_bytes()).is_some(), &SNOWFLAKES, now);
            let parent = tree.leaf().map_or(Parent::Null, Parent::Id);
            let symbol = tree.intern(id.as_bytes());
            push(tree, symbol, parent, kind, role, now, usage);
            id
        })
    }

    /// Adds an entry that has an id already.
    #[napi(catch_unwind)]
    #[allow(clippy::too_many_arguments)]
    pub fn push(
        &self,
        id: JsId<'_>,
        parent: JsParent<'_>,
        kind: u32,
        role: u32,
        timestamp: f64,
        usage: Option<&[f64]>,
    ) -> napi::Result<()> {
        let id = key_of(id)?;
        let parent = parent_key(parent)?;
        self.change(|tree| {
            let symbol = tree.intern(&id);
            let parent = link(tree, parent);
            push(tree, symbol, parent, kind, role, timestamp, usage);
        });
        Ok(())
    }

    /// Number of entries.
    #[napi(getter, catch_unwind)]
    pub fn count(&self) -> u32 {
        self.tree.borrow().len() as u32
    }

    /// Whether any entry, on any branch, is an assistant message.
    #[napi(getter, catch_unwind)]
    pub fn has_assistant(&self) -> bool {
        self.tree.borrow().has_assistant()
    }

    /// The slot of an id, or -1.
    #[napi(catch_unwind)]
    pub fn find(&self, id: JsId<'_>) -> napi::Result<i32> {
        let key = key_of(id)?;
        Ok(slot_number(self.tree.borrow().find(&key)))
    }

    /// The slot of the leaf, or -1.
    #[napi(getter, catch_unwind)]
    pub fn leaf(&self) -> i32 {
        let tree = self.tree.borrow();
        slot_number(tree.leaf().and_then(|leaf| tree.slot_of(leaf)))
    }

    /// Moves the leaf to a slot, or before everything with -1.
    #[napi(setter, catch_unwind)]
    pub fn set_leaf(&self, slot: i32) {
        self.change(|tree| {
            let record = Slot::try_from(slot).ok().and_then(|slot| tree.record(slot));
            let leaf = record.map(|record| record.id);
            tree.set_leaf(leaf);
        });
    }

    /// The id in a slot.
    #[napi(catch_unwind)]
    pub fn id_of<'env>(
        &self,
        env: &'env Env,
        slot: u32,
    ) -> napi::Result<Option<Either<JsString<'env>, f64>>> {
        let tree = self.tree.borrow();
        let record = tree.record(slot);
        record
            .map(|record| js_id(env, &tree, record.id))
            .transpose()
    }

    /// Slots from the root to an entry.
    #[napi(catch_unwind)]
    pub fn path(&self, slot: u32) -> Uint32Array {
        let tree = self.tree.borrow();
        let path = tree.record(slot).map(|record| tree.path(record.id));
        path.unwrap_or_default().into()
    }

    /// Packed kinds of slots.
    #[napi(catch_unwind)]
    pub fn kinds(&self, slots: &[u32]) -> Uint8Array {
        let tree = self.tree.borrow();
        packed(slots.iter().map(|&slot| {
            let record = tree.record(slot);
            record.map_or(0, |record| pack(record.kind, record.role))
        }))
    }

    /// Slots of the entries with exactly this parent.
    #[napi(catch_unwind)]
    pub fn children(&self, parent: JsParent<'_>) -> napi::Result<Uint32Array> {
        let parent = parent_key(parent)?;
        let tree = self.tree.borrow();
        let parent = match parent {
            None => Parent::Absent,
            Some(None) => Parent::Null,
            Some(Some(key)) => match tree.ids().find(&key) {
                Some(symbol) => Parent::Id(symbol),
                None => return Ok(Vec::new().into()),
            },
        };
        Ok(tree.children(parent).to_vec().into())
    }

    /// The tree for display: pairs of a slot and the position of the parent's pair + 1 (0 for
    /// roots); parents come before children.
    #[napi(catch_unwind)]
    pub fn forest(&self) -> Uint32Array {
        let nodes = self.tree.borrow().forest();
        let pairs = nodes
            .iter()
            .flat_map(|node| [node.slot, node.parent.map_or(0, |at| at + 1)]);
        pairs.collect::<Vec<u32>>().into()
    }

    /// Usage totals in their public order.
    #[napi(catch_unwind)]
    pub fn usage(&self) -> Float64Array {
        self.tree.borrow().usage().to_array().to_vec().into()
    }

    /// Sets or clears (`undefined`, empty) the label of an id.
    #[napi(catch_unwind)]
    pub fn set_label(&self, target: JsId<'_>, label: Option<JsString<'_>>) -> napi::Result<()> {
        let target = key_of(target)?;
        let label = label.map(text::from_js).transpose()?.unwrap_or_default();
        self.change(|tree| {
            let target = tree.intern(&target);
            tree.set_label(target, &label);
        });
        Ok(())
    }

    /// The label of an id.
    #[napi(catch_unwind)]
    pub fn label<'env>(
        &self,
        env: &'env Env,
        id: JsId<'_>,
    ) -> napi::Result<Option<JsString<'env>>> {
        let key = key_of(id)?;
        let tree = self.tree.borrow();
        let label = tree.ids().find(&key).and_then(|symbol| tree.label(symbol));
        label.map(|label| text::to_js(env, label)).transpose()
    }

    /// All labels: ids and texts alternating, in the order in which they were set.
    #[napi(catch_unwind)]
    pub fn labels<'env>(&self, env: &'env Env) -> napi::Result<Vec<Either<JsString<'env>, f64>>> {
        let tree = self.tree.borrow();
        let mut list = Vec::new();
        for (target, label) in tree.labels() {
            list.push(js_id(env, &tree, target)?);
            list.push(Either::A(text::to_js(env, label)?));
        }
        Ok(list)
    }

    /// JSON array of the texts of some slots, beginning at position `from` of the list and ending
    /// when `budget` bytes are exceeded; [`next_text`](Self::next_text) tells where to go on.
    /// Blob references are resolved; stale replay metadata is emptied but still there. Reads from
    /// disk.
    #[napi(catch_unwind)]
    pub fn read_texts<'env>(
        &self,
        env: &'env Env,
        slots: &[u32],
        from: u32,
        budget: u32,
    ) -> napi::Result<JsString<'env>> {
        let (tree, table) = (self.tree(), self.texts().snapshot());
        let mut reader = table.reader();
        let asked = slots.get(from as usize..).unwrap_or_default();
        let mut json = Vec::with_capacity(table.length_of(asked, budget as usize));
        let mut missing = Vec::new();
        let mut at = from as usize;
        while let Some(&slot) = slots.get(at) {
            let upcoming = slots.get(at + 1..).unwrap_or_default();
            let text = reader.read(slot, upcoming, &tree).or_throw(env)?;
            let Some(text) = text else {
                let lost = crate::Error::Internal(format!("no text for slot {slot}"));
                return Err(to_js(env, &lost));
            };
            json.push(if json.is_empty() { b'[' } else { b',' });
            let adapted = adapt_for_view(text, slot, &tree);
            json.extend_from_slice(&resolve(&adapted, &self.blobs, &mut missing));
            at += 1;
            if json.len() > budget as usize {
                break;
            }
        }
        json.push(b']');
        self.next_text.set(at as u32);
        self.missing.borrow_mut().append(&mut missing);
        text::json_to_js(env, &json)
    }

    /// Position behind the last text of `readTexts`.
    #[napi(getter, catch_unwind)]
    pub fn next_text(&self) -> u32 {
        self.next_text.get()
    }

    /// The JSON text of one slot as it belongs on disk, blob references kept. `null` when it has
    /// none. Reads from disk.
    #[napi(catch_unwind)]
    pub fn stored_text<'env>(
        &self,
        env: &'env Env,
        slot: u32,
    ) -> napi::Result<Option<JsString<'env>>> {
        let (tree, table) = (self.tree(), self.texts().snapshot());
        let mut reader = table.reader();
        match reader.read(slot, &[], &tree).or_throw(env)? {
            Some(text) => file_text(env, adapt(text, slot, &tree).into_owned()).map(Some),
            None => Ok(None),
        }
    }

    /// Hashes of blobs that could not be resolved since the last call, each after `image` or
    /// `imageUrl`.
    #[napi(catch_unwind)]
    pub fn take_missing_blobs(&self) -> Vec<String> {
        let missing = self.missing.take();
        let place = |place| match place {
            Place::Image => "image",
            Place::ImageUrl => "imageUrl",
        };
        missing
            .into_iter()
            .flat_map(|missing| [place(missing.place).to_owned(), missing.hash])
            .collect()
    }

    /// What a session made of the path to a slot takes over: number of kept entries, the kept
    /// slots, then positions of those that hang from a left-out label.
    #[napi(catch_unwind)]
    pub fn branch_plan(&self, slot: u32) -> Uint32Array {
        let tree = self.tree.borrow();
        let Some(record) = tree.record(slot) else {
            return vec![0].into();
        };
        let branch = tree.branch(record.id);
        let mut plan = vec![branch.slots.len() as u32];
        plan.extend(branch.slots);
        plan.extend(branch.reparented);
        plan.into()
    }

    /// A core of the branch that ends at a slot. Slots are positions in the branch. Labels are not
    /// taken over as entries; those of kept entries are found by `labels`.
    #[napi(catch_unwind)]
    pub fn branch(&self, slot: u32) -> SessionCore {
        let tree = self.tree();
        let core = Self {
            tree: RefCell::default(),
            texts: RefCell::default(),
            blobs: self.blobs.clone(),
            missing: RefCell::default(),
            next_text: Cell::default(),
            reported: Cell::default(),
        };
        if let Some(record) = tree.record(slot) {
            let branch = tree.branch(record.id);
            let mut copy = tree.of_branch(&branch);
            for (target, label) in &branch.labels {
                let target = copy.intern(tree.ids().get(*target));
                copy.set_label(target, label);
            }
            let texts = self.texts().snapshot().select(&branch.slots);
            *core.tree.borrow_mut() = Arc::new(copy);
            *core.texts.borrow_mut() = SharedTexts::new(texts);
        }
        core
    }

    /// Gives back the descriptor of the file from which texts are read; they can still be read.
    #[napi(catch_unwind)]
    pub fn give_back(&self, env: &Env) -> napi::Result<()> {
        self.texts().give_back().or_throw(env)
    }

    /// Reads a session file off-thread like `load`; of a long one only the last entries, if that is
    /// enough for a context.
    #[napi(catch_unwind, ts_return_type = "Promise<LoadedSession>")]
    pub fn open(
        path: String,
        now: f64,
        reach: Option<JsReach>,
    ) -> napi::Result<Promised<LoadedSession>> {
        let reach = reach.map_or_else(Reach::default, Reach::from);
        LoadedSession::from_end_of_file(PathBuf::from(path), now, reach)
    }

    /// Reads a session file off-thread.
    #[napi(catch_unwind, ts_return_type = "Promise<LoadedSession>")]
    pub fn load(path: String, now: f64) -> napi::Result<Promised<LoadedSession>> {
        LoadedSession::from_file(PathBuf::from(path), now)
    }

    /// Reads a session file off-thread, for somebody who only looks at it.
    #[napi(catch_unwind, ts_return_type = "Promise<LoadedSession>")]
    pub fn look(path: String, now: f64) -> napi::Result<Promised<LoadedSession>> {
        LoadedSession::only_read(PathBuf::from(path), now)
    }

    /// Reads the text of a session that is not kept in a file of its own.
    #[napi(catch_unwind)]
    pub fn load_text(
        env: &Env,
        content: JsString<'_>,
        path: String,
        now: f64,
    ) -> napi::Result<LoadedSession> {
        let text = text::from_js(content)?;
        LoadedSession::from_text(text, PathBuf::from(path), now).or_throw(env)
    }
}

/// A JavaScript string of bytes from a file; what is not UTF-8 becomes U+FFFD.
fn file_text<'env>(env: &'env Env, bytes: Vec<u8>) -> napi::Result<JsString<'env>> {
    text::to_js(env, &bytes)
}

fn push(
    tree: &mut Tree,
    id: Symbol,
    parent: Parent,
    kind: u32,
    role: u32,
    timestamp: f64,
    usage: Option<&[f64]>,
) {
    let kind = EntryKind::from_code(u8::try_from(kind).unwrap_or_default());
    let role = Role::from_code(u8::try_from(role).unwrap_or_default());
    let slot = tree.push(Record::new(id, parent, kind, role, timestamp));
    if let Some(numbers) = usage.and_then(|numbers| <[f64; 6]>::try_from(numbers).ok()) {
        tree.add_usage(slot, Usage::from_array(numbers));
    }
}

fn link(tree: &mut Tree, parent: Option<Option<Vec<u8>>>) -> Parent {
    match parent {
        None => Parent::Absent,
        Some(None) => Parent::Null,
        Some(Some(key)) => Parent::Id(tree.intern(&key)),
    }
}

pub(super) fn key_of(id: JsId<'_>) -> napi::Result<Vec<u8>> {
    match id {
        Either::A(id) => text::from_js(id),
        Either::B(number) => Ok(Interner::number_key(number).to_vec()),
    }
}

/// The key of a parent link: `None` when there is no link, inner `None` for `null`.
fn parent_key(parent: JsParent<'_>) -> napi::Result<Option<Option<Vec<u8>>>> {
    Ok(match parent {
        Either4::A(id) => Some(Some(text::from_js(id)?)),
        Either4::B(number) => Some(Some(Interner::number_key(number).to_vec())),
        Either4::C(Null) => Some(None),
        Either4::D(()) => None,
    })
}

pub(super) fn js_id<'env>(
    env: &'env Env,
    tree: &Tree,
    symbol: Symbol,
) -> napi::Result<Either<JsString<'env>, f64>> {
    match tree.ids().number(symbol) {
        Some(number) => Ok(Either::B(number)),
        None => text::to_js(env, tree.ids().get(symbol)).map(Either::A),
    }
}

fn slot_number(slot: Option<Slot>) -> i32 {
    slot.and_then(|slot| i32::try_from(slot).ok()).unwrap_or(-1)
}
