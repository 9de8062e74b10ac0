use super::super::survey::survey;
use super::*;

fn linked(entries: &[(&str, Option<&str>)]) -> Links {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s.jsonl");
    let mut text = String::from("{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n");
    for (id, parent) in entries {
        let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
        text.push_str(&format!(
            "{{\"type\":\"x\",\"id\":\"{id}\",\"parentId\":{parent}}}\n"
        ));
    }
    std::fs::write(&path, text).unwrap();
    let (survey, file) = survey(&path).unwrap();
    Links::new(&survey, &file)
}

#[test]
fn a_link_means_the_last_entry_before_it() {
    let links = linked(&[
        ("a", None),
        ("b", Some("a")),
        ("a", Some("b")),
        ("c", Some("a")),
        ("d", Some("e")),
        ("e", None),
    ]);
    assert_eq!(
        links.links,
        [
            Link::Root,
            Link::Parent(0),
            Link::Parent(1),
            Link::Parent(2),
            Link::Parent(5),
            Link::Root
        ]
    );
    assert_eq!(links.renamed, [2]);
}

#[test]
fn copies_are_stood_for_by_the_first() {
    let links = linked(&[("a", None), ("b", Some("a")), ("a", None), ("c", Some("a"))]);
    assert_eq!(
        links.links,
        [Link::Root, Link::Parent(0), Link::Copy(0), Link::Parent(0)]
    );
    assert!(links.is_above(2, 3) && links.is_above(0, 1) && !links.is_above(1, 3));
}

#[test]
fn loops_are_found_once() {
    let links = linked(&[
        ("x", Some("b")),
        ("a", Some("c")),
        ("b", Some("a")),
        ("c", Some("b")),
        ("s", Some("s")),
        ("o", Some("gone")),
    ]);
    assert_eq!(links.loops, [(1, 3), (4, 1)]);
    assert_eq!(links.ends, [1, 1, 1, 1, 4, 5]);
    assert!(links.is_above(1, 0) && links.is_above(2, 0) && !links.is_above(3, 1));
    assert_eq!(links.links[5], Link::Orphan);
}
