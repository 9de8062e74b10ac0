//! JSON texts for an engine's `JSON.parse`, in the form that is cheapest to hand over and to parse.
//!
//! Engines keep a string in one byte per unit as long as no character is above U+00FF, and read such
//! texts fastest. One arrow or curly quote in 16 MiB makes the whole text twice as long, and converting
//! UTF-8 is slow in all of them. In JSON a character may as well be spelled as an escape: what there
//! are few of is escaped, and the text stays narrow.

/// Texts with more than one wide character in this many bytes are not worth escaping.
const SPARSE: usize = 16;
/// A JSON text in Latin-1 that means the same, or `None` when it has many characters above U+00FF.
/// Outside of strings JSON is ASCII, so every such character stands in a string.
pub fn narrow(json: &str) -> Option<Vec<u8>> {
    // Lead bytes of characters above U+00FF.
    let wide = json.bytes().filter(|&byte| byte >= 0xc4).count();
    if wide > json.len() / SPARSE {
        return None;
    }
    let mut out = Vec::with_capacity(json.len() + wide * 12);
    let mut rest = json;
    while !rest.is_empty() {
        let (plain, behind) = rest.split_at(ascii_length(rest.as_bytes()));
        out.extend_from_slice(plain.as_bytes());
        rest = behind;
        // Characters beyond ASCII come together, but for scripts that are not worth escaping.
        while let Some(character) = rest.chars().next().filter(|c| !c.is_ascii()) {
            push(&mut out, character);
            rest = rest.get(character.len_utf8()..).unwrap_or_default();
        }
    }
    Some(out)
}

/// Length of the ASCII at the beginning.
fn ascii_length(text: &[u8]) -> usize {
    const WORD: usize = size_of::<u64>();
    let words = text.chunks_exact(WORD);
    let plain = words.take_while(|word| word.is_ascii()).count() * WORD;
    let rest = text.get(plain..).unwrap_or_default();
    plain + rest.iter().take_while(|byte| byte.is_ascii()).count()
}

fn push(out: &mut Vec<u8>, character: char) {
    if let Ok(byte) = u8::try_from(u32::from(character)) {
        out.push(byte);
        return;
    }
    for unit in character.encode_utf16(&mut [0; 2]) {
        out.extend_from_slice(b"\\u");
        let digit = |shift: u32| char::from_digit(u32::from(*unit >> shift & 0xf), 16);
        out.extend(
            [12, 8, 4, 0]
                .iter()
                .filter_map(|&shift| digit(shift))
                .map(|digit| digit as u8),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn from_latin1(bytes: &[u8]) -> String {
        bytes.iter().map(|&byte| char::from(byte)).collect()
    }

    #[test]
    fn few_wide_characters_are_escaped_and_many_are_not() {
        let long = "x".repeat(200);
        let escaped = narrow(&format!("\"{long}→é😀{long}\"")).unwrap();
        assert_eq!(
            from_latin1(&escaped),
            format!("\"{long}\\u2192é\\ud83d\\ude00{long}\"")
        );
        assert_eq!(narrow("\"日本語\""), None);
        assert_eq!(narrow("").unwrap(), b"");
    }

    proptest! {
        #[test]
        fn the_meaning_stays(parts in prop::collection::vec("[a-z]{0,150}|[é\u{80}ÿ]{0,70}|[→日]{0,2}|😀|\"", 0..12)) {
            let value = Value::from(parts.concat());
            let json = value.to_string();
            if let Some(narrowed) = narrow(&json) {
                prop_assert_eq!(serde_json::from_str::<Value>(&from_latin1(&narrowed)).unwrap(), value);
            }
        }
    }
}
