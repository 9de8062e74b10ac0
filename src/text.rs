//! Rules of JavaScript about text, for the WTF-8 that strings are in this crate.

use std::borrow::Cow;

/// True for what JavaScript's `trim` removes: its white space and line terminators.
pub fn is_js_space(character: char) -> bool {
    matches!(
        character,
        '\t'..='\r'
            | ' '
            | '\u{a0}'
            | '\u{1680}'
            | '\u{2000}'..='\u{200a}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{202f}'
            | '\u{205f}'
            | '\u{3000}'
            | '\u{feff}'
    )
}

/// JavaScript's `trim`.
pub fn js_trim(text: &str) -> &str {
    text.trim_matches(is_js_space)
}

/// Length in bytes of the white space at the start; 0 when there is none.
fn space_at_start(text: &[u8]) -> usize {
    let length = match text.first() {
        Some(b'\t'..=b'\r' | b' ') => return 1,
        Some(0xc2) => 2,
        Some(0xe1..=0xe3 | 0xef) => 3,
        _ => return 0,
    };
    let is_space = text.get(..length).is_some_and(is_space);
    if is_space { length } else { 0 }
}

fn space_at_end(text: &[u8]) -> usize {
    let Some(&last) = text.last() else { return 0 };
    if last < 0x80 {
        return usize::from(is_js_space(char::from(last)));
    }
    let tail = |length: usize| text.get(text.len().checked_sub(length)?..);
    (2..=3)
        .find(|&length| tail(length).is_some_and(is_space))
        .unwrap_or_default()
}

/// True for bytes that are exactly one character of white space.
fn is_space(bytes: &[u8]) -> bool {
    let mut characters = std::str::from_utf8(bytes).unwrap_or_default().chars();
    matches!((characters.next(), characters.next()), (Some(one), None) if is_js_space(one))
}

/// JavaScript's `trim`.
pub fn trim(text: &[u8]) -> &[u8] {
    let mut rest = text;
    while let length @ 1.. = space_at_start(rest) {
        rest = rest.get(length..).unwrap_or_default();
    }
    while let length @ 1.. = space_at_end(rest) {
        rest = rest.get(..rest.len() - length).unwrap_or_default();
    }
    rest
}

/// True for text that `trim` leaves nothing of.
pub fn is_blank(text: &[u8]) -> bool {
    trim(text).is_empty()
}

/// The pieces between runs of white space, without empty ones.
pub fn words(text: &[u8]) -> Vec<&[u8]> {
    let mut words = Vec::new();
    let (mut start, mut at) = (0, 0);
    while at < text.len() {
        let rest = text.get(at..).unwrap_or_default();
        let length = space_at_start(rest);
        if length > 0 {
            words.push(text.get(start..at).unwrap_or_default());
            start = at + length;
        }
        at += length.max(1);
    }
    words.push(text.get(start..).unwrap_or_default());
    words.retain(|word| !word.is_empty());
    words
}

/// Full lower case of Unicode, like JavaScript's `toLowerCase`.
pub fn lower_case(text: &[u8]) -> Cow<'_, [u8]> {
    if text.is_ascii() {
        return if text.iter().any(u8::is_ascii_uppercase) {
            Cow::Owned(text.to_ascii_lowercase())
        } else {
            Cow::Borrowed(text)
        };
    }
    let mut lower = Vec::with_capacity(text.len());
    let mut rest = text;
    loop {
        match std::str::from_utf8(rest) {
            Ok(text) => {
                lower.extend_from_slice(text.to_lowercase().as_bytes());
                return Cow::Owned(lower);
            }
            // Half a surrogate pair has no case.
            Err(error) => {
                let (good, bad) = rest.split_at(error.valid_up_to());
                let good = std::str::from_utf8(good).unwrap_or_default();
                lower.extend_from_slice(good.to_lowercase().as_bytes());
                let length = error.error_len().unwrap_or(bad.len()).max(1);
                lower.extend_from_slice(bad.get(..length).unwrap_or(bad));
                rest = bad.get(length..).unwrap_or_default();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn trims_what_javascript_trims() {
        assert_eq!(js_trim("\u{feff}\u{3000}\r\n a \u{2028}"), "a");
        // White space in Unicode, but not for `trim`.
        assert_eq!(js_trim("\u{85}a"), "\u{85}a");
        assert!(is_blank(b"") && is_blank("\u{a0}\n\u{feff}".as_bytes()));
        assert!(!is_blank("\u{85}".as_bytes()) && !is_blank(b"\xed\xa0\xbd"));
    }

    #[test]
    fn lower_case_is_that_of_unicode() {
        for (text, lower) in [
            ("ABC", "abc"),
            ("ÜBER", "über"),
            ("ΟΔΟΣ ΣΑ", "οδος σα"),
            ("\u{130}", "i\u{307}"),
        ] {
            assert_eq!(lower_case(text.as_bytes()), lower.as_bytes());
        }
        assert_eq!(&*lower_case(b"A\xed\xa0\xbdB"), b"a\xed\xa0\xbdb");
        assert_eq!(&*lower_case(b"\xff\xc3"), b"\xff\xc3");
    }

    fn spaced() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            " ", "\n", "\u{a0}", "\u{2028}", "\u{feff}", "\u{85}", "a", "é", "長", "😀", "\u{200b}",
        ]);
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn agrees_with_characters(text in spaced()) {
            prop_assert_eq!(trim(text.as_bytes()), js_trim(&text).as_bytes());
            let expected: Vec<_> = text.split(is_js_space).filter(|word| !word.is_empty()).collect();
            let found: Vec<_> = words(text.as_bytes())
                .into_iter()
                .map(|word| std::str::from_utf8(word).unwrap())
                .collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn any_bytes_are_fine(bytes in prop::collection::vec(any::<u8>(), 0..20)) {
            prop_assert!(trim(&bytes).len() <= bytes.len());
            prop_assert!(words(&bytes).iter().all(|word| !word.is_empty()));
            lower_case(&bytes);
        }
    }
}
