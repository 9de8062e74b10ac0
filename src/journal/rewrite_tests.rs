use super::*;
use crate::journal::load::{IdSource, Loaded, Outcome, load_file};
use crate::session::snowflake::SnowflakeGenerator;
use crate::storage::disk::OsDisk;

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

fn content_of(loaded: Loaded, edited: &[(u32, &str)]) -> Content {
    let texts = SharedTexts::new(loaded.texts);
    Content {
        header: loaded
            .header
            .unwrap_or_else(|| b"{\"type\":\"session\",\"id\":\"made\"}".to_vec()),
        slots: (0..loaded.tree.len() as Slot).collect(),
        edited: edited
            .iter()
            .map(|&(at, text)| (at, text.as_bytes().to_vec()))
            .collect(),
        tree: Arc::new(loaded.tree),
        texts: texts.snapshot(),
        with_residue: true,
        shared: Some(texts),
        temp_suffix: "00".to_owned(),
        backup: None,
        no_clobber: false,
    }
}

fn disk() -> Arc<dyn Disk> {
    Arc::new(OsDisk)
}

const SAMPLE: &str = concat!(
    "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n",
    "{\"type\":\"custom\",\"id\":\"a\",\"parentId\":null,\"n\":1.0}\n",
    "damaged\n",
    "{\"id\":\"b\",\"parentId\":\"a\",\"\\u0061\":12345678901234567890}\n",
    "{\"id\":\"c\",\"parentId\":\"b\"}\n",
    "{\"torn",
);

#[test]
fn untouched_lines_are_copied_byte_for_byte() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    std::fs::write(&path, SAMPLE).unwrap();
    let blobs = BlobStore::new(dir.path().join("blobs"));
    let content = content_of(load(&path), &[(2, "{\"id\":\"c\",\"edited\":true}")]);
    let (shared, tree) = (content.shared.clone().unwrap(), Arc::clone(&content.tree));
    rewrite(&disk(), &path, content, &blobs).unwrap();
    let expected = SAMPLE
        .replace(
            "{\"id\":\"c\",\"parentId\":\"b\"}",
            "{\"id\":\"c\",\"edited\":true}",
        )
        .replacen(
            '\n',
            &format!(
                "{}\n",
                " ".repeat(HEADER_BLOCK - 1 - SAMPLE.find('\n').unwrap())
            ),
            1,
        );
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        format!("{expected}\n")
    );
    let table = shared.snapshot();
    let read = |slot| {
        String::from_utf8(
            table
                .reader()
                .read(slot, &[], &tree)
                .unwrap()
                .unwrap()
                .to_vec(),
        )
        .unwrap()
    };
    assert_eq!(read(2), "{\"id\":\"c\",\"edited\":true}");
    assert!(read(1).starts_with("{\"id\":\"b\""));
    assert_eq!(load(&path).report.skipped_lines, 2);
}

#[test]
fn header_lines_fill_whole_blocks() {
    assert_eq!(header_line(b"{}").len(), 512);
    assert_eq!(header_line(&[b'x'; 511]).len(), 512);
    assert_eq!(header_line(&[b'x'; 512]).len(), 1024);
    assert!(header_line(b"{}").ends_with(b" \n"));
}

#[test]
fn old_bytes_can_be_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    std::fs::write(&path, SAMPLE).unwrap();
    let backup = dir.path().join("s.jsonl.bak-1");
    let mut content = content_of(load(&path), &[]);
    content.backup = Some(backup.clone());
    rewrite(
        &disk(),
        &path,
        content,
        &BlobStore::new(dir.path().join("b")),
    )
    .unwrap();
    assert_eq!(std::fs::read_to_string(backup).unwrap(), SAMPLE);
}

#[test]
fn every_failure_leaves_the_old_or_the_new_content() {
    use crate::storage::faulty::{Fault, FaultyDisk};
    for fault in [Fault::Fails, Fault::HalfWritten] {
        for nth in 0.. {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("s.jsonl");
            std::fs::write(&path, SAMPLE).unwrap();
            let faulty = Arc::new(FaultyDisk::new(nth, fault));
            let disk: Arc<dyn Disk> = faulty.clone();
            let content = content_of(load(&path), &[(0, "{\"id\":\"a\",\"new\":1}")]);
            let outcome = rewrite(&disk, &path, content, &BlobStore::new(dir.path().join("b")));
            let now = std::fs::read_to_string(&path).unwrap();
            assert!(now == SAMPLE || now.contains("\"new\":1") && now.ends_with("{\"torn\n"));
            assert!(outcome.is_ok() || faulty.struck());
            if outcome.is_ok() {
                assert!(now.contains("\"new\":1"));
            }
            let names = std::fs::read_dir(dir.path()).unwrap();
            let names = names.map(|entry| entry.unwrap().file_name());
            // A lock file that may be somebody else's stays, and means nothing.
            let left = names.filter(|name| name != "s.jsonl" && name != ".s.jsonl.lock");
            assert_eq!(left.count(), 0, "leftover after {fault:?} at {nth}");
            if !faulty.struck() {
                break;
            }
        }
    }
}
