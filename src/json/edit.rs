//! Changes to spans of a JSON text; everything else is copied byte for byte.

use std::borrow::Cow;
use std::ops::Range;

/// A list of replacements whose spans do not overlap.
#[derive(Debug, Default)]
pub struct Edits {
    list: Vec<(Range<usize>, Vec<u8>)>,
}

impl Edits {
    /// Replaces a span, in any order.
    pub fn replace(&mut self, span: Range<usize>, with: Vec<u8>) {
        self.list.push((span, with));
    }

    /// Inserts before an offset.
    pub fn insert(&mut self, at: usize, text: Vec<u8>) {
        self.replace(at..at, text);
    }

    /// True when nothing is to be changed.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How many replacements have been noted.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Changes the text of a replacement noted earlier.
    pub fn amend(&mut self, index: usize, with: Vec<u8>) {
        if let Some((_, text)) = self.list.get_mut(index) {
            *text = with;
        }
    }

    /// Forgets the replacements noted after the first `length`.
    pub fn truncate(&mut self, length: usize) {
        self.list.truncate(length);
    }

    /// The edited text; the input itself when there are no edits.
    pub fn apply<'a>(&self, source: &'a [u8]) -> Cow<'a, [u8]> {
        if self.list.is_empty() {
            return Cow::Borrowed(source);
        }
        let mut ordered: Vec<_> = self.list.iter().collect();
        // Stable, so that insertions at one offset keep their order.
        ordered.sort_by_key(|(span, _)| span.start);
        let mut out = Vec::with_capacity(source.len());
        let mut copied = 0;
        for (span, with) in ordered {
            out.extend_from_slice(source.get(copied..span.start).unwrap_or_default());
            out.extend_from_slice(with);
            copied = span.end;
        }
        out.extend_from_slice(source.get(copied..).unwrap_or_default());
        Cow::Owned(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untouched_bytes_are_copied() {
        let mut edits = Edits::default();
        edits.insert(4, b"-".to_vec());
        edits.replace(1..3, b"XY!".to_vec());
        assert_eq!(edits.apply(b"abcdef").as_ref(), b"aXY!d-ef");
        assert!(matches!(Edits::default().apply(b"abc"), Cow::Borrowed(_)));
    }
}
