//! `TreeListing`: a tree as a list; and what a move of the leaf leaves behind.

use napi::JsString;
use napi::bindgen_prelude::{Either, Env, Uint32Array};
use napi_derive::napi;

use super::error::OrThrow;
use super::session_core::{JsId, SessionCore, key_of};
use super::text;
use crate::Error;
use crate::journal::adapt::adapt_for_view;
use crate::json::Cursor;
use crate::json::text::encode;
use crate::navigation::entry::Entry;
use crate::navigation::listing::Sources;
use crate::navigation::{Filter, Listing, abandoned};

/// A tree as it was at one moment, as rows.
#[napi]
pub struct TreeListing {
    listing: Listing,
}

#[napi]
impl SessionCore {
    /// The tree as rows, seen from a leaf. `live` are the slots, ascending, of entries that exist as
    /// objects, `live_texts` the JSON array of their texts. Reads the other entries from disk.
    #[napi(catch_unwind)]
    pub fn list_tree(
        &self,
        env: &Env,
        leaf: Option<JsId<'_>>,
        home: JsString<'_>,
        live: &[u32],
        live_texts: JsString<'_>,
    ) -> napi::Result<TreeListing> {
        let (tree, table) = (self.tree(), self.texts().snapshot());
        let leaf = leaf.map(key_of).transpose()?;
        // Made by `JSON.stringify`, which escapes halves of surrogate pairs.
        let live_texts = live_texts.into_utf8()?;
        let sources = Sources {
            tree: &tree,
            texts: &table,
            live,
            live_texts: live_texts.as_slice(),
            home: &text::from_js(home)?,
        };
        let leaf = leaf.and_then(|leaf| tree.ids().find(&leaf));
        let listing = Listing::new(&sources, leaf).or_throw(env)?;
        Ok(TreeListing { listing })
    }

    /// What a move leaves behind: slot + 1 of the common ancestor (0 for none), then the slots of
    /// the abandoned entries, oldest first.
    #[napi(catch_unwind)]
    pub fn abandoned(&self, old_leaf: JsId<'_>, target: JsId<'_>) -> napi::Result<Uint32Array> {
        let (old_leaf, target) = (key_of(old_leaf)?, key_of(target)?);
        let tree = self.tree();
        let found = abandoned(&tree, tree.ids().find(&old_leaf), tree.ids().find(&target));
        let mut slots = vec![found.common_ancestor.map_or(0, |slot| slot + 1)];
        slots.extend(found.entries);
        Ok(slots.into())
    }

    /// Slots of entries of one packed kind, each id once, in file order.
    #[napi(catch_unwind)]
    pub fn slots_of_kind(&self, packed_kind: u32) -> Uint32Array {
        let tree = self.tree();
        let of_kind = tree.indexed().filter(|(_, record)| {
            u32::from(crate::session::context::pack(record.kind, record.role)) == packed_kind
        });
        of_kind.map(|(slot, _)| slot).collect::<Vec<u32>>().into()
    }

    /// JSON array of the texts of the messages in some slots that come from a file. Reads from disk.
    #[napi(catch_unwind)]
    pub fn message_texts<'env>(
        &self,
        env: &'env Env,
        slots: &[u32],
    ) -> napi::Result<JsString<'env>> {
        let (tree, table) = (self.tree(), self.texts().snapshot());
        let mut reader = table.reader();
        let mut texts = Vec::with_capacity(slots.len());
        for (at, &slot) in slots.iter().enumerate() {
            let upcoming = slots.get(at + 1..).unwrap_or_default();
            let Some(json) = reader.read(slot, upcoming, &tree).or_throw(env)? else {
                let lost = Error::Internal(format!("no text for slot {slot}"));
                return Err(super::error::to_js(env, &lost));
            };
            let json = adapt_for_view(json, slot, &tree);
            let entry = Entry::read(&mut Cursor::new(&json)).unwrap_or_default();
            let message = entry.message.unwrap_or_default();
            texts.push(encode(&message.content.text()));
        }
        text::to_js(env, &[b"[", &texts.join(&b',')[..], b"]"].concat())
    }
}

#[napi]
impl TreeListing {
    /// Number of nodes.
    #[napi(getter, catch_unwind)]
    pub fn total(&self) -> u32 {
        self.listing.total() as u32
    }

    /// Whether there is more than one root.
    #[napi(getter, catch_unwind)]
    pub fn multiple_roots(&self) -> bool {
        self.listing.has_multiple_roots()
    }

    /// Numbers of the rows that a filter (its position in the public list of filters) and a query
    /// leave.
    #[napi(catch_unwind)]
    pub fn filter(&self, filter: u32, query: JsString<'_>) -> napi::Result<Uint32Array> {
        let filter = match filter {
            0 => Filter::Default,
            1 => Filter::NoTools,
            2 => Filter::UserOnly,
            3 => Filter::LabeledOnly,
            _ => Filter::All,
        };
        Ok(self.listing.rows(filter, &text::from_js(query)?).into())
    }

    /// Position among `visible` of an entry or its nearest ancestor there, else the last position;
    /// -1 when nothing is visible.
    #[napi(catch_unwind)]
    pub fn nearest(&self, id: Option<JsId<'_>>, visible: &[u32]) -> napi::Result<i32> {
        let id = id.map(key_of).transpose()?;
        let at = self.listing.nearest(id.as_deref(), visible);
        Ok(at.and_then(|at| i32::try_from(at).ok()).unwrap_or(-1))
    }

    /// Rows as the text of a JSON array.
    #[napi(catch_unwind)]
    pub fn rows<'env>(&self, env: &'env Env, rows: &[u32]) -> napi::Result<JsString<'env>> {
        text::to_js(env, &self.listing.rows_json(rows))
    }

    /// Ids of rows as the text of a JSON array.
    #[napi(catch_unwind)]
    pub fn ids<'env>(&self, env: &'env Env, rows: &[u32]) -> napi::Result<JsString<'env>> {
        text::to_js(env, &self.listing.ids_json(rows))
    }
}

/// Whether a text matches a fuzzy query, and how well: `None` (`null`) or a score, lower is better.
#[napi(catch_unwind)]
pub fn fuzzy_score(query: JsString<'_>, text: JsString<'_>) -> napi::Result<Option<f64>> {
    let (query, text) = (text::from_js(query)?, text::from_js(text)?);
    Ok(crate::catalog::fuzzy::score(&query, &text))
}

/// Positions of the texts that match every word of a query, best first, each followed by its score.
#[napi(catch_unwind)]
pub fn fuzzy_rank(query: JsString<'_>, texts: Vec<JsString<'_>>) -> napi::Result<Vec<f64>> {
    let query = crate::catalog::fuzzy::Query::new(&text::from_js(query)?);
    let mut ranked = Vec::new();
    for (at, text) in texts.into_iter().enumerate() {
        if let Some(score) = query.score(&text::from_js(text)?) {
            ranked.push((at as f64, score));
        }
    }
    ranked.sort_by(|left, right| left.1.total_cmp(&right.1));
    Ok(ranked.into_iter().flat_map(|(at, score)| [at, score]).collect())
}
