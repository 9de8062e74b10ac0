//! What a search text means.
//!
//! White space separates terms. Every term must be found, in any order: in the full-text index as the
//! beginning of a word (case and accents do not matter; a term with punctuation in it is several words
//! in a row), or literally inside a text. No character has a special meaning.
//!
//! The effort for the index grows with the number of words, without bound if somebody searches for a
//! whole file. So only the longest terms are looked up in the index, and what is left of a query is
//! checked on the texts that were found.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::substring::Needles;
use crate::text::is_js_space;

/// Terms that are looked up in the index; the longest ones if there are more.
const INDEXED_TERMS: usize = 16;
/// Of each of them this much is looked up: words, and bytes (an index term has at most 32 KiB).
const INDEXED_WORDS: usize = 16;
const INDEXED_BYTES: usize = 256;

/// A search text, understood.
#[derive(Debug, PartialEq, Eq)]
pub struct Query {
    /// Without repetitions, the longest first: they are found least often.
    terms: Vec<String>,
}

impl Query {
    /// `None` if the text consists of white space.
    pub fn parse(text: &str) -> Option<Self> {
        let mut seen = HashSet::new();
        let mut terms: Vec<String> = text
            .split(is_js_space)
            .filter(|term| !term.is_empty() && seen.insert(*term))
            .map(str::to_owned)
            .collect();
        terms.sort_by_key(|term| Reverse(term.len()));
        (!terms.is_empty()).then_some(Self { terms })
    }

    /// The expression for the full-text index, and what must be checked on the texts that it finds.
    pub(super) fn for_index(&self) -> (String, Needles) {
        let mut phrases = Vec::new();
        let mut unchecked = Vec::new();
        for (at, term) in self.terms.iter().enumerate() {
            let indexed = if at < INDEXED_TERMS {
                indexed_part(term)
            } else {
                ""
            };
            if !indexed.is_empty() {
                phrases.push(phrase(indexed));
            }
            if indexed.len() < term.len() && is_searchable(term) {
                unchecked.push(term.as_str());
            }
        }
        (phrases.join(" "), Needles::new(unchecked))
    }

    /// What texts must contain; empty if there is nothing that can be looked for in this way.
    pub(super) fn needles(&self) -> Needles {
        let terms = self.terms.iter().map(String::as_str);
        Needles::new(terms.filter(|term| is_searchable(term)))
    }

    /// True when words are not separated in the writing of some term. The index takes a whole run of
    /// such characters for one word, so that it finds beginnings of sentences at best.
    pub(super) fn is_unspaced(&self) -> bool {
        self.terms
            .iter()
            .any(|term| term.chars().any(is_unspaced_writing))
    }
}

/// A quoted string of the index's query language that matches beginnings of words. The engine reads
/// it up to the first NUL; like other control characters that one separates words.
fn phrase(term: &str) -> String {
    format!("\"{}\"*", term.replace('"', "\"\"").replace('\0', " "))
}

/// The beginning of a term that is looked up in the index.
fn indexed_part(term: &str) -> &str {
    let mut words = 0;
    let mut in_word = false;
    for (at, character) in term.char_indices() {
        if character.is_alphanumeric() && !in_word {
            words += 1;
        }
        in_word = character.is_alphanumeric();
        if words > INDEXED_WORDS || at + character.len_utf8() > INDEXED_BYTES {
            return term.get(..at).unwrap_or_default();
        }
    }
    term
}

/// Punctuation alone matches nothing, as in the index.
fn is_searchable(term: &str) -> bool {
    !term.chars().all(|character| {
        character.is_ascii_punctuation()
            || character.is_control()
            || matches!(character, '\u{a1}'..='\u{bf}' | '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}')
    })
}

/// Chinese characters, Japanese syllables, Korean, Thai, Lao, Burmese, Khmer.
fn is_unspaced_writing(character: char) -> bool {
    matches!(
        character,
        '\u{0e00}'..='\u{0eff}'
            | '\u{1000}'..='\u{109f}'
            | '\u{1100}'..='\u{11ff}'
            | '\u{1780}'..='\u{17ff}'
            | '\u{3005}'..='\u{3007}'
            | '\u{3040}'..='\u{318f}'
            | '\u{31a0}'..='\u{31ff}'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{a960}'..='\u{a97f}'
            | '\u{ac00}'..='\u{d7ff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{ff66}'..='\u{ffdc}'
            | '\u{20000}'..='\u{3ffff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expression(text: &str) -> String {
        Query::parse(text).unwrap().for_index().0
    }

    #[test]
    fn white_space_alone_is_no_query() {
        for text in ["", " ", "\u{feff}\t\u{3000}\n"] {
            assert_eq!(Query::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn terms_become_quoted_beginnings() {
        assert_eq!(expression("fix the fix"), r#""fix"* "the"*"#);
        assert_eq!(
            expression("NOT prompt:x (a)"),
            r#""prompt:x"* "NOT"* "(a)"*"#
        );
        assert_eq!(expression(r#"say "hi"#), r#""say"* """hi"*"#);
        assert_eq!(expression("a\0b"), r#""a b"*"#);
        // Not white space for JavaScript.
        assert_eq!(expression("a\u{85}b"), "\"a\u{85}b\"*");
    }

    #[test]
    fn short_queries_are_left_to_the_index() {
        let (_, checks) = Query::parse("one two three c++ !!! 修改")
            .unwrap()
            .for_index();
        assert!(checks.is_empty());
    }

    #[test]
    fn of_long_queries_the_longest_terms_are_looked_up_and_the_rest_is_checked() {
        let words: Vec<String> = (1..=40).map(|length| "x".repeat(length)).collect();
        let (expression, mut checks) = Query::parse(&words.join(" ")).unwrap().for_index();
        assert_eq!(expression.split(' ').count(), INDEXED_TERMS);
        assert!(expression.starts_with(&format!("\"{}\"*", "x".repeat(40))));
        assert!(!checks.is_empty());
        assert!(checks.are_in("x".repeat(40 - INDEXED_TERMS).as_bytes()));
        assert!(!checks.are_in("x".repeat(39 - INDEXED_TERMS).as_bytes()));
    }

    #[test]
    fn of_long_terms_the_beginning_is_looked_up_and_the_rest_is_checked() {
        let (expression, mut checks) = Query::parse(&"語".repeat(1000)).unwrap().for_index();
        assert_eq!(
            expression,
            format!("\"{}\"*", "語".repeat(INDEXED_BYTES / 3))
        );
        assert!(!checks.are_in("語".repeat(999).as_bytes()));
        let (expression, mut checks) = Query::parse(&"a.".repeat(100)).unwrap().for_index();
        assert_eq!(expression.matches('a').count(), INDEXED_WORDS);
        assert!(!checks.are_in("a.".repeat(99).as_bytes()));
    }

    #[test]
    fn writings_without_spaces_are_known() {
        for text in ["修改", "x テスト", "계획", "ภาษา", "a修"] {
            assert!(Query::parse(text).unwrap().is_unspaced(), "{text}");
        }
        for text in ["plan", "план", "σχέδιο", "🚀", "“x”", "c++"] {
            assert!(!Query::parse(text).unwrap().is_unspaced(), "{text}");
        }
    }
}
