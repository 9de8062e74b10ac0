//! Finding texts within a text, whatever the case of letters, fast enough to go through all prompts.

use std::collections::HashSet;

use memchr::memmem::Finder;

/// More texts than this are first looked for among the words of a text, where most of them are
/// found if one text is searched for with another.
const MANY: usize = 32;

/// Texts that must all be found.
#[derive(Debug)]
pub struct Needles {
    needles: Vec<Needle>,
    /// The text that is searched, in lower case as far as ASCII goes.
    lower: Vec<u8>,
}

impl Needles {
    /// Prepares a search; what is found least often should come first.
    pub fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            needles: texts.into_iter().map(Needle::new).collect(),
            lower: Vec::new(),
        }
    }

    /// True when there is nothing to be looked for.
    pub fn is_empty(&self) -> bool {
        self.needles.is_empty()
    }

    /// Whether `text`, which need not be valid UTF-8, contains all of them.
    pub fn are_in(&mut self, text: &[u8]) -> bool {
        self.lower.clear();
        self.lower.extend_from_slice(text);
        self.lower.make_ascii_lowercase();
        let lower = self.lower.as_slice();
        let Some((first, others)) = self.needles.split_first() else {
            return true;
        };
        if !first.is_in(lower) {
            return false;
        }
        if others.len() < MANY {
            return others.iter().all(|needle| needle.is_in(lower));
        }
        let words = words_of(lower);
        others
            .iter()
            .all(|needle| words.contains(needle.finder.needle()) || needle.is_in(lower))
    }
}

/// Pieces between white space, and between punctuation.
fn words_of(text: &[u8]) -> HashSet<&[u8]> {
    let pieces = text.split(u8::is_ascii_whitespace);
    let words = text.split(|byte| byte.is_ascii() && !byte.is_ascii_alphanumeric());
    pieces.chain(words).collect()
}

/// A text to be looked for.
#[derive(Debug)]
struct Needle {
    /// Finds it in texts whose ASCII letters are in lower case.
    finder: Finder<'static>,
    /// All letters in lower case, if others than ASCII have cases.
    folded: Option<String>,
}

impl Needle {
    fn new(text: &str) -> Self {
        let lower = text.to_ascii_lowercase();
        Self {
            finder: Finder::new(&lower).into_owned(),
            folded: text.chars().any(has_case).then(|| fold(text)),
        }
    }

    fn is_in(&self, lower: &[u8]) -> bool {
        match &self.folded {
            None => self.finder.find(lower).is_some(),
            // A character outside ASCII is needed.
            Some(folded) => {
                !lower.is_ascii() && fold(&String::from_utf8_lossy(lower)).contains(folded)
            }
        }
    }
}

/// Whether a character outside ASCII has another case.
fn has_case(character: char) -> bool {
    if character.is_ascii() {
        return false;
    }
    !character.to_lowercase().eq([character]) || !character.to_uppercase().eq([character])
}

/// Lower case character by character, which is the same wherever a text is cut.
fn fold(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn is_found(needle: &str, text: &[u8]) -> bool {
        Needles::new([needle]).are_in(text)
    }

    #[test]
    fn finds_texts_whatever_their_case() {
        let cases = [
            ("ine", "a LINE", true),
            ("ine", "in e", false),
            ("服务", "的服务端", true),
            ("user服务", "youUSER服务端", true),
            ("ёлка", "Новая ЁЛКА", true),
            ("ёлка", "елка", false),
            ("ß", "STRASSE", false),
            ("a\0b", "xA\0B", true),
            ("++", "c++", true),
            ("abc", "ab", false),
            ("aab", "aaab", true),
        ];
        for (needle, text, expected) in cases {
            let found = is_found(needle, text.as_bytes());
            assert_eq!(found, expected, "{needle:?} in {text:?}");
        }
    }

    #[test]
    fn texts_need_not_be_valid() {
        assert!(is_found("b", b"\xffB"));
        assert!(is_found("\u{e9}", b"\xff\xc3\x89"));
        assert!(!is_found("\u{e9}", b"\xc3"));
    }

    #[test]
    fn many_texts_are_found_as_few_are() {
        let words: Vec<String> = (0..500).map(|number| format!("Wörd{number}.x")).collect();
        let text = format!("{} gluedTOGETHER", words.join("\t"));
        let found = |more: &str| {
            let mut needles = Needles::new(words.iter().map(String::as_str).chain([more]));
            needles.are_in(text.as_bytes())
        };
        for (more, expected) in [
            ("X", true),
            ("dto", true),
            ("wörd7.x", true),
            ("WÖRD7.x", true),
            ("Wörd500", false),
            ("absent", false),
        ] {
            assert_eq!(found(more), expected, "{more}");
        }
        assert!(Needles::new([]).are_in(b"x"));
    }

    proptest! {
        #[test]
        fn agrees_with_a_plain_search(needle in "[aAbB服é.]{1,4}", text in "[aAbB服éÉ.]{0,12}") {
            let expected = text.to_lowercase().contains(&needle.to_lowercase());
            prop_assert_eq!(is_found(&needle, text.as_bytes()), expected);
        }
    }
}
