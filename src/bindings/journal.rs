//! `SessionJournal`: the ordered writer of one session file.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use napi::bindgen_prelude::{Either, Env, PromiseRaw};
use napi_derive::napi;
use tokio::sync::oneshot;

use super::error::{OrThrow, to_js};
use super::session_core::SessionCore;
use crate::Error;
use crate::journal::queue::{Done, Journal, Op};
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
#[napi]
pub struct SessionJournal {
    journal: Journal,
    blobs: BlobStore,
}

#[napi]
impl SessionJournal {
    /// A writer for `path`; opens nothing yet.
    #[napi(constructor, catch_unwind)]
    pub fn new(path: String, blobs_dir: String) -> Self {
        let blobs = BlobStore::new(PathBuf::from(blobs_dir));
        let spawn = |work: Box<dyn FnOnce() + Send>| {
            napi::bindgen_prelude::spawn_blocking(work);
        };
        Self {
            journal: Journal::new(PathBuf::from(path), Arc::new(OsDisk), blobs.clone(), spawn),
            blobs,
        }
    }

    /// Whether a descriptor is held.
    #[napi(getter, catch_unwind)]
    pub fn is_open(&self) -> bool {
        self.journal.is_open()
    }

    /// Appends entries given as JSON texts. Small ones that nothing precedes are written before
    /// the call returns; the result then is a boolean, otherwise a promise of one. `true` means
    /// that the file must be rewritten as a whole.
    #[napi(catch_unwind, ts_return_type = "boolean | Promise<boolean>")]
    pub fn append<'env>(
        &self,
        env: &'env Env,
        entries: Vec<String>,
    ) -> napi::Result<Either<bool, PromiseRaw<'env, bool>>> {
        let entries = entries.into_iter().map(String::into_bytes).collect();
        match self.journal.append_now(entries) {
            Ok(done) => Ok(Either::A(done == Done::NeedsRewrite)),
            Err((Some(error), _)) => Err(to_js(env, &error)),
            Err((None, entries)) => self.submit(env, Op::Append(entries)).map(Either::B),
        }
    }

    /// Appends entries before the call returns, after everything that is queued; for the end of a
    /// process. `true` means that the file must be rewritten as a whole. Blocks.
    #[napi(catch_unwind)]
    pub fn append_blocking(&self, env: &Env, entries: Vec<String>) -> napi::Result<bool> {
        let entries = entries.into_iter().map(String::into_bytes).collect();
        let done = self.run_here(Op::Append(entries)).or_throw(env)?;
        Ok(done == Done::NeedsRewrite)
    }

    /// Replaces the file by the header and all entries of a session.
    #[napi(catch_unwind, ts_return_type = "Promise<boolean>")]
    pub fn rewrite<'env>(
        &self,
        env: &'env Env,
        core: &SessionCore,
        options: RewriteOptions,
    ) -> napi::Result<PromiseRaw<'env, bool>> {
        let content = content_of(core, options);
        self.submit(env, Op::Rewrite(Box::new(content)))
    }

    /// Like `rewrite`, before the call returns.
    #[napi(catch_unwind)]
    pub fn rewrite_now(
        &self,
        env: &Env,
        core: &SessionCore,
        options: RewriteOptions,
    ) -> napi::Result<()> {
        let op = Op::Rewrite(Box::new(content_of(core, options)));
        self.run_here(op).map(|_| ()).or_throw(env)
    }

    /// Replaces the header in place; `true` when it does not fit.
    #[napi(catch_unwind, ts_return_type = "Promise<boolean>")]
    pub fn replace_header<'env>(
        &self,
        env: &'env Env,
        json: String,
        id: String,
    ) -> napi::Result<PromiseRaw<'env, bool>> {
        let op = Op::Header {
            json: json.into_bytes(),
            id: id.into_bytes(),
        };
        self.submit(env, op)
    }

    /// Writes what is waiting and makes everything durable.
    #[napi(catch_unwind, ts_return_type = "Promise<boolean>")]
    pub fn sync<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, bool>> {
        self.submit(env, Op::Sync)
    }

    /// Writes what is waiting and gives the descriptor back.
    #[napi(catch_unwind, ts_return_type = "Promise<boolean>")]
    pub fn close<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, bool>> {
        self.submit(env, Op::Close)
    }

    /// Directory of the blobs that this writer stores.
    #[napi(getter, catch_unwind)]
    pub fn blobs_dir(&self) -> String {
        self.blobs.dir().to_string_lossy().into_owned()
    }

    /// Runs an operation, and all that is queued before it, on this thread.
    fn run_here(&self, op: Op) -> crate::Result<Done> {
        let (sender, receiver) = std::sync::mpsc::channel();
        let reply = move |outcome| {
            // The receiver waits below.
            let _ = sender.send(outcome);
        };
        self.journal.submit(op, Box::new(reply));
        self.journal.drain();
        receiver
            .recv()
            .unwrap_or_else(|_| Err(Error::Internal("no answer".to_owned())))
    }

    fn submit<'env>(&self, env: &'env Env, op: Op) -> napi::Result<PromiseRaw<'env, bool>> {
        let (sender, receiver) = oneshot::channel();
        let reply = move |outcome| {
            // Nobody listens any more when the environment has gone.
            let _ = sender.send(outcome);
        };
        self.journal.submit(op, Box::new(reply));
        env.spawn_future_with_callback(
            async move {
                Ok(receiver
                    .await
                    .unwrap_or_else(|_| Err(Error::Internal("the writer is gone".to_owned()))))
            },
            |env, outcome| match outcome {
                Ok(done) => Ok(done == Done::NeedsRewrite),
                Err(error) => Err(to_js(env, &error)),
            },
        )
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
