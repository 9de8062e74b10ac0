//! A repaired copy of a session file.
//!
//! What is whole is copied byte for byte, each value on a line of its own; what cannot be read is left
//! out. Only links are edited, and ids that are taken or missing:
//!
//! * an entry whose parent is missing, and the first member of a loop, hangs from the entry before it
//!   in the file, or is a root where that would make a loop;
//! * of entries that are the same, the first stays; other entries with an id that is taken get a new
//!   one, and so do the links of entries behind them that mean them;
//! * an entry of a known kind without id gets one, and hangs from the entry before it unless it names
//!   a parent.
//!
//! The original is only read, and an existing file is never replaced.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::examine::{Found, find};
use super::findings::Kind;
use super::links::{Link, Links, NONE};
use super::survey::{Extra, Survey};
use crate::journal::head;
use crate::journal::load::{IdSource, id_from_name, quoted};
use crate::journal::rewrite::header_line;
use crate::json::number::to_js_text;
use crate::json::text::encode;
use crate::json::{Cursor, Edits};
use crate::session::{CURRENT_VERSION, Parent, Slot, Symbol, snowflake};
use crate::storage::atomic::{AtomicFile, AtomicOptions, Existing};
use crate::storage::disk::{Disk, read_at};
use crate::{Error, Result};

/// What a copy needs from outside.
pub struct Needs<'a> {
    /// Where new ids come from.
    pub ids: IdSource<'a>,
    /// The time now, for a header that has to be made for entries without time.
    pub timestamp: String,
    /// Working directory for a header that has to be made.
    pub cwd: String,
}

/// What was done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Repair {
    /// Entries in the copy.
    pub entries: usize,
    /// Entries that shared their lines with other bytes.
    pub recovered: usize,
    /// Entries that hang from another parent now.
    pub relinked: usize,
    /// Entries that got a new id.
    pub renamed: usize,
    /// Entries left out because they are there once more.
    pub copies: usize,
    /// Bytes that are neither header nor entry and were left out, line feeds not counted.
    pub bytes_left_out: u64,
    /// The header had to be made.
    pub header_made: bool,
}

/// Writes a repaired copy. Blocking.
///
/// Fails with [`Error::AlreadyExists`] when there is something at `output`, with
/// [`Error::InvalidSession`] when nothing in the file can be read.
pub fn repair(
    disk: &Arc<dyn Disk>,
    path: &Path,
    output: &Path,
    needs: &Needs<'_>,
) -> Result<Repair> {
    if std::fs::symlink_metadata(output).is_ok() {
        return Err(Error::AlreadyExists(output.to_path_buf()));
    }
    let Found {
        survey,
        links,
        file,
    } = find(path)?;
    if survey.header.is_none() && survey.entries.is_empty() {
        return Err(Error::InvalidSession(path.to_path_buf()));
    }
    let options = AtomicOptions {
        existing: Existing::Refuse,
        suffix: None,
    };
    let mut copy = Copy {
        plan: Plan::new(&survey, &links, needs),
        out: AtomicFile::create_with(Arc::clone(disk), output, options)?,
        done: Repair::default(),
        before: None,
        survey: &survey,
        links: &links,
        file: &file,
        path,
        needs,
    };
    copy.write()?;
    let Copy { out, done, .. } = copy;
    out.commit()?;
    Ok(done)
}

/// Which links and ids change.
struct Plan {
    /// New parents; `None` for a root.
    parents: HashMap<Slot, Option<Slot>>,
    /// New ids.
    ids: HashMap<Slot, String>,
    /// Ids that were given to anything.
    given: HashSet<String>,
    /// Ids that entries have.
    known: HashSet<Symbol>,
}

impl Plan {
    fn new(survey: &Survey, links: &Links, needs: &Needs<'_>) -> Self {
        let mut plan = Self {
            parents: new_parents(links),
            ids: HashMap::new(),
            given: HashSet::new(),
            known: HashSet::new(),
        };
        plan.known = survey.entries.iter().filter_map(|entry| entry.id).collect();
        for &slot in &links.renamed {
            let id = plan.fresh_id(survey, needs);
            plan.ids.insert(slot, id);
        }
        plan
    }

    /// An id that nothing in the file has or refers to.
    fn fresh_id(&mut self, survey: &Survey, needs: &Needs<'_>) -> String {
        let taken = |id: &str| survey.ids.find(id.as_bytes()).is_some() || self.given.contains(id);
        let id = snowflake::entry_id(taken, needs.ids.snowflakes, needs.ids.now);
        self.given.insert(id.clone());
        id
    }

