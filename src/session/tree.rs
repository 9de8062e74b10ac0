//! The index of one session.

use std::collections::HashMap;
use std::sync::OnceLock;

use indexmap::IndexMap;

use super::{EntryKind, Interner, Parent, Record, Role, Slot, Symbol, Usage};

const NO_SLOT: Slot = Slot::MAX;

/// Records in file order with everything that is derived from them.
///
/// Duplicate ids: the last record with an id is the one that id means, at the place in the order
/// where the id first appeared.
#[derive(Clone, Default)]
pub struct Tree {
    ids: Interner,
    records: Vec<Record>,
    /// Slot that each symbol means; [`NO_SLOT`] for ids that only occur as parents or targets.
    slots: Vec<Slot>,
    /// Known ids in order of first appearance as an entry.
    order: Vec<Symbol>,
    leaf: Option<Symbol>,
    labels: IndexMap<Symbol, Vec<u8>>,
    usage: Usage,
    /// Usage of the entries that have any, by slot, ascending.
    usage_by_slot: Vec<(Slot, Usage)>,
    /// For compactions of version 1 files: the id that their index meant.
    migrated_first_kept: Vec<(Slot, Option<Symbol>)>,
    assistants: u32,
    /// Children by parent, made when first asked for and kept up to date from then on.
    children: OnceLock<HashMap<Parent, Vec<Slot>>>,
}

impl Tree {
    /// Number of entries.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// True before the first entry.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Bytes of memory that the index takes, about.
    pub fn memory(&self) -> usize {
        self.ids.memory()
            + self.records.capacity() * size_of::<Record>()
            + self.slots.capacity() * size_of::<Slot>()
            + self.order.capacity() * size_of::<Symbol>()
            + self.usage_by_slot.capacity() * size_of::<(Slot, Usage)>()
    }

    /// The interned ids.
    pub fn ids(&self) -> &Interner {
        &self.ids
    }

    /// Interns an id that is not (yet) an entry.
    pub fn intern(&mut self, key: &[u8]) -> Symbol {
        let symbol = self.ids.intern(key);
        if self.slots.len() < self.ids.len() {
            self.slots.resize(self.ids.len(), NO_SLOT);
        }
        symbol
    }

    /// The record in a slot.
    pub fn record(&self, slot: Slot) -> Option<&Record> {
        self.records.get(slot as usize)
    }

    /// All records in file order.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Adds an entry at the end and makes it the leaf.
    pub fn push(&mut self, record: Record) -> Slot {
        let slot = self.records.len() as Slot;
        if let Some(meaning) = self.slots.get_mut(record.id as usize) {
            if *meaning == NO_SLOT {
                self.order.push(record.id);
                if let Some(children) = self.children.get_mut() {
                    children.entry(record.parent()).or_default().push(slot);
                }
            } else {
                // A duplicate may move its id to another parent.
                self.children.take();
            }
            *meaning = slot;
        }
        if record.kind == EntryKind::Message && record.role == Role::Assistant {
            self.assistants += 1;
        }
        self.leaf = Some(record.id);
        self.records.push(record);
        slot
    }

    /// Adds usage of the entry that was pushed last.
    pub fn add_usage(&mut self, slot: Slot, usage: Usage) {
        self.usage.add(&usage);
        self.usage_by_slot.push((slot, usage));
    }

    /// Totals over all entries.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Usage of one entry.
    pub fn usage_of(&self, slot: Slot) -> Option<Usage> {
        let at = self
            .usage_by_slot
            .binary_search_by_key(&slot, |&(slot, _)| slot)
            .ok()?;
        self.usage_by_slot.get(at).map(|&(_, usage)| usage)
    }

    /// True when any entry, on any branch, is an assistant message.
    pub fn has_assistant(&self) -> bool {
        self.assistants > 0
    }

    /// The slot that an id means.
    pub fn slot_of(&self, symbol: Symbol) -> Option<Slot> {
        self.slots
            .get(symbol as usize)
            .copied()
            .filter(|&slot| slot != NO_SLOT)
    }

    /// The slot of an id given as bytes.
    pub fn find(&self, key: &[u8]) -> Option<Slot> {
        self.slot_of(self.ids.find(key)?)
    }

    /// The id that the next append gets as parent.
    pub fn leaf(&self) -> Option<Symbol> {
        self.leaf
    }

    /// Moves the leaf.
    pub fn set_leaf(&mut self, leaf: Option<Symbol>) {
        self.leaf = leaf;
    }

    /// Sets or, with an empty text, clears the label of an id.
    pub fn set_label(&mut self, target: Symbol, label: &[u8]) {
        if label.is_empty() {
            self.labels.shift_remove(&target);
        } else {
            self.labels.insert(target, label.to_vec());
        }
    }

    /// The label of an id.
    pub fn label(&self, target: Symbol) -> Option<&[u8]> {
        self.labels.get(&target).map(Vec::as_slice)
    }

    /// Labels in the order in which they were (last newly) set.
    pub fn labels(&self) -> impl Iterator<Item = (Symbol, &[u8])> {
        self.labels
            .iter()
            .map(|(&target, label)| (target, label.as_slice()))
    }

    /// Notes the id that the numeric index of a version 1 compaction denoted.
    pub fn set_migrated_first_kept(&mut self, slot: Slot, id: Option<Symbol>) {
        self.migrated_first_kept.push((slot, id));
    }

