//! The tree as nodes with sorted children, for display.

use std::cmp::Ordering;

use super::{Parent, Slot, Tree};

/// One node of the forest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// The entry.
    pub slot: Slot,
    /// Position of the parent in the list of nodes; `None` for roots.
    pub parent: Option<u32>,
}

impl Tree {
    /// Every id once. Roots come in file order, the children of each node in ascending time (file
    /// order where times are equal); a parent always precedes its children in the list.
    ///
    /// Roots are the entries whose parent is `null`, absent, unknown or themselves, and all members
    /// of a cycle, so that no entry is out of reach.
    pub fn forest(&self) -> Vec<Node> {
        let (slots, parents) = self.links();
        let children = sorted_children(self, &slots, &parents);
        let mut nodes = Vec::with_capacity(slots.len());
        // Breadth first: positions in `nodes` are also the queue.
        let mut queue: Vec<(usize, Option<u32>)> = (0..slots.len())
            .filter(|&at| parents.get(at).is_some_and(Option::is_none))
            .map(|at| (at, None))
            .collect();
        let mut next = 0;
        while let Some(&(at, parent)) = queue.get(next) {
            if let Some(&slot) = slots.get(at) {
                nodes.push(Node { slot, parent });
            }
            let position = next as u32;
            let list = children.of(at).iter();
            queue.extend(list.map(|&child| (child as usize, Some(position))));
            next += 1;
        }
        nodes
    }

    /// Indexed entries and, for each, the position of its parent among them.
    fn links(&self) -> (Vec<Slot>, Vec<Option<u32>>) {
        let slots: Vec<Slot> = self.indexed().map(|(slot, _)| slot).collect();
        let mut position = vec![u32::MAX; self.len()];
        for (at, &slot) in slots.iter().enumerate() {
            if let Some(entry) = position.get_mut(slot as usize) {
                *entry = at as u32;
            }
        }
        let mut parents: Vec<Option<u32>> = slots
            .iter()
            .map(|&slot| {
                let record = self.record(slot)?;
                let Parent::Id(symbol) = record.parent() else {
                    return None;
                };
                let parent = self.slot_of(symbol).filter(|&parent| parent != slot)?;
                position.get(parent as usize).copied()
            })
            .collect();
        cut_cycles(&mut parents);
        (slots, parents)
    }
}

/// Makes every member of a cycle a root.
fn cut_cycles(parents: &mut [Option<u32>]) {
    const NEW: u32 = 0;
    const DONE: u32 = u32::MAX;
    // Each walk marks what it meets with its own number; meeting that number again closes a cycle.
    let mut mark = vec![NEW; parents.len()];
    for start in 0..parents.len() {
        let walk = start as u32 + 1;
        let mut at = start;
        while mark.get(at) == Some(&NEW) {
            mark[at] = walk;
            match parents.get(at).copied().flatten() {
                Some(parent) => at = parent as usize,
                None => break,
            }
        }
        if mark.get(at) == Some(&walk) && parents.get(at).copied().flatten().is_some() {
            let mut member = at;
            while let Some(parent) = parents.get_mut(member).and_then(Option::take) {
                member = parent as usize;
            }
        }
        let mut at = start;
        while mark.get(at) == Some(&walk) {
            mark[at] = DONE;
            match parents.get(at).copied().flatten() {
                Some(parent) => at = parent as usize,
                None => break,
            }
        }
    }
}

/// Child lists in one array.
struct Children {
    starts: Vec<u32>,
    list: Vec<u32>,
}

impl Children {
    fn of(&self, at: usize) -> &[u32] {
        let bound = |at: usize| self.starts.get(at).map_or(0, |&start| start as usize);
        self.list.get(bound(at)..bound(at + 1)).unwrap_or_default()
    }
}

