//! Parent links of all entries: what they lead to, and what is wrong with them.
//!
//! A parent is looked for where it was written: the last entry of that id before, else the first one
//! behind. So a link means what it meant when it was made, also in files in which ids repeat.

use std::fs::File;

use super::findings::{Finding, Kind};
use super::survey::Survey;
use crate::session::{Parent, Slot, Symbol};
use crate::storage::disk::read_at;

/// No slot.
pub const NONE: Slot = Slot::MAX;

/// What one entry hangs from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// Nothing.
    Root,
    /// The entry in this slot.
    Parent(Slot),
    /// An entry that is not in the file.
    Orphan,
    /// The same bytes as the entry in this slot, which stands for it.
    Copy(Slot),
}

/// The links of a file.
pub struct Links {
    /// By slot.
    pub links: Vec<Link>,
    /// Entries with an id that is taken, in order; not those that are copies.
    pub renamed: Vec<Slot>,
    /// The first member of each loop, with the number of members, in order.
    pub loops: Vec<(Slot, u64)>,
    /// By slot: where walking up ends; of a loop its first member.
    pub ends: Vec<Slot>,
    /// By slot: when a walk through the tree comes to it, and when it has seen all below it.
    spans: Vec<(u32, u32)>,
}

impl Links {
    /// Finds all links. Reads entries whose ids repeat from the file, to tell copies from others.
    pub fn new(survey: &Survey, file: &File) -> Self {
        let mut links = Self {
            links: Vec::new(),
            renamed: Vec::new(),
            loops: Vec::new(),
            ends: Vec::new(),
            spans: Vec::new(),
        };
        links.resolve(survey, file);
        links.find_ends();
        links.find_spans();
        links
    }

    /// The slot that stands for this one.
    pub fn original(&self, slot: Slot) -> Slot {
        match self.links.get(slot as usize) {
            Some(&Link::Copy(original)) => original,
            _ => slot,
        }
    }

    /// True when a walk from `below` to its root meets `above`, or both are the same.
    pub fn is_above(&self, above: Slot, below: Slot) -> bool {
        let (start, end) = self.span(self.original(above));
        let (at, _) = self.span(self.original(below));
        (start..end).contains(&at)
    }

    /// Two numbers such that what is below a slot has its first between them.
    pub fn span(&self, slot: Slot) -> (u32, u32) {
        self.spans.get(slot as usize).copied().unwrap_or((0, 0))
    }