    /// What [`Tree::set_migrated_first_kept`] noted: outer `None` when the entry had no index.
    pub fn migrated_first_kept(&self, slot: Slot) -> Option<Option<Symbol>> {
        self.migrated_first_kept
            .iter()
            .find(|&&(at, _)| at == slot)
            .map(|&(_, id)| id)
    }

    /// Slots from the root to `from`. Ends at a parent that is missing or empty, and at the first id
    /// that repeats.
    pub fn path(&self, from: Symbol) -> Vec<Slot> {
        let mut path = Vec::new();
        let mut seen = vec![0_u64; self.ids.len().div_ceil(64)];
        let mut next = Some(from);
        while let Some(symbol) = next {
            let Some(slot) = self.slot_of(symbol) else {
                break;
            };
            let bit = 1 << (symbol % 64);
            match seen.get_mut(symbol as usize / 64) {
                Some(word) if *word & bit == 0 => *word |= bit,
                _ => break,
            }
            path.push(slot);
            next = self.parent_to_follow(slot);
        }
        path.reverse();
        path
    }

    /// Whether the way up from an entry ends at a parent that is no entry here.
    pub fn is_orphan(&self, slot: Slot) -> bool {
        self.parent_to_follow(slot)
            .is_some_and(|parent| self.slot_of(parent).is_none())
    }

    /// The parent id of an entry, unless it is `null`, absent or the empty string.
    fn parent_to_follow(&self, slot: Slot) -> Option<Symbol> {
        match self.record(slot)?.parent() {
            Parent::Id(symbol) if self.is_truthy(symbol) => Some(symbol),
            _ => None,
        }
    }

    fn is_truthy(&self, symbol: Symbol) -> bool {
        !self.ids.get(symbol).is_empty() && self.ids.number(symbol) != Some(0.0)
    }

    /// Known entries in index order: each id once, at its first appearance.
    pub fn indexed(&self) -> impl Iterator<Item = (Slot, &Record)> {
        self.order.iter().filter_map(|&symbol| {
            let slot = self.slot_of(symbol)?;
            Some((slot, self.record(slot)?))
        })
    }

    /// Entries whose parent is exactly this one, in index order.
    pub fn children(&self, parent: Parent) -> &[Slot] {
        let children = self.children.get_or_init(|| {
            let mut children: HashMap<Parent, Vec<Slot>> = HashMap::new();
            for (slot, record) in self.indexed() {
                children.entry(record.parent()).or_default().push(slot);
            }
            children
        });
        children.get(&parent).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Adds a user message.
    pub(crate) fn add(tree: &mut Tree, id: &str, parent: Option<&str>) -> Slot {
        add_at(tree, id, parent, 0.0)
    }

    /// Adds a user message with a time.
    pub(crate) fn add_at(tree: &mut Tree, id: &str, parent: Option<&str>, time: f64) -> Slot {
        let symbol = tree.intern(id.as_bytes());
        let parent = match parent {
            Some(parent) => Parent::Id(tree.intern(parent.as_bytes())),
            None => Parent::Null,
        };
        tree.push(Record::new(
            symbol,
            parent,
            EntryKind::Message,
            Role::User,
            time,
        ))
    }

    #[test]
    fn records_stay_small() {
        assert_eq!(std::mem::size_of::<Record>(), 24);
    }

    #[test]
    fn paths_end_at_missing_parents_and_cycles() {
        let mut tree = Tree::default();
        add(&mut tree, "a", Some("c"));
        add(&mut tree, "b", Some("a"));
        add(&mut tree, "c", Some("b"));
        add(&mut tree, "d", Some("gone"));
        add(&mut tree, "e", Some("e"));
        let path = |id: &str| tree.path(tree.ids().find(id.as_bytes()).unwrap());
        assert_eq!(path("c"), [0, 1, 2]);
        assert_eq!(path("d"), [3]);
        assert_eq!(path("e"), [4]);
        assert_eq!(path("gone"), [] as [Slot; 0]);
    }

    #[test]
    fn the_last_duplicate_wins_at_the_first_place() {
        let mut tree = Tree::default();
        add(&mut tree, "a", None);
        add(&mut tree, "b", None);
        add(&mut tree, "a", None);
        assert_eq!(tree.find(b"a"), Some(2));
        assert_eq!(tree.children(Parent::Null), [2, 1]);
        let b = Parent::Id(tree.ids().find(b"b").unwrap());
        add(&mut tree, "c", Some("b"));
        assert_eq!(tree.children(b), [3]);
        add(&mut tree, "a", Some("b"));
        assert_eq!(tree.children(b), [4, 3]);
        assert_eq!(tree.children(Parent::Null), [1]);
    }

    #[test]
    fn labels_keep_map_order() {
        let mut tree = Tree::default();
        let (a, b) = (tree.intern(b"a"), tree.intern(b"b"));
        tree.set_label(a, b"1");
        tree.set_label(b, b"2");
        tree.set_label(a, b"3");
        assert_eq!(tree.labels().map(|(s, _)| s).collect::<Vec<_>>(), [a, b]);
        tree.set_label(a, b"");
        tree.set_label(a, b"4");
        assert_eq!(tree.labels().map(|(s, _)| s).collect::<Vec<_>>(), [b, a]);
    }
}
