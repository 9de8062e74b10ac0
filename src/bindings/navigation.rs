//! `TreeListing`: a tree as a list; and what a move of the leaf leaves behind.

use napi::JsString;
use napi::bindgen_prelude::{Either, Either3, Env, Null, Uint32Array};
use napi_derive::napi;

use super::error::OrThrow;
use super::session_core::{JsId, SessionCore, js_id, key_of};
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

    /// What a move leaves behind: the id of the common ancestor or `null`, then the ids of the
    /// abandoned entries, oldest first.
    #[napi(catch_unwind)]
    pub fn abandoned<'env>(
        &self,
        env: &'env Env,
        old_leaf: JsId<'_>,
        target: JsId<'_>,
    ) -> napi::Result<Vec<Either3<JsString<'env>, f64, Null>>> {
        let (old_leaf, target) = (key_of(old_leaf)?, key_of(target)?);
        let tree = self.tree();
        let found = abandoned(&tree, tree.ids().find(&old_leaf), tree.ids().find(&target));
        let slots =
            std::iter::once(found.common_ancestor).chain(found.entries.into_iter().map(Some));
        slots
            .map(|slot| match slot.and_then(|slot| tree.record(slot)) {
                Some(record) => js_id(env, &tree, record.id).map(|id| match id {
                    Either::A(text) => Either3::A(text),
                    Either::B(number) => Either3::B(number),
                }),
                None => Ok(Either3::C(Null)),
            })
            .collect()
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

    /// JSON array of what is said in the messages (of extensions, too) in some slots that come from a
    /// file. Reads from disk.
    #[napi(catch_unwind)]
    pub fn content_texts<'env>(
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
            let content = entry
                .message
                .map_or(entry.content, |message| message.content);
            texts.push(encode(&content.text()));
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
