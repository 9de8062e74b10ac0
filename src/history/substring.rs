//! Finding a text within texts, whatever the case of letters, fast enough to go through all prompts.

use std::collections::HashSet;

use memchr::memmem::Finder;
use memchr::{memchr, memchr2};

/// More texts than this are first looked for among the words of a text, where most of them are
/// found if one text is searched for with another.
const MANY: usize = 32;

/// Texts that must all be found.
#[derive(Debug)]
pub struct Needles(Vec<Needle>);

impl Needles {
    /// Prepares a search; what is found least often should come first.
    pub fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        Self(texts.into_iter().map(Needle::new).collect())
    }

    /// True when there is nothing to be looked for.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `text`, which need not be valid UTF-8, contains all of them.
    pub fn are_in(&self, text: &[u8]) -> bool {
        let Some((first, others)) = self.0.split_first() else {
            return true;
        };
        if !first.is_in(text) {
            return false;
        }
        if others.len() < MANY {
            return others.iter().all(|needle| needle.is_in(text));
        }
        let text_lower = text.to_ascii_lowercase();
        let words = words_of(&text_lower);
        others
            .iter()
            .all(|needle| words.contains(needle.lower.as_slice()) || needle.is_in(text))
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
    /// ASCII letters in lower case.
    lower: Vec<u8>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// No letter has another case: found byte by byte.
    Exact(Box<Finder<'static>>),
    /// Only ASCII letters have: compared without regard to these.
    Ascii {
        /// Position of a byte to look for.
        rare: usize,
    },
    /// Others have too: compared in lower case.
    Folded(String),
}

impl Needle {
    fn new(text: &str) -> Self {
        let lower = text.as_bytes().to_ascii_lowercase();
        let kind = if text.chars().any(|c| !c.is_ascii() && has_case(c)) {
            Kind::Folded(fold(text))
        } else if lower.iter().any(u8::is_ascii_alphabetic) {
            Kind::Ascii {
                rare: rarest(&lower),
            }
        } else {
            Kind::Exact(Box::new(Finder::new(&lower).into_owned()))
        };
        Self { lower, kind }
    }

    fn is_in(&self, text: &[u8]) -> bool {
        match &self.kind {
            Kind::Exact(finder) => finder.find(text).is_some(),
            Kind::Ascii { rare } => contains_ascii_folded(text, &self.lower, *rare),
            // A character outside ASCII is needed.
            Kind::Folded(needle) => {
                !text.is_ascii() && fold(&String::from_utf8_lossy(text)).contains(needle)
            }
        }
    }
}

fn has_case(character: char) -> bool {
    !character.to_lowercase().eq([character]) || !character.to_uppercase().eq([character])
}

/// Lower case character by character, which is the same wherever a text is cut.
fn fold(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

/// Compares only where a rare byte of the needle is met.
fn contains_ascii_folded(text: &[u8], needle: &[u8], rare: usize) -> bool {
    let Some(&byte) = needle.get(rare) else {
        return true;
    };
    // The needle begins `rare` bytes before the byte, so none can be met earlier.
    let mut from = rare;
    while let Some(rest) = text.get(from..) {
        let met = if byte.is_ascii_alphabetic() {
            memchr2(byte.to_ascii_lowercase(), byte.to_ascii_uppercase(), rest)
        } else {
            memchr(byte, rest)
        };
        let Some(at) = met else { return false };
        let start = from + at - rare;
        match text.get(start..start + needle.len()) {
            Some(found) if found.eq_ignore_ascii_case(needle) => return true,
            Some(_) => from += at + 1,
            None => return false,
        }
    }
    false
}

/// Position of the byte that is likely to be met least often in texts about programs.
fn rarest(needle: &[u8]) -> usize {
    const COMMON_FIRST: &[u8] = b" etaoinsrlhdcumpfgwyb.,_-/vk0123456789()xjqz";
    let rank = |byte: u8| {
        let byte = byte.to_ascii_lowercase();
        memchr(byte, COMMON_FIRST).unwrap_or(COMMON_FIRST.len())
    };
    let positions = needle.iter().enumerate();
    positions
        .max_by_key(|(_, byte)| rank(**byte))
        .map_or(0, |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
            let found = Needle::new(needle).is_in(text.as_bytes());
            assert_eq!(found, expected, "{needle:?} in {text:?}");
        }
    }

    #[test]
    fn texts_need_not_be_valid() {
        assert!(Needle::new("b").is_in(b"\xffB"));
        assert!(Needle::new("\u{e9}").is_in(b"\xff\xc3\x89"));
        assert!(!Needle::new("\u{e9}").is_in(b"\xc3"));
    }

    #[test]
    fn many_texts_are_found_as_few_are() {
        let words: Vec<String> = (0..500).map(|number| format!("Wörd{number}.x")).collect();
        let text = format!("{} gluedTOGETHER", words.join("\t"));
        let found = |more: &str| {
            let needles = Needles::new(words.iter().map(String::as_str).chain([more]));
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
            prop_assert_eq!(Needle::new(&needle).is_in(text.as_bytes()), expected);
        }
    }
}
