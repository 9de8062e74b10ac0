//! One streaming pass over a session file: where its entries are and how they are linked, and every
//! byte that is none of them.

use std::fs::File;
use std::io;
use std::path::Path;

use memchr::{memchr_iter, memmem};

use super::facts::{self, Facts};
use super::findings::{Finding, Kind};
use crate::Result;
use crate::error::IoContext;
use crate::journal::head;
use crate::journal::lines::{Lines, Piece};
use crate::journal::verdict::{Action, Arena, Draft, DraftParent, Verdict, judge};
use crate::json::number::to_js_text;
use crate::json::text;
use crate::session::{CURRENT_VERSION, EntryKind, Interner, Parent, Slot, Symbol};
use crate::storage::disk::{open_regular, read_at};

/// Bytes read at once when damaged bytes or line feeds are counted.
const STEP: usize = 1 << 18;

/// Where an entry is and what it is linked with.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Offset of its first byte.
    pub offset: u64,
    /// Length in bytes.
    pub len: u32,
    /// Its id; entries of version 1 have none.
    pub id: Option<Symbol>,
    /// Its parent link.
    pub parent: Parent,
}

/// An object that the store passes over.
#[derive(Debug, Clone, Copy)]
pub struct Extra {
    /// Offset of its first byte.
    pub offset: u64,
    /// Length in bytes.
    pub len: u32,
    /// The entry that follows it.
    pub before: Slot,
    /// An entry of a known kind that only lacks an id.
    pub nameless: bool,
    /// It has an id, but nothing else of an entry.
    pub has_id: bool,
    /// Its parent link.
    pub parent: Parent,
}

/// The header that counts.
#[derive(Debug, Clone)]
pub struct Header {
    /// Its JSON text.
    pub text: Vec<u8>,
    /// Offset of its first byte.
    pub offset: u64,
    /// Its version, 1 without one.
    pub version: f64,
}

/// What a file holds.
#[derive(Default)]
pub struct Survey {
    /// Length of the file in bytes.
    pub size: u64,
    /// The header, if there is a usable one.
    pub header: Option<Header>,
    /// Place of the title before the header.
    pub title_slot: Option<(u64, u32)>,
    /// Version in the header; without one what the first entry looks like.
    pub version: Option<f64>,
    /// All entries in file order.
    pub entries: Vec<Entry>,
    /// Ids of entries and of what they refer to.
    pub ids: Interner,
    /// Objects that are no entries.
    pub extras: Vec<Extra>,
    /// Ids of tool calls.
    pub call_ids: Interner,
    /// Tool calls with their entries.
    pub calls: Vec<(Symbol, Slot)>,
    /// Results of tools with their entries.
    pub results: Vec<(Symbol, Slot)>,
    /// Compactions with the entry that they keep from.
    pub kept: Vec<(Slot, Symbol)>,
    /// References to blobs with their entries.
    pub blobs: Vec<(Slot, String)>,
    /// What is wrong with bytes and lines, in file order.
    pub findings: Vec<Finding>,
}

impl Survey {
    /// True for files of version 1, whose entries follow each other without links.
    pub fn is_list(&self) -> bool {
        self.version.is_some_and(|version| version < 2.0)
    }

    /// An id as text.
    pub fn id_text(&self, symbol: Symbol) -> String {
        match self.ids.number(symbol) {
            Some(number) => to_js_text(number),
            None => lossy(self.ids.get(symbol)),
        }
    }

    /// The id of an entry as text; empty for entries of version 1.
    pub fn id_of(&self, slot: Slot) -> Option<String> {
        let id = self.entries.get(slot as usize)?.id?;
        Some(self.id_text(id))
    }

    /// A finding at an entry.
    pub fn at_entry(&self, kind: Kind, slot: Slot) -> Finding {
        let place = self.entries.get(slot as usize);
        let (offset, len) = place.map_or((0, 0), |entry| (entry.offset, entry.len));
        let mut finding = Finding::at(kind, offset, u64::from(len));
        finding.id = self.id_of(slot);
        finding
    }
}

/// Text for people; halves of surrogate pairs become U+FFFD.
pub fn lossy(wtf8: &[u8]) -> String {
    String::from_utf16_lossy(&text::to_utf16(wtf8))
}

/// Reads a file. Blocking.
pub fn survey(path: &Path) -> Result<(Survey, File)> {
    let file = open_regular(path)?;
    let length = file.metadata().during("fstat", path)?.len();
    let surveyor = Surveyor {
        file: &file,
        survey: Survey::default(),
        header_remains: None,
        last_end: 0,
    };
    let survey = surveyor.run(length).during("read", path)?;
    Ok((survey, file))
}

/// What is kept of a value between reading it and deciding about it.
struct Item {
    verdict: Verdict,
    facts: Facts,
    is_title_slot: bool,
}

struct Surveyor<'f> {
    file: &'f File,
    survey: Survey,
    /// Finding about damaged bytes before all entries that once were a header.
    header_remains: Option<usize>,
    /// Where the last piece ended.
    last_end: u64,
}

