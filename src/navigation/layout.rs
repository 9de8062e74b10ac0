//! Order, indentation and guide lines of all nodes of a tree.
//!
//! Nodes come in pre-order; of siblings the one on the way to the leaf comes first. A branching
//! indents its children by one level, and the first generation behind it by one more; chains stay
//! flat. Every node with a connector hands a guide line down to its descendants. These lists share
//! their beginnings: each line names the one before it, so that deep trees cost no more than flat
//! ones.

use crate::session::forest::Node;
use crate::session::{Slot, Symbol, Tree};

/// Stands for "none" among positions.
pub const NONE: u32 = u32::MAX;

/// One node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The entry.
    pub slot: Slot,
    /// Position of the parent's row, or [`NONE`].
    pub parent: u32,
    /// Level, from 0.
    pub indent: u32,
    /// Number of children.
    pub children: u32,
    /// Last line of the list of guide lines, or [`NONE`].
    guide: u32,
    /// It has siblings.
    pub has_siblings: bool,
    /// It is the last of its siblings, or an only child.
    pub is_last: bool,
    /// It lies on the way from the root to the leaf.
    pub is_active: bool,
}

/// A vertical line that a node hands down.
#[derive(Debug, Clone, Copy)]
struct Guide {
    before: u32,
    position: u32,
    shown: bool,
}

/// All nodes of a tree in the order of display.
#[derive(Debug, Default)]
pub struct Layout {
    /// The nodes.
    pub places: Vec<Place>,
    guides: Vec<Guide>,
    /// There is more than one root.
    pub multiple_roots: bool,
}

impl Layout {
    /// Level at which a node is shown: several roots all begin at level 0.
    pub fn depth(&self, place: &Place) -> u32 {
        place.indent.saturating_sub(u32::from(self.multiple_roots))
    }

    /// Whether a branch connector stands before a node. Roots have none.
    pub fn has_connector(&self, place: &Place) -> bool {
        place.has_siblings && place.parent != NONE
    }

    /// The vertical lines before a node, outermost first: level, and whether it is drawn (the line
    /// of a last sibling is not).
    pub fn guides(&self, place: &Place) -> Vec<(u32, bool)> {
        let mut lines = Vec::new();
        let mut next = place.guide;
        while let Some(guide) = self.guides.get(next as usize) {
            lines.push((guide.position, guide.shown));
            next = guide.before;
        }
        lines.reverse();
        lines
    }

    /// What the children of a node inherit.
    fn guide_below(&mut self, place: &Place) -> u32 {
        if !self.has_connector(place) {
            return place.guide;
        }
        self.guides.push(Guide {
            before: place.guide,
            position: self.depth(place).saturating_sub(1),
            shown: !place.is_last,
        });
        self.guides.len() as u32 - 1
    }
}

/// Lays out every id once, for a leaf that may be none or unknown.
pub fn layout(tree: &Tree, leaf: Option<Symbol>) -> Layout {
    let nodes = tree.forest();
    let children = Children::of(&nodes);
    let active = active_nodes(&nodes, leaf.and_then(|leaf| tree.slot_of(leaf)));
    let is_active = |at: u32| active.get(at as usize).copied().unwrap_or_default();
    let roots = children.list(nodes.len());
    let mut layout = Layout {
        multiple_roots: roots.len() > 1,
        places: Vec::with_capacity(nodes.len()),
        ..Layout::default()
    };
    let mut pending = Vec::new();
    let several = layout.multiple_roots;
    push(&mut pending, roots, &is_active, Origin::root(several));
    while let Some(next) = pending.pop() {
        let Some(node) = nodes.get(next.node as usize) else {
            continue;
        };
        let below = children.list(next.node as usize);
        let place = Place {
            slot: node.slot,
            parent: next.origin.parent,
            indent: next.origin.indent,
            children: below.len() as u32,
            guide: next.origin.guide,
            has_siblings: next.origin.branched,
            is_last: next.is_last,
            is_active: is_active(next.node),
        };
        let branches = below.len() > 1;
        let indents = branches || (next.origin.branched && place.indent > 0);
        let origin = Origin {
            parent: layout.places.len() as u32,
            indent: place.indent + u32::from(indents),
            guide: layout.guide_below(&place),
            branched: branches,
        };
        layout.places.push(place);
        push(&mut pending, below, &is_active, origin);
    }
    layout
}