    /// The id that an entry has in the copy, as JSON.
    fn id_json(&self, survey: &Survey, slot: Slot) -> Vec<u8> {
        if let Some(id) = self.ids.get(&slot) {
            return encode(id.as_bytes());
        }
        let id = survey.entries.get(slot as usize).and_then(|entry| entry.id);
        let Some(id) = id else {
            return b"null".to_vec();
        };
        match survey.ids.number(id) {
            Some(number) if number.is_finite() => to_js_text(number).into_bytes(),
            // Read back as the same infinity.
            Some(number) if number > 0.0 => b"1e999".to_vec(),
            Some(_) => b"-1e999".to_vec(),
            None => encode(survey.ids.get(id)),
        }
    }
}

/// New parents of orphans and of the first members of loops. Trees are joined, never closed to a
/// loop: which tree an entry is in is looked up among those joined so far.
fn new_parents(links: &Links) -> HashMap<Slot, Option<Slot>> {
    let loops: HashSet<Slot> = links.loops.iter().map(|&(first, _)| first).collect();
    let mut joined: HashMap<Slot, Slot> = HashMap::new();
    let mut parents = HashMap::new();
    let mut before = NONE;
    for (slot, link) in links.links.iter().enumerate() {
        let slot = slot as Slot;
        if matches!(link, Link::Copy(_)) {
            continue;
        }
        if *link == Link::Orphan || loops.contains(&slot) {
            let end = links.ends.get(before as usize).copied();
            let tree = end.map(|end| tree_of(&mut joined, end));
            match tree.filter(|&tree| tree != slot) {
                Some(tree) => {
                    joined.insert(slot, tree);
                    parents.insert(slot, Some(before));
                }
                None => {
                    parents.insert(slot, None);
                }
            }
        }
        before = slot;
    }
    parents
}

/// The root of the tree that `end` is in now; shortens the way for the next time.
fn tree_of(joined: &mut HashMap<Slot, Slot>, end: Slot) -> Slot {
    let mut root = end;
    while let Some(&next) = joined.get(&root) {
        root = next;
    }
    let mut at = end;
    while let Some(next) = joined.get_mut(&at) {
        at = std::mem::replace(next, root);
    }
    root
}

struct Copy<'a> {
    plan: Plan,
    out: AtomicFile,
    done: Repair,
    /// Id of what was written last, as JSON.
    before: Option<Vec<u8>>,
    survey: &'a Survey,
    links: &'a Links,
    file: &'a File,
    path: &'a Path,
    needs: &'a Needs<'a>,
}

