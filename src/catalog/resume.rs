//! Finding a session by a part of its id.

use super::files::stem;

/// A session that may be meant.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// Its id, if that is a string.
    pub id: Option<&'a str>,
    /// Path of its file.
    pub path: &'a str,
}

/// Position of the session that `argument` means. Case does not matter. A session with exactly this
/// id wins; else the first candidate (list the newest first) whose id, file name, or part of the file
/// name after its last `_` begins with it. An empty argument means none.
pub fn find(argument: &str, candidates: &[Candidate<'_>]) -> Option<usize> {
    if argument.is_empty() {
        return None;
    }
    let wanted = argument.to_lowercase();
    let has_id = |candidate: &Candidate<'_>| candidate.id.map(str::to_lowercase);
    candidates
        .iter()
        .position(|candidate| has_id(candidate).is_some_and(|id| id == wanted))
        .or_else(|| {
            candidates.iter().position(|candidate| {
                has_id(candidate).is_some_and(|id| id.starts_with(&wanted))
                    || name_matches(candidate.path, &wanted)
            })
        })
}

fn name_matches(path: &str, wanted: &str) -> bool {
    let name = path.rsplit(std::path::is_separator).next().unwrap_or(path);
    let name = stem(name).to_lowercase();
    name.starts_with(wanted)
        || name
            .rsplit_once('_')
            .is_some_and(|(_, id)| id.starts_with(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NEWEST_FIRST: [Candidate<'_>; 5] = [
        Candidate {
            id: None,
            path: "/s/2026_x_NUMERIC.jsonl",
        },
        Candidate {
            id: Some("abcd"),
            path: "/s/2026-03-01T00_abcd.jsonl",
        },
        Candidate {
            id: Some("ABC"),
            path: "/s/2026-02-01T00_abc.jsonl",
        },
        Candidate {
            id: Some("moved"),
            path: "/s/2026-01-01T00_other.jsonl",
        },
        Candidate {
            id: Some(""),
            path: "/s/named.jsonl",
        },
    ];

    #[test]
    fn matches_in_order() {
        let cases = [
            ("abc", Some(2)),
            ("ABCD", Some(1)),
            ("ab", Some(1)),
            ("mov", Some(3)),
            ("oth", Some(3)),
            ("2026-02", Some(2)),
            ("2026", Some(0)),
            ("num", Some(0)),
            ("x_n", None),
            ("named", Some(4)),
            ("named.jsonl", None),
            ("", None),
            (" ", None),
        ];
        for (argument, expected) in cases {
            assert_eq!(find(argument, &NEWEST_FIRST), expected, "{argument}");
        }
    }

    #[test]
    fn text_outside_ascii_is_folded_too() {
        let candidates = [Candidate {
            id: Some("ÄÖ"),
            path: "/s/x.jsonl",
        }];
        assert_eq!(find("äö", &candidates), Some(0));
    }

    proptest! {
        #[test]
        fn every_session_is_found_by_its_whole_id(ids in prop::collection::btree_set("[0-9a-f]{1,6}", 1..8)) {
            let candidates: Vec<_> = ids.iter().map(|id| Candidate { id: Some(id), path: "/s/n.jsonl" }).collect();
            for (at, id) in ids.iter().enumerate() {
                prop_assert_eq!(find(id, &candidates), Some(at));
            }
        }
    }
}
