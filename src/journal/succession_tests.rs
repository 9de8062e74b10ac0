//! Others append at every point of a rewrite.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::*;
use crate::journal::load::{IdSource, Loaded, Outcome, load_file};
use crate::journal::queue::{Done, Journal, Op};
use crate::journal::rewrite::{Content, rewrite};
use crate::journal::texts::SharedTexts;
use crate::session::Slot;
use crate::session::snowflake::SnowflakeGenerator;
use crate::storage::blob::BlobStore;
use crate::storage::disk::{DiskFile, FileStat, OsDisk};
use crate::storage::faulty::{Fault, for_each_fault};

const HEADER: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n";

fn entry(id: &str) -> String {
    format!("{{\"type\":\"custom\",\"id\":\"{id}\",\"parentId\":null,\"n\":1.0}}\n")
}

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

/// A session of one manager.
struct Manager {
    tree: Arc<crate::session::Tree>,
    texts: SharedTexts,
    header: Vec<u8>,
}

impl Manager {
    fn open(path: &Path) -> Self {
        let loaded = load(path);
        Self {
            tree: Arc::new(loaded.tree),
            texts: SharedTexts::new(loaded.texts),
            header: loaded.header.unwrap(),
        }
    }

    fn content(&self) -> Content {
        Content {
            header: self.header.clone(),
            slots: (0..self.tree.len() as Slot).collect(),
            edited: std::collections::HashMap::new(),
            tree: Arc::clone(&self.tree),
            texts: self.texts.snapshot(),
            with_residue: true,
            shared: Some(self.texts.clone()),
            temp_suffix: "00".to_owned(),
            backup: None,
            no_clobber: false,
        }
    }
}

struct World {
    dir: tempfile::TempDir,
    path: PathBuf,
}

impl World {
    fn new(content: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        std::fs::write(&path, content).unwrap();
        Self { dir, path }
    }

    fn blobs(&self) -> BlobStore {
        BlobStore::new(self.dir.path().join("blobs"))
    }

    fn rewrite(&self, disk: &Arc<dyn Disk>, manager: &Manager) -> Result<()> {
        rewrite(disk, &self.path, manager.content(), &self.blobs())
    }

    /// The file without the header and its padding.
    fn body(&self) -> String {
        let text = std::fs::read_to_string(&self.path).unwrap();
        text.split_once('\n').unwrap().1.to_owned()
    }

