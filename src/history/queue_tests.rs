use tempfile::TempDir;

use super::*;
use crate::history::registry::Registry;
use crate::history::rows::recent;

fn store() -> (TempDir, History) {
    let dir = TempDir::new().unwrap();
    let history = reopen(&dir);
    (dir, history)
}

fn reopen(dir: &TempDir) -> History {
    let path = dir.path().join("history.db");
    History::open(Registry::new().database(path.to_str().unwrap()).unwrap()).unwrap()
}

/// In the order in which they were stored.
fn stored(history: &History) -> Vec<String> {
    let entries = recent(history.database(), 1000).unwrap();
    let text = |entry: &crate::history::rows::Entry| String::from_utf8_lossy(&entry.prompt).into();
    entries.iter().rev().map(text).collect()
}

fn finish(history: &History, batch: Option<BatchId>) -> Result<()> {
    history.finish(batch.unwrap())
}

fn run(history: &History, statement: &str) {
    history
        .database()
        .write(|conn| conn.execute_batch(statement))
        .unwrap();
}

#[test]
fn prompts_are_trimmed_and_kept_in_order() {
    let (_dir, history) = store();
    let batch = history.add("\u{feff} one\n", Some("/cwd".to_owned()));
    assert_eq!(history.add("two", None), batch);
    assert_eq!(history.add(" \n\u{3000}", None), None);
    finish(&history, batch).unwrap();
    let entries = recent(history.database(), 9).unwrap();
    assert_eq!(stored(&history), ["one", "two"]);
    assert_eq!(entries[1].cwd.as_deref(), Some(&b"/cwd"[..]));
    assert_eq!(entries[0].cwd, None);
}

#[test]
fn only_a_repetition_of_the_last_prompt_is_dropped() {
    let (dir, history) = store();
    let first = history.add("a", None);
    // Not on disk yet, so there is something to wait for.
    assert_eq!(history.add("a ", None), first);
    finish(&history, first).unwrap();
    assert_eq!(history.add("a", None), None);
    let second = history.add("b", None);
    assert_ne!(second, first);
    assert_eq!(history.add("a", None), second);
    finish(&history, second).unwrap();
    assert_eq!(stored(&history), ["a", "b", "a"]);
    assert_eq!(reopen(&dir).add("a", None), None);
}

#[test]
fn a_row_that_is_refused_does_not_cost_the_others() {
    let (_dir, history) = store();
    run(
        &history,
        "CREATE TRIGGER refuse BEFORE INSERT ON history WHEN new.prompt LIKE 'bad%' BEGIN
             SELECT RAISE(ABORT, 'refused'); END",
    );
    let batch = history.add("good", None);
    history.add("bad", None);
    history.add("better", None);
    history.add("bad too", None);
    let error = finish(&history, batch).unwrap_err();
    assert_eq!(error.code(), "SQLITE_CONSTRAINT");
    assert!(error.to_string().starts_with("refused: /"), "{error}");
    assert_eq!(stored(&history), ["good", "better"]);
    // What failed may be added again, what was stored last counts as the last.
    assert_eq!(history.add("better", None), None);
    run(&history, "DROP TRIGGER refuse");
    finish(&history, history.add("bad too", None)).unwrap();
    assert_eq!(stored(&history), ["good", "better", "bad too"]);
}

#[test]
fn a_batch_that_fails_as_a_whole_may_be_added_again() {
    let (_dir, history) = store();
    finish(&history, history.add("before", None)).unwrap();
    run(
        &history,
        "CREATE TRIGGER refuse BEFORE INSERT ON history BEGIN
             SELECT RAISE(ROLLBACK, 'refused'); END",
    );
    let batch = history.add("one", None);
    history.add("two", None);
    finish(&history, batch).unwrap_err();
    assert_eq!(stored(&history), ["before"]);
    assert_eq!(history.add("before", None), None);
    run(&history, "DROP TRIGGER refuse");
    finish(&history, history.add("two", None)).unwrap();
    assert_eq!(stored(&history), ["before", "two"]);
}

#[test]
fn what_is_added_while_a_batch_fails_still_counts_as_last() {
    let (_dir, history) = store();
    let failed = history.add("one", None).unwrap();
    // As if the next prompt came while the batch is with the database.
    history.queue.lock().unwrap().batch += 1;
    let prompts = std::mem::take(&mut history.queue.lock().unwrap().prompts);
    let next = history.add("two", None);
    history.queue.lock().unwrap().settle(failed, None);
    drop(prompts);
    assert_eq!(history.add("two", None), next);
}

#[test]
fn what_was_written_at_the_end_can_still_be_waited_for() {
    let (_dir, history) = store();
    assert_eq!(history.write_all(), None);
    let first = history.add("one", None);
    assert_eq!(history.write_all(), None);
    assert_eq!(stored(&history), ["one"]);
    let second = history.add("two", None);
    assert_ne!(second, first);
    finish(&history, first).unwrap();
    finish(&history, second).unwrap();
    assert_eq!(stored(&history), ["one", "two"]);
}

#[test]
fn prompts_of_any_content_come_back() {
    let (_dir, history) = store();
    let prompts = [
        "a\0b",
        "\u{fffd}",
        "😀 \u{10ffff}",
        "'; DROP TABLE history; --",
        "x\ny",
    ];
    let long = "0123456789".repeat(100_000);
    for prompt in prompts.into_iter().chain([long.as_str()]) {
        finish(&history, history.add(prompt, Some("/a\0b".to_owned()))).unwrap();
        let newest = recent(history.database(), 1).unwrap().remove(0);
        assert!(newest.prompt == prompt.as_bytes());
        assert_eq!(newest.cwd.as_deref(), Some(&b"/a\0b"[..]));
    }
}