impl Surveyor<'_> {
    fn run(mut self, length: u64) -> io::Result<Survey> {
        let mut lines = Lines::sized(self.file, length);
        let mut arena = Arena::new();
        loop {
            arena.clear();
            let piece = lines.next(
                |cursor| {
                    let start = *cursor;
                    let head = head::read(cursor)?;
                    let text = start.slice(start.pos()..cursor.pos());
                    let verdict = judge(&head, text, &mut arena);
                    let is_object = matches!(verdict.action, Action::Object(_));
                    Ok(Item {
                        facts: match is_object {
                            true => facts::read(text, head.kind, head.role),
                            false => Facts::default(),
                        },
                        is_title_slot: is_object
                            && !head.is_complete_entry()
                            && facts::is_title_slot(text),
                        verdict,
                    })
                },
                |item| item.verdict.complete,
            )?;
            match piece {
                None => break,
                Some(Piece::Value {
                    offset,
                    len,
                    value,
                    glued,
                }) => {
                    self.value(value, &arena, offset, len, glued);
                    self.last_end = offset + len as u64;
                }
                Some(Piece::Junk { offset, len }) => {
                    self.junk(offset, len)?;
                    self.last_end = offset + len;
                }
            }
        }
        self.survey.size = lines.bytes_read();
        self.tail(lines.is_unterminated());
        self.missing_header();
        Ok(self.survey)
    }

    fn note(&mut self, finding: Finding) {
        self.survey.findings.push(finding);
    }

    fn value(&mut self, item: Item, arena: &Arena, offset: u64, len: usize, glued: bool) {
        let place = |kind| Finding::at(kind, offset, len as u64);
        let survey = &self.survey;
        match item.verdict.action {
            Action::Header {
                version,
                text: Some(text),
            } if survey.header.is_none() => {
                if glued {
                    self.note(place(Kind::DamagedHeader));
                }
                if !self.survey.entries.is_empty() {
                    self.note(place(Kind::MisplacedHeader));
                }
                let version = version.unwrap_or(1.0);
                self.survey.header = Some(Header {
                    text,
                    offset,
                    version,
                });
                self.survey.version.get_or_insert(version);
                if !is_known(version) {
                    self.note(place(Kind::UnknownVersion).about(to_js_text(version)));
                }
            }
            Action::Header { text: None, .. } if survey.header.is_none() => {
                self.note(place(Kind::DamagedHeader));
            }
            Action::Header { .. } => self.note(place(Kind::ExtraHeader)),
            Action::Object(draft) if draft.is_entry(survey.version) => {
                self.entry(&draft, item.facts, arena, (offset, len), glued);
            }
            Action::Object(_) if item.is_title_slot && self.last_end == 0 => {
                self.survey.title_slot = Some((offset, len as u32));
            }
            Action::Object(draft) => self.extra(&draft, arena, offset, len),
            Action::Stray => self.note(place(Kind::StrayValue)),
        }
    }

    fn entry(
        &mut self,
        draft: &Draft,
        facts: Facts,
        arena: &Arena,
        (offset, len): (u64, usize),
        glued: bool,
    ) {
        let guess = if draft.id.is_some() { 3.0 } else { 1.0 };
        let version = *self.survey.version.get_or_insert(guess);
        let slot = self.survey.entries.len() as Slot;
        let (id, parent) = match version < 2.0 {
            true => (None, Parent::Absent),
            false => {
                let key = draft.id.clone().and_then(|span| arena.get(span));
                let id = self.survey.ids.intern(key.unwrap_or_default());
                (Some(id), self.parent(draft, arena))
            }
        };
        let survey = &mut self.survey;
        survey.entries.push(Entry {
            offset,
            len: len as u32,
            id,
            parent,
        });
        for call in facts.calls {
            let call = survey.call_ids.intern(&call);
            survey.calls.push((call, slot));
        }
        if let Some(call) = facts.result_of {
            let call = survey.call_ids.intern(&call);
            survey.results.push((call, slot));
        }
        // Version 1 refers to positions instead.
        if let Some(kept) = facts.kept.filter(|_| version >= 2.0) {
            let kept = survey.ids.intern(&kept);
            survey.kept.push((slot, kept));
        }
        let references = facts.blobs.into_iter().map(|hash| (slot, hash));
        survey.blobs.extend(references);
        if glued {
            let finding = self.survey.at_entry(Kind::GluedEntry, slot);
            self.note(finding);
        }
    }

    fn parent(&mut self, draft: &Draft, arena: &Arena) -> Parent {
        match &draft.parent {
            DraftParent::Null => Parent::Null,
            DraftParent::Absent => Parent::Absent,
            DraftParent::Id(span) => {
                let key = arena.get(span.clone()).unwrap_or_default();
                Parent::Id(self.survey.ids.intern(key))
            }
        }
    }

    fn extra(&mut self, draft: &Draft, arena: &Arena, offset: u64, len: usize) {
        let nameless = draft.id.is_none() && draft.typed && draft.kind != EntryKind::Unknown;
        let kind = match nameless {
            true => Kind::EntryWithoutId,
            false => Kind::UnknownRecord,
        };
        let parent = self.parent(draft, arena);
        self.note(Finding::at(kind, offset, len as u64));
        self.survey.extras.push(Extra {
            offset,
            len: len as u32,
            before: self.survey.entries.len() as Slot,
            nameless,
            has_id: draft.id.is_some(),
            parent,
        });
    }

    fn junk(&mut self, offset: u64, len: u64) -> io::Result<()> {
        let start = self.read(offset, len.min(STEP as u64) as usize)?;
        let (nul, blank) = self.count(offset, len)?;
        let kind = match nul > 0 && nul + blank == len {
            true => Kind::NulRun,
            false => Kind::DamagedLine,
        };
        let survey = &self.survey;
        let before_all = survey.header.is_none() && survey.entries.is_empty();
        if before_all
            && self.header_remains.is_none()
            && memmem::find(&start, b"\"session\"").is_some()
        {
            self.header_remains = Some(survey.findings.len());
        }
        let finding = Finding::at(kind, offset, len);
        self.note(if nul > 0 {
            finding.counting(nul)
        } else {
            finding
        });
        Ok(())
    }

    /// How many of some bytes are NUL, and how many white space.
    fn count(&self, offset: u64, len: u64) -> io::Result<(u64, u64)> {
        let (mut nul, mut blank, mut at) = (0, 0, offset);
        while at < offset + len {
            let bytes = self.read(at, (offset + len - at).min(STEP as u64) as usize)?;
            if bytes.is_empty() {
                break;
            }
            nul += memchr_iter(0, &bytes).count() as u64;
            let is_blank = |byte: &&u8| matches!(**byte, b' ' | b'\t' | b'\r');
            blank += bytes.iter().filter(is_blank).count() as u64;
            at += bytes.len() as u64;
        }
        Ok((nul, blank))
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        let count = read_at(self.file, offset, &mut bytes)?;
        bytes.truncate(count);
        Ok(bytes)
    }

    fn tail(&mut self, unterminated: bool) {
        if !unterminated {
            return;
        }
        let size = self.survey.size;
        let last = self.survey.findings.last_mut();
        let junk = last.filter(|finding| {
            let end = finding.offset.unwrap_or_default() + finding.len.unwrap_or_default();
            end == size && matches!(finding.kind, Kind::DamagedLine | Kind::NulRun)
        });
        match junk {
            Some(finding) if finding.kind == Kind::DamagedLine => finding.kind = Kind::TornTail,
            Some(_) => {}
            None => self.note(Finding::at(Kind::UnterminatedTail, size, 0)),
        }
    }

    fn missing_header(&mut self) {
        let survey = &mut self.survey;
        if survey.entries.is_empty() && survey.header.is_none() {
            let kind = match survey.findings.iter().any(|finding| finding.len != Some(0)) {
                true => Kind::NotASession,
                false => Kind::EmptyFile,
            };
            // What is no session has no torn tail.
            survey.findings.clear();
            survey.findings.push(Finding::at(kind, 0, survey.size));
            return;
        }
        if survey.header.is_some() {
            return;
        }
        let is_told = survey
            .findings
            .iter()
            .any(|f| f.kind == Kind::DamagedHeader);
        match self
            .header_remains
            .and_then(|at| survey.findings.get_mut(at))
        {
            Some(finding) => finding.kind = Kind::DamagedHeader,
            None if is_told => {}
            None => survey
                .findings
                .insert(0, Finding::at(Kind::MissingHeader, 0, 0)),
        }
    }
}

