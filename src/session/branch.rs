//! One path of a session as a session of its own.

use super::{EntryKind, Parent, Record, Slot, Symbol, Tree};

/// What a new session takes over from a path.
#[derive(Debug, PartialEq, Eq)]
pub struct Branch {
    /// Kept entries, root first. Labels are left out; they are set anew.
    pub slots: Vec<Slot>,
    /// Positions in `slots` of entries whose parent was left out; they hang from the entry before
    /// them, or become roots.
    pub reparented: Vec<u32>,
    /// Current labels of kept entries.
    pub labels: Vec<(Symbol, Vec<u8>)>,
}

impl Tree {
    /// The branch that ends at an entry.
    pub fn branch(&self, from: Symbol) -> Branch {
        let mut branch = Branch {
            slots: Vec::new(),
            reparented: Vec::new(),
            labels: Vec::new(),
        };
        let mut left_out = false;
        for slot in self.path(from) {
            if self
                .record(slot)
                .is_some_and(|record| record.kind == EntryKind::Label)
            {
                left_out = true;
                continue;
            }
            if std::mem::take(&mut left_out) {
                branch.reparented.push(branch.slots.len() as u32);
            }
            branch.slots.push(slot);
        }
        let kept = |symbol| {
            self.slot_of(symbol)
                .is_some_and(|slot| branch.slots.contains(&slot))
        };
        branch.labels = self
            .labels()
            .filter(|&(target, _)| kept(target))
            .map(|(target, label)| (target, label.to_vec()))
            .collect();
        branch
    }

    /// A tree of the branch's entries alone; slots are positions in the branch.
    pub fn of_branch(&self, branch: &Branch) -> Self {
        let mut tree = Self::default();
        let mut before = Parent::Null;
        for (at, &slot) in branch.slots.iter().enumerate() {
            let Some(record) = self.record(slot) else {
                continue;
            };
            let id = tree.intern(self.ids().get(record.id));
            let parent = match record.parent() {
                _ if branch.reparented.contains(&(at as u32)) => before,
                Parent::Id(symbol) => Parent::Id(tree.intern(self.ids().get(symbol))),
                other => other,
            };
            let mut copy = Record::new(id, parent, record.kind, record.role, record.timestamp);
            copy.marks = record.marks;
            let new_slot = tree.push(copy);
            if let Some(usage) = self.usage_of(slot) {
                tree.add_usage(new_slot, usage);
            }
            if let Some(kept) = self.migrated_first_kept(slot) {
                let kept = kept.map(|symbol| tree.intern(self.ids().get(symbol)));
                tree.set_migrated_first_kept(new_slot, kept);
            }
            before = Parent::Id(id);
        }
        tree
    }
}

#[cfg(test)]
mod tests {
    use super::super::Role;
    use super::super::tree::tests::add;
    use super::*;

    fn add_label(tree: &mut Tree, id: &str, parent: &str, target: &str, text: &str) {
        let id = tree.intern(id.as_bytes());
        let parent = Parent::Id(tree.intern(parent.as_bytes()));
        let target = tree.intern(target.as_bytes());
        tree.push(Record::new(id, parent, EntryKind::Label, Role::None, 0.0));
        tree.set_label(target, text.as_bytes());
    }

    #[test]
    fn children_of_labels_hang_from_what_was_before() {
        let mut tree = Tree::default();
        add(&mut tree, "a", None);
        add_label(&mut tree, "l1", "a", "a", "A");
        add_label(&mut tree, "l2", "l1", "side", "S");
        add(&mut tree, "b", Some("l2"));
        add(&mut tree, "c", Some("b"));
        add(&mut tree, "side", Some("a"));
        let c = tree.ids().find(b"c").unwrap();
        let branch = tree.branch(c);
        assert_eq!(branch.slots, [0, 3, 4]);
        assert_eq!(branch.reparented, [1]);
        assert_eq!(
            branch.labels,
            [(tree.ids().find(b"a").unwrap(), b"A".to_vec())]
        );
        let copy = tree.of_branch(&branch);
        let leaf = copy.leaf().unwrap();
        assert_eq!(copy.path(leaf), [0, 1, 2]);
        assert_eq!(copy.ids().get(leaf), b"c");
    }

    #[test]
    fn a_leading_label_leaves_a_root() {
        let mut tree = Tree::default();
        let (id, target) = (tree.intern(b"l"), tree.intern(b"x"));
        tree.push(Record::new(
            id,
            Parent::Null,
            EntryKind::Label,
            Role::None,
            0.0,
        ));
        tree.set_label(target, b"X");
        add(&mut tree, "a", Some("l"));
        let branch = tree.branch(tree.ids().find(b"a").unwrap());
        let copy = tree.of_branch(&branch);
        assert_eq!(copy.record(0).unwrap().parent(), Parent::Null);
    }
}
