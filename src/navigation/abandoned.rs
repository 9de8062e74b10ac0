//! What a move of the leaf leaves behind.

use std::collections::HashSet;

use crate::session::{Slot, Symbol, Tree};

/// The entries between the leaf and the place where the way to the new position turns off.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Abandoned {
    /// The deepest entry that lies on both ways; `None` when they share nothing.
    pub common_ancestor: Option<Slot>,
    /// Entries below it up to the old leaf, oldest first.
    pub entries: Vec<Slot>,
}

/// Compares the ways from the root to two entries, both ends included. An id that is no entry has an
/// empty way. Takes time in proportion to their lengths.
pub fn abandoned(tree: &Tree, old_leaf: Option<Symbol>, target: Option<Symbol>) -> Abandoned {
    let path = |end: Option<Symbol>| end.map(|end| tree.path(end)).unwrap_or_default();
    let mut entries = path(old_leaf);
    let on_old: HashSet<Slot> = entries.iter().copied().collect();
    let common_ancestor = path(target)
        .into_iter()
        .rev()
        .find(|slot| on_old.contains(slot));
    let shared = common_ancestor.and_then(|ancestor| entries.iter().position(|&it| it == ancestor));
    entries.drain(..shared.map_or(0, |at| at + 1));
    Abandoned {
        common_ancestor,
        entries,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tree::tests::add;

    fn sample() -> Tree {
        let mut tree = Tree::default();
        for (id, parent) in [
            ("a", None),
            ("b", Some("a")),
            ("c", Some("b")),
            ("d", Some("b")),
            ("e", Some("d")),
            ("x", None),
            ("lost", Some("gone")),
            ("loop1", Some("loop2")),
            ("loop2", Some("loop1")),
        ] {
            add(&mut tree, id, parent);
        }
        tree
    }

    fn between(old: &str, target: &str) -> (Option<Slot>, Vec<Slot>) {
        let tree = sample();
        let symbol = |id: &str| tree.ids().find(id.as_bytes());
        let Abandoned {
            common_ancestor,
            entries,
        } = abandoned(&tree, symbol(old), symbol(target));
        (common_ancestor, entries)
    }

    #[test]
    fn positions_of_target_and_leaf() {
        assert_eq!(between("e", "b"), (Some(1), vec![3, 4]), "ancestor");
        assert_eq!(between("b", "e"), (Some(1), vec![]), "descendant");
        assert_eq!(between("e", "c"), (Some(1), vec![3, 4]), "sibling branch");
        assert_eq!(between("c", "x"), (None, vec![0, 1, 2]), "another root");
        assert_eq!(between("?", "c"), (None, vec![]), "unknown leaf");
        assert_eq!(between("c", "?"), (None, vec![0, 1, 2]), "unknown target");
        assert_eq!(between("lost", "c"), (None, vec![6]), "dangling parent");
        assert_eq!(between("c", "c"), (Some(2), vec![]), "the same");
    }

    #[test]
    fn loops_end() {
        assert_eq!(between("loop1", "a"), (None, vec![8, 7]));
        assert_eq!(between("loop1", "loop2"), (Some(8), vec![7]));
    }
}
