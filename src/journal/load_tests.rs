use super::*;

const HEADER: &str = r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/w/p"}"#;

fn entry(id: &str, parent: Option<&str>) -> String {
    let parent = parent.map_or("null".to_owned(), |p| format!("\"{p}\""));
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-02T03:04:05.000Z","message":{{"role":"user","content":"x"}}}}"#
    )
}

fn outcome(text: &str) -> Outcome {
    let ids = IdSource {
        snowflakes: &SnowflakeGenerator::default(),
        now: 0.0,
    };
    load_bytes(Arc::from(text.as_bytes()), Path::new("s"), &ids).unwrap()
}

fn loaded(text: &str) -> Loaded {
    match outcome(text) {
        Outcome::Session(loaded) => *loaded,
        _ => panic!("not a session: {text}"),
    }
}

fn ids(loaded: &Loaded) -> Vec<String> {
    let tree = &loaded.tree;
    let id = |record: &Record| String::from_utf8(tree.ids().get(record.id).to_vec()).unwrap();
    tree.records().iter().map(id).collect()
}

#[test]
fn entries_and_their_texts() {
    let (a, b) = (entry("a", None), entry("b", Some("a")));
    let loaded = loaded(&format!("{HEADER}   \n{a}\n{b}\n"));
    assert_eq!(loaded.header.as_deref(), Some(HEADER.as_bytes()));
    assert_eq!(ids(&loaded), ["a", "b"]);
    assert_eq!(
        loaded.report,
        LoadReport {
            entries: 2,
            ..LoadReport::default()
        }
    );
    let mut reader = loaded.texts.reader();
    assert_eq!(
        reader.read(1, &[], &loaded.tree).unwrap(),
        Some(b.as_bytes())
    );
    assert_eq!(
        reader.read(0, &[1], &loaded.tree).unwrap(),
        Some(a.as_bytes())
    );
    assert_eq!(reader.read(2, &[], &loaded.tree).unwrap(), None);
}

#[test]
fn stray_values_are_counted_and_kept_as_residue() {
    let a = entry("a", None);
    let text = format!("{HEADER}\nnull\n123\n{a}\n[]\n\"str\"\n{{}}\n{HEADER}\n");
    let loaded = loaded(&text);
    assert_eq!(ids(&loaded), ["a"]);
    assert_eq!(loaded.report.skipped_lines, 6);
    assert_eq!(loaded.texts.residue[0].before, Some(0));
    assert_eq!(loaded.texts.residue[2].before, Some(1));
}

#[test]
fn what_is_not_a_session() {
    assert!(matches!(outcome(""), Outcome::Blank));
    assert!(matches!(outcome(" \n\n"), Outcome::Blank));
    assert!(matches!(outcome("\u{feff}"), Outcome::Blank));
    assert!(matches!(outcome("hello\nworld\n"), Outcome::NotASession));
    assert!(matches!(
        outcome("{\"name\":\"package\"}"),
        Outcome::NotASession
    ));
}

#[test]
fn a_damaged_header_costs_only_itself() {
    let a = entry("a", None);
    let loaded = loaded(&format!("{{\"type\":\"sess\n{a}\n"));
    assert!(loaded.report.header_salvaged);
    assert_eq!(loaded.header, None);
    assert_eq!(
        loaded.first_timestamp.as_deref(),
        Some("2026-01-02T03:04:05.000Z")
    );
    assert_eq!(ids(&loaded), ["a"]);
    assert!(!loaded.migrated);
    assert_eq!(loaded.texts.residue, []);
    let glued = super::tests::loaded(&format!("garbage {HEADER}\n{a}\n"));
    assert!(glued.report.header_salvaged && glued.header.is_some());
}

#[test]
fn an_object_without_parent_is_no_entry_before_the_header() {
    let text = format!(
        "{{\"type\":\"sessio\",\"id\":\"s1\",\"timestamp\":\"t\"}}\n{}\n",
        entry("a", None)
    );
    assert_eq!(ids(&loaded(&text)), ["a"]);
}

