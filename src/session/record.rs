//! What the index keeps of one entry.

use super::{EntryKind, Role, Symbol};

/// The `parentId` of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Parent {
    /// JSON `null`: a root.
    Null,
    /// No such member, or a value that cannot be an id.
    Absent,
    /// An id, known to the tree or not.
    Id(Symbol),
}

/// Marks of a loaded entry that its text must be adapted before anybody sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Marks(u8);

impl Marks {
    /// Holds replay metadata of a provider connection that no longer exists.
    pub const STALE_REPLAY: Self = Self(1);
    /// Its message role is the pre-version-3 name of `custom`.
    pub const HOOK_ROLE: Self = Self(2);
    /// Comes from a version 1 file: id and parent were made at load.
    pub const ASSIGNED_ID: Self = Self(4);

    /// Both sets of marks.
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True when `other` is among the marks.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// True without any mark.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// One entry of the tree: 24 bytes.
#[derive(Debug, Clone, Copy)]
pub struct Record {
    /// Its id.
    pub id: Symbol,
    /// Its parent, packed; see [`Record::parent`].
    parent: u32,
    /// Its timestamp in milliseconds since 1970, NaN when it cannot be read.
    pub timestamp: f64,
    /// Its kind.
    pub kind: EntryKind,
    /// The role of its message.
    pub role: Role,
    /// What must be adapted in its text.
    pub marks: Marks,
}

const NULL: u32 = u32::MAX;
const ABSENT: u32 = u32::MAX - 1;

impl Record {
    /// A record without marks.
    pub fn new(id: Symbol, parent: Parent, kind: EntryKind, role: Role, timestamp: f64) -> Self {
        let mut record = Self {
            id,
            parent: NULL,
            timestamp,
            kind,
            role,
            marks: Marks::default(),
        };
        record.set_parent(parent);
        record
    }

    /// Its parent link.
    pub fn parent(&self) -> Parent {
        match self.parent {
            NULL => Parent::Null,
            ABSENT => Parent::Absent,
            symbol => Parent::Id(symbol),
        }
    }

    /// Changes the parent link.
    pub fn set_parent(&mut self, parent: Parent) {
        self.parent = match parent {
            Parent::Null => NULL,
            Parent::Absent => ABSENT,
            Parent::Id(symbol) => symbol,
        };
    }
}