    /// What is wrong.
    pub fn findings(&self, survey: &Survey) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (slot, link) in self.links.iter().enumerate() {
            let slot = slot as Slot;
            match link {
                Link::Orphan => {
                    let parent = survey.entries.get(slot as usize).map(|entry| entry.parent);
                    let mut finding = survey.at_entry(Kind::Orphan, slot);
                    if let Some(Parent::Id(parent)) = parent {
                        finding.related = Some(survey.id_text(parent));
                    }
                    findings.push(finding);
                }
                Link::Copy(_) => findings.push(survey.at_entry(Kind::DuplicateEntry, slot)),
                Link::Root | Link::Parent(_) => {}
            }
        }
        let renamed = self.renamed.iter();
        findings.extend(renamed.map(|&slot| survey.at_entry(Kind::DuplicateId, slot)));
        findings.extend(self.loops.iter().map(|&(slot, members)| match members {
            1 => survey.at_entry(Kind::SelfParent, slot),
            _ => survey.at_entry(Kind::Cycle, slot).counting(members),
        }));
        findings
    }

    fn resolve(&mut self, survey: &Survey, file: &File) {
        let mut first = vec![NONE; survey.ids.len()];
        for (slot, entry) in survey.entries.iter().enumerate().rev() {
            set(&mut first, entry.id, slot as Slot);
        }
        let mut latest = vec![NONE; survey.ids.len()];
        for (slot, entry) in survey.entries.iter().enumerate() {
            let slot = slot as Slot;
            if survey.is_list() {
                // Each follows the one before it.
                let before = slot.checked_sub(1);
                self.links.push(before.map_or(Link::Root, Link::Parent));
                continue;
            }
            let before = get(&latest, entry.id);
            if before != NONE {
                let candidates = [before, get(&first, entry.id)];
                let same = |other: &Slot| are_same(survey, file, *other, slot);
                if let Some(original) = candidates.into_iter().find(same) {
                    self.links.push(Link::Copy(original));
                    set(&mut latest, entry.id, original);
                    continue;
                }
                self.renamed.push(slot);
            }
            let link = match entry.parent {
                Parent::Id(parent) if is_truthy(survey, parent) => {
                    let found = match get(&latest, Some(parent)) {
                        NONE => get(&first, Some(parent)),
                        latest => latest,
                    };
                    match found {
                        NONE => Link::Orphan,
                        found => Link::Parent(found),
                    }
                }
                _ => Link::Root,
            };
            self.links.push(link);
            set(&mut latest, entry.id, slot);
        }
    }

    /// Walks up from every entry, each link once.
    fn find_ends(&mut self) {
        /// In `ends`: being walked over now.
        const OPEN: Slot = NONE - 1;
        self.ends = vec![NONE; self.links.len()];
        let mut way = Vec::new();
        for start in 0..self.links.len() as Slot {
            let mut at = start;
            let end = loop {
                match self.ends.get(at as usize).copied() {
                    Some(NONE) => {}
                    Some(OPEN) => break self.close_loop(&way, at),
                    Some(end) => break end,
                    None => break at,
                }
                way.push(at);
                put(&mut self.ends, at, OPEN);
                match self.links.get(at as usize) {
                    Some(&Link::Parent(parent)) => at = parent,
                    Some(&Link::Copy(original)) => at = original,
                    _ => break at,
                }
            };
            for slot in way.drain(..) {
                put(&mut self.ends, slot, end);
            }
        }
        self.loops.sort_unstable();
    }

    /// Notes the loop that the end of a way closes at `at`; gives its first member.
    fn close_loop(&mut self, way: &[Slot], at: Slot) -> Slot {
        let from = way.iter().position(|&slot| slot == at).unwrap_or_default();
        let members = way.get(from..).unwrap_or_default();
        let first = members.iter().copied().min().unwrap_or(at);
        self.loops.push((first, members.len() as u64));
        first
    }

    /// Numbers the entries in the order of a walk from the roots down; loops begin at their first
    /// members.
    fn find_spans(&mut self) {
        let count = self.links.len();
        let parent_of = |slot: usize| match self.links.get(slot) {
            Some(&Link::Parent(parent)) if self.ends.get(slot) != Some(&(slot as Slot)) => parent,
            _ => NONE,
        };
        // Children of each entry, as lists linked by slots.
        let (mut first_child, mut next_sibling) = (vec![NONE; count], vec![NONE; count]);
        for slot in (0..count).rev() {
            let parent = parent_of(slot);
            if parent != NONE {
                put(
                    &mut next_sibling,
                    slot as Slot,
                    get_slot(&first_child, parent),
                );
                put(&mut first_child, parent, slot as Slot);
            }
        }
        self.spans = vec![(0, 0); count];
        let mut clock = 0;
        for root in 0..count {
            let is_root =
                parent_of(root) == NONE && !matches!(self.links.get(root), Some(Link::Copy(_)));
            if !is_root {
                continue;
            }
            let mut at = root as Slot;
            'walk: loop {
                clock += 1;
                if let Some(span) = self.spans.get_mut(at as usize) {
                    span.0 = clock;
                }
                let child = get_slot(&first_child, at);
                if child != NONE {
                    at = child;
                    continue;
                }
                loop {
                    if let Some(span) = self.spans.get_mut(at as usize) {
                        span.1 = clock + 1;
                    }
                    if at == root as Slot {
                        break 'walk;
                    }
                    let sibling = get_slot(&next_sibling, at);
                    if sibling != NONE {
                        at = sibling;
                        break;
                    }
                    match self.links.get(at as usize) {
                        Some(&Link::Parent(parent)) => at = parent,
                        _ => break 'walk,
                    }
                }
            }
        }
    }
}

fn get(slots: &[Slot], id: Option<Symbol>) -> Slot {
    id.map_or(NONE, |id| get_slot(slots, id))
}

fn get_slot(slots: &[Slot], at: u32) -> Slot {
    slots.get(at as usize).copied().unwrap_or(NONE)
}

fn set(slots: &mut [Slot], id: Option<Symbol>, slot: Slot) {
    if let Some(id) = id {
        put(slots, id, slot);
    }
}

fn put(slots: &mut [Slot], at: u32, slot: Slot) {
    if let Some(place) = slots.get_mut(at as usize) {
        *place = slot;
    }
}

/// An empty parent is none.
fn is_truthy(survey: &Survey, symbol: Symbol) -> bool {
    !survey.ids.get(symbol).is_empty() && survey.ids.number(symbol) != Some(0.0)
}

/// Whether two entries are the same bytes. What cannot be read is not.
fn are_same(survey: &Survey, file: &File, one: Slot, other: Slot) -> bool {
    const STEP: usize = 1 << 16;
    let entry = |slot: Slot| survey.entries.get(slot as usize);
    let (Some(one), Some(other)) = (entry(one), entry(other)) else {
        return false;
    };
    if one.len != other.len {
        return false;
    }
    let (mut left, mut right) = (vec![0; STEP], vec![0; STEP]);
    let mut done = 0;
    while done < one.len as usize {
        let wanted = STEP.min(one.len as usize - done);
        let read = |offset: u64, buffer: &mut Vec<u8>| {
            buffer.resize(wanted, 0);
            matches!(read_at(file, offset + done as u64, buffer), Ok(count) if count == wanted)
        };
        if !read(one.offset, &mut left) || !read(other.offset, &mut right) || left != right {
            return false;
        }
        done += wanted;
    }
    true
}

#[cfg(test)]
#[path = "links_tests.rs"]
mod tests;