fn is_known(version: f64) -> bool {
    version.fract() == 0.0 && (1.0..=f64::from(CURRENT_VERSION)).contains(&version)
}

/// Fills in the numbers of the lines in which findings begin. Reads the file once more, up to the
/// last finding. Blocking.
pub fn number_lines(file: &File, path: &Path, findings: &mut [Finding]) -> Result<()> {
    let mut order: Vec<usize> = (0..findings.len()).collect();
    order.retain(|&at| findings.get(at).is_some_and(|f| f.offset.is_some()));
    order.sort_by_key(|&at| findings.get(at).and_then(|f| f.offset));
    let (mut position, mut line) = (0_u64, 1_u64);
    let mut chunk = vec![0; STEP];
    for at in order {
        let Some(finding) = findings.get_mut(at) else {
            continue;
        };
        let target = finding.offset.unwrap_or_default();
        while position < target {
            let wanted = (target - position).min(STEP as u64) as usize;
            let room = chunk.get_mut(..wanted).unwrap_or_default();
            let count = read_at(file, position, room).during("read", path)?;
            if count == 0 {
                break;
            }
            line += memchr_iter(b'\n', room.get(..count).unwrap_or_default()).count() as u64;
            position += count as u64;
        }
        finding.line = Some(line);
    }
    Ok(())
}

#[cfg(test)]
#[path = "survey_tests.rs"]
pub(crate) mod tests;
