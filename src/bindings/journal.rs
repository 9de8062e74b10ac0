//! `SessionJournal`: the ordered writer of one session file.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use napi::JsString;
use napi::bindgen_prelude::{Either, Env};
use napi_derive::napi;

use super::error::{OrThrow, to_js};
use super::session_core::SessionCore;
use super::task::{Promised, run_blocking};
use super::text;
use crate::Error;
use crate::journal::outline::Outline;
use crate::journal::queue::{DIRECT_BYTES, Done, Journal, Op, Pending};
use crate::journal::rewrite::Content;
use crate::session::Slot;
use crate::storage::blob::BlobStore;
use crate::storage::disk::OsDisk;

/// How a file is to be rewritten.
#[napi(object, object_to_js = false)]
pub struct RewriteOptions {
    /// JSON text of the header.
    pub header: String,
    /// Slots whose text is given in `texts`, ascending.
    pub edited: Vec<u32>,
    /// JSON texts of the slots in `edited`.
    pub texts: Vec<String>,
    /// Distinguishing part of the temporary file's name.
    pub temp_suffix: String,
    /// Keep the file that is replaced under this path.
    pub backup: Option<String>,
    /// Fail when the file exists.
    pub no_clobber: Option<bool>,
    /// Carry over damaged bytes of the file that was loaded.
    pub with_residue: bool,
}

/// The writer of one session file.
///
/// Operations are queued when they are called and give a ticket; `wait` gives the promise of a
/// ticket. Callers wait for one ticket after the other, so that a session never occupies more than
/// one thread of the host's pool. `true` as outcome means that the file must be rewritten as a
/// whole.
#[napi]
pub struct SessionJournal {
    journal: Journal,
    pending: RefCell<HashMap<u32, Pending>>,
    next_ticket: Cell<u32>,
}

#[napi]
impl SessionJournal {
    /// A writer for `path`; opens nothing yet.
    #[napi(constructor, catch_unwind)]
    pub fn new(path: String, blobs_dir: String) -> Self {
        let blobs = BlobStore::new(PathBuf::from(blobs_dir));
        Self {
            journal: Journal::new(PathBuf::from(path), Arc::new(OsDisk), blobs),
            pending: RefCell::default(),
            next_ticket: Cell::default(),
        }
    }

    /// Whether a descriptor is held.
    #[napi(getter, catch_unwind)]
    pub fn is_open(&self) -> bool {
        self.journal.is_open()
    }

    /// Appends entries given as JSON texts. Small ones that nothing precedes are written before
    /// the call returns; the result then is the outcome, otherwise a ticket.
    #[napi(catch_unwind)]
    pub fn append(&self, env: &Env, entries: Vec<String>) -> napi::Result<Either<bool, u32>> {
        self.append_texts(env, entries.into_iter().map(String::into_bytes).collect())
    }

    /// Like `append`, for texts that have `marker` (a string that nothing else contains) in the place
    /// of long strings; these are given in the order of the markers.
    #[napi(catch_unwind)]
    pub fn append_outlined(
        &self,
        env: &Env,
        entries: Vec<String>,
        strings: Vec<JsString<'_>>,
        marker: String,
    ) -> napi::Result<Either<bool, u32>> {
        let entries = entries.into_iter().map(String::into_bytes).collect();
        let strings = strings
            .into_iter()
            .map(text::units)
            .collect::<Result<_, _>>()?;
        let outlines = Outline::of(entries, strings, &marker).or_throw(env)?;
        if outlines.iter().map(Outline::size).sum::<usize>() > DIRECT_BYTES {
            return Ok(Either::B(self.submit(Op::AppendOutlined(outlines))));
        }
        self.append_texts(env, outlines.into_iter().map(Outline::into_json).collect())
    }

