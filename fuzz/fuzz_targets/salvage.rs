//! Loading arbitrary bytes as a session: several threads find what one finds; every record's text is
//! where the index says; the report accounts for every line; what is rewritten loads as the same
//! session; and a whole record behind torn bytes is always recovered.

#![no_main]

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use session_manager_native::journal::load::{
    IdSource, Loaded, Outcome, load_bytes, load_in_chunks,
};
use session_manager_native::journal::rewrite::{Content, rewrite};
use session_manager_native::journal::texts::SharedTexts;
use session_manager_native::session::Slot;
use session_manager_native::session::snowflake::SnowflakeGenerator;
use session_manager_native::storage::blob::BlobStore;
use session_manager_native::storage::disk::{Disk, OsDisk};
use session_manager_native_fuzz::{is_value, quick_dir};

const RECORD: &[u8] =
    br#"{"type":"custom","id":"whole","parentId":null,"timestamp":"2026-01-02T03:04:05.678Z"}"#;

fn load(text: &[u8]) -> Option<Loaded> {
    let snowflakes = SnowflakeGenerator::default();
    let ids = IdSource {
        snowflakes: &snowflakes,
        now: 0.0,
    };
    session(load_bytes(Arc::from(text), Path::new("s.jsonl"), &ids).expect("memory suffices"))
}

fn session(outcome: Outcome) -> Option<Loaded> {
    match outcome {
        Outcome::Session(loaded) => Some(*loaded),
        _ => None,
    }
}

/// Places and kinds of all entries, and what was passed over.
fn told(loaded: &Loaded) -> String {
    let slots = 0..loaded.texts.len() as Slot;
    let places: Vec<_> = slots.map(|slot| loaded.texts.place(slot)).collect();
    let kinds: Vec<_> = loaded
        .tree
        .records()
        .iter()
        .map(|it| (it.kind, it.role))
        .collect();
    let (report, residue) = (&loaded.report, &loaded.texts.residue);
    format!(
        "{places:?} {kinds:?} {report:?} {residue:?} {:?}",
        loaded.header
    )
}

fn ids(loaded: &Loaded) -> Vec<Vec<u8>> {
    let tree = &loaded.tree;
    let records = tree.records().iter();
    records.map(|it| tree.ids().get(it.id).to_vec()).collect()
}

fuzz_target!(|data: &[u8]| {
    let Some((&chunk, text)) = data.split_first() else {
        return;
    };
    recovers_behind(text);
    let Some(loaded) = load(text) else {
        return;
    };
    let dir = quick_dir();
    let path = dir.path().join("s.jsonl");
    fs::write(&path, text).expect("written");

    // Chunks so small that lines cross them.
    let snowflakes = SnowflakeGenerator::default();
    let source = IdSource {
        snowflakes: &snowflakes,
        now: 0.0,
    };
    let chunked = load_in_chunks(&path, u64::from(chunk).max(1), &source).expect("read");
    assert_eq!(told(&session(chunked).expect("a session")), told(&loaded));

    // Every text is where the index says, and is a value.
    assert_eq!(loaded.texts.len(), loaded.tree.len());
    let mut reader = loaded.texts.reader();
    for slot in 0..loaded.tree.len() as Slot {
        let found = reader.read(slot, &[], &loaded.tree).expect("read");
        assert!(is_value(found.expect("a text")));
    }
    let skipped: u64 = loaded.texts.residue.iter().map(|it| it.len).sum();
    // A header that is made anew takes the place of the damaged one, which is kept in another file.
    assert!(loaded.report.header_salvaged || loaded.report.skipped_bytes as u64 <= skipped);
    assert!(skipped <= text.len() as u64);

    // A rewrite keeps everything.
    let known = ids(&loaded);
    let header = loaded.header.clone();
    let content = Content {
        header: header.unwrap_or_else(|| br#"{"type":"session","version":3,"id":"s"}"#.to_vec()),
        slots: (0..loaded.tree.len() as Slot).collect(),
        edited: HashMap::new(),
        tree: Arc::new(loaded.tree),
        texts: SharedTexts::new(loaded.texts).snapshot(),
        with_residue: true,
        shared: None,
        temp_suffix: "00".to_owned(),
        backup: None,
        no_clobber: false,
    };
    let disk: Arc<dyn Disk> = Arc::new(OsDisk);
    let blobs = BlobStore::new(dir.path().join("blobs"));
    rewrite(&disk, &path, content, &blobs).expect("rewritten");
    let written = fs::read(&path).expect("read");
    let again = load(&written).expect("still a session");
    // An object that was glued to an entry gets a line of its own, where it may be an entry.
    assert!(again.tree.len() >= known.len());
    if !loaded.migrated {
        let mut found = ids(&again).into_iter();
        assert!(known.iter().all(|id| found.any(|it| it == *id)));
    }
});

/// Torn bytes that hold no beginning of a record cost themselves, not the record behind them.
fn recovers_behind(text: &[u8]) {
    let torn = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
    if torn.windows(9).any(|it| it == br#"{"type":""#) || torn.len() > 2000 {
        return;
    }
    let header = br#"{"type":"session","version":3,"id":"s"}"#;
    let file = [header.as_slice(), b"\n", torn, RECORD, b"\n"].concat();
    let loaded = load(&file).expect("there is a header");
    assert!(
        ids(&loaded).iter().any(|id| id == b"whole"),
        "the record is lost"
    );
    assert_eq!(loaded.report.entries as usize, loaded.tree.len());
}
