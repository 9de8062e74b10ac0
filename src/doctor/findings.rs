//! What can be wrong with a session file.

use std::fmt;
use std::path::PathBuf;

/// A kind of damage. The names of [`Kind::code`] are part of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Nothing but white space.
    EmptyFile,
    /// Bytes, but neither header nor entry.
    NotASession,
    /// Entries, but no header.
    MissingHeader,
    /// A header that cannot be used, or that shares its line with other bytes.
    DamagedHeader,
    /// A header behind entries.
    MisplacedHeader,
    /// A header behind the one that counts.
    ExtraHeader,
    /// A format version that this package does not know.
    UnknownVersion,
    /// Bytes of a line that are no value.
    DamagedLine,
    /// A run of NUL bytes where a line should be.
    NulRun,
    /// The last line ends in the middle.
    TornTail,
    /// The last line is whole but lacks its line feed.
    UnterminatedTail,
    /// A whole entry that shares its line with other bytes.
    GluedEntry,
    /// A JSON value that is no object.
    StrayValue,
    /// An object that is no entry of a known kind.
    UnknownRecord,
    /// An entry of a known kind without an id.
    EntryWithoutId,
    /// The same entry once more, byte for byte.
    DuplicateEntry,
    /// Another entry with an id that is taken.
    DuplicateId,
    /// The parent is not in the file.
    Orphan,
    /// An entry that names itself as its parent.
    SelfParent,
    /// Entries that are their own ancestors.
    Cycle,
    /// A tool call without a result below it.
    CallWithoutResult,
    /// The result of a tool without a call above it.
    ResultWithoutCall,
    /// A compaction that keeps from an entry which is not above it.
    KeptEntryOffPath,
    /// There is no file with the blob's name.
    MissingBlob,
    /// The blob's content is not what its name says.
    DamagedBlob,
    /// A reference to a blob that is no SHA-256.
    InvalidBlobReference,
    /// A file that an interrupted rewrite left.
    LeftoverTemp,
    /// A lock file.
    LockFile,
    /// The second name of a file whose replacement was interrupted.
    UnfinishedRewrite,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 29] = [
        Self::EmptyFile,
        Self::NotASession,
        Self::MissingHeader,
        Self::DamagedHeader,
        Self::MisplacedHeader,
        Self::ExtraHeader,
        Self::UnknownVersion,
        Self::DamagedLine,
        Self::NulRun,
        Self::TornTail,
        Self::UnterminatedTail,
        Self::GluedEntry,
        Self::StrayValue,
        Self::UnknownRecord,
        Self::EntryWithoutId,
        Self::DuplicateEntry,
        Self::DuplicateId,
        Self::Orphan,
        Self::SelfParent,
        Self::Cycle,
        Self::CallWithoutResult,
        Self::ResultWithoutCall,
        Self::KeptEntryOffPath,
        Self::MissingBlob,
        Self::DamagedBlob,
        Self::InvalidBlobReference,
        Self::LeftoverTemp,
        Self::LockFile,
        Self::UnfinishedRewrite,
    ];

    /// Its name for programs.
    pub fn code(self) -> &'static str {
        match self {
            Self::EmptyFile => "empty-file",
            Self::NotASession => "not-a-session",
            Self::MissingHeader => "missing-header",
            Self::DamagedHeader => "damaged-header",
            Self::MisplacedHeader => "misplaced-header",
            Self::ExtraHeader => "extra-header",
            Self::UnknownVersion => "unknown-version",
            Self::DamagedLine => "damaged-line",
            Self::NulRun => "nul-run",
            Self::TornTail => "torn-tail",
            Self::UnterminatedTail => "unterminated-tail",
            Self::GluedEntry => "glued-entry",
            Self::StrayValue => "stray-value",
            Self::UnknownRecord => "unknown-record",
            Self::EntryWithoutId => "entry-without-id",
            Self::DuplicateEntry => "duplicate-entry",
            Self::DuplicateId => "duplicate-id",
            Self::Orphan => "orphan",
            Self::SelfParent => "self-parent",
            Self::Cycle => "cycle",
            Self::CallWithoutResult => "call-without-result",
            Self::ResultWithoutCall => "result-without-call",
            Self::KeptEntryOffPath => "kept-entry-off-path",
            Self::MissingBlob => "missing-blob",
            Self::DamagedBlob => "damaged-blob",
            Self::InvalidBlobReference => "invalid-blob-reference",
            Self::LeftoverTemp => "leftover-temp",
            Self::LockFile => "lock-file",
            Self::UnfinishedRewrite => "unfinished-rewrite",
        }
    }

    /// Whether a repaired copy is free of it.
    pub fn is_repairable(self) -> bool {
        match self {
            Self::MissingHeader
            | Self::DamagedHeader
            | Self::MisplacedHeader
            | Self::ExtraHeader
            | Self::DamagedLine
            | Self::NulRun
            | Self::TornTail
            | Self::UnterminatedTail
            | Self::GluedEntry
            | Self::StrayValue
            | Self::EntryWithoutId
            | Self::DuplicateEntry
            | Self::DuplicateId
            | Self::Orphan
            | Self::SelfParent
            | Self::Cycle => true,
            Self::EmptyFile
            | Self::NotASession
            | Self::UnknownVersion
            | Self::UnknownRecord
            | Self::CallWithoutResult
            | Self::ResultWithoutCall
            | Self::KeptEntryOffPath
            | Self::MissingBlob
            | Self::DamagedBlob
            | Self::InvalidBlobReference
            | Self::LeftoverTemp
            | Self::LockFile
            | Self::UnfinishedRewrite => false,
        }
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub kind: Kind,
    /// Bytes from the start of the file; `None` for what is not at a place in it.
    pub offset: Option<u64>,
    /// Bytes that it takes.
    pub len: Option<u64>,
    /// Number of the line in which it begins, from 1.
    pub line: Option<u64>,
    /// Id of the entry, call or blob that it is about; a version for [`Kind::UnknownVersion`].
    pub id: Option<String>,
    /// The id that this one refers to: a parent, an entry to keep, the entry of a call.
    pub related: Option<String>,
    /// How many: members of a loop, NUL bytes among damaged ones.
    pub count: Option<u64>,
    /// A file beside the session.
    pub path: Option<PathBuf>,
}

