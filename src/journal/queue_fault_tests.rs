//! A session's whole life on a disk on which any one operation fails, or all from some point on.
//!
//! The client below does what the facade does with the outcomes: whatever cannot be appended makes it
//! rewrite, and a rewrite that failed is tried again before anything else.

use std::collections::HashMap;
use std::fs;

use tempfile::TempDir;

use super::*;
use crate::journal::load::{IdSource, Loaded, Outcome, load_file};
use crate::journal::texts::SharedTexts;
use crate::session::snowflake::SnowflakeGenerator;
use crate::session::{EntryKind, Parent, Record, Role, Slot};
use crate::storage::blob::{PREFIX, hash_of};
use crate::storage::faulty::{EACH_FAULT, Fault, FaultyDisk, quick_dir};

const HEADER: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}";
const FIRST: [&str; 2] = [
    "{\"type\":\"custom\",\"id\":\"a\",\"parentId\":null}",
    "{\"type\":\"custom\",\"id\":\"b\",\"parentId\":\"a\"}",
];
const DAMAGED: &str = "damaged";

fn load(path: &Path) -> Loaded {
    let ids = IdSource {
        snowflakes: &SnowflakeGenerator::default(),
        now: 0.0,
    };
    match load_file(path, &ids).unwrap() {
        Outcome::Session(loaded) => *loaded,
        _ => panic!("not a session"),
    }
}

struct Client {
    root: TempDir,
    journal: Journal,
    loaded: Content,
    /// Ids of all entries, in order; the texts of those that were added.
    ids: Vec<String>,
    added: Vec<Vec<u8>>,
    title: String,
    owes_rewrite: bool,
    backup: Option<PathBuf>,
    old_bytes: Vec<u8>,
}

impl Client {
    fn new(disk: Arc<dyn Disk>, header: &str, backup: bool) -> Self {
        let root = quick_dir();
        let path = root.path().join("s.jsonl");
        let old_bytes = format!("{header}\n{}\n{DAMAGED}\n{}\n", FIRST[0], FIRST[1]).into_bytes();
        fs::write(&path, &old_bytes).unwrap();
        let loaded = load(&path);
        let texts = SharedTexts::new(loaded.texts);
        let loaded = Content {
            header: Vec::new(),
            slots: Vec::new(),
            edited: HashMap::new(),
            tree: Arc::new(loaded.tree),
            texts: texts.snapshot(),
            with_residue: true,
            shared: Some(texts),
            temp_suffix: String::new(),
            backup: None,
            no_clobber: false,
        };
        let blobs = BlobStore::with_disk(root.path().join("blobs"), Arc::clone(&disk));
        Self {
            journal: Journal::new(path, disk, blobs),
            backup: backup.then(|| root.path().join("s.jsonl.bak-1")),
            root,
            loaded,
            ids: vec!["a".to_owned(), "b".to_owned()],
            added: Vec::new(),
            title: "first".to_owned(),
            owes_rewrite: backup,
            old_bytes,
        }
    }

    fn header(&self) -> Vec<u8> {
        let title = &self.title;
        format!("{{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"title\":\"{title}\"}}")
            .into_bytes()
    }

    fn add(&mut self, extra: &str) {
        let id = format!("n{}", self.added.len());
        let parent = self.ids.last().unwrap();
        let text =
            format!("{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":\"{parent}\"{extra}}}");
        let tree = Arc::make_mut(&mut self.loaded.tree);
        let symbol = tree.intern(id.as_bytes());
        tree.push(Record::new(
            symbol,
            Parent::Null,
            EntryKind::Message,
            Role::User,
            0.0,
        ));
        self.ids.push(id);
        self.added.push(text.clone().into_bytes());
        if self.owes_rewrite {
            self.rewrite();
            return;
        }
        let outcome = match self.journal.append_now(vec![text.into_bytes()]) {
            Ok(done) => Ok(done),
            Err((Some(error), _)) => Err(error),
            Err((None, entries)) => self.journal.submit(Op::Append(entries)).wait(),
        };
        self.rewrite_if_needed(outcome);
        self.check();
    }

    fn rewrite_if_needed(&mut self, outcome: Result<Done>) -> bool {
        match outcome {
            Ok(Done::Done) => true,
            Ok(Done::NeedsRewrite) => self.rewrite(),
            Err(_) => false,
        }
    }

    fn rewrite(&mut self) -> bool {
        let shared = self.loaded.shared.clone();
        let first = FIRST.len() as u32;
        let texts = self.added.iter().zip(first..);
        let content = Content {
            header: self.header(),
            slots: (0..self.ids.len() as Slot).collect(),
            edited: texts.map(|(text, at)| (at, text.clone())).collect(),
            tree: Arc::clone(&self.loaded.tree),
            texts: shared.as_ref().unwrap().snapshot(),
            with_residue: true,
            shared,
            temp_suffix: format!("{:016x}", self.ids.len()),
            backup: self.backup.clone(),
            no_clobber: false,
        };
        let outcome = self.journal.submit(Op::Rewrite(Box::new(content))).wait();
        self.owes_rewrite = outcome.is_err();
        if outcome.is_ok() {
            self.backup = None;
        }
        self.check();
        outcome.is_ok()
    }

    fn rename(&mut self, title: &str) {
        self.title = title.to_owned();
        let (json, id) = (self.header(), b"s".to_vec());
        match self.journal.submit(Op::Header { json, id }).wait() {
            Ok(Done::Done) => {}
            Ok(Done::NeedsRewrite) => {
                self.rewrite();
            }
            Err(_) => self.owes_rewrite = true,
        }
        self.check();
    }

