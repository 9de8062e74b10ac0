//! Each kind of finding, with its exact place.

use super::*;
use crate::storage::blob::hash_of;

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-01-02T03:04:05.678Z","cwd":"/w"}"#;

/// A message of a user.
pub(crate) fn user(id: &str, parent: Option<&str>) -> String {
    message(id, parent, r#"{"role":"user","content":"hello"}"#)
}

pub(crate) fn message(id: &str, parent: Option<&str>, message: &str) -> String {
    let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-02T03:04:06.000Z","message":{message}}}"#
    )
}

fn call(id: &str, parent: Option<&str>, call: &str) -> String {
    let content = format!(
        r#"{{"role":"assistant","content":[{{"type":"toolCall","id":"{call}","name":"bash"}}]}}"#
    );
    message(id, parent, &content)
}

fn result(id: &str, parent: Option<&str>, call: &str) -> String {
    message(
        id,
        parent,
        &format!(r#"{{"role":"toolResult","toolCallId":"{call}"}}"#),
    )
}

fn compaction(id: &str, parent: &str, kept: &str) -> String {
    format!(
        r#"{{"type":"compaction","id":"{id}","parentId":"{parent}","timestamp":"2026-01-02T03:04:06.000Z","summary":"s","firstKeptEntryId":{kept}}}"#
    )
}

fn examined_with(bytes: &[u8], blobs: Option<PathBuf>) -> Examination {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    std::fs::write(&path, bytes).unwrap();
    let options = Options {
        blobs,
        beside: false,
    };
    let examination = examine(&path, &options).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    examination
}

/// Kind, line, offset and length of all findings.
fn places(bytes: &[u8]) -> Vec<(Kind, u64, u64, u64)> {
    let findings = examined_with(bytes, None).findings;
    let place = |f: &Finding| (f.kind, f.line.unwrap(), f.offset.unwrap(), f.len.unwrap());
    findings.iter().map(place).collect()
}

fn ids(bytes: &[u8]) -> Vec<(Kind, String, String)> {
    let findings = examined_with(bytes, None).findings;
    let names = |f: &Finding| {
        (
            f.kind,
            f.id.clone().unwrap_or_default(),
            f.related.clone().unwrap_or_default(),
        )
    };
    findings.iter().map(names).collect()
}

fn file(lines: &[&str]) -> Vec<u8> {
    let mut bytes = lines.join("\n").into_bytes();
    bytes.push(b'\n');
    bytes
}

/// Offset of the first occurrence.
fn at(bytes: &[u8], part: &str) -> u64 {
    memchr::memmem::find(bytes, part.as_bytes()).unwrap() as u64
}

#[test]
fn nothing_is_wrong_with_a_whole_file() {
    let title = r#"{"type":"title","v":1,"title":"T","updatedAt":"x","pad":"   "}"#;
    let lines = [
        title,
        &format!("{HEADER}     "),
        &user("a", None),
        &call("b", Some("a"), "c1"),
        &result("c", Some("b"), "c1"),
        &compaction("d", "c", "\"b\""),
        &compaction("e", "d", "null"),
        "",
        r#"{"type":"from_elsewhere","id":"f","parentId":"e","timestamp":"x"}"#,
    ];
    let examination = examined_with(&file(&lines), None);
    assert_eq!(examination.findings, []);
    assert_eq!(examination.session_id.as_deref(), Some("s1"));
    assert_eq!(examination.version, Some(3.0));
    assert_eq!(examination.entries, 6);
    assert_eq!(examination.size, file(&lines).len() as u64);
}

#[test]
fn older_versions_are_no_finding() {
    let first = r#"{"type":"session","id":"s1","timestamp":"t","cwd":"/w"}"#;
    let entry = r#"{"type":"message","timestamp":"t","message":{"role":"user","content":"x"}}"#;
    let kept = r#"{"type":"compaction","timestamp":"t","summary":"s","firstKeptEntryIndex":1}"#;
    assert_eq!(places(&file(&[first, entry, entry, kept])), []);
}

#[test]
fn damaged_bytes_have_their_places() {
    let (a, b, c) = (user("a", None), user("b", Some("a")), user("c", Some("b")));
    let torn = &b[..40];
    let nul = "\0".repeat(5);
    let bytes = file(&[
        HEADER,
        &a,
        "not json",
        &format!("x\0{torn}"),
        &nul,
        &format!("{torn}{b}"),
        &format!("{nul}{c}"),
    ]);
    let glued_b = at(&bytes, &b);
    let glued_c = at(&bytes, &c);
    let junk = at(&bytes, "not json");
    assert_eq!(
        places(&bytes),
        [
            (Kind::DamagedLine, 3, junk, 8),
            (Kind::DamagedLine, 4, junk + 9, 42),
            (Kind::NulRun, 5, junk + 9 + 43, 5),
            (Kind::DamagedLine, 6, glued_b - 40, 40),
            (Kind::GluedEntry, 6, glued_b, b.len() as u64),
            (Kind::NulRun, 7, glued_c - 5, 5),
            (Kind::GluedEntry, 7, glued_c, c.len() as u64),
        ]
    );
    let nuls: Vec<_> = examined_with(&bytes, None)
        .findings
        .iter()
        .map(|f| f.count)
        .collect();
    assert_eq!(nuls[..3], [None, Some(1), Some(5)]);
}

#[test]
fn tails_are_torn_or_only_unterminated() {
    let whole = file(&[HEADER, &user("a", None)]);
    let size = whole.len() as u64;
    let torn = [&whole[..], b"{\"type\":\"mess"].concat();
    assert_eq!(places(&torn), [(Kind::TornTail, 3, size, 13)]);
    assert_eq!(
        places(&whole[..whole.len() - 1]),
        [(Kind::UnterminatedTail, 2, size - 1, 0)]
    );
    let nul = [&whole[..], &[0; 7]].concat();
    assert_eq!(places(&nul), [(Kind::NulRun, 3, size, 7)]);
}

#[test]
fn headers_are_missing_damaged_misplaced_or_many() {
    let a = user("a", None);
    let b = user("b", Some("a"));
    assert_eq!(places(&file(&[&a])), [(Kind::MissingHeader, 1, 0, 0)]);
    let torn = &HEADER[..50];
    assert_eq!(
        places(&file(&[torn, &a])),
        [(Kind::DamagedHeader, 1, 0, 50)]
    );
    let nameless = r#"{"type":"session","version":3,"id":5}"#;
    assert_eq!(
        places(&file(&[nameless, &a])),
        [(Kind::DamagedHeader, 1, 0, nameless.len() as u64)]
    );
    let length = HEADER.len() as u64;
    assert_eq!(
        places(&file(&[&format!("\0\0{HEADER}"), &a])),
        [(Kind::NulRun, 1, 0, 2), (Kind::DamagedHeader, 1, 2, length)]
    );
    let late = file(&[&a, HEADER, &b]);
    assert_eq!(
        places(&late),
        [(Kind::MisplacedHeader, 2, a.len() as u64 + 1, length)]
    );
    let twice = file(&[HEADER, &a, HEADER, &b]);
    let second = length + a.len() as u64 + 2;
    assert_eq!(places(&twice), [(Kind::ExtraHeader, 3, second, length)]);
}

#[test]
fn versions_of_the_future_are_not_known() {
    for version in ["4", "2.5", "0", "\"x\""] {
        let header = HEADER.replace(":3,", &format!(":{version},"));
        let bytes = file(&[&header, &user("a", None)]);
        let kinds: Vec<_> = places(&bytes).into_iter().map(|place| place.0).collect();
        assert_eq!(kinds, [Kind::UnknownVersion], "{version}");
    }
}

#[test]
fn files_without_a_session() {
    assert_eq!(places(b""), [(Kind::EmptyFile, 1, 0, 0)]);
    assert_eq!(places(b"\n  \n"), [(Kind::EmptyFile, 1, 0, 4)]);
    assert_eq!(places(b"hello\nworld"), [(Kind::NotASession, 1, 0, 11)]);
    assert_eq!(places(b"{}"), [(Kind::NotASession, 1, 0, 2)]);
}

#[test]
fn values_that_are_no_entries() {
    let nameless = r#"{"type":"message","parentId":null,"timestamp":"t","message":{}}"#;
    let bytes = file(&[HEADER, "null", "{\"x\":1}", nameless, &user("a", None)]);
    let start = HEADER.len() as u64 + 1;
    assert_eq!(
        places(&bytes),
        [
            (Kind::StrayValue, 2, start, 4),
            (Kind::UnknownRecord, 3, start + 5, 7),
            (Kind::EntryWithoutId, 4, start + 13, nameless.len() as u64),
        ]
    );
}

#[test]
fn links_that_lead_nowhere() {
    let lines = [
        user("a", None),
        user("b", Some("gone")),
        user("c", Some("c")),
        user("d", Some("f")),
        user("e", Some("d")),
        user("f", Some("e")),
        user("late", Some("later")),
        user("later", Some("a")),
        user("empty", Some("")),
    ];
    let mut all = vec![HEADER];
    all.extend(lines.iter().map(String::as_str));
    let bytes = file(&all);
    let text = |text: &str| text.to_owned();
    assert_eq!(
        ids(&bytes),
        [
            (Kind::Orphan, text("b"), text("gone")),
            (Kind::SelfParent, text("c"), text("")),
            (Kind::Cycle, text("d"), text("")),
        ]
    );
    assert_eq!(places(&bytes)[2].2, at(&bytes, &lines[3]));
    assert_eq!(examined_with(&bytes, None).findings[2].count, Some(3));
}

#[test]
fn copies_are_told_from_other_entries_of_an_id() {
    let a = user("a", None);
    let b = user("b", Some("a"));
    let other = user("a", Some("b"));
    let bytes = file(&[HEADER, &a, &b, &a, &other, &b, &a]);
    let kinds: Vec<_> = places(&bytes)
        .into_iter()
        .map(|place| (place.0, place.1))
        .collect();
    // No loop: the entries were written in this order.
    assert_eq!(
        kinds,
        [
            (Kind::DuplicateEntry, 4),
            (Kind::DuplicateId, 5),
            (Kind::DuplicateEntry, 6),
            (Kind::DuplicateEntry, 7),
        ]
    );
}

#[test]
fn calls_and_results_belong_to_one_branch() {
    let bytes = file(&[
        HEADER,
        &user("a", None),
        &call("b", Some("a"), "c1"),
        &result("c", Some("b"), "c1"),
        // Another branch, on which the call has not been answered and an answer was not asked for.
        &call("d", Some("a"), "c1"),
        &result("e", Some("a"), "c1"),
        &call("f", Some("c"), "c2"),
    ]);
    let text = |text: &str| text.to_owned();
    assert_eq!(
        ids(&bytes),
        [
            (Kind::CallWithoutResult, text("c1"), text("d")),
            (Kind::ResultWithoutCall, text("c1"), text("e")),
            (Kind::CallWithoutResult, text("c2"), text("f")),
        ]
    );
}

#[test]
fn compactions_keep_what_is_above_them() {
    let bytes = file(&[
        HEADER,
        &user("a", None),
        &user("b", Some("a")),
        &user("c", Some("a")),
        &compaction("d", "c", "\"b\""),
        &compaction("e", "d", "\"gone\""),
        &compaction("f", "e", "\"a\""),
        &compaction("g", "f", "\"g\""),
        &compaction("h", "g", "\"\""),
    ]);
    let text = |text: &str| text.to_owned();
    assert_eq!(
        ids(&bytes),
        [
            (Kind::KeptEntryOffPath, text("d"), text("b")),
            (Kind::KeptEntryOffPath, text("e"), text("gone")),
            (Kind::KeptEntryOffPath, text("g"), text("g")),
        ]
    );
}

#[test]
fn blobs_are_missing_damaged_or_no_blobs() {
    let dir = tempfile::tempdir().unwrap();
    let whole = BlobStore::new(dir.path().to_path_buf())
        .put(b"image")
        .unwrap()
        .hash;
    let (damaged, missing) = (hash_of(b"damaged"), hash_of(b"missing"));
    std::fs::write(dir.path().join(&damaged), b"dama").unwrap();
    let image = |id: &str, hash: &str| {
        let content = format!(
            r#"{{"role":"user","content":[{{"type":"image","data":"blob:sha256:{hash}"}}]}}"#
        );
        message(id, None, &content)
    };
    let bytes = file(&[
        HEADER,
        &image("a", &whole),
        &image("b", &damaged),
        &image("c", &missing),
        &image("d", "../secret"),
        &image("e", &missing),
    ]);
    let examination = examined_with(&bytes, Some(dir.path().to_path_buf()));
    let seen: Vec<_> = examination
        .findings
        .iter()
        .map(|f| {
            (
                f.kind,
                f.id.as_deref().unwrap(),
                f.related.as_deref().unwrap(),
                f.line,
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (Kind::DamagedBlob, damaged.as_str(), "b", Some(3)),
            (Kind::MissingBlob, missing.as_str(), "c", Some(4)),
            (Kind::InvalidBlobReference, "../secret", "d", Some(5)),
            (Kind::MissingBlob, missing.as_str(), "e", Some(6)),
        ]
    );
    assert_eq!(examined_with(&bytes, None).findings, []);
}

#[test]
fn leftovers_are_told_with_their_session() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    std::fs::write(&path, file(&[HEADER, &user("a", None)])).unwrap();
    let left = dir.path().join(".s.jsonl.0123456789abcdef.tmp");
    std::fs::write(&left, "").unwrap();
    std::fs::write(dir.path().join(".t.jsonl.lock"), "").unwrap();
    assert_eq!(examine(&path, &Options::default()).unwrap().findings, []);
    let options = Options {
        blobs: None,
        beside: true,
    };
    let findings = examine(&path, &options).unwrap().findings;
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].kind, Kind::LeftoverTemp);
    assert_eq!(findings[0].path.as_deref(), Some(left.as_path()));
}

#[test]
fn what_cannot_be_read_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let failure = |path: &Path| examine(path, &Options::default()).err().unwrap().code();
    assert_eq!(failure(dir.path()), "EISDIR");
    assert_eq!(failure(&dir.path().join("none.jsonl")), "ENOENT");
}

#[test]
fn hostile_shapes_take_time_in_proportion() {
    let mut lines = vec![HEADER.to_owned()];
    for at in 0..20_000 {
        lines.push(call(&format!("n{at}"), Some(&format!("n{at}")), "same"));
        lines.push(result(
            &format!("m{at}"),
            Some(&format!("m{}", at + 1)),
            "same",
        ));
    }
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    let findings = examined_with(&file(&lines), None).findings;
    let count = |kind| {
        findings
            .iter()
            .filter(|finding| finding.kind == kind)
            .count()
    };
    assert_eq!(count(Kind::SelfParent), 20_000);
    assert_eq!(count(Kind::CallWithoutResult), 20_000);
    assert_eq!(count(Kind::ResultWithoutCall), 20_000);
    assert_eq!(count(Kind::Orphan), 1);
}
