//! A whole tree as a list that can be filtered, searched and walked.

use std::ops::Range;

// Its hash function is faster than that of the standard library.
use hashbrown::HashMap;
use memchr::memmem::Finder;

use crate::journal::adapt::adapt_for_view;
use crate::journal::texts::TextTable;
use crate::json::Cursor;
use crate::parallel::map_parallel;
use crate::session::{EntryKind, Parent, Role, Slot, Symbol, Tree};
use crate::text::{lower_case, words};
use crate::{Error, Result};

use super::entry::Entry;
use super::layout::{Layout, NONE, Place, layout};
use super::shown::{Arena, Shown, Span};

/// Entries that one thread takes at a time.
const CHUNK: usize = 2048;

/// Which entries a list shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    /// All but labels, data of extensions and changes of model and reasoning effort.
    Default,
    /// As `Default`, without results of tools.
    NoTools,
    /// What the user wrote.
    UserOnly,
    /// What has a label.
    LabeledOnly,
    /// Everything.
    All,
}

/// What a listing is made of.
pub struct Sources<'a> {
    /// The tree.
    pub tree: &'a Tree,
    /// Where the texts of entries are that nobody has seen yet.
    pub texts: &'a TextTable,
    /// Slots of all other entries, ascending.
    pub live: &'a [Slot],
    /// JSON array of their texts.
    pub live_texts: &'a [u8],
    /// Home directory, for paths in tool calls.
    pub home: &'a [u8],
}

/// A tree as it was at one moment.
#[derive(Default)]
pub struct Listing {
    pub(super) layout: Layout,
    chunks: Vec<Chunk>,
    /// Row of the leaf.
    pub(super) leaf: Option<u32>,
    /// Labels by row.
    labels: HashMap<u32, Label>,
    /// For rows of tool results whose call is known: where the call is.
    calls: HashMap<u32, (u32, u32)>,
}

pub(super) struct Label {
    pub(super) text: Vec<u8>,
    lower: Vec<u8>,
}

/// Neighbouring slots.
#[derive(Default)]
struct Chunk {
    items: Vec<Item>,
    calls: Vec<ShownCall>,
    arena: Arena,
}

/// One entry.
#[derive(Clone, Copy, Default)]
pub(super) struct Item {
    pub(super) shown: Shown,
    /// Key of its id.
    pub(super) id: Span,
    /// Key of the id of its parent; empty without one.
    pub(super) parent: Option<Span>,
    first_call: u32,
}

#[derive(Clone, Copy)]
struct ShownCall {
    id: Span,
    text: Span,
}

impl Listing {
    /// Takes the snapshot. Reads the texts of entries from the file.
    pub fn new(sources: &Sources<'_>, leaf: Option<Symbol>) -> Result<Self> {
        let layout = layout(sources.tree, leaf);
        let live = element_spans(sources.live_texts)?;
        let starts: Vec<usize> = (0..sources.tree.len()).step_by(CHUNK).collect();
        let chunks = map_parallel(&starts, |&start| Chunk::read(sources, &live, start));
        let mut listing = Self {
            layout,
            chunks: chunks.into_iter().collect::<Result<_>>()?,
            ..Self::default()
        };
        listing.find_leaf_and_labels(sources.tree, leaf);
        listing.find_calls();
        Ok(listing)
    }

    fn find_leaf_and_labels(&mut self, tree: &Tree, leaf: Option<Symbol>) {
        let leaf = leaf.and_then(|leaf| tree.slot_of(leaf));
        let labels: HashMap<Slot, &[u8]> = tree
            .labels()
            .filter_map(|(target, label)| Some((tree.slot_of(target)?, label)))
            .collect();
        for (row, place) in (0..).zip(&self.layout.places) {
            if Some(place.slot) == leaf {
                self.leaf = Some(row);
            }
            if let Some(&text) = labels.get(&place.slot) {
                let label = Label {
                    text: text.to_vec(),
                    lower: lower_case(text).into_owned(),
                };
                self.labels.insert(row, label);
            }
        }
    }