    /// True when everything is acknowledged; then everything must be there.
    fn finish(&mut self, op: Op) -> bool {
        if self.owes_rewrite && !self.rewrite() {
            return false;
        }
        let outcome = self.journal.submit(op).wait();
        let done = self.rewrite_if_needed(outcome);
        if done {
            assert_eq!(self.ids_on_disk(), self.ids);
        }
        self.check();
        done
    }

    fn lines(&self) -> Vec<String> {
        let text = fs::read_to_string(self.journal.path()).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    /// Ids of whole lines; parsing them would take most of the time of these tests.
    fn ids_on_disk(&self) -> Vec<String> {
        let lines = self.lines();
        let entries = lines.iter().skip(1).filter(|line| line.ends_with('}'));
        let ids = entries.filter_map(|line| line.split_once("\"id\":\"")?.1.split_once('"'));
        ids.map(|(id, _)| id.to_owned()).collect()
    }

    /// Holds at any time: what is on disk is the beginning of what was added, so that no parent is
    /// missing; damaged bytes are where they were; blobs come before references; and the old bytes of
    /// a file whose header was damaged exist.
    fn check(&self) {
        let on_disk = self.ids_on_disk();
        assert_eq!(on_disk, self.ids[..on_disk.len()]);
        assert!(on_disk.len() >= FIRST.len());
        let lines = self.lines();
        assert_eq!(lines[2], DAMAGED);
        for line in &lines {
            if let Some(at) = line.find(PREFIX) {
                let hash = &line[at + PREFIX.len()..][..64];
                let blob = fs::read(self.root.path().join("blobs").join(hash)).unwrap();
                assert_eq!(hash_of(&blob), hash);
            }
        }
        if !self.old_bytes.starts_with(HEADER.as_bytes()) {
            let kept = fs::read(self.root.path().join("s.jsonl.bak-1"));
            let old_is_there = fs::read(self.journal.path()).unwrap() == self.old_bytes;
            assert!(
                old_is_there || kept.unwrap() == self.old_bytes,
                "old bytes are lost"
            );
        }
    }
}

/// A life in which every kind of operation occurs.
fn live(client: &mut Client) {
    client.add("");
    client.add(",\"message\":{\"role\":\"user\",\"content\":\"x\"}");
    client.finish(Op::Sync);
    // Longer than what the asking thread writes.
    client.add(&format!(",\"long\":\"{}\"", "l".repeat(DIRECT_BYTES)));
    let data = "QUJD".repeat(1000);
    client.add(&format!(
        ",\"message\":{{\"role\":\"user\",\"content\":[{{\"type\":\"image\",\"data\":\"{data}\",\"mimeType\":\"image/png\"}}]}}"
    ));
    client.finish(Op::Sync);
    client.rename("second");
    client.add("");
    client.rewrite();
    client.rename("third");
    client.add("");
    client.finish(Op::Close);
    client.add("");
    client.finish(Op::Sync);
}

/// Where a fault lasts, or has been met by itself, its number makes no difference any more.
const TWO_FAULTS: &[Fault] = &[Fault::HalfWritten, Fault::FailsWith(28)];

fn survives(
    make: impl Fn(usize, Fault) -> FaultyDisk,
    faults: &[Fault],
    header: &str,
    backup: bool,
) {
    for &fault in faults {
        for nth in 0.. {
            let disk = Arc::new(make(nth, fault));
            let mut client = Client::new(Arc::clone(&disk) as Arc<dyn Disk>, header, backup);
            live(&mut client);
            disk.mend();
            assert!(client.finish(Op::Sync), "{fault:?} at {nth} is gone");
            let lines = client.lines();
            let title = format!("\"title\":\"{}\"", client.title);
            assert!(
                lines[0].contains(&title),
                "{fault:?} at {nth}: {}",
                lines[0]
            );
            // Torn bytes were taken back, or are alone on their line.
            let torn = lines.iter().filter(|line| !line.starts_with('{'));
            assert_eq!(torn.count(), 1);
            let left = fs::read_dir(client.root.path()).unwrap().count();
            assert!(left <= 2 + usize::from(backup), "temporary files are left");
            if !disk.struck() {
                assert!(nth > 40, "only {nth} operations");
                break;
            }
        }
    }
}

#[test]
fn any_one_failure_costs_nothing() {
    survives(FaultyDisk::new, &EACH_FAULT, HEADER, false);
}

#[test]
fn any_lasting_failure_costs_nothing_once_its_cause_is_gone() {
    survives(FaultyDisk::lasting, TWO_FAULTS, HEADER, false);
}

#[test]
fn old_bytes_behind_a_damaged_header_survive_any_failure() {
    survives(
        FaultyDisk::new,
        TWO_FAULTS,
        "{\"type\":\"session\",\"id",
        true,
    );
    survives(
        FaultyDisk::lasting,
        TWO_FAULTS,
        "{\"type\":\"session\",\"id",
        true,
    );
}

#[test]
fn a_file_whose_sync_failed_is_rewritten() {
    let failing = Arc::new(FaultyDisk::new(usize::MAX, Fault::Fails));
    let mut client = Client::new(Arc::clone(&failing) as Arc<dyn Disk>, HEADER, false);
    client.add("");
    let before = fs::metadata(client.journal.path()).unwrap();
    // The first is a look at the path.
    failing.fail_behind(1);
    assert!(client.journal.submit(Op::Sync).wait().is_err());
    assert!(failing.struck());
    let asked = client.journal.submit(Op::Sync).wait();
    assert_eq!(asked.unwrap(), Done::NeedsRewrite);
    assert!(client.finish(Op::Sync));
    use std::os::unix::fs::MetadataExt;
    let after = fs::metadata(client.journal.path()).unwrap();
    assert_ne!(before.ino(), after.ino());
    assert_eq!(client.journal.submit(Op::Sync).wait().unwrap(), Done::Done);
}
