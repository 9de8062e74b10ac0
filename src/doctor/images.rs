//! References to blobs, and whether the blobs are there.

use std::collections::HashMap;

use memchr::memmem;

use crate::Result;
use crate::journal::walk::{self, Image, Rules};
use crate::json::RawStr;
use crate::storage::blob::{self, BlobState, BlobStore};

/// What stands behind the prefix of every reference to a blob, in the order of the text.
pub fn references(text: &[u8]) -> Vec<String> {
    let mut found = Found::default();
    if memmem::find(text, blob::PREFIX.as_bytes()).is_some() {
        // The rules change nothing and never fail.
        let _ = walk::rewrite(text, &mut found);
    }
    found.0
}

#[derive(Default)]
struct Found(Vec<String>);

impl Found {
    fn note(&mut self, value: &RawStr<'_>) {
        if value.raw().starts_with(b"blob:") {
            let text = value.to_text();
            self.0.extend(blob::parse_ref(&text).map(str::to_owned));
        }
    }
}

impl Rules for Found {
    fn string(&mut self, key: &[u8], value: &RawStr<'_>) -> Result<Option<Vec<u8>>> {
        if key == b"image_url" {
            self.note(value);
        }
        Ok(None)
    }

    fn image(&mut self, data: &RawStr<'_>) -> Result<Image> {
        self.note(data);
        Ok(Image::Ordinary)
    }
}

/// Looks at blobs, at each of them once.
pub struct BlobCheck {
    store: BlobStore,
    known: HashMap<String, BlobState>,
}

impl BlobCheck {
    /// Looks into this store.
    pub fn new(store: BlobStore) -> Self {
        Self {
            store,
            known: HashMap::new(),
        }
    }

    /// What is there for a reference. Blocking; fails when the blob cannot be read.
    pub fn state(&mut self, hash: &str) -> Result<BlobState> {
        if let Some(&state) = self.known.get(hash) {
            return Ok(state);
        }
        let state = self.store.state(hash)?;
        self.known.insert(hash.to_owned(), state);
        Ok(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_count_where_blobs_are_put_back() {
        let text = br#"{"a":[{"type":"image","data":"blob:sha256:x"},{"type":"text","text":"blob:sha256:n"}],"image_url":"blob:sha256:y"}"#;
        assert_eq!(references(text), ["x", "y"]);
        assert!(references(b"{}").is_empty());
    }
}