    /// Finds the call of each tool result: of calls with the same id the last one in the list.
    fn find_calls(&mut self) {
        let mut by_id: HashMap<&[u8], (u32, u32)> = HashMap::new();
        let mut results = Vec::new();
        for (row, place) in (0..).zip(&self.layout.places) {
            let Some((at, chunk)) = self.chunk_of(place.slot) else {
                continue;
            };
            for call in chunk.calls_of(place.slot) {
                if let Some(shown) = chunk.calls.get(call as usize) {
                    by_id.insert(chunk.arena.get(shown.id), (at, call));
                }
            }
            let item = chunk.item(place.slot);
            if let Some(item) = item.filter(|item| item.shown.role == Role::ToolResult) {
                results.push((row, chunk.arena.get(item.shown.call)));
            }
        }
        let known = |(row, id)| Some((row, *by_id.get(id)?));
        let calls = results.into_iter().filter_map(known).collect();
        drop(by_id);
        self.calls = calls;
    }

    fn chunk_of(&self, slot: Slot) -> Option<(u32, &Chunk)> {
        let at = slot as usize / CHUNK;
        Some((at as u32, self.chunks.get(at)?))
    }

    /// Number of nodes.
    pub fn total(&self) -> usize {
        self.layout.places.len()
    }

    /// Whether the tree has more than one root.
    pub fn has_multiple_roots(&self) -> bool {
        self.layout.multiple_roots
    }

    /// Rows that a filter shows and in which every word of the query is found, in order.
    pub fn rows(&self, filter: Filter, query: &[u8]) -> Vec<u32> {
        let query = lower_case(query);
        let words: Vec<Finder<'_>> = words(&query).into_iter().map(Finder::new).collect();
        let shown = |&(row, place): &(u32, &Place)| {
            self.item(place.slot).is_some_and(|(arena, item)| {
                self.is_shown(row, &item.shown, filter)
                    && self.is_found(row, arena.get(item.shown.search), &words)
            })
        };
        (0..)
            .zip(&self.layout.places)
            .filter(shown)
            .map(|(row, _)| row)
            .collect()
    }

    fn is_shown(&self, row: u32, shown: &Shown, filter: Filter) -> bool {
        if shown.is_quiet && self.leaf != Some(row) {
            return false;
        }
        let is_bookkeeping = matches!(
            shown.kind,
            EntryKind::Label
                | EntryKind::Custom
                | EntryKind::ModelChange
                | EntryKind::ThinkingLevelChange
        );
        match filter {
            Filter::Default => !is_bookkeeping,
            Filter::NoTools => !is_bookkeeping && shown.role != Role::ToolResult,
            Filter::UserOnly => shown.role == Role::User,
            Filter::LabeledOnly => self.labels.contains_key(&row),
            Filter::All => true,
        }
    }

