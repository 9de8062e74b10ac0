use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::history::queue::History;
use crate::history::registry::Registry;

fn filled(prompts: &[&str]) -> Arc<Database> {
    let database = Registry::new().database(":memory:").unwrap();
    let history = History::open(Arc::clone(&database)).unwrap();
    for prompt in prompts {
        if let Some(batch) = history.add(prompt, None) {
            history.finish(batch).unwrap();
        }
    }
    database
}

/// Ids, ascending.
fn ids(database: &Database, text: &str) -> Vec<i64> {
    let found = search(database, text, 1000).unwrap();
    assert_eq!(found.index_failure, None, "{text:?}");
    let mut ids: Vec<i64> = found.entries.iter().map(|entry| entry.id).collect();
    assert!(ids.is_sorted_by(|left, right| left > right));
    ids.reverse();
    ids
}

#[test]
fn words_are_found_by_their_beginnings() {
    let database = filled(&[
        "fix the Line of Über-code",
        "c++ and c#",
        "foo.bar baz",
        "NOT a plan",
        "prompt: x",
        "tail\0end",
    ]);
    let cases: [(&str, &[i64]); 18] = [
        ("line", &[1]),
        ("LI fi", &[1]),
        ("uber", &[1]),
        ("line missing", &[]),
        ("line !!!", &[1]),
        ("c++", &[1, 2]),
        ("foo.bar", &[3]),
        ("foo-ba", &[3]),
        ("bar foo", &[3]),
        ("NOT", &[4]),
        ("prompt:x", &[5]),
        ("(plan)", &[4]),
        ("\"plan", &[4]),
        ("tail\0end", &[6]),
        ("\0", &[]),
        ("!!! \"\" *", &[]),
        ("", &[]),
        (" \t", &[]),
    ];
    for (text, expected) in cases {
        assert_eq!(ids(&database, text), expected, "{text:?}");
    }
}

#[test]
fn the_middle_of_a_word_is_found_if_no_beginning_is() {
    let database = filled(&[
        "Timeline of the plan",
        "deadLINE",
        "inert",
        "foo.bar",
        "ship 🚀 it",
    ]);
    let cases: [(&str, &[i64]); 8] = [
        ("eline", &[1]),
        ("ELINE plan", &[1]),
        ("line", &[1, 2]),
        ("adl", &[2]),
        // A word begins with it, so the index has the last word.
        ("ine", &[3]),
        ("oo.ba", &[4]),
        ("🚀", &[5]),
        ("absent", &[]),
    ];
    for (text, expected) in cases {
        assert_eq!(ids(&database, text), expected, "{text:?}");
    }
}

#[test]
fn writings_without_spaces_are_found_anywhere() {
    let database = filled(&[
        "修改youer服务端的计划",
        "请修改它",
        "日本語のテスト",
        "계획변경",
    ]);
    let cases: [(&str, &[i64]); 9] = [
        ("修改", &[1, 2]),
        ("服务端", &[1]),
        ("youer", &[1]),
        ("YOUER服务", &[1]),
        ("计划 修改", &[1]),
        ("テスト", &[3]),
        ("テスト 語", &[3]),
        ("변경", &[4]),
        ("修正", &[]),
    ];
    for (text, expected) in cases {
        assert_eq!(ids(&database, text), expected, "{text:?}");
    }
}

#[test]
fn long_texts_find_the_prompt_that_they_are() {
    let words: Vec<String> = (0..5000).map(|number| format!("word{number}")).collect();
    let long = words.join(" ");
    let unbroken = "x".repeat(100_000);
    let dotted = "a.".repeat(50_000);
    let database = filled(&[&long, "word1 word2", &unbroken, &dotted, "a.a"]);
    assert_eq!(ids(&database, &long), [1]);
    assert_eq!(ids(&database, &unbroken), [3]);
    assert_eq!(ids(&database, &dotted), [4]);
    assert_eq!(ids(&database, &format!("{long} absent")), [0; 0]);
    assert_eq!(ids(&database, &format!("{unbroken}y")), [0; 0]);
}

#[test]
fn the_newest_are_kept() {
    let prompts: Vec<String> = (0..3000).map(|number| format!("same {number}")).collect();
    let prompts: Vec<&str> = prompts.iter().map(String::as_str).collect();
    let database = filled(&prompts);
    for text in ["same", "ame"] {
        let found = search(&database, text, 10).unwrap().entries;
        let ids: Vec<i64> = found.iter().map(|entry| entry.id).collect();
        assert_eq!(ids, (2991..=3000).rev().collect::<Vec<_>>(), "{text}");
    }
    assert_eq!(search(&database, "same", 0).unwrap().entries, []);
}

#[test]
fn rows_that_the_index_lost_or_invented_do_no_harm() {
    let database = filled(&["first plan", "second plan"]);
    let change = |statement: &str| {
        database
            .write(|conn| conn.execute_batch(statement))
            .unwrap();
    };
    change("DELETE FROM history WHERE id = 1");
    assert_eq!(ids(&database, "plan"), [2]);
    change("INSERT INTO history_fts(history_fts) VALUES ('delete-all')");
    assert_eq!(ids(&database, "plan"), [2]);
}

#[test]
fn a_broken_index_is_told_and_done_without() {
    let database = filled(&["the plan"]);
    database
        .write(|conn| conn.execute_batch("DROP TRIGGER history_ai; DROP TABLE history_fts"))
        .unwrap();
    let found = search(&database, "plan", 5).unwrap();
    assert_eq!(found.entries.len(), 1);
    assert!(found.index_failure.unwrap().contains("history_fts"));
}

proptest! {
    #[test]
    fn no_text_is_an_error(text in any::<String>()) {
        let database = filled(&["some prompt", &text]);
        ids(&database, &text);
    }

    #[test]
    fn no_operator_has_a_meaning(text in r#"([-"*():^+{}.,\\' a-cNOTAREn]|NEAR\(|AND |OR |prompt:){0,12}"#) {
        let database = filled(&["a b c"]);
        ids(&database, &text);
    }

    #[test]
    fn a_prompt_is_found_by_its_words(words in prop::collection::vec("[a-zé語]{1,5}", 1..30)) {
        let text = words.join(" ");
        let database = filled(&["nothing of it 0", &text]);
        prop_assert!(ids(&database, &text).contains(&2));
    }
}