impl Copy<'_> {
    fn write(&mut self) -> Result<()> {
        if let Some((offset, len)) = self.survey.title_slot {
            self.line(offset, len)?;
        }
        let header = self.header()?;
        self.out.write(&header_line(&header))?;
        let survey = self.survey;
        let mut extras = survey.extras.iter().peekable();
        for slot in 0..survey.entries.len() as Slot {
            while let Some(extra) = extras.next_if(|extra| extra.before <= slot) {
                self.extra(extra)?;
            }
            self.entry(slot)?;
        }
        for extra in extras {
            self.extra(extra)?;
        }
        for finding in &survey.findings {
            match finding.kind {
                Kind::GluedEntry => self.done.recovered += 1,
                Kind::DamagedLine
                | Kind::NulRun
                | Kind::TornTail
                | Kind::StrayValue
                | Kind::ExtraHeader => self.leave_out(finding.len),
                Kind::DamagedHeader if self.done.header_made => self.leave_out(finding.len),
                _ => {}
            }
        }
        Ok(())
    }

    fn leave_out(&mut self, len: Option<u64>) {
        self.done.bytes_left_out += len.unwrap_or_default();
    }

    /// The header, or one as opening the file makes it.
    fn header(&mut self) -> Result<Vec<u8>> {
        let survey = self.survey;
        let version = match survey.is_list() {
            true => 1,
            false => CURRENT_VERSION,
        };
        if let Some(header) = &survey.header {
            // Behind entries its version may not be theirs.
            let is_list = header.version < 2.0;
            return Ok(match is_list == survey.is_list() {
                true => header.text.clone(),
                false => with_member(&header.text, "version", version.to_string().as_bytes()),
            });
        }
        self.done.header_made = true;
        let now = self.needs.ids.now;
        let id = id_from_name(self.path).unwrap_or_else(|| self.needs.ids.snowflakes.next(now));
        let timestamp = match survey.entries.first() {
            Some(first) => self.timestamp(first.offset, first.len)?,
            None => None,
        };
        let timestamp = timestamp.unwrap_or_else(|| self.needs.timestamp.clone());
        let text = format!(
            r#"{{"type":"session","version":{version},"id":{},"timestamp":{},"cwd":{}}}"#,
            quoted(&id),
            quoted(&timestamp),
            quoted(&self.needs.cwd),
        );
        Ok(text.into_bytes())
    }

    fn timestamp(&self, offset: u64, len: u32) -> Result<Option<String>> {
        let text = self.read(offset, len)?;
        let head = head::read(&mut Cursor::new(&text)).ok();
        let timestamp = head.and_then(|head| head.timestamp_text);
        Ok(timestamp.map(|timestamp| timestamp.to_text()))
    }

    fn entry(&mut self, slot: Slot) -> Result<()> {
        let survey = self.survey;
        let Some(entry) = survey.entries.get(slot as usize) else {
            return Ok(());
        };
        if let Some(Link::Copy(_)) = self.links.links.get(slot as usize) {
            self.done.copies += 1;
            return Ok(());
        }
        let parent = self.new_parent(slot);
        let is_renamed = self.plan.ids.contains_key(&slot);
        if parent.is_none() && !is_renamed {
            self.line(entry.offset, entry.len)?;
        } else {
            let mut text = self.read(entry.offset, entry.len)?;
            if is_renamed {
                text = with_member(&text, "id", &self.plan.id_json(survey, slot));
                self.done.renamed += 1;
            }
            if let Some(parent) = parent {
                text = with_member(&text, "parentId", &parent);
                self.done.relinked += 1;
            }
            self.out.write(&text)?;
            self.out.write(b"\n")?;
        }
        self.done.entries += 1;
        self.before = Some(self.plan.id_json(survey, slot));
        Ok(())
    }

    /// The parent that an entry gets, as JSON; `None` when its own stays.
    fn new_parent(&self, slot: Slot) -> Option<Vec<u8>> {
        if let Some(parent) = self.plan.parents.get(&slot) {
            let id = parent.map(|parent| self.plan.id_json(self.survey, parent));
            return Some(id.unwrap_or_else(|| b"null".to_vec()));
        }
        match self.links.links.get(slot as usize) {
            Some(&Link::Parent(parent)) if self.plan.ids.contains_key(&parent) => {
                Some(self.plan.id_json(self.survey, parent))
            }
            _ => None,
        }
    }

    /// An object that is no entry: as it is, or made one.
    fn extra(&mut self, extra: &Extra) -> Result<()> {
        if extra.has_id {
            // Before any header it was no entry, behind one it would be.
            self.leave_out(Some(u64::from(extra.len)));
            return Ok(());
        }
        if !extra.nameless || self.survey.is_list() {
            return self.line(extra.offset, extra.len);
        }
        let id = self.plan.fresh_id(self.survey, self.needs);
        let id = encode(id.as_bytes());
        let mut text = with_member(&self.read(extra.offset, extra.len)?, "id", &id);
        let keeps_parent = match extra.parent {
            Parent::Null => true,
            Parent::Absent => false,
            Parent::Id(parent) => self.plan.known.contains(&parent),
        };
        if !keeps_parent {
            let before = self.before.as_deref().unwrap_or(b"null");
            text = with_member(&text, "parentId", before);
            self.done.relinked += 1;
        }
        self.out.write(&text)?;
        self.out.write(b"\n")?;
        self.done.entries += 1;
        self.done.renamed += 1;
        self.before = Some(id);
        Ok(())
    }

    /// Copies a value and ends its line.
    fn line(&mut self, offset: u64, len: u32) -> Result<()> {
        const STEP: u32 = 1 << 20;
        let (mut at, mut left) = (offset, len);
        while left > 0 {
            let count = left.min(STEP);
            let bytes = self.read(at, count)?;
            self.out.write(&bytes)?;
            at += u64::from(count);
            left -= count;
        }
        self.out.write(b"\n")
    }

    fn read(&self, offset: u64, len: u32) -> Result<Vec<u8>> {
        let mut bytes = vec![0; len as usize];
        let outcome = match read_at(self.file, offset, &mut bytes) {
            Ok(count) if count < bytes.len() => Err(io::ErrorKind::UnexpectedEof.into()),
            outcome => outcome,
        };
        outcome.map_err(|error| Error::io("read", self.path, error))?;
        Ok(bytes)
    }
}

/// The text of an object with another value for a member of the outermost level, or with one more
/// member. Everything else stays as it is.
fn with_member(text: &[u8], name: &str, json: &[u8]) -> Vec<u8> {
    let mut edits = Edits::default();
    let mut is_empty = true;
    // The text was validated before.
    let _ = Cursor::new(text).object(|cursor, key| {
        is_empty = false;
        let span = cursor.skip()?;
        if key.is(name) {
            edits.replace(span, json.to_vec());
        }
        Ok(())
    });
    if edits.is_empty() {
        let comma = if is_empty { "" } else { "," };
        let member = [format!("{comma}\"{name}\":").as_bytes(), json].concat();
        edits.insert(text.len().saturating_sub(1), member);
    }
    edits.apply(text).into_owned()
}

#[cfg(test)]
#[cfg(unix)]
#[path = "repair_tests.rs"]
mod tests;