/// What siblings have in common.
#[derive(Clone, Copy)]
struct Origin {
    parent: u32,
    indent: u32,
    guide: u32,
    /// They are several.
    branched: bool,
}

impl Origin {
    fn root(several: bool) -> Self {
        Self {
            parent: NONE,
            indent: u32::from(several),
            guide: NONE,
            branched: several,
        }
    }
}

struct Pending {
    node: u32,
    is_last: bool,
    origin: Origin,
}

/// Adds siblings to a stack so that they leave it in the order of display.
fn push(
    stack: &mut Vec<Pending>,
    siblings: &[u32],
    is_active: &impl Fn(u32) -> bool,
    origin: Origin,
) {
    let first = siblings.iter().copied().find(|&node| is_active(node));
    let others = siblings.iter().copied().filter(|&node| Some(node) != first);
    let below = stack.len();
    stack.extend(first.into_iter().chain(others).map(|node| Pending {
        node,
        is_last: false,
        origin,
    }));
    if let Some(last) = stack.get_mut(below..).and_then(<[Pending]>::last_mut) {
        last.is_last = true;
    }
    if let Some(added) = stack.get_mut(below..) {
        added.reverse();
    }
}

/// For each node whether it is the leaf or above it.
fn active_nodes(nodes: &[Node], leaf: Option<Slot>) -> Vec<bool> {
    let mut active = vec![false; nodes.len()];
    let mut next = leaf.and_then(|leaf| nodes.iter().position(|node| node.slot == leaf));
    while let Some(at) = next {
        if let Some(mark) = active.get_mut(at) {
            *mark = true;
        }
        next = nodes
            .get(at)
            .and_then(|node| node.parent)
            .map(|at| at as usize);
    }
    active
}

/// Child lists in one array; the roots are the children of the position behind the last node.
struct Children {
    starts: Vec<u32>,
    list: Vec<u32>,
}

impl Children {
    fn of(nodes: &[Node]) -> Self {
        let family = |node: &Node| node.parent.map_or(nodes.len(), |parent| parent as usize);
        let mut starts = vec![0_u32; nodes.len() + 2];
        for node in nodes {
            if let Some(count) = starts.get_mut(family(node) + 1) {
                *count += 1;
            }
        }
        let mut total = 0;
        for start in &mut starts {
            total += *start;
            *start = total;
        }
        let mut fill = starts.clone();
        let mut list = vec![0; nodes.len()];
        for (at, node) in nodes.iter().enumerate() {
            let Some(next) = fill.get_mut(family(node)) else {
                continue;
            };
            if let Some(place) = list.get_mut(*next as usize) {
                *place = at as u32;
            }
            *next += 1;
        }
        Self { starts, list }
    }

