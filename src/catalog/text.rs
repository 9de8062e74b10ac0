//! Small text rules shared by breadcrumbs, recents and resume matching, as the host's language has
//! them.

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
    fn trims_what_javascript_trims() {
        assert_eq!(js_trim("\u{feff}\u{3000}\r\n a \u{2028}"), "a");
        // White space in Unicode, but not for `trim`.
        assert_eq!(js_trim("\u{85}a"), "\u{85}a");
    }
}