    fn names(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.dir.path()).unwrap();
        names
            .map(|name| name.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    fn append(&self, text: &str) {
        use std::io::Write;
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.append(true).open(&self.path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }
}

fn os() -> Arc<dyn Disk> {
    Arc::new(OsDisk)
}

type Hook = Box<dyn FnMut() + Send>;

/// The real disk; calls somebody before and after files are renamed, once each.
struct Hooked {
    before: Mutex<Option<Hook>>,
    after: Mutex<Option<Hook>>,
    /// The process ends with the rename: nothing is done any more.
    dies: bool,
}

impl Hooked {
    fn disk(before: Option<Hook>, after: Option<Hook>, dies: bool) -> Arc<dyn Disk> {
        Arc::new(Self {
            before: Mutex::new(before),
            after: Mutex::new(after),
            dies,
        })
    }

    fn run(hook: &Mutex<Option<Hook>>) {
        let taken = hook.lock().unwrap().take();
        if let Some(mut hook) = taken {
            hook();
        }
    }

    fn around(&self, rename: impl FnOnce() -> Result<()>) -> Result<()> {
        Self::run(&self.before);
        rename()?;
        Self::run(&self.after);
        Ok(())
    }
}

impl Disk for Hooked {
    fn open_append(&self, path: &Path) -> Result<Box<dyn DiskFile>> {
        if self.dies {
            return Err(Error::Internal("dead".to_owned()));
        }
        OsDisk.open_append(path)
    }
    fn open_existing(&self, path: &Path) -> Result<Box<dyn DiskFile>> {
        OsDisk.open_existing(path)
    }
    fn open_lock(&self, path: &Path) -> Result<Box<dyn DiskFile>> {
        OsDisk.open_lock(path)
    }
    fn link(&self, from: &Path, to: &Path) -> Result<()> {
        OsDisk.link(from, to)
    }
    fn create_new(&self, path: &Path, mode: u32) -> Result<Box<dyn DiskFile>> {
        OsDisk.create_new(path, mode)
    }
    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.around(|| OsDisk.rename(from, to))
    }
    fn rename_new(&self, from: &Path, to: &Path) -> Result<()> {
        self.around(|| OsDisk.rename_new(from, to))
    }
    fn remove_file(&self, path: &Path) -> Result<()> {
        OsDisk.remove_file(path)
    }
    fn sync_dir(&self, dir: &Path) -> Result<()> {
        OsDisk.sync_dir(dir)
    }
    fn stat(&self, path: &Path) -> Result<FileStat> {
        OsDisk.stat(path)
    }
    fn resolve_link(&self, path: &Path) -> Result<PathBuf> {
        OsDisk.resolve_link(path)
    }
    fn create_dirs(&self, path: &Path) -> Result<()> {
        OsDisk.create_dirs(path)
    }
}

#[test]
fn what_others_appended_comes_behind_byte_for_byte() {
    let world = World::new(&[HEADER, &entry("a")].concat());
    let manager = Manager::open(&world.path);
    let odd = "{\"id\":\"b\", \"x\" : 1.00e5,\"\\u0061\":\"\\ud800\"}";
    world.append(&format!("{odd}\ndamaged {{\n{}", entry("c")));
    world.rewrite(&os(), &manager).unwrap();
    let expected = format!("{}{odd}\ndamaged {{\n{}", entry("a"), entry("c"));
    assert_eq!(world.body(), expected);
    // Again, and by another session that knows everything.
    world.rewrite(&os(), &manager).unwrap();
    assert_eq!(world.body(), expected);
    world.rewrite(&os(), &Manager::open(&world.path)).unwrap();
    assert_eq!(world.body(), expected);
    assert_eq!(world.names(), ["s.jsonl"]);
}

#[test]
fn a_file_that_another_session_replaced_is_compared_as_a_whole() {
    let damaged = "damaged\n{\"stray\":1}\n";
    let world = World::new(&[HEADER, &entry("a"), damaged].concat());
    let (first, second) = (Manager::open(&world.path), Manager::open(&world.path));
    world.append(&entry("b"));
    world.rewrite(&os(), &first).unwrap();
    world.append(&["new damage\n", &entry("c"), "damaged\n"].concat());
    world.rewrite(&os(), &second).unwrap();
    assert_eq!(
        world.body(),
        [
            &entry("a"),
            damaged,
            &entry("b"),
            "new damage\n",
            &entry("c"),
            "damaged\n"
        ]
        .concat()
    );
}

#[test]
fn a_torn_line_that_was_completed_is_taken_as_a_whole() {
    let whole = entry("b");
    let (begin, rest) = whole.split_at(20);
    let world = World::new(&[HEADER, &entry("a"), begin].concat());
    let manager = Manager::open(&world.path);
    world.append(rest);
    world.rewrite(&os(), &manager).unwrap();
    assert_eq!(world.body(), [entry("a"), whole.clone()].concat());
}

#[test]
fn torn_lines_of_others_are_kept() {
    let world = World::new(&[HEADER, &entry("a")].concat());
    let manager = Manager::open(&world.path);
    world.append("{\"torn");
    world.rewrite(&os(), &manager).unwrap();
    assert_eq!(world.body(), [&entry("a"), "{\"torn\n"].concat());
}

/// A journal of another process, which has the file open, and an entry that it appends.
fn appender(world: &World) -> (Journal, impl Fn(&str) -> Option<Done> + use<>) {
    let journal = Journal::new(world.path.clone(), os(), world.blobs());
    let first = journal.append_now(vec![entry("x").trim_end().as_bytes().to_vec()]);
    assert!(first.is_ok());
    let appends = journal.clone();
    let append = move |id: &str| {
        let text = entry(id).trim_end().as_bytes().to_vec();
        appends.append_now(vec![text]).ok()
    };
    (journal, append)
}

#[test]
fn lines_that_come_before_or_after_the_rename_are_there_once() {
    for before in [false, true] {
        let world = World::new(&[HEADER, &entry("a")].concat());
        let manager = Manager::open(&world.path);
        let (journal, append) = appender(&world);
        // Behind the rename it sees that the rewriter is not finished, and does not wait for that.
        let at_once = before.then_some(Done::Done);
        let hook: Hook = Box::new(move || assert_eq!(append("y"), at_once));
        let disk = match before {
            true => Hooked::disk(Some(hook), None, false),
            false => Hooked::disk(None, Some(hook), false),
        };
        world.rewrite(&disk, &manager).unwrap();
        assert_eq!(journal.submit(Op::Sync).wait().unwrap(), Done::Done);
        let expected = [entry("a"), entry("x"), entry("y")].concat();
        assert_eq!(world.body(), expected, "before: {before}");
        assert_eq!(world.names(), ["s.jsonl"]);
    }
}

/// A writer that has the old file open writes to it at some point of the rewrite: `write` puts the
/// line there, as an appender does between its two looks at the path.
#[test]
fn lines_that_reach_the_old_file_late_are_there_once() {
    for late in [false, true] {
        let world = World::new(&[HEADER, &entry("a")].concat());
        let manager = Manager::open(&world.path);
        let mut old = std::fs::OpenOptions::new()
            .append(true)
            .open(&world.path)
            .unwrap();
        let hook: Hook = Box::new(move || {
            use std::io::Write;
            old.write_all(entry("y").as_bytes()).unwrap();
        });
        let disk = match late {
            true => Hooked::disk(None, Some(hook), false),
            false => Hooked::disk(Some(hook), None, false),
        };
        world.rewrite(&disk, &manager).unwrap();
        assert_eq!(world.body(), [entry("a"), entry("y")].concat());
    }
}

#[test]
fn an_appender_that_was_too_late_looks_before_it_writes_again() {
    // `stat` before the write sees the old file, `stat` after it the new one.
    for carried in [false, true] {
        let world = World::new(&[HEADER, &entry("a")].concat());
        let manager = Manager::open(&world.path);
        let (path, blobs) = (world.path.clone(), world.blobs());
        let replacing: Hook = Box::new(move || {
            if carried {
                rewrite(&os(), &path, manager.content(), &blobs).unwrap();
            } else {
                let new = path.with_extension("new");
                std::fs::write(&new, [HEADER, &entry("a")].concat()).unwrap();
                std::fs::rename(&new, &path).unwrap();
            }
        });
        let disk: Arc<dyn Disk> = Arc::new(AfterWrite {
            hook: Arc::new(Mutex::new(Some(replacing))),
        });
        let journal = Journal::new(world.path.clone(), disk, world.blobs());
        let text = entry("y").trim_end().as_bytes().to_vec();
        let direct = journal.append_now(vec![text]);
        // Not by this thread: it might have to wait.
        assert!(direct.is_err_and(|(error, rest)| error.is_none() && rest.is_empty()));
        assert_eq!(
            journal.submit(Op::Append(Vec::new())).wait().unwrap(),
            Done::Done
        );
        assert_eq!(world.body(), [entry("a"), entry("y")].concat());
    }
}

/// Calls somebody after the first write to a file opened to append.
struct AfterWrite {
    hook: Arc<Mutex<Option<Hook>>>,
}

struct HookedFile {
    inner: Box<dyn DiskFile>,
    hook: Arc<Mutex<Option<Hook>>>,
}

impl Disk for AfterWrite {
    fn open_append(&self, path: &Path) -> Result<Box<dyn DiskFile>> {
        Ok(Box::new(HookedFile {
            inner: OsDisk.open_append(path)?,
            hook: Arc::clone(&self.hook),
        }))
    }
    fn open_existing(&self, path: &Path) -> Result<Box<dyn DiskFile>> {
        OsDisk.open_existing(path)
    }
    fn open_lock(&self, path: &Path) -> Result<Box<dyn DiskFile>> {
        OsDisk.open_lock(path)
    }
    fn link(&self, from: &Path, to: &Path) -> Result<()> {
        OsDisk.link(from, to)
    }
    fn create_new(&self, path: &Path, mode: u32) -> Result<Box<dyn DiskFile>> {
        OsDisk.create_new(path, mode)
    }
    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        OsDisk.rename(from, to)
    }
    fn rename_new(&self, from: &Path, to: &Path) -> Result<()> {
        OsDisk.rename_new(from, to)
    }
    fn remove_file(&self, path: &Path) -> Result<()> {
        OsDisk.remove_file(path)
    }
    fn sync_dir(&self, dir: &Path) -> Result<()> {
        OsDisk.sync_dir(dir)
    }
    fn stat(&self, path: &Path) -> Result<FileStat> {
        OsDisk.stat(path)
    }
    fn resolve_link(&self, path: &Path) -> Result<PathBuf> {
        OsDisk.resolve_link(path)
    }
    fn create_dirs(&self, path: &Path) -> Result<()> {
        OsDisk.create_dirs(path)
    }
}