    /// Appends entries before the call returns, after everything that is queued; for the end of a
    /// process. Blocks.
    #[napi(catch_unwind)]
    pub fn append_blocking(&self, env: &Env, entries: Vec<String>) -> napi::Result<bool> {
        let entries = entries.into_iter().map(String::into_bytes).collect();
        let done = self
            .journal
            .submit(Op::Append(entries))
            .wait()
            .or_throw(env)?;
        Ok(done == Done::NeedsRewrite)
    }

    /// Replaces the file by the header and all entries of a session; gives a ticket.
    #[napi(catch_unwind)]
    pub fn rewrite(&self, core: &SessionCore, options: RewriteOptions) -> u32 {
        self.submit(Op::Rewrite(Box::new(content_of(core, options))))
    }

    /// Like `rewrite`, before the call returns. Blocks.
    #[napi(catch_unwind)]
    pub fn rewrite_now(
        &self,
        env: &Env,
        core: &SessionCore,
        options: RewriteOptions,
    ) -> napi::Result<()> {
        let op = Op::Rewrite(Box::new(content_of(core, options)));
        self.journal.submit(op).wait().map(|_| ()).or_throw(env)
    }

    /// Replaces the header in place; gives a ticket.
    #[napi(catch_unwind)]
    pub fn replace_header(&self, json: String, id: String) -> u32 {
        self.submit(Op::Header {
            json: json.into_bytes(),
            id: id.into_bytes(),
        })
    }

    /// Writes what is waiting and makes everything durable; gives a ticket.
    #[napi(catch_unwind)]
    pub fn sync(&self) -> u32 {
        self.submit(Op::Sync)
    }

    /// Writes what is waiting and gives the descriptor back; gives a ticket.
    #[napi(catch_unwind)]
    pub fn close(&self) -> u32 {
        self.submit(Op::Close)
    }

    /// Gives the descriptor back before the call returns if there is no work; tells whether it did.
    #[napi(catch_unwind)]
    pub fn close_now(&self) -> bool {
        self.journal.close_now()
    }

    /// The outcome of a ticket, off-thread. Each ticket can be waited for once.
    #[napi(catch_unwind, ts_return_type = "Promise<boolean>")]
    pub fn wait(&self, ticket: u32) -> napi::Result<Promised<bool>> {
        let pending = self.pending.borrow_mut().remove(&ticket);
        run_blocking(
            move || match pending {
                Some(pending) => pending.wait(),
                None => Err(Error::Internal(format!("no ticket {ticket}"))),
            },
            |_, done| Ok(done == Done::NeedsRewrite),
        )
    }

    fn append_texts(&self, env: &Env, entries: Vec<Vec<u8>>) -> napi::Result<Either<bool, u32>> {
        match self.journal.append_now(entries) {
            Ok(done) => Ok(Either::A(done == Done::NeedsRewrite)),
            Err((Some(error), _)) => Err(to_js(env, &error)),
            Err((None, entries)) => Ok(Either::B(self.submit(Op::Append(entries)))),
        }
    }

    fn submit(&self, op: Op) -> u32 {
        let ticket = self.next_ticket.get();
        self.next_ticket.set(ticket.wrapping_add(1));
        let pending = self.journal.submit(op);
        self.pending.borrow_mut().insert(ticket, pending);
        ticket
    }
}

fn content_of(core: &SessionCore, options: RewriteOptions) -> Content {
    let (tree, shared) = (core.tree(), core.texts());
    let texts = options.texts.into_iter().map(String::into_bytes);
    let edited: HashMap<u32, Vec<u8>> = options.edited.into_iter().zip(texts).collect();
    Content {
        header: options.header.into_bytes(),
        slots: (0..tree.len() as Slot).collect(),
        edited,
        tree,
        texts: shared.snapshot(),
        with_residue: options.with_residue,
        shared: Some(shared),
        temp_suffix: options.temp_suffix,
        backup: options.backup.map(PathBuf::from),
        no_clobber: options.no_clobber.unwrap_or(false),
    }
}