fn sorted_children(tree: &Tree, slots: &[Slot], parents: &[Option<u32>]) -> Children {
    let mut starts = vec![0_u32; slots.len() + 1];
    for parent in parents.iter().flatten() {
        if let Some(count) = starts.get_mut(*parent as usize + 1) {
            *count += 1;
        }
    }
    for at in 1..starts.len() {
        starts[at] += starts[at - 1];
    }
    let mut fill = starts.clone();
    let mut list = vec![0_u32; parents.iter().flatten().count()];
    for (child, parent) in parents.iter().enumerate() {
        let Some(next) = parent.and_then(|parent| fill.get_mut(parent as usize)) else {
            continue;
        };
        if let Some(place) = list.get_mut(*next as usize) {
            *place = child as u32;
        }
        *next += 1;
    }
    let time = |at: u32| {
        let slot = slots.get(at as usize).copied().unwrap_or_default();
        tree.record(slot)
            .map_or(f64::NAN, |record| record.timestamp)
    };
    for at in 0..slots.len() {
        let range = starts[at] as usize..starts[at + 1] as usize;
        if let Some(siblings) = list.get_mut(range) {
            sort_by_time(siblings, time);
        }
    }
    Children { starts, list }
}

/// Stable sort; entries without a readable time keep their place.
fn sort_by_time(siblings: &mut [u32], time: impl Fn(u32) -> f64) {
    if siblings.len() < 2 {
        return;
    }
    let mut timed: Vec<u32> = siblings
        .iter()
        .copied()
        .filter(|&at| !time(at).is_nan())
        .collect();
    timed.sort_by(|&a, &b| time(a).partial_cmp(&time(b)).unwrap_or(Ordering::Equal));
    let mut sorted = timed.into_iter();
    for place in siblings.iter_mut() {
        if !time(*place).is_nan()
            && let Some(next) = sorted.next()
        {
            *place = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::{add, add_at};
    use super::*;
    use proptest::prelude::*;

    fn shape(tree: &Tree) -> Vec<(Slot, Option<Slot>)> {
        let nodes = tree.forest();
        nodes
            .iter()
            .map(|node| (node.slot, node.parent.map(|at| nodes[at as usize].slot)))
            .collect()
    }

    #[test]
    fn children_are_sorted_by_time() {
        let mut tree = Tree::default();
        add(&mut tree, "r", None);
        add_at(&mut tree, "late", Some("r"), 9.0);
        add_at(&mut tree, "none", Some("r"), f64::NAN);
        add_at(&mut tree, "early", Some("r"), 1.0);
        add_at(&mut tree, "early2", Some("r"), 1.0);
        assert_eq!(
            shape(&tree),
            [
                (0, None),
                (3, Some(0)),
                (2, Some(0)),
                (4, Some(0)),
                (1, Some(0))
            ]
        );
    }

    #[test]
    fn cycle_members_are_roots_with_their_branches() {
        let mut tree = Tree::default();
        add(&mut tree, "a", Some("b"));
        add(&mut tree, "b", Some("a"));
        add(&mut tree, "tail", Some("b"));
        add(&mut tree, "self", Some("self"));
        assert_eq!(
            shape(&tree),
            [(0, None), (1, None), (3, None), (2, Some(1))]
        );
    }

    proptest! {
        #[test]
        fn every_id_appears_once_after_its_parent(links in prop::collection::vec((0usize..12, 0usize..16, any::<bool>()), 0..30)) {
            let mut tree = Tree::default();
            for (id, parent, nan) in &links {
                let time = if *nan { f64::NAN } else { (parent * 7 % 5) as f64 };
                add_at(&mut tree, &id.to_string(), Some(&parent.to_string()), time);
            }
            let nodes = tree.forest();
            let mut slots: Vec<_> = nodes.iter().map(|node| node.slot).collect();
            slots.sort_unstable();
            slots.dedup();
            prop_assert_eq!(slots.len(), nodes.len());
            prop_assert_eq!(nodes.len(), tree.indexed().count());
            for (at, node) in nodes.iter().enumerate() {
                prop_assert!(node.parent.is_none_or(|parent| (parent as usize) < at));
            }
        }
    }
}