impl DiskFile for HookedFile {
    fn write_all(&mut self, bytes: &[u8]) -> Result<(), crate::storage::disk::WriteFailure> {
        self.inner.write_all(bytes)?;
        Hooked::run(&self.hook);
        Ok(())
    }
    fn write_at(
        &mut self,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), crate::storage::disk::WriteFailure> {
        self.inner.write_at(offset, bytes)
    }
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        self.inner.read_at(offset, buffer)
    }
    fn position(&mut self) -> Result<u64> {
        self.inner.position()
    }
    fn truncate(&mut self, len: u64) -> Result<()> {
        self.inner.truncate(len)
    }
    fn sync(&self) -> Result<()> {
        self.inner.sync()
    }
    fn set_mode(&self, mode: u32) -> Result<()> {
        self.inner.set_mode(mode)
    }
    fn lock(&self, wait: bool) -> Result<bool> {
        self.inner.lock(wait)
    }
    fn stat(&self) -> Result<FileStat> {
        self.inner.stat()
    }
}

#[test]
fn what_a_rewriter_that_died_left_is_completed() {
    for how in ["opened", "replaced", "appended"] {
        let world = World::new(&[HEADER, &entry("a")].concat());
        let manager = Manager::open(&world.path);
        let (journal, append) = appender(&world);
        let late: Hook = Box::new(move || assert_eq!(append("y"), Some(Done::Done)));
        let dying = Hooked::disk(Some(late), None, true);
        world.rewrite(&dying, &manager).unwrap_err();
        assert_eq!(world.body(), [entry("a"), entry("x")].concat());
        let mut names = world.names();
        names.sort();
        assert_eq!(names, [".s.jsonl.previous", "s.jsonl"]);
        let mut expected = [entry("a"), entry("x"), entry("y")].concat();
        match how {
            "opened" => recover(&os(), &world.path).unwrap(),
            "replaced" => world.rewrite(&os(), &manager).unwrap(),
            _ => {
                let text = entry("z").trim_end().as_bytes().to_vec();
                assert_eq!(
                    journal.submit(Op::Append(vec![text])).wait().unwrap(),
                    Done::Done
                );
                expected.push_str(&entry("z"));
            }
        }
        assert_eq!(world.body(), expected, "{how}");
        assert_eq!(world.names(), ["s.jsonl"], "{how}");
    }
}

