//! Text for JavaScript, whose strings may hold halves of surrogate pairs.

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
}
