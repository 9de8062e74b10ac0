//! Text for JavaScript, whose strings may hold halves of surrogate pairs, and small text rules as
//! that language has them.

use crate::json::text::to_utf16;

/// A text on its way to JavaScript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Text {
    /// The usual case.
    Utf8(String),
    /// Text with half a surrogate pair.
    Utf16(Vec<u16>),
}

impl Text {
    /// Bytes that are neither UTF-8 nor a surrogate become U+FFFD.
    pub fn from_wtf8(bytes: Vec<u8>) -> Self {
        String::from_utf8(bytes)
            .map_or_else(|bad| Self::Utf16(to_utf16(bad.as_bytes())), Self::Utf8)
    }

    /// For checks and messages: halves of surrogate pairs become U+FFFD.
    pub fn to_lossy(&self) -> String {
        match self {
            Self::Utf8(text) => text.clone(),
            Self::Utf16(units) => String::from_utf16_lossy(units),
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_surrogate_pairs_survive() {
        assert_eq!(
            Text::from_wtf8(b"a\xc3\xa9".to_vec()),
            Text::Utf8("aé".into())
        );
        let half = Text::from_wtf8(b"a\xed\xa0\xbd".to_vec());
        assert_eq!(half, Text::Utf16(vec![0x61, 0xd83d]));
        assert_eq!(half.to_lossy(), "a\u{fffd}");
        assert_eq!(Text::from_wtf8(b"\xff".to_vec()).to_lossy(), "\u{fffd}");
    }

    #[test]
    fn trims_what_javascript_trims() {
        assert_eq!(js_trim("\u{feff}\u{3000}\r\n a \u{2028}"), "a");
        // White space in Unicode, but not for `trim`.
        assert_eq!(js_trim("\u{85}a"), "\u{85}a");
    }
}