    fn list(&self, parent: usize) -> &[u32] {
        let bound = |at: usize| self.starts.get(at).map_or(0, |&start| start as usize);
        self.list
            .get(bound(parent)..bound(parent + 1))
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tree::tests::{add, add_at};
    use proptest::prelude::*;

    /// `depth:id`, with `*` on the way to the leaf and the guide lines behind.
    fn drawn(tree: &Tree, leaf: &str) -> Vec<String> {
        let layout = layout(tree, tree.ids().find(leaf.as_bytes()));
        let mut rows = Vec::new();
        for place in &layout.places {
            let id = tree.ids().get(tree.record(place.slot).unwrap().id);
            let connector = match (layout.has_connector(place), place.is_last) {
                (false, _) => "",
                (true, false) => "+",
                (true, true) => "`",
            };
            let star = if place.is_active { "*" } else { "" };
            let guides: String = layout
                .guides(place)
                .iter()
                .map(|(at, shown)| format!(" {at}{}", if *shown { "|" } else { "." }))
                .collect();
            let id = std::str::from_utf8(id).unwrap();
            rows.push(format!(
                "{}{connector}{id}{star}{guides}",
                layout.depth(place)
            ));
        }
        rows
    }

    #[test]
    fn branches_indent_and_the_active_one_comes_first() {
        let mut tree = Tree::default();
        for (id, parent) in [
            ("a", None),
            ("b", Some("a")),
            ("c1", Some("b")),
            ("c2", Some("b")),
            ("d1", Some("c1")),
            ("e1", Some("d1")),
            ("d2", Some("c2")),
            ("e2", Some("d2")),
        ] {
            add(&mut tree, id, parent);
        }
        assert_eq!(
            drawn(&tree, "e2"),
            [
                "0a*", "0b*", "1+c2*", "2d2* 0|", "2e2* 0|", "1`c1", "2d1 0.", "2e1 0."
            ]
        );
        assert_eq!(
            drawn(&tree, ""),
            [
                "0a", "0b", "1+c1", "2d1 0|", "2e1 0|", "1`c2", "2d2 0.", "2e2 0."
            ]
        );
    }

    #[test]
    fn several_roots_begin_at_the_left() {
        let mut tree = Tree::default();
        for (id, parent) in [
            ("r1", None),
            ("r2", None),
            ("x", Some("r2")),
            ("y", Some("x")),
            ("p", Some("r1")),
            ("q", Some("r1")),
        ] {
            add(&mut tree, id, parent);
        }
        assert_eq!(
            drawn(&tree, "y"),
            ["0r2*", "1x*", "1y*", "0r1", "1+p", "1`q"]
        );
    }

    #[test]
    fn depth_is_not_limited_by_the_stack() {
        let mut tree = Tree::default();
        add(&mut tree, "0", None);
        for n in 1..100_000 {
            add(&mut tree, &n.to_string(), Some(&(n - 1).to_string()));
            add(&mut tree, &format!("side{n}"), Some(&(n - 1).to_string()));
        }
        let layout = layout(&tree, tree.ids().find(b"99999"));
        assert_eq!(layout.places.len(), 199_999);
        let deepest = layout.places.iter().map(|it| it.indent).max().unwrap();
        assert_eq!(deepest, 99_999);
    }

    proptest! {
        #[test]
        fn each_node_once_behind_its_parent(links in prop::collection::vec((0usize..12, 0usize..16), 0..30), leaf in 0usize..14) {
            let mut tree = Tree::default();
            for (id, parent) in &links {
                add_at(&mut tree, &id.to_string(), Some(&parent.to_string()), (parent * 7 % 5) as f64);
            }
            let leaf = tree.ids().find(leaf.to_string().as_bytes());
            let layout = layout(&tree, leaf);
            let mut slots: Vec<_> = layout.places.iter().map(|it| it.slot).collect();
            slots.sort_unstable();
            let mut expected: Vec<_> = tree.indexed().map(|(slot, _)| slot).collect();
            expected.sort_unstable();
            prop_assert_eq!(slots, expected);
            for (at, place) in layout.places.iter().enumerate() {
                if place.parent == NONE {
                    continue;
                }
                prop_assert!((place.parent as usize) < at);
                let parent = &layout.places[place.parent as usize];
                prop_assert!(place.indent >= parent.indent && place.indent <= parent.indent + 1);
                prop_assert!(!place.is_active || parent.is_active);
                prop_assert!(layout.guides(place).len() >= layout.guides(parent).len());
            }
            let active = layout.places.iter().filter(|it| it.is_active).count();
            prop_assert_eq!(active > 0, leaf.is_some_and(|leaf| tree.slot_of(leaf).is_some()));
        }
    }
}
