//! Changes to spans of a JSON text; everything else is copied byte for byte.

use std::borrow::Cow;
use std::ops::Range;

/// A list of replacements in ascending, non-overlapping order of their spans.
#[derive(Debug, Default)]
pub struct Edits {
    list: Vec<(Range<usize>, Vec<u8>)>,
}

impl Edits {
    /// Replaces a span. Spans must be added in ascending order.
    pub fn replace(&mut self, span: Range<usize>, with: Vec<u8>) {
        debug_assert!(
            self.list
                .last()
                .is_none_or(|(last, _)| last.end <= span.start)
        );
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

    /// Forgets the replacements after the first `length`.
    pub fn truncate(&mut self, length: usize) {
        self.list.truncate(length);
    }

    /// Drops a replacement made for an enclosing span: removes all after `length`, then adds one.
    pub fn supersede(&mut self, length: usize, span: Range<usize>, with: Vec<u8>) {
        self.truncate(length);
        self.replace(span, with);
    }

    /// The edited text; the input itself when there are no edits.
    pub fn apply<'a>(&self, source: &'a [u8]) -> Cow<'a, [u8]> {
        if self.list.is_empty() {
            return Cow::Borrowed(source);
        }
        let mut out = Vec::with_capacity(source.len());
        let mut copied = 0;
        for (span, with) in &self.list {
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
        edits.replace(1..3, b"XY!".to_vec());
        edits.insert(4, b"-".to_vec());
        assert_eq!(edits.apply(b"abcdef").as_ref(), b"aXY!d-ef");
        assert!(matches!(Edits::default().apply(b"abc"), Cow::Borrowed(_)));
    }
}