#[test]
fn one_that_died_before_the_rename_left_nothing_to_do() {
    let world = World::new(&[HEADER, &entry("a")].concat());
    std::fs::hard_link(&world.path, world.dir.path().join(".s.jsonl.previous")).unwrap();
    recover(&os(), &world.path).unwrap();
    assert_eq!(world.body(), entry("a"));
    assert_eq!(world.names(), ["s.jsonl"]);
}

#[test]
fn nothing_is_completed_while_a_rewriter_is_at_work() {
    let world = World::new(&[HEADER, &entry("a")].concat());
    let previous = world.dir.path().join(".s.jsonl.previous");
    std::fs::write(&previous, [HEADER, &entry("b")].concat()).unwrap();
    let lock = FileLock::acquire(&os(), &world.path, true).unwrap();
    recover(&os(), &world.path).unwrap();
    assert!(previous.exists());
    drop(lock);
    recover(&os(), &world.path).unwrap();
    assert_eq!(world.body(), [entry("a"), entry("b")].concat());
    assert!(!previous.exists());
}

/// Whatever operation fails, in whatever step: when the next rewrite succeeds everything is there.
#[test]
fn no_failure_loses_what_others_wrote() {
    for fault in [Fault::Fails, Fault::HalfWritten] {
        let runs = for_each_fault(fault, |faulty| {
            let world = World::new(&[HEADER, &entry("a")].concat());
            let manager = Manager::open(&world.path);
            world.append(&entry("b"));
            // What an earlier rewriter left: one more line is missing.
            let previous = world.dir.path().join(".s.jsonl.previous");
            std::fs::write(&previous, [HEADER, &entry("a"), &entry("c")].concat()).unwrap();
            let disk: Arc<dyn Disk> = faulty;
            let outcome = world.rewrite(&disk, &manager);
            if outcome.is_err() {
                world.rewrite(&os(), &manager).unwrap();
            }
            let text = world.body();
            for id in ["a", "b", "c"] {
                assert_eq!(text.matches(&entry(id)).count(), 1, "{id} in {text}");
            }
        });
        assert!(runs > 10, "{runs}");
    }
}

/// The same for appending to a file that was replaced by one that died.
#[test]
fn no_failure_loses_or_doubles_what_is_appended() {
    let runs = for_each_fault(Fault::Fails, |faulty| {
        let world = World::new(&[HEADER, &entry("a")].concat());
        let disk: Arc<dyn Disk> = faulty;
        let journal = Journal::new(world.path.clone(), disk, world.blobs());
        let append = |id: &str| {
            let text = entry(id).trim_end().as_bytes().to_vec();
            // What failed is tried again with the next.
            let _ = journal.submit(Op::Append(vec![text])).wait();
        };
        append("x");
        let previous = world.dir.path().join(".s.jsonl.previous");
        std::fs::rename(&world.path, &previous).unwrap();
        std::fs::write(&world.path, [HEADER, &entry("a")].concat()).unwrap();
        append("y");
        append("z");
        assert_eq!(
            journal.submit(Op::Sync).wait().unwrap_or(Done::Done),
            Done::Done
        );
        let _ = journal.submit(Op::Sync).wait();
        recover(&os(), &world.path).unwrap();
        let text = world.body();
        for id in ["a", "x", "y", "z"] {
            assert_eq!(text.matches(&entry(id)).count(), 1, "{id} in {text}");
        }
    });
    assert!(runs > 10, "{runs}");
}