    fn is_found(&self, row: u32, text: &[u8], words: &[Finder<'_>]) -> bool {
        if words.is_empty() {
            return true;
        }
        let label = self.labels.get(&row).map(|label| label.lower.as_slice());
        words.iter().all(|word| {
            word.find(text).is_some() || label.is_some_and(|label| word.find(label).is_some())
        })
    }

    /// Position in `visible` (ascending rows) of an entry or its nearest ancestor there; the last one
    /// when there is none, `None` when nothing is visible.
    pub fn nearest(&self, id: Option<&[u8]>, visible: &[u32]) -> Option<usize> {
        let last = visible.len().checked_sub(1)?;
        let mut next = id.and_then(|id| self.row_of(id));
        while let Some(row) = next {
            if let Ok(at) = visible.binary_search(&row) {
                return Some(at);
            }
            let place = self.layout.places.get(row as usize)?;
            next = Some(place.parent).filter(|&parent| parent != NONE);
        }
        Some(last)
    }

    fn row_of(&self, id: &[u8]) -> Option<u32> {
        let has_id = |place: &Place| {
            self.item(place.slot)
                .is_some_and(|(chunk, item)| chunk.get(item.id) == id)
        };
        let row = self.layout.places.iter().position(has_id)?;
        u32::try_from(row).ok()
    }

    /// An entry and where its texts are.
    pub(super) fn item(&self, slot: Slot) -> Option<(&Arena, &Item)> {
        let (_, chunk) = self.chunk_of(slot)?;
        Some((&chunk.arena, chunk.item(slot)?))
    }

    pub(super) fn label(&self, row: u32) -> Option<&Label> {
        self.labels.get(&row)
    }

    /// What is shown of the call that the tool result in a row answers.
    pub(super) fn call(&self, row: u32) -> Option<&[u8]> {
        let &(chunk, call) = self.calls.get(&row)?;
        let chunk = self.chunks.get(chunk as usize)?;
        let call = chunk.calls.get(call as usize)?;
        Some(chunk.arena.get(call.text))
    }
}

impl Chunk {
    fn read(sources: &Sources<'_>, live: &[Range<usize>], start: usize) -> Result<Self> {
        let end = sources.tree.len().min(start + CHUNK);
        let slots = start as Slot..end as Slot;
        let (from, to) = (
            sources.live.partition_point(|&slot| slot < slots.start),
            sources.live.partition_point(|&slot| slot < slots.end),
        );
        let spans = live.get(from..to).unwrap_or_default();
        let mut live = sources.live.iter().skip(from).zip(spans).peekable();
        let unseen: Vec<Slot> = unseen(sources, slots.clone(), from..to);
        let mut upcoming = unseen.as_slice();
        let mut reader = sources.texts.reader();
        let mut chunk = Self::default();
        for slot in slots {
            if let Some((_, span)) = live.next_if(|&(&at, _)| at == slot) {
                let text = sources.live_texts.get(span.clone()).unwrap_or_default();
                chunk.add(text, slot, sources);
                continue;
            }
            upcoming = upcoming.split_first().map_or(&[][..], |(_, rest)| rest);
            let text = reader.read(slot, upcoming, sources.tree)?;
            let text = text.map(|text| adapt_for_view(text, slot, sources.tree));
            chunk.add(&text.unwrap_or_default(), slot, sources);
        }
        Ok(chunk)
    }

    fn add(&mut self, text: &[u8], slot: Slot, sources: &Sources<'_>) {
        // Texts were validated when they were indexed or made.
        let entry = Entry::read(&mut Cursor::new(text)).unwrap_or_default();
        let first_call = self.calls.len() as u32;
        let message = entry.message.iter();
        let is_assistant = |role: crate::json::RawStr<'_>| role.is("assistant");
        for message in message.filter(|message| message.role.is_some_and(is_assistant)) {
            for call in &message.content.calls {
                let id = call.id.map(|id| id.decode()).unwrap_or_default();
                self.calls.push(ShownCall {
                    id: self.arena.add(&[&id]),
                    text: self.arena.add(&[&call.describe(sources.home)]),
                });
            }
        }
        let shown = Shown::of(&entry, &mut self.arena);
        let tree = sources.tree;
        let record = tree.record(slot);
        let key = |symbol| tree.ids().get(symbol);
        let parent = match record.map(|record| record.parent()) {
            Some(Parent::Id(symbol)) => Some(self.arena.add(&[key(symbol)])),
            _ => None,
        };
        self.items.push(Item {
            shown,
            id: self
                .arena
                .add(&[record.map(|record| key(record.id)).unwrap_or_default()]),
            parent,
            first_call,
        });
    }

    fn item(&self, slot: Slot) -> Option<&Item> {
        self.items.get(slot as usize % CHUNK)
    }

    /// Numbers of the calls that an entry makes.
    fn calls_of(&self, slot: Slot) -> Range<u32> {
        let at = slot as usize % CHUNK;
        let start = |at: usize| self.items.get(at).map(|item| item.first_call);
        let end = self.calls.len() as u32;
        start(at).unwrap_or(end)..start(at + 1).unwrap_or(end)
    }
}

/// Slots of a range that are not among the live ones.
fn unseen(sources: &Sources<'_>, slots: Range<Slot>, live: Range<usize>) -> Vec<Slot> {
    let live = sources.live.get(live).unwrap_or_default();
    slots
        .filter(|slot| live.binary_search(slot).is_err())
        .collect()
}

/// Where the elements of a JSON array are.
fn element_spans(json: &[u8]) -> Result<Vec<Range<usize>>> {
    let mut spans = Vec::new();
    let mut cursor = Cursor::new(json);
    let read = cursor.array(|cursor| {
        spans.push(cursor.skip()?);
        Ok(())
    });
    match read {
        Ok(()) => Ok(spans),
        Err(_) => Err(Error::Internal("entries are no JSON array".to_owned())),
    }
}