impl Finding {
    /// A finding without a place.
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            offset: None,
            len: None,
            line: None,
            id: None,
            related: None,
            count: None,
            path: None,
        }
    }

    /// A finding at some bytes.
    pub fn at(kind: Kind, offset: u64, len: u64) -> Self {
        Self {
            offset: Some(offset),
            len: Some(len),
            ..Self::new(kind)
        }
    }

    /// Adds what it is about.
    pub fn about(mut self, id: String) -> Self {
        self.id = Some(id);
        self
    }

    /// Adds what it refers to.
    pub fn related_to(mut self, id: String) -> Self {
        self.related = Some(id);
        self
    }

    /// Adds a number.
    pub fn counting(mut self, count: u64) -> Self {
        self.count = Some(count);
        self
    }
}

/// What is wrong, in plain words, without the place.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.id.as_deref().unwrap_or("(no id)");
        let related = self.related.as_deref().unwrap_or("(no id)");
        let count = self.count.unwrap_or_default();
        let len = self.len.unwrap_or_default();
        match self.kind {
            Kind::EmptyFile => f.write_str("the file is empty"),
            Kind::NotASession => f.write_str("no header and no entry can be read"),
            Kind::MissingHeader => f.write_str("there is no session header"),
            Kind::DamagedHeader => f.write_str("the session header is damaged"),
            Kind::MisplacedHeader => f.write_str("the session header stands behind entries"),
            Kind::ExtraHeader => f.write_str("another session header behind the first"),
            Kind::UnknownVersion => write!(f, "format version {id} is not known"),
            Kind::DamagedLine if count > 0 => {
                write!(f, "{len} damaged bytes, {count} of them NUL")
            }
            Kind::DamagedLine => write!(f, "{len} damaged bytes"),
            Kind::NulRun => write!(f, "a run of {len} NUL bytes"),
            Kind::TornTail => write!(f, "the last line is torn: {len} bytes of it are left"),
            Kind::UnterminatedTail => f.write_str("the last line lacks its line feed"),
            Kind::GluedEntry => write!(f, "entry {id} shares its line with other bytes"),
            Kind::StrayValue => f.write_str("a JSON value that is no object"),
            Kind::UnknownRecord => f.write_str("an object that is no entry of a known kind"),
            Kind::EntryWithoutId => f.write_str("an entry without id"),
            Kind::DuplicateEntry => write!(f, "entry {id} is there once more, the same"),
            Kind::DuplicateId => write!(f, "another entry has the id {id} too"),
            Kind::Orphan => write!(f, "entry {id} hangs from {related}, which is not there"),
            Kind::SelfParent => write!(f, "entry {id} is its own parent"),
            Kind::Cycle => write!(f, "a loop of {count} entries, among them {id}"),
            Kind::CallWithoutResult => write!(f, "tool call {id} of entry {related} has no result"),
            Kind::ResultWithoutCall => {
                write!(
                    f,
                    "entry {related} is the result of {id}, a call that is not above it"
                )
            }
            Kind::KeptEntryOffPath => {
                write!(
                    f,
                    "compaction {id} keeps from {related}, which is not above it"
                )
            }
            Kind::MissingBlob => write!(f, "blob {id} is missing"),
            Kind::DamagedBlob => write!(f, "blob {id} has another content than its name says"),
            Kind::InvalidBlobReference => write!(f, "{id:?} is no SHA-256, but refers to a blob"),
            Kind::LeftoverTemp => f.write_str(
                "a temporary file is left: a program is writing, or was interrupted in it",
            ),
            Kind::LockFile => {
                f.write_str("a lock file is left: a program is writing, or was interrupted in it")
            }
            Kind::UnfinishedRewrite => f.write_str(
                "the file before a rewrite that is under way or was interrupted: opening the session \
                 takes over what is missing",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_kind_has_a_name_of_its_own() {
        let codes: HashSet<_> = Kind::ALL.iter().map(|kind| kind.code()).collect();
        assert_eq!(codes.len(), Kind::ALL.len());
        for kind in Kind::ALL {
            assert!(!Finding::new(kind).to_string().is_empty());
        }
    }
}
