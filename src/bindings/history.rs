//! `PromptHistory`: the store behind `HistoryStorage`.

use std::sync::Arc;

use napi::JsString;
use napi::bindgen_prelude::Env;
use napi_derive::napi;

use super::error::OrThrow;
use super::task::{Promised, run_blocking};
use super::text;
use crate::Result;
use crate::history::queue::History;
use crate::history::registry::Registry;
use crate::history::rows::{recent, rows_asked_for, to_json};
use crate::history::search::search;

/// Shared by all environments of the process, workers included.
static DATABASES: Registry = Registry::new();

/// A store of prompts in one database.
#[napi]
pub struct PromptHistory {
    history: Arc<History>,
}

/// What a search found.
#[napi(object, object_from_js = false)]
pub struct FoundPrompts<'env> {
    /// JSON array with `[id, prompt, created_at, cwd or null]` for each prompt, newest first.
    pub rows: JsString<'env>,
    /// Why the full-text index could not be used.
    pub index_failure: Option<String>,
}

#[napi]
impl PromptHistory {
    /// Opens or creates a database. Blocks.
    #[napi(catch_unwind)]
    pub fn open(env: &Env, path: String) -> napi::Result<PromptHistory> {
        let open = || -> Result<History> { History::open(DATABASES.database(&path)?) };
        let history = Arc::new(open().or_throw(env)?);
        Ok(Self { history })
    }

    /// Why the full-text index could not be built; told once.
    #[napi(catch_unwind)]
    pub fn take_warning(&self) -> Option<String> {
        self.history.database().take_warning()
    }

    /// Adds a prompt. Gives the batch that it is in, or 0 if there is nothing to be written.
    #[napi(catch_unwind)]
    pub fn add(&self, prompt: JsString<'_>, cwd: Option<JsString<'_>>) -> napi::Result<f64> {
        let prompt = text::from_js_lossy(prompt)?;
        let cwd = cwd.map(text::from_js_lossy).transpose()?;
        Ok(self.history.add(&prompt, cwd).unwrap_or(0) as f64)
    }

    /// Writes a batch, off-thread. Each batch can be waited for once.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn finish(&self, batch: f64) -> napi::Result<Promised<()>> {
        let history = Arc::clone(&self.history);
        run_blocking(move || history.finish(batch as u64), |_, ()| Ok(()))
    }

    /// Writes everything that was added, before the call returns; gives the reason if that fails.
    #[napi(catch_unwind)]
    pub fn write_blocking(&self) -> Option<String> {
        self.history.write_all()
    }

    /// The newest prompts, as the JSON text that `FoundPrompts` describes. Blocks.
    #[napi(catch_unwind)]
    pub fn recent<'env>(&self, env: &'env Env, limit: f64) -> napi::Result<JsString<'env>> {
        let entries = recent(self.history.database(), rows_asked_for(limit)).or_throw(env)?;
        text::to_js(env, &to_json(&entries))
    }

    /// The newest prompts that contain what is looked for. Blocks.
    #[napi(catch_unwind)]
    pub fn search<'env>(
        &self,
        env: &'env Env,
        query: JsString<'_>,
        limit: f64,
    ) -> napi::Result<FoundPrompts<'env>> {
        let query = text::from_js_lossy(query)?;
        let limit = rows_asked_for(limit);
        let found = search(self.history.database(), &query, limit).or_throw(env)?;
        Ok(FoundPrompts {
            rows: text::to_js(env, &to_json(&found.entries))?,
            index_failure: found.index_failure,
        })
    }
}
