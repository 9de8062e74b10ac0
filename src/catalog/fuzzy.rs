//! Fuzzy matching: the letters of a query, in order, with anything between them.
//!
//! Letters that follow each other and beginnings of words make a match better, gaps and a late start
//! make it worse. The first way to find all letters counts; others are not tried. Positions are in
//! UTF-16 units of the text in lower case.

use crate::json::text::to_utf16;
use crate::text::{lower_case, words};

/// A query of several words, all of which must match.
#[derive(Debug)]
pub struct Query {
    words: Vec<Vec<u16>>,
}

impl Query {
    /// Takes a query apart. Texts are WTF-8.
    pub fn new(query: &[u8]) -> Self {
        let words = words(query).into_iter();
        Self {
            words: words.map(|word| to_utf16(&lower_case(word))).collect(),
        }
    }

    /// True for a query without words, which matches everything.
    pub fn is_blank(&self) -> bool {
        self.words.is_empty()
    }

    /// The sum of the words' scores, lower is better; `None` when a word does not match.
    pub fn score(&self, text: &[u8]) -> Option<f64> {
        if self.is_blank() {
            return Some(0.0);
        }
        let text = lower_case(text);
        let mut total = 0.0;
        for word in &self.words {
            total += match_units(word, &text)?;
        }
        Some(total)
    }
}

/// The score of a query taken as one word; `None` when it does not match.
pub fn score(query: &[u8], text: &[u8]) -> Option<f64> {
    match_units(&to_utf16(&lower_case(query)), &lower_case(text))
}

fn match_units(query: &[u16], text: &[u8]) -> Option<f64> {
    if text.is_ascii() {
        return find(query, text.iter().map(|&byte| u16::from(byte)));
    }
    match std::str::from_utf8(text) {
        Ok(text) => find(query, text.encode_utf16()),
        Err(_) => find(query, to_utf16(text).into_iter()),
    }
}

fn find(query: &[u16], text: impl Iterator<Item = u16>) -> Option<f64> {
    let mut wanted = query.iter().peekable();
    let (mut score, mut run) = (0.0, 0.0);
    // Position behind the last letter that was taken. At first it is the beginning of the text.
    let mut expected = 0_usize;
    let mut is_first = true;
    let mut before = None;
    for (at, unit) in text.enumerate() {
        let Some(&&next) = wanted.peek() else { break };
        if unit == next {
            wanted.next();
            if at == expected {
                run += 1.0;
                score -= 5.0 * run;
            } else {
                run = 0.0;
                if !is_first {
                    score += 2.0 * (at - expected) as f64;
                }
            }
            if before.is_none_or(ends_word) {
                score -= 10.0;
            }
            score += at as f64 * 0.1;
            expected = at + 1;
            is_first = false;
        }
        before = Some(unit);
    }
    wanted.peek().is_none().then_some(score)
}

/// True for what stands before the beginning of a word.
fn ends_word(unit: u16) -> bool {
    let character = char::from_u32(u32::from(unit));
    character.is_some_and(|it| matches!(it, '-' | '_' | '.' | '/') || crate::text::is_js_space(it))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(query: &str, text: &str) -> Option<f64> {
        score(query.as_bytes(), text.as_bytes())
    }

    #[test]
    fn scores() {
        for (query, text, expected) in [
            ("", "x", Some(0.0)),
            ("test", "test", Some(-59.4)),
            ("b", "abc", Some(0.1)),
            ("ac", "a c", Some(-22.8)),
            ("ABC", "abc", Some(-39.699999999999996)),
            ("x", "\u{a0}x", Some(-9.9)),
            ("b", "a\u{200b}b", Some(0.2)),
            ("i", "\u{130}", Some(-15.0)),
            ("aba", "ab ba aba", Some(-20.5)),
            ("abcd", "abc", None),
            ("ba", "ab", None),
        ] {
            assert_eq!(of(query, text), expected, "{query} in {text}");
        }
    }

    #[test]
    fn every_word_must_match() {
        let query = Query::new(" be  al\u{a0}".as_bytes());
        let of = |text: &str| query.score(text.as_bytes());
        assert_eq!(of("beta"), None);
        assert!(of("alpha beta") < of("xx beta alpha"));
        assert!(Query::new("\u{feff} ".as_bytes()).is_blank());
        assert_eq!(Query::new(b"").score(b"\xff"), Some(0.0));
    }

    proptest! {
        #[test]
        fn texts_match_themselves(text in any::<String>()) {
            prop_assert!(of(&text, &text).is_some());
        }

        #[test]
        fn any_bytes_are_fine(query in prop::collection::vec(any::<u8>(), 0..6), text in prop::collection::vec(any::<u8>(), 0..40)) {
            score(&query, &text);
            Query::new(&query).score(&text);
        }
    }
}