#[test]
fn version_one_files_get_links() {
    let header = r#"{"type":"session","id":"s","timestamp":"t","cwd":"/"}"#;
    let message = |role: &str| {
        format!(
            r#"{{"type":"message","timestamp":"2026-01-02T03:04:05.000Z","message":{{"role":"{role}","content":"x"}}}}"#
        )
    };
    let compaction = |index: u32| {
        format!(
            r#"{{"type":"compaction","timestamp":"t","summary":"s","firstKeptEntryIndex":{index},"tokensBefore":1}}"#
        )
    };
    let text = [
        header.to_owned(),
        message("user"),
        message("hookMessage"),
        compaction(2),
        compaction(0),
        compaction(9),
        compaction(6),
    ]
    .join("\n");
    let loaded = loaded(&text);
    assert!(loaded.migrated);
    assert_eq!(loaded.tree.len(), 6);
    assert_eq!(
        loaded.tree.path(loaded.tree.leaf().unwrap()),
        [0, 1, 2, 3, 4, 5]
    );
    let second = loaded.tree.record(1).unwrap().id;
    assert_eq!(loaded.tree.migrated_first_kept(2), Some(Some(second)));
    assert_eq!(loaded.tree.migrated_first_kept(3), Some(None));
    assert_eq!(loaded.tree.migrated_first_kept(4), Some(None));
    let itself = loaded.tree.record(5).unwrap().id;
    assert_eq!(loaded.tree.migrated_first_kept(5), Some(Some(itself)));
    assert!(loaded.tree.record(1).unwrap().marks.has(Marks::HOOK_ROLE));
    assert!(loaded.report.torn_tail);
}

#[test]
fn versions_compare_as_javascript_does() {
    let a = entry("a", None);
    let migrated = |version: &str| {
        let header = format!(r#"{{"type":"session","id":"s","version":{version}}}"#);
        loaded(&format!("{header}\n{a}\n")).migrated
    };
    assert!(migrated("null"));
    assert!(migrated("1"));
    assert!(migrated("\"2\""));
    assert!(!migrated("3"));
    assert!(!migrated("4"));
    assert!(!migrated("\"x\""));
}

#[test]
fn labels_and_usage_are_collected() {
    let label = r#"{"type":"label","id":"l","parentId":"a","timestamp":"t","targetId":"a","label":"L\u00e9"}"#;
    let task = r#"{"type":"message","id":"t","parentId":"l","timestamp":"t","message":{"role":"toolResult","toolName":"task","details":{"usage":{"input":2,"cost":{"total":0.5}}}}}"#;
    let loaded = loaded(&format!(
        "{HEADER}\n{}\n{label}\n{task}\n",
        entry("a", None)
    ));
    let a = loaded.tree.ids().find(b"a").unwrap();
    assert_eq!(loaded.tree.label(a), Some("Lé".as_bytes()));
    assert_eq!(loaded.tree.usage().input, 2.0);
    assert_eq!(loaded.tree.usage_of(2).unwrap().cost, 0.5);
    assert!(!loaded.tree.has_assistant());
}

#[test]
fn a_changed_file_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.jsonl");
    let text = format!("{HEADER}\n{}\n", entry("abc", None));
    std::fs::write(&path, &text).unwrap();
    let ids = IdSource {
        snowflakes: &SnowflakeGenerator::default(),
        now: 0.0,
    };
    let Outcome::Session(loaded) = load_file(&path, &ids).unwrap() else {
        panic!("not a session");
    };
    std::fs::write(&path, "x".repeat(text.len())).unwrap();
    let error = loaded
        .texts
        .reader()
        .read(0, &[], &loaded.tree)
        .unwrap_err();
    assert_eq!(error.code(), "ENTRY_UNREADABLE");
}

#[test]
fn unreadable_paths() {
    let dir = tempfile::tempdir().unwrap();
    let ids = IdSource {
        snowflakes: &SnowflakeGenerator::default(),
        now: 0.0,
    };
    assert!(matches!(
        load_file(&dir.path().join("no"), &ids).unwrap(),
        Outcome::Missing
    ));
    let error = load_file(dir.path(), &ids).map(|_| ()).unwrap_err();
    assert_eq!(error.code(), "EISDIR");
}

#[cfg(unix)]
#[test]
fn a_pipe_is_an_error_and_no_wait() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.jsonl");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    let ids = IdSource {
        snowflakes: &SnowflakeGenerator::default(),
        now: 0.0,
    };
    assert!(load_file(&path, &ids).is_err());
}

#[test]
fn ids_come_from_file_names() {
    let id = |name: &str| id_from_name(Path::new(name));
    assert_eq!(
        id("/x/2026-11-30T00-02-50-249Z_15e1be0f427b9866.jsonl").as_deref(),
        Some("15e1be0f427b9866")
    );
    assert_eq!(id("/x/notes.jsonl"), None);
    assert_eq!(id("/x/a_b.jsonl"), None);
}
