//! Entries whose long strings come beside their JSON text.
//!
//! Writing a long string into a JSON text means that an engine looks at every character, and that
//! the text is copied once more at the boundary. Instead the text has a marker in the place of each
//! long string; the strings follow as UTF-16 and are put in where there is time.

use memchr::memmem;

use crate::json::text::encode_utf16;
use crate::{Error, Result};

/// The JSON text of an entry with holes for long strings.
pub struct Outline {
    json: Vec<u8>,
    /// Where the markers begin.
    holes: Vec<usize>,
    /// Length of a marker with its quotes.
    marker: usize,
    strings: Vec<Vec<u16>>,
}

impl Outline {
    /// Takes the strings that belong into some texts: as many as there are markers, in their order.
    /// Fails when there are more or fewer. A marker is a JSON string, given without its quotes.
    pub fn of(texts: Vec<Vec<u8>>, strings: Vec<Vec<u16>>, marker: &str) -> Result<Vec<Self>> {
        let marker = format!("\"{marker}\"");
        let finder = memmem::Finder::new(marker.as_bytes());
        let mut strings = strings.into_iter();
        let outlines: Vec<_> = texts
            .into_iter()
            .map(|json| {
                let holes: Vec<_> = finder.find_iter(&json).collect();
                Self {
                    strings: strings.by_ref().take(holes.len()).collect(),
                    marker: marker.len(),
                    json,
                    holes,
                }
            })
            .collect();
        let is_whole = |outline: &Self| outline.holes.len() == outline.strings.len();
        if strings.next().is_some() || !outlines.iter().all(is_whole) {
            return Err(Error::Internal(
                "long strings do not fit their entries".to_owned(),
            ));
        }
        Ok(outlines)
    }

    /// Length of the text without escapes, in bytes if it is ASCII.
    pub fn size(&self) -> usize {
        self.json.len() + self.strings.iter().map(Vec::len).sum::<usize>()
    }

    /// The whole JSON text.
    pub fn into_json(self) -> Vec<u8> {
        if self.holes.is_empty() {
            return self.json;
        }
        let mut out = Vec::with_capacity(self.size());
        let mut from = 0;
        for (&hole, string) in self.holes.iter().zip(&self.strings) {
            out.extend_from_slice(self.json.get(from..hole).unwrap_or_default());
            encode_utf16(string, &mut out);
            from = hole + self.marker;
        }
        out.extend_from_slice(self.json.get(from..).unwrap_or_default());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(text: &str) -> Vec<u16> {
        text.encode_utf16().collect()
    }

    fn texts(texts: &[&str]) -> Vec<Vec<u8>> {
        texts.iter().map(|text| text.as_bytes().to_vec()).collect()
    }

    #[test]
    fn strings_take_the_places_of_the_markers() {
        let outlines = Outline::of(
            texts(&[r#"{"a":"M","b":["M",1]}"#, r#"{"M":"MM"}"#, r#"["M"]"#]),
            vec![units("one"), units("\"two\n"), vec![0xd800]],
            "M",
        );
        // A marker as a key would be replaced too, were it one; it is a name that nobody can know.
        assert!(outlines.is_err());
        let outlines = Outline::of(
            texts(&[r#"{"a":"M","b":["M",1]}"#, r#"{"n":"MM"}"#, r#"["M"]"#]),
            vec![units("one"), units("\"two\n"), vec![0xd800]],
            "M",
        )
        .unwrap();
        let whole: Vec<_> = outlines.into_iter().map(Outline::into_json).collect();
        assert_eq!(
            whole,
            texts(&[
                r#"{"a":"one","b":["\"two\n",1]}"#,
                r#"{"n":"MM"}"#,
                r#"["\ud800"]"#
            ])
        );
    }

    #[test]
    fn too_many_or_too_few_strings_are_refused() {
        assert!(Outline::of(texts(&[r#"["M"]"#]), Vec::new(), "M").is_err());
        assert!(Outline::of(texts(&["[]"]), vec![units("x")], "M").is_err());
    }
}
